"""A Latin square with holes, filled twice: by dibs, and by a rival on a clock of its own.

dibs does what `dibs solve` does. Plain search is watched while it tries. CaDiCaL is a process of its own, since it
holds Python's lock while it searches; its clock begins when it has the square.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from subprocess import PIPE, Popen, TimeoutExpired
from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from dibs.generate import latin
from dibs.problem import Latin
from dibs.search.outcome import Outcome, Status
from dibs.search.plan import Request
from dibs.search.tree.search import TreeSearch
from dibs.solving import solver
from dibs.web import limits, requests
from dibs.web.scheduling import Cancelled, Job
from dibs.web.stream import Channel, ChannelPart
from dibs.web.workers import Workers

ROW = np.zeros(1, np.int64)


async def filled(of: requests.Square, rival: str, workers: Workers, channel: Channel) -> None:
    """Both fill the square at once; `start` has it, `state` and `end` carry who they are `of`: 0 for dibs."""
    seed = secrets.randbelow(2**31) if of.seed is None else of.seed
    square = await workers.run(lambda job: _made(of, seed, job))
    about = {"order": of.order, "values": square.values.reshape(-1).tolist(), "seed": seed, "rival": rival}
    channel.put("start", {**about, "seconds": limits.SQUARE_SECONDS})
    go, play = Event(), _plain if of.rival == "plain" else _process

    def theirs(job: Job) -> None:
        try:
            play(square, job, channel.part(of=1), go)
        finally:
            go.set()

    await asyncio.gather(workers.run(theirs), workers.run(lambda job: _ours(square, job, channel.part(of=0), go)))


def _made(of: requests.Square, seed: int, job: Job) -> Latin:
    return next(latin(1, order=of.order, holes=of.holes, balanced=True, seed=seed))


def _ours(square: Latin, job: Job, part: ChannelPart, go: Event) -> None:
    job.pause(go.wait)
    [outcome] = solver(None, None, {"max_seconds": limits.SQUARE_SECONDS}).run([square], block=1, stopped=job.stopped)
    _end(outcome, part)


def _plain(square: Latin, job: Job, part: ChannelPart, go: Event) -> None:
    plan = Request("plain", {"max_seconds": limits.SQUARE_SECONDS}).plan(square.structure)
    engine = TreeSearch([square], plan.options)
    beat = monotonic()

    def each() -> None:
        nonlocal beat
        if monotonic() - beat < limits.BEAT or not engine.counters.nodes[0]:
            return
        true = engine.literals(ROW)[1][0].reshape(-1, square.size)
        values = np.where(true.any(axis=1), true.argmax(axis=1) + 1, 0)
        counted = {"seconds": round(float(engine.seconds[0]), 4), "nodes": int(engine.counters.nodes[0])}
        part.put("state", {"values": values.tolist(), **counted}, job)
        beat = monotonic()

    job.each = each
    go.set()
    engine.run(stopped=job.stopped)
    _end(engine.outcomes()[0], part)


def _process(square: Latin, job: Job, part: ChannelPart, go: Event) -> None:
    """CaDiCaL; `rival.py` is what runs in the process, on the core that this job has."""
    words = [sys.executable, "-m", "dibs.web.rival", "cadical195", str(limits.SQUARE_SECONDS)]
    with Popen(words, stdin=PIPE, stdout=PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()  # it has loaded what it needs
            process.stdin.write(json.dumps(square.values.reshape(-1).tolist()).encode())
            process.stdin.close()
            go.set()
            begin = monotonic()
            while not _over(process):
                part.put("state", {"seconds": round(monotonic() - begin, 2)}, job)
                job.check()
            part.put("end", json.loads(process.stdout.read()))
        finally:
            process.kill()


def _over(process: Popen[bytes]) -> bool:
    """Whether it has ended within a moment."""
    try:
        process.wait(limits.BEAT)
    except TimeoutExpired:
        return False
    return True


def _end(outcome: Outcome | None, part: ChannelPart) -> None:
    if outcome is None:
        raise Cancelled
    part.put("end", ended(outcome))


def ended(outcome: Outcome) -> dict[str, Any]:
    """What the page is told of an outcome."""
    solved = outcome.status is Status.SAT
    return {
        "status": outcome.status.value,
        "values": outcome.solution.array.reshape(-1).tolist() if solved else None,
        "seconds": round(outcome.seconds + outcome.guide_seconds, 6),
        "nodes": outcome.nodes,
        "asks": outcome.asks,
    }
