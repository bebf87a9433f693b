"""A server for tests, on a free port and in this process, and a page's side of the conversation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import uvicorn

from dibs.web.app import build
from dibs.web.server import configured, listen
from dibs.web.workers import Workers


class Site(NamedTuple):
    port: int
    workers: Workers
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def site(warm: bool = True) -> Iterator[Site]:
    """A real server in a thread of its own."""
    workers = Workers()
    if warm:
        workers.ready.set()
        workers.all_ready.set()
    with listen("127.0.0.1", 0) as bound:
        server = uvicorn.Server(configured(build("127.0.0.1", workers)))
        up = threading.Event()
        startup = server.startup

        async def started(sockets: Any = None) -> None:
            await startup(sockets)
            up.set()

        server.startup = started  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        assert up.wait(60)
        try:
            yield Site(bound.getsockname()[1], workers, server)
        finally:
            server.should_exit = server.force_exit = True
            thread.join(60)
            assert not thread.is_alive()


def events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream, as a page reads them."""
    name, data = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line[len("event: ") :]
        elif line.startswith("data: "):
            data += line[len("data: ") :]
        elif not line and name:
            yield name, json.loads(data)
            name, data = "", ""


class Told(NamedTuple):
    """All that a search told its page."""

    start: dict[str, Any]
    nodes: dict[str, list[int]]  # the columns, whole
    counters: list[dict[str, Any]]
    end: dict[str, Any]
    batches: list[int]  # nodes of each event


def alone(search: str, guide: str | None = None, seed: int = 0, **asked: Any) -> dict[str, Any]:
    """A race of one search."""
    return {**asked, "searches": [{"search": search, "guide": guide, "seed": seed}]}


def told(client: httpx.Client, **asked: Any) -> Told:
    """Run a search to its end."""
    with client.stream("POST", "/api/race", json=alone(**asked)) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        found = list(events(response.iter_lines()))
    assert all(fields.pop("of") == 0 for name, fields in found if name != "wait")
    assert [name for name, _ in found if name in ("start", "end", "error")] == ["start", "end"], found[-1]
    assert found[-1][0] == "end"
    nodes: dict[str, list[int]] = {}
    batches: list[int] = []
    for name, fields in found:
        if name == "nodes":
            assert fields.pop("first") == sum(batches)
            batches.append(len(fields["parent"]))
            for column, values in fields.items():
                assert len(values) == batches[-1]
                nodes.setdefault(column, []).extend(values)
    starts = [fields for name, fields in found if name == "start"]
    return Told(starts[0], nodes, [fields for name, fields in found if name == "counters"], found[-1][1], batches)
