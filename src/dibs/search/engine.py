"""Many suspended searches over one structure, and the guide asked for all that wait at once.

engine = Engine(instances, Options(trigger="binary"), guided=True)
while asks := engine.advance():
    engine.answer(asks, guide.rank(asks))
outcomes = engine.outcomes()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.asks import Asks, Guide
from dibs.problem.structure import Instance
from dibs.search import state
from dibs.search.kernel import advance
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, WrongSolution
from dibs.search.tables import DOMAIN, Tables, plane_bit, tables

SLICE = 500_000  # units of work before a search lets Python look at the clock and at Ctrl-C: some milliseconds

MOST = 2**62  # no search gets that far: the largest number that the kernel is told

_STATUS = {state.SAT: Status.SAT, state.UNSAT: Status.UNSAT, state.LIMIT: Status.LIMIT}


# The arrays of the last engine of each thread, for the next one: fresh memory would cost more than an easy search.
_spare = threading.local()


def _room(t: Tables, rows: int, scored: bool, answers: int) -> state.Searches:
    """Arrays for `rows` searches with all counters 0, perhaps the first rows of the last engine's."""
    spare: state.Searches | None = getattr(_spare, "room", None)
    _spare.room = None
    wanted = state.shapes(t, rows, scored, answers)
    if spare is None or len(spare.counts) < rows or [a.shape[1:] for a in spare] != [shape[1:] for shape in wanted]:
        spare = state.searches(t, rows, scored, answers)
    spare.counts[:rows] = 0
    return spare


class Engine:
    """Searches of instances that share one structure.

    `block`: how many searches one call of the kernel advances. 1 times each search by itself; more saves call
    overhead, and the time of a block is shared out by the work its searches did.
    `answers`: how many solutions of each search are kept.
    `places`: where each instance stands in the user's list; with the seed it drives `random` choices.

    `batches` counts the guide's batches and `asked` the states in them; see `occupancy`.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        options: Options,
        *,
        guided: bool = False,
        static: bool = False,
        block: int = 1,
        answers: int = 1,
        places: Sequence[int] | None = None,
    ) -> None:
        if not instances:
            raise ValueError("an engine needs at least one instance")
        if len({id(i.structure) for i in instances}) > 1:
            raise ValueError("the instances of one engine must share a structure: same family, same shape")
        self.instances = instances
        self.options = options
        self.block = block
        self.seconds = np.zeros(len(instances))
        self.guide_seconds = np.zeros(len(instances))
        self.calls = np.zeros(len(instances), np.int64)
        self.batches = self.asked = 0
        self.structure = instances[0].structure
        self._tables = t = tables(self.structure, options.level)
        self._room = _room(t, len(instances), guided, answers)
        self._searches = s = state.Searches._make(array[: len(instances)] for array in self._room)
        row, literal = type(instances[0]).givens(instances)
        s.counts[:, state.GIVEN] = np.bincount(row, minlength=len(instances))
        start = np.cumsum(s.counts[:, state.GIVEN]) - s.counts[:, state.GIVEN]
        s.order[row, np.arange(len(row)) - start[row]] = t.address[literal]
        stream = options.seed * 1_000_003 % 2**62  # any seed will do, the counters have 63 bits
        s.counts[:, state.SEED] = stream + np.array(range(len(instances)) if places is None else places)
        self._rules = state.Rules(
            tie=state.TIES[options.tie],
            order=state.ORDERS[options.order if options.order != "oracle" else "ascending"],
            trigger=state.TRIGGERS[options.trigger] if guided else state.TRIGGERS["never"],
            keep=int(static),
            nodes=MOST if options.nodes is None else min(options.nodes, MOST),
            wanted=min(options.count, MOST),
        )
        most_given = int(s.counts[:, state.GIVEN].max())
        self._queue = np.zeros(len(t.group) + len(t.unit_low) + len(t.base) + len(t.unit) + most_given, np.uint32)
        self._keys = np.zeros(len(t.outer))
        self._spot = plane_bit(t.address, t.values) if guided else None
        self._live = np.arange(len(instances))

    def __del__(self) -> None:
        if hasattr(self, "_room"):
            _spare.room = self._room

    def advance(self, stopped: Callable[[], bool] = lambda: False) -> Asks | None:
        """Run every search until it is finished or waits for a ranking; the waiting ones, or None when all are done.

        Once `stopped()` is true it returns None early; unfinished searches can be taken up again.
        """
        running = self._live[self._phase(self._live) != state.WAIT]
        while len(running):
            for i in range(0, len(running), self.block):
                if stopped():
                    return None
                self._advance(running[i : i + self.block])
            self._live = self._live[self._phase(self._live) < state.SAT]
            running = self._live[self._phase(self._live) != state.WAIT]
        return self._asks(self._live) if len(self._live) else None

    def _advance(self, rows: NDArray[np.int64]) -> None:
        counts = self._searches.counts
        before = counts[rows, state.WORK]
        begin = perf_counter()
        advance(self._tables, self._searches, rows, self._rules, SLICE, self._queue, self._keys)
        took = perf_counter() - begin
        share = counts[rows, state.WORK] - before + 1.0
        self.seconds[rows] += took * share / share.sum()
        self._end_late(rows)

    def _end_late(self, rows: NDArray[np.int64]) -> None:
        """LIMIT for the searches that, with what their guide took, have used up their time."""
        if self.options.seconds is None:
            return
        counts = self._searches.counts
        used = self.seconds[rows] + self.guide_seconds[rows]
        late = rows[(used >= self.options.seconds) & (counts[rows, state.PHASE] < state.SAT)]
        counts[late, state.ASKS] -= counts[late, state.PHASE] == state.WAIT  # nobody will be asked any more
        counts[late, state.PHASE] = state.LIMIT

    def _phase(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        phase: NDArray[np.int64] = self._searches.counts[rows, state.PHASE]
        return phase

    def _asks(self, rows: NDArray[np.int64]) -> Asks:
        t, s = self._tables, self._searches
        domain = t.address // DOMAIN
        literals = _bits(s.plane[rows])[:, self._spot]
        free = _bits(s.plane[rows, t.planes :])[:, domain]
        top = s.counts[rows, state.TOP] - 1
        return Asks(
            structure=self.structure,
            instances=[self.instances[r] for r in rows],
            rows=rows,
            open=literals & free,
            true=literals & ~free,
            candidates=literals & (domain == s.frame_domain[rows, top][:, None]),
            depth=top,
        )

    def answer(self, asks: Asks, scores: NDArray[Any]) -> None:
        """Hand over a guide's scores, [len(asks), literals]; refuses anything of another shape or kind."""
        scores = np.asarray(scores)
        wanted = (len(asks), self.structure.literals)
        if scores.shape != wanted or scores.dtype.kind not in "fiub":
            raise ValueError(
                f"the guide returned {scores.dtype} of shape {scores.shape}; "
                f"asked were real numbers of shape {wanted}: a score for each literal of each state"
            )
        if (self._phase(asks.rows) != state.WAIT).any():
            raise ValueError("these asks were answered already")
        inner = np.where(self._tables.outer >= 0, self._tables.outer, 0)
        with np.errstate(over="ignore"):
            self._searches.score[asks.rows] = np.where(self._tables.outer >= 0, scores[:, inner], 0)
        self._searches.counts[asks.rows, state.RANKED] = 1
        self._searches.counts[asks.rows, state.PHASE] = state.ARRANGE

    def run(
        self,
        guide: Guide | None = None,
        stopped: Callable[[], bool] = lambda: False,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Advance and answer until every search is finished, or `stopped()`.

        `turn` is held while the guide is asked, so that threads can share one; waiting for it is nobody's time.
        """
        while asks := self.advance(stopped):
            if guide is None:
                raise ValueError("the searches wait for a ranking, but there is no guide")
            with turn or nullcontext():
                begin = perf_counter()
                scores = guide.rank(asks)
                took = perf_counter() - begin
            self.answer(asks, scores)
            self.batches += 1
            self.asked += len(asks)
            self.calls[asks.rows] += int(getattr(guide, "passes", 0))
            self.guide_seconds[asks.rows] += took / len(asks)
            self._end_late(asks.rows)

    @property
    def occupancy(self) -> float:
        """States in a batch of the guide, on average, as a share of the engine's searches; 0 if it was never asked.

        Every unfinished search is in every batch, so this falls only as searches finish before others.
        """
        return self.asked / (self.batches * len(self.instances)) if self.batches else 0.0

    def true(self) -> NDArray[np.bool_]:
        """[instances, literals] the true literals of each first solution; all False where there is none."""
        true = np.zeros((len(self.instances), self.structure.literals + 1), bool)
        found = np.flatnonzero(self._searches.counts[:, state.SOLUTIONS] > 0)
        true[found[:, None], self._chosen(found)] = True  # complements, numbered -1, go to the extra column
        return true[:, :-1]

    def _chosen(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """[rows, domains] the true literal of each domain in the first solution, -1 for a complement."""
        chosen: NDArray[np.int64] = self._tables.outer[self._tables.base[:-1] + self._searches.answer[rows, 0]]
        return chosen

    def choices(self, row: int) -> NDArray[np.uint8]:
        """[solutions kept, domains] the member that each domain takes, from 0 (in a grid: cell by cell, value - 1)."""
        return self._searches.answer[row, : self._searches.counts[row, state.SOLUTIONS]].copy()

    @property
    def counters(self) -> NDArray[np.int64]:
        """[instances, 4] status (kernel phase), nodes, backtracks and solutions, without decoding anything."""
        columns = [state.PHASE, state.NODES, state.BACKTRACKS, state.SOLUTIONS]
        wanted: NDArray[np.int64] = self._searches.counts[:, columns]
        return wanted

    def outcomes(self) -> list[Outcome | None]:
        """One for each instance, None where the search is not finished. Every solution has been verified."""
        s = self._searches
        found = np.flatnonzero(s.counts[:, state.SOLUTIONS] > 0)
        solutions: dict[int, Any] = dict(zip(found.tolist(), self._decoded(found), strict=True))
        phases = s.counts[:, state.PHASE].tolist()
        figures = [state.NODES, state.BACKTRACKS, state.ASKS, state.DEPTH, state.SOLUTIONS]
        costs = zip(self.seconds.tolist(), self.calls.tolist(), self.guide_seconds.tolist(), strict=True)
        rows = zip(phases, s.counts[:, figures].tolist(), costs, strict=True)
        return [
            Outcome(_STATUS[phase], solutions.get(i), nodes, backtracks, asks, depth, seconds, count, calls, guide)
            if phase in _STATUS
            else None
            for i, (phase, (nodes, backtracks, asks, depth, count), (seconds, calls, guide)) in enumerate(rows)
        ]

    def _decoded(self, rows: NDArray[np.int64]) -> list[Any]:
        """The solutions of these searches, checked by their family's own code."""
        if not len(rows):
            return []
        instances = [self.instances[r] for r in rows]
        family = type(instances[0])
        chosen = np.sort(self._chosen(rows), axis=1)
        true = chosen if chosen.min(initial=0) >= 0 else [row[row >= 0] for row in chosen]
        solutions: list[Any] = family.solutions(instances, list(true))
        for instance, wrong in zip(instances, family.violations(instances, solutions), strict=True):
            if wrong:
                raise WrongSolution(f"{instance!r}: {wrong}")
        return solutions


def _bits(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """[n, w] words as [n, 64 w] bits."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)
