"""All that a page can ask of the server. None of it names a file, a path or a process."""

from __future__ import annotations

import asyncio
import mimetypes
from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from dibs.bench.experiment import Row
from dibs.guide.lazy import lazy_guide
from dibs.problem import CNF, InputError, Sudoku
from dibs.search.outcome import Outcome, Status
from dibs.web import board, catalogue, limits, requests
from dibs.web.gate import Gate, Refusal, shortened
from dibs.web.scheduling import Cancelled, Job
from dibs.web.stream import Channel, ChannelPart, EventStream, as_json, unless_gone
from dibs.web.workers import COMPILING, Workers, aside
from dibs.wording import one_line, plural

T = TypeVar("T")


class Static(NamedTuple):
    """A file of the page, read once when the server starts."""

    body: bytes
    kind: str
    tag: str


def static() -> dict[str, Static]:
    """By name: a request is looked up here, never on disk."""
    found = {}
    for file in (files("dibs.web") / "static").iterdir():
        if file.is_file() and not file.name.startswith("."):
            body = file.read_bytes()
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            kind = "text/javascript" if file.name.endswith(".js") else kind
            text = "; charset=utf-8" if kind.startswith("text/") or kind.endswith("svg+xml") else ""
            found[file.name] = Static(body, kind + text, f'"{sha256(body).hexdigest()[:20]}"')
    return found


def answer(fields: Any, status: int = 200) -> Response:
    return Response(as_json(fields), status, {"cache-control": "no-store"}, "application/json")


def build(host: str = "127.0.0.1", workers: Workers | None = None) -> ASGIApp:
    """The application behind its gate; `host` is where the server listens."""
    workers = workers or Workers()
    app = FastAPI(title="dibs", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(InputError, _bad)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(Exception, _failed)
    pages = _pages(app)
    _questions(app, workers)
    paths = dict.fromkeys(pages, "GET") | {route.path: _method(route) for route in app.routes}  # type: ignore[attr-defined]
    paths.pop("/static/{name}", None)
    return Gate(app, host, paths)


def _method(route: Any) -> str:
    return "POST" if "POST" in route.methods else "GET"


def _pages(app: FastAPI) -> list[str]:
    """The page and its files; the addresses that they have."""
    table = static()

    def served(request: Request, name: str) -> Response:
        if name not in table:
            raise Refusal(404, "no such page")
        body, kind, tag = table[name]
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, headers={**headers, "content-type": kind})

    @app.get("/")
    async def page(request: Request) -> Response:
        return served(request, "index.html")

    @app.get("/static/{name}")
    async def file(request: Request, name: str) -> Response:
        return served(request, name)

    return ["/", *(f"/static/{name}" for name in table)]


def _questions(app: FastAPI, workers: Workers) -> None:
    async def done(request: Request, work: Callable[[Job], T], seats: Semaphore | None = None) -> Response:
        """The answer of a piece of work; given up when the page goes away."""
        found: list[T] = []

        async def wait() -> None:
            await workers.until(workers.ready)
            found.append(await workers.run(work, seats))

        if await unless_gone(wait(), request.receive):
            return answer(found[0])
        return Response(status_code=499)

    @app.get("/api/about")
    async def about() -> Response:
        return answer(catalogue.about(workers.ready.is_set(), workers.all_ready.is_set()))

    @app.post("/api/read")
    async def read(of: requests.Puzzle) -> Response:
        return answer(await aside(lambda: board.read(of.family, of.text, of.rectangle)))

    @app.post("/api/generate")
    async def generate(request: Request, of: requests.Generate) -> Response:
        from dibs.web.make import make

        return await done(request, make(of), workers.making)

    @app.post("/api/marginals")
    async def marginals(request: Request, of: requests.Marginals) -> Response:
        instance = await _instance(of)
        row = catalogue.guided_by(of.family, of.guide)

        def work(job: Job) -> dict[str, Any]:
            from dibs.web.marginals import marginals

            guide = lazy_guide(row.guidance).load(instance.structure)
            if reason := guide.refusal(instance.structure):
                raise InputError(reason)
            with workers.asking(row.guidance, job):
                return marginals(instance, guide, of.steps)

        return await done(request, work)

    @app.post("/api/race")
    async def race(of: requests.Race) -> Response:
        instance, rows = await _instance(of), _rows(of)
        if workers.ready.is_set():  # guides may have to be loaded; one that cannot take the puzzle is refused here
            await aside(lambda: [workers.guide(row, instance) for row in rows])

        async def stream(channel: Channel) -> None:
            if not workers.ready.is_set():
                channel.put("wait", {"words": COMPILING})
                await workers.until(workers.ready)
            await asyncio.gather(*(one(channel.part(of=i), row) for i, row in enumerate(rows)))

        async def one(channel: ChannelPart, row: Row) -> None:
            if workers.seats.locked():
                channel.put("wait", {"words": f"{limits.ACTIVE} searches are running; this one waits for its turn"})
            channel.put("start", _start(row))
            await _reported(channel, "search", workers.run(lambda job: _searched(workers, instance, row, job, channel)))

        return EventStream(stream)

    @app.post("/api/square")
    async def square(of: requests.Square) -> Response:
        from dibs.web import square

        rival = catalogue.rival(of.rival)

        async def stream(channel: Channel) -> None:
            if not workers.all_ready.is_set():
                channel.put("wait", {"words": COMPILING})
                await workers.until(workers.all_ready)
            async with workers.squares:
                await _reported(channel, "race", square.filled(of, rival, workers, channel))

        return EventStream(stream)

    @app.post("/api/why")
    async def why(request: Request, of: requests.Puzzle) -> Response:
        if of.family != "sudoku":
            raise InputError("family: contradictions are shown for Sudokus; dibs why explains formulas")
        grid = await aside(lambda: board.grid_of(of.text, of.rectangle))

        def work(job: Job) -> dict[str, Any]:
            found: list[dict[str, Any]] = []
            job.pause(lambda: found.append(board.contradiction(grid)))
            job.check()
            return found[0]

        return await done(request, work, workers.making)

    @app.post("/api/node")
    async def node(request: Request, of: requests.Node) -> Response:
        instance, row = await _instance(of), _row(of, of)

        def work(job: Job) -> dict[str, Any]:
            from dibs.web.node import at_node

            return at_node(instance, row, workers.guide(row, instance), of.node, job, workers.asking(row.guidance, job))

        return await done(request, work)

    @app.post("/api/export")
    async def export(request: Request, of: requests.Race) -> Response:
        instance, rows = await _instance(of), _rows(of)

        def work(job: Job) -> dict[str, Any]:
            from dibs.web.export import export

            return export(instance, rows, job, workers.asking)

        return await done(request, work, workers.heavy)


async def _instance(of: requests.Puzzle) -> Sudoku | CNF:
    """Read beside the loop: a long text must not keep other pages waiting."""
    return await aside(lambda: board.instance_of(of.family, of.text, of.rectangle))


async def _reported(channel: Channel | ChannelPart, what: str, work: Awaitable[Any]) -> None:
    """Do the work of a stream; what goes wrong is its last event."""
    try:
        await work
    except Cancelled:
        channel.put("error", {"error": f"nobody read the events of this {what}: it was cancelled"})
    except Exception as error:
        channel.put("error", {"error": shortened(one_line(error))})


def _row(of: requests.Limited, one: requests.SearchChoice) -> Row:
    return catalogue.search_for(
        of.family, one.search, guide=one.guide, nodes=of.nodes, seconds=of.seconds, seed=one.seed
    )


def _rows(of: requests.Race) -> list[Row]:
    return [_row(of, one) for one in of.searches]


def _start(row: Row) -> dict[str, Any]:
    return {
        "search": row.name,
        "options": asdict(row.options),
        "guidance": asdict(row.guidance),
        "command": catalogue.command(row),
    }


def _searched(workers: Workers, instance: Any, row: Row, job: Job, channel: ChannelPart) -> None:
    """Run a search to its end, on this thread; its events go to the channel."""
    from dibs.web.trace import TracedSearch

    def put(name: str, fields: dict[str, Any]) -> None:
        channel.put(name, fields, job)

    followed = TracedSearch(instance, row, workers.guide(row, instance), job, workers.asking(row.guidance, job), put)
    outcome = followed.run()
    path = followed.path()
    put("end", {**outcome.as_dict(), "path": path, "words": _words(outcome, len(path))})


def _words(outcome: Outcome, path: int) -> str:
    nodes = plural(outcome.nodes, "node", ",")
    if outcome.status is Status.LIMIT:
        return f"stopped at its limit after {nodes}, without an answer"
    if not outcome.nodes:
        return f"propagation alone {'solves' if outcome.status is Status.SAT else 'refutes'} it"
    if outcome.status is Status.UNSAT:
        return f"there is no solution: all {nodes} fail"
    return f"{nodes}: {path:,} on the way to the solution, {outcome.nodes - path:,} beside it"


# Refusals: one line each


async def _bad(_: Request, error: Exception) -> Response:
    return answer({"error": shortened(str(error))}, 400)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return answer({"error": error.words}, error.status)


async def _unfit(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:] if not isinstance(part, int)) or "the request"
    return answer({"error": shortened(f"{where[:60]}: {first['msg']}")}, 400)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer({"error": shortened(str(error.detail))}, error.status_code)


async def _failed(_: Request, error: Exception) -> Response:
    return answer({"error": f"a defect of dibs: {shortened(one_line(error))}"}, 500)
