"""The calls that most users need: solve one, solve many, count solutions."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import islice
from threading import Event, Lock
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from dibs.guide.asks import Guide, Ranks, as_guide
from dibs.guide.oracle import Oracle, foresee
from dibs.problem.structure import Instance, Structure
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status
from dibs.search.policy import chosen_fields, waiting

BATCH = 128  # searches that one engine holds: few enough to stay in the processor's caches
GUIDED_BATCH = 1024  # with a guide: enough to ask it about many states at once
GUIDED_LEAST = 64  # however slow the guide is: a model that is asked about one state at a time is slower still
BLOCK = 64  # searches that one call of the kernel advances in a batch
QUICK, SLOW = 0.25, 1.0  # seconds: a batch that takes less is followed by larger ones, one that takes more by smaller
PATIENCE = 0.1  # seconds between two looks at `stop`
GRACE = 0.5  # seconds that workers get to hand over what they have finished, once stopped

Tag = TypeVar("Tag")
Found = Outcome | Exception  # how one instance ended; the exception is its own, the others are solved all the same
Solved = tuple[Tag, Instance, Found]


def solve(problem: Instance, *, guide: Ranks | None = None, policy: str | None = None, **options: Any) -> Outcome:
    """Solve one instance.

    `policy`: auto, guided, paper or plain. Other keyword arguments are fields of `Options` (or of `Guidance`), in place
    of the policy's. Without a policy it is auto, unless there is a `guide` or an option says how to search: then it is
    done just so.
    """
    settings, chosen = _settings(policy, guide, options)
    outcome = _run([problem], settings, chosen, [0], block=1)[0]
    assert outcome is not None
    return outcome


def solve_together(
    problems: Sequence[Instance],
    *,
    guide: Ranks | None = None,
    policy: str | None = None,
    places: Sequence[int] | None = None,
    block: int = BLOCK,
    **options: Any,
) -> list[Outcome]:
    """`solve` for a list in one batch on this thread: the guide is asked about all waiting searches at once.

    `places`: the places of the instances in a longer list, for `random` choices; by default they are all of it.
    `block`: how many searches share a clock; 1 times each by itself.
    """
    settings, chosen = _settings(policy, guide, options)
    outcomes = _run(problems, settings, chosen, range(len(problems)) if places is None else places, block)
    assert all(outcomes)
    return [outcome for outcome in outcomes if outcome]


def solve_many(
    problems: Iterable[Instance],
    *,
    guide: Ranks | None = None,
    policy: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Iterator[Outcome]:
    """`solve` for a stream of instances on `workers` threads (default: all cores); outcomes come in input order.

    Constant memory: at most a few batches are read ahead. The counters are those of `solve`, whatever the batching;
    only `random` choices depend on an instance's place in the list. Ctrl-C raises after the finished ones are yielded,
    what `solve` would raise for an instance after the outcomes before it.
    """
    return _in_order(solve_batches(enumerate(problems), guide=guide, policy=policy, workers=workers, **options))


def solve_batches(
    problems: Iterable[tuple[Tag, Instance]],
    *,
    guide: Ranks | None = None,
    policy: str | None = None,
    workers: int | None = None,
    stop: Event | None = None,
    **options: Any,
) -> Generator[list[Solved[Tag]]]:
    """`solve_many` with the batches as they come, each outcome beside its instance and the caller's tag.

    An instance that cannot be solved has an exception in place of its outcome, and the stream goes on.
    Once `stop` is set, what is finished comes within half a second, gaps and all, and the stream ends.
    """
    settings, chosen = _settings(policy, guide, options)
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


class _Shared:
    """A guide that worker threads ask one at a time, in `turn`: nobody has to write a thread-safe guide."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.turn = Lock()


def _settings(policy: str | None, guide: Ranks | None, given: dict[str, Any]) -> tuple[Options, _Shared | None]:
    options, guidance = chosen_fields(policy, given, guide is not None)
    chosen = None if guide is None else as_guide(guide)
    if chosen is None and guidance.guide is not None:
        chosen = waiting(guidance)
    if options.order == "oracle":
        if chosen is not None:
            raise ValueError("order = 'oracle' is a guide itself: give one or the other")
        chosen = Oracle()
    return options, None if chosen is None else _Shared(chosen)


def _run(
    problems: Sequence[Instance],
    options: Options,
    guide: _Shared | None,
    places: Sequence[int],
    block: int = BLOCK,
    stop: Event | None = None,
) -> list[Outcome | None]:
    """Solve a batch of instances; those that share a structure share an engine."""
    shapes: dict[Structure, list[int]] = {}
    for i, problem in enumerate(problems):
        if not isinstance(problem, Instance):
            raise TypeError(
                f"{problem!r} is not an instance to solve: parse a text with dibs.Sudoku.parse, for example"
            )
        shapes.setdefault(problem.structure, []).append(i)
    outcomes: list[Outcome | None] = [None] * len(problems)
    stopped = stop.is_set if stop else lambda: False
    for members in shapes.values():
        some = [problems[i] for i in members]
        found = _searched(some, options, guide, [places[i] for i in members], block, stopped)
        for i, outcome in zip(members, found, strict=True):
            outcomes[i] = outcome
    return outcomes


def _searched(
    problems: Sequence[Instance],
    options: Options,
    guide: _Shared | None,
    places: Sequence[int],
    block: int,
    stopped: Callable[[], bool],
) -> list[Outcome | None]:
    """Instances that share a structure, in one engine, or in two that race, or one by one with what they learn."""
    from dibs.search.engine import Engine
    from dibs.search.race import alone, race

    if guide is not None and isinstance(guide.guide, Oracle):
        return _foreseen(problems, options, places, block, stopped)
    if options.count == 1 and options.suited(problems[0].structure).strategy == "nogoods":
        from dibs.search.learner import learn

        asked, turn = (None, None) if guide is None else (guide.guide, guide.turn)
        return learn(problems, options, asked, places=places, stopped=stopped, turn=turn)
    if guide is not None and options.after is not None:
        if options.count == 1:
            return race(problems, options, guide.guide, places=places, block=block, stopped=stopped, turn=guide.turn)
        options, guide = alone(options), None  # a second search would find the same solutions again
    engine = Engine(
        problems,
        options,
        guided=guide is not None,
        static=guide is not None and guide.guide.static,
        block=block,
        places=places,
    )
    engine.run(guide.guide if guide else None, stopped, guide.turn if guide else None)
    return engine.outcomes()


def _foreseen(
    problems: Sequence[Instance],
    options: Options,
    places: Sequence[int],
    block: int,
    stopped: Callable[[], bool],
) -> list[Outcome | None]:
    """`_searched` with an oracle. Its own search has the same limits, and its time is guide time."""
    known, took = foresee(problems, options, block=block, stopped=stopped)
    guide, spent = _Shared(known), took.tolist()
    going = np.flatnonzero(known.decided).tolist()
    lost = None if stopped() else Outcome(Status.LIMIT, None, 0, 0, 0, 0, 0.0, 0)
    outcomes: list[Outcome | None] = [lost] * len(problems)
    # With a limit of seconds each has as much as the oracle left it.
    for some in [[i] for i in going] if options.seconds is not None else [going] if going else []:
        left = None if options.seconds is None else max(0.0, options.seconds - spent[some[0]])
        where = [places[i] for i in some]
        found = _searched([problems[i] for i in some], replace(options, seconds=left), guide, where, block, stopped)
        for i, outcome in zip(some, found, strict=True):
            outcomes[i] = outcome
    return [
        outcome and replace(outcome, guide_seconds=outcome.guide_seconds + seconds)
        for outcome, seconds in zip(outcomes, spent, strict=True)
    ]


def _stream(
    problems: Iterator[tuple[Tag, Instance]], options: Options, guide: _Shared | None, workers: int, stop: Event
) -> Generator[list[Solved[Tag]]]:
    pending: deque[tuple[list[tuple[Tag, Instance]], Future[tuple[list[Found | None], float]]]] = deque()
    first, size = 0, 1
    waiting = guide is None or options.after is not None  # most searches never ask
    least, most = (1, BATCH) if waiting else (GUIDED_LEAST, GUIDED_BATCH)
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
    problems: Sequence[Instance], options: Options, guide: _Shared | None, first: int, stop: Event
) -> tuple[list[Found | None], float]:
    """`_each`, and the seconds it took."""
    begin = monotonic()
    return _each(problems, options, guide, range(first, first + len(problems)), stop), monotonic() - begin


def _each(
    problems: Sequence[Instance], options: Options, guide: _Shared | None, places: range, stop: Event
) -> list[Found | None]:
    """`_run`; where it raises, each half by itself, down to the instances that raise: they have their exception."""
    try:
        return [*_run(problems, options, guide, places, BLOCK, stop)]
    except Exception as error:
        if len(problems) == 1:
            return [error]
    half = len(problems) // 2
    return [
        *_each(problems[:half], options, guide, places[:half], stop),
        *_each(problems[half:], options, guide, places[half:], stop),
    ]


def _in_order(batches: Generator[list[Solved[int]]]) -> Iterator[Outcome]:
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


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kernel_ready() -> bool:
    """Whether the kernel has been compiled, or loaded from Numba's cache; False before the first search."""
    advance = getattr(sys.modules.get("dibs.search.kernel"), "advance", None)
    return advance is not None and bool(getattr(advance, "overloads", True))
