"""Many instances: batches on threads, in constant memory, outcomes as they come or in input order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from threading import Event
from time import monotonic
from typing import TypeVar

from dibs.problem.structure import Instance
from dibs.ranges import checked_number
from dibs.search.outcome import Outcome
from dibs.search.solver import BLOCK, Solver

BATCH = 128  # searches that one engine holds: few enough to stay in the processor's caches
GUIDED_BATCH = 1024  # with a guide: enough to ask it about many states at once
GUIDED_LEAST = 64  # however slow the guide is: a model that is asked about one state at a time is slower still
QUICK, SLOW = 0.25, 1.0  # seconds: a batch that takes less is followed by larger ones, one that takes more by smaller
PATIENCE = 0.1  # seconds between two looks at `stop`
GRACE = 0.5  # seconds that workers get to hand over what they have finished, once stopped

Tag = TypeVar("Tag")
Found = Outcome | Exception  # how one instance ended; the exception is its own, the others are solved all the same
Solved = tuple[Tag, Instance, Found]


def solve_batches(
    problems: Iterable[tuple[Tag, Instance]],
    solver: Solver,
    workers: int | None = None,
    stop: Event | None = None,
) -> Generator[list[Solved[Tag]]]:
    """Batches of outcomes as they come, each beside its instance and the caller's tag.

    An instance that cannot be solved has an exception in place of its outcome, and the stream goes on.
    Once `stop` is set, what is finished comes within half a second, gaps and all, and the stream ends.
    """
    return _stream(iter(problems), solver, threads(workers), stop or Event())


def _stream(
    problems: Iterator[tuple[Tag, Instance]], solver: Solver, workers: int, stop: Event
) -> Generator[list[Solved[Tag]]]:
    pending: deque[tuple[list[tuple[Tag, Instance]], Future[tuple[list[Found | None], float]]]] = deque()
    first, size = 0, 1
    least, most = (GUIDED_LEAST, GUIDED_BATCH) if solver.eager else (1, BATCH)  # otherwise most searches never ask
    failure: BaseException | None = None
    more = True
    pool = ThreadPoolExecutor(workers, thread_name_prefix="dibs")

    def finished() -> list[Solved[Tag]]:
        batch, future = pending.popleft()
        outcomes = future.result()[0]
        return [(tag, i, outcome) for (tag, i), outcome in zip(batch, outcomes, strict=True) if outcome]

    try:
        while (more or pending) and not stop.is_set():
            while more and len(pending) <= workers:
                batch: list[tuple[Tag, Instance]] = []
                try:
                    batch.extend(islice(problems, size))  # keeps what came before a failure
                except Exception as error:  # the user's iterator failed: finish what it gave, then say so
                    failure = error
                more = len(batch) == size and failure is None
                if batch:
                    instances = [instance for _, instance in batch]
                    pending.append((batch, pool.submit(_timed, instances, solver, first, stop)))
                    first += len(batch)
            if pending and wait([pending[0][1]], PATIENCE).done:
                # Batches grow while they are quick and shrink while they are slow: answers keep coming.
                took = pending[0][1].result()[1]
                if took < QUICK or size < least:
                    size = min(2 * size, most)
                elif took > SLOW:
                    size = max(size // 2, least)
                yield finished()
        if failure:
            raise failure
    except KeyboardInterrupt as interrupt:
        stop.set()
        failure = interrupt
    except BaseException:
        stop.set()
        raise
    finally:
        # The kernels return within milliseconds. Nobody waits for a thread that compiles or asks a slow guide.
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)
    end = monotonic() + GRACE
    while pending and not pending[0][1].cancelled() and wait([pending[0][1]], max(0, end - monotonic())).done:
        yield finished()
    if failure:
        raise failure


def _timed(problems: Sequence[Instance], solver: Solver, first: int, stop: Event) -> tuple[list[Found | None], float]:
    """`_each`, and the seconds it took."""
    begin = monotonic()
    return each(problems, solver, range(first, first + len(problems)), stop), monotonic() - begin


def each(problems: Sequence[Instance], solver: Solver, places: range, stop: Event) -> list[Found | None]:
    """Solve a batch; where it raises, each half by itself, down to those that raise: they have an exception."""
    try:
        return [*solver.run(problems, places, BLOCK, stop.is_set)]
    except Exception as error:
        if len(problems) == 1:
            return [error]
    half = len(problems) // 2
    return [
        *each(problems[:half], solver, places[:half], stop),
        *each(problems[half:], solver, places[half:], stop),
    ]


def in_order(batches: Generator[list[Solved[int]]]) -> Iterator[Outcome]:
    """The outcomes up to the first gap, which only Ctrl-C leaves, or up to the first exception."""
    place = 0
    with closing(batches):  # whoever catches the exception waits for no search
        for batch in batches:
            for tag, _, found in batch:
                if isinstance(found, Exception):
                    raise found
                if tag == place:
                    place += 1
                    yield found


def threads(workers: int | None) -> int:
    """So many; as many as there are cores, unless somebody says otherwise."""
    return cores() if workers is None else int(checked_number("workers", workers, 1, None, whole=True))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
