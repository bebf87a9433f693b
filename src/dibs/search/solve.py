"""The calls that most users need: solve one, solve many, count solutions."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from threading import Event, Lock
from typing import Any

from dibs.guide.asks import Asks, Guide
from dibs.guide.oracle import Oracle
from dibs.problem.structure import Instance, Structure
from dibs.search.options import Options
from dibs.search.outcome import Outcome

BATCH = 1024  # searches that one engine holds
BLOCK = 64  # searches that one call of the kernel advances in a batch


def solve(problem: Instance, *, guide: Guide | None = None, **options: Any) -> Outcome:
    """Solve one instance; keyword arguments are the fields of `Options`."""
    settings = Options(**options)
    outcome = _run([problem], settings, _guide(guide, settings), first=0, block=1)[0]
    assert outcome is not None
    return outcome


def solve_many(
    problems: Iterable[Instance], *, guide: Guide | None = None, workers: int | None = None, **options: Any
) -> Iterator[Outcome]:
    """Solve a stream of instances on `workers` threads (default: all cores); outcomes come in input order.

    Constant memory: at most a few batches are read ahead. The counters are those of `solve`, whatever the batching;
    only `random` choices depend on an instance's place in the list.
    """
    settings = Options(**options)
    chosen = _guide(guide, settings)
    if workers is not None and workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    return _stream(iter(problems), settings, chosen, workers or len(os.sched_getaffinity(0)))


def count_solutions(problem: Instance, *, limit: int = 1000, **options: Any) -> int:
    """How many solutions there are, up to `limit`."""
    if options.keys() & {"nodes", "seconds", "count"}:
        raise ValueError("count_solutions takes no nodes, seconds or count: a cut count would be a wrong count")
    return solve(problem, count=limit, **options).solutions


def is_unique(problem: Instance, **options: Any) -> bool:
    """Whether there is exactly one solution."""
    return count_solutions(problem, limit=2, **options) == 1


class _Taking(Guide):
    """A guide that worker threads ask one at a time: nobody has to write a thread-safe guide."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.static = bool(getattr(guide, "static", False))
        self.lock = Lock()

    def rank(self, asks: Asks) -> Any:
        with self.lock:
            return self.guide.rank(asks)


def _guide(guide: Guide | None, options: Options) -> _Taking | None:
    if options.order == "oracle":
        if guide is not None:
            raise ValueError("order = 'oracle' is a guide itself: give one or the other")
        guide = Oracle()
    if guide is not None and not callable(getattr(guide, "rank", None)):
        raise TypeError(f"{type(guide).__name__} is not a guide: it has no method rank(asks)")
    return None if guide is None else _Taking(guide)


def _run(
    problems: Sequence[Instance],
    options: Options,
    guide: _Taking | None,
    first: int,
    block: int = BLOCK,
    stop: Event | None = None,
) -> list[Outcome | None]:
    """Solve a batch of consecutive instances; those that share a structure share an engine."""
    from dibs.search.engine import Engine

    shapes: dict[Structure, list[int]] = {}
    for i, problem in enumerate(problems):
        shapes.setdefault(problem.structure, []).append(i)
    outcomes: list[Outcome | None] = [None] * len(problems)
    for places in shapes.values():
        engine = Engine(
            [problems[i] for i in places],
            options,
            guided=guide is not None,
            static=guide is not None and guide.static,
            block=block,
            places=[first + i for i in places],
        )
        engine.run(guide, stop.is_set if stop else lambda: False)
        for i, outcome in zip(places, engine.outcomes(), strict=True):
            outcomes[i] = outcome
    return outcomes


def _stream(problems: Iterator[Instance], options: Options, guide: _Taking | None, workers: int) -> Iterator[Outcome]:
    stop = Event()
    pending: deque[Future[list[Outcome | None]]] = deque()
    first, size = 0, 8  # batches grow, so that the first answers come at once
    failure: BaseException | None = None
    more = True
    with ThreadPoolExecutor(workers, thread_name_prefix="dibs") as pool:
        try:
            while more or pending:
                while more and len(pending) <= workers:
                    try:
                        batch = list(islice(problems, size))
                    except Exception as error:  # the user's iterator failed: finish what it gave, then say so
                        batch, failure = [], error
                    more = bool(batch)
                    if batch:
                        pending.append(pool.submit(_run, batch, options, guide, first, BLOCK, stop))
                        first, size = first + len(batch), min(2 * size, BATCH)
                if pending:
                    for outcome in pending.popleft().result():
                        assert outcome is not None
                        yield outcome
            if failure:
                raise failure
        except KeyboardInterrupt:
            stop.set()  # the kernels return within milliseconds; what they finished is still handed over
            for future in pending:
                yield from (outcome for outcome in future.result() if outcome)
            raise
        finally:
            stop.set()
