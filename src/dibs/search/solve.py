"""The calls that most users need: solve one, solve many, count solutions."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event, Lock
from time import monotonic
from typing import Any, TypeVar

from dibs.guide.asks import Guide
from dibs.guide.oracle import Oracle
from dibs.problem.own import Problem
from dibs.problem.structure import Instance, Structure
from dibs.search.options import Options
from dibs.search.outcome import Outcome

BATCH = 128  # searches that one engine holds: few enough to stay in the processor's caches
GUIDED_BATCH = 1024  # with a guide: enough to ask it about many states at once
GUIDED_LEAST = 64  # however slow the guide is: a model that is asked about one state at a time is slower still
BLOCK = 64  # searches that one call of the kernel advances in a batch
QUICK, SLOW = 0.25, 1.0  # seconds: a batch that takes less is followed by larger ones, one that takes more by smaller
PATIENCE = 0.1  # seconds between two looks at `stop`
GRACE = 0.5  # seconds that workers get to hand over what they have finished, once stopped

Tag = TypeVar("Tag")
Solved = tuple[Tag, Instance, Outcome]


def solve(problem: Instance, *, guide: Guide | None = None, **options: Any) -> Outcome:
    """Solve one instance; keyword arguments are the fields of `Options`."""
    settings = Options(**options)
    outcome = _run([problem], settings, _guide(guide, settings), first=0, block=1)[0]
    assert outcome is not None
    return outcome


def solve_together(problems: Sequence[Instance], *, guide: Guide | None = None, **options: Any) -> list[Outcome]:
    """Solve a list in one batch on this thread: the guide is asked about all waiting searches at once."""
    settings = Options(**options)
    outcomes = _run(problems, settings, _guide(guide, settings), first=0)
    assert all(outcomes)
    return [outcome for outcome in outcomes if outcome]


def solve_many(
    problems: Iterable[Instance], *, guide: Guide | None = None, workers: int | None = None, **options: Any
) -> Iterator[Outcome]:
    """Solve a stream of instances on `workers` threads (default: all cores); outcomes come in input order.

    Constant memory: at most a few batches are read ahead. The counters are those of `solve`, whatever the batching;
    only `random` choices depend on an instance's place in the list. Ctrl-C raises after the finished ones are yielded.
    """
    return _in_order(solve_batches(enumerate(problems), guide=guide, workers=workers, **options))


def solve_batches(
    problems: Iterable[tuple[Tag, Instance]],
    *,
    guide: Guide | None = None,
    workers: int | None = None,
    stop: Event | None = None,
    **options: Any,
) -> Iterator[list[Solved[Tag]]]:
    """`solve_many` with the batches as they come, each outcome beside its instance and the caller's tag.

    Once `stop` is set, what is finished comes within half a second, gaps and all, and the stream ends.
    """
    settings = Options(**options)
    chosen = _guide(guide, settings)
    if workers is not None and workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    return _stream(iter(problems), settings, chosen, workers or cores(), stop or Event())


def count_solutions(problem: Instance, limit: int = 1000, **options: Any) -> int:
    """How many solutions there are, up to `limit`."""
    if options.keys() & {"nodes", "seconds", "count"}:
        raise ValueError("count_solutions takes no nodes, seconds or count: a cut count would be a wrong count")
    return solve(problem, count=limit, **options).solutions


def is_unique(problem: Instance, **options: Any) -> bool:
    """Whether there is exactly one solution."""
    return count_solutions(problem, limit=2, **options) == 1


class _OneAtATime:
    """A guide that worker threads ask one at a time, in `turn`: nobody has to write a thread-safe guide."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.static = bool(getattr(guide, "static", False))
        self.turn = Lock()


def _guide(guide: Guide | None, options: Options) -> _OneAtATime | None:
    if options.order == "oracle":
        if guide is not None:
            raise ValueError("order = 'oracle' is a guide itself: give one or the other")
        guide = Oracle()
    if guide is not None and not callable(getattr(guide, "rank", None)):
        raise TypeError(f"{type(guide).__name__} is not a guide: it has no method rank(asks)")
    return None if guide is None else _OneAtATime(guide)


def _run(
    problems: Sequence[Instance],
    options: Options,
    guide: _OneAtATime | None,
    first: int,
    block: int = BLOCK,
    stop: Event | None = None,
) -> list[Outcome | None]:
    """Solve a batch of consecutive instances; those that share a structure share an engine."""
    from dibs.search.engine import Engine

    if not kernel_ready():
        # Compiling, or loading what was compiled, must neither count as a search's time nor use up its limit.
        Engine([Problem(1, exactly_one=[[0]])], Options()).run()
    shapes: dict[Structure, list[int]] = {}
    for i, problem in enumerate(problems):
        if not isinstance(problem, Instance):
            raise TypeError(
                f"{problem!r} is not an instance to solve: parse a text with dibs.Sudoku.parse, for example"
            )
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
        stopped = stop.is_set if stop else lambda: False
        engine.run(guide.guide if guide else None, stopped, guide.turn if guide else None)
        for i, outcome in zip(places, engine.outcomes(), strict=True):
            outcomes[i] = outcome
    return outcomes


def _stream(
    problems: Iterator[tuple[Tag, Instance]], options: Options, guide: _OneAtATime | None, workers: int, stop: Event
) -> Iterator[list[Solved[Tag]]]:
    pending: deque[tuple[list[tuple[Tag, Instance]], Future[tuple[list[Outcome | None], float]]]] = deque()
    first, size = 0, 1
    least, most = (1, BATCH) if guide is None else (GUIDED_LEAST, GUIDED_BATCH)
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
                    pending.append((batch, pool.submit(_timed, instances, options, guide, first, stop)))
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


def _timed(
    problems: Sequence[Instance], options: Options, guide: _OneAtATime | None, first: int, stop: Event
) -> tuple[list[Outcome | None], float]:
    """`_run`, and the seconds it took."""
    begin = monotonic()
    return _run(problems, options, guide, first, BLOCK, stop), monotonic() - begin


def _in_order(batches: Iterator[list[Solved[int]]]) -> Iterator[Outcome]:
    """The outcomes up to the first gap, which only Ctrl-C leaves."""
    place = 0
    for batch in batches:
        for tag, _, outcome in batch:
            if tag == place:
                place += 1
                yield outcome


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kernel_ready() -> bool:
    """Whether the kernel has been compiled, or loaded from Numba's cache; False before the first search."""
    advance = getattr(sys.modules.get("dibs.search.kernel"), "advance", None)
    return advance is not None and bool(getattr(advance, "signatures", True))
