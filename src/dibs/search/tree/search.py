"""Many suspended searches over one structure, and the guide asked for all that wait at once.

engine = TreeSearch(instances, Options(trigger="binary"), guided=True)
while asks := engine.advance():
    engine.answer(asks, guide.rank(asks))
outcomes = engine.outcomes()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs import declared
from dibs.clock import clock, never
from dibs.problem.structure import Instance, Structure
from dibs.search.contract import Asks, checked
from dibs.search.drat import Drat
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, verified
from dibs.search.slices import LONGEST, MOST, fitted
from dibs.search.tree import state
from dibs.search.tree.inspection import Inspected
from dibs.search.tree.lemmas import Lemmas
from dibs.search.tree.loop import advance
from dibs.search.tree.tables import DOMAIN, plane_bit, tables

SLICE = 500_000  # units of work before a search lets Python look at the clock and at Ctrl-C: some milliseconds
SMALL = 256  # domains of a problem for which that is so at once; larger ones begin with shorter slices
EVENTS = 4096  # room for a search's events between two looks, where they are wanted
PROVED = 1 << 15  # the same for a proof

_STATUS = {state.SAT: Status.SAT, state.UNSAT: Status.UNSAT, state.LIMIT: Status.LIMIT}


# The arrays of the last engine of each thread, for the next one: fresh memory would cost more than an easy search.
_spare = threading.local()


def _room(rows: int, sizes: dict[str, int]) -> state.Searches:
    """Arrays for `rows` searches with all counters 0, perhaps the first rows of the last engine's."""
    room: state.Searches | None
    room, known = getattr(_spare, "room", (None, sizes))
    _spare.room = None, sizes
    if room is None or known != sizes or len(room.counts) < rows:
        room = declared.room(state.Searches, {"rows": rows, **sizes})
    room.counts[:rows] = 0  # all others are written before they are read
    return room


# The compiled forms of `advance` that have been used, by structure, level and whether rules are rich: for the same ones
# the types of all its arguments are the same.
_variants: WeakKeyDictionary[Structure, dict[tuple[str, bool], Callable[..., None]]] = WeakKeyDictionary()


def _variant(arguments: tuple[Any, ...]) -> Callable[..., None]:
    """The compiled form of `advance` for arguments of these types.

    Numba's dispatcher finds it too, but takes a quarter of a millisecond for such long tuples at every call.
    """
    from numba import typeof

    overloads = getattr(advance, "overloads", None)  # None where the kernel is not compiled
    found: Callable[..., None] = advance
    return found if overloads is None else overloads[tuple(map(typeof, arguments))].entry_point


class TreeSearch(Inspected):
    """Searches of instances that share one structure.

    `block`: how many searches one call of the kernel advances. 1 times each search by itself; more saves call
    overhead, and the time of a block is shared out by the work its searches did.
    `answers`: how many solutions of each search are kept. Where more are wanted, a single search stops when they are
    there, until they are taken.
    `places`: where each instance stands in the user's list; with the seed it drives `random` choices.
    `traced`: keep the events of every search, see `trace`.
    `ask_nodes`: nodes that an ask counts for at the limit of nodes.
    `proof`: gets the lemmas of the only search, and its solutions.

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
        traced: bool = False,
        ask_nodes: int = 0,
        proof: Drat | None = None,
    ) -> None:
        if not instances:
            raise ValueError("an engine needs at least one instance")
        if proof is not None and len(instances) > 1:
            raise ValueError("a proof is about one instance")
        if len({id(i.structure) for i in instances}) > 1:
            raise ValueError("the instances of one engine must share a structure: same family, same shape")
        self.instances = instances
        self.structure = instances[0].structure
        self.options = options
        self.block = block
        self.seconds = np.zeros(len(instances))
        self.guide_seconds = np.zeros(len(instances))
        self.elsewhere = np.zeros(len(instances))  # seconds on the limit of each that went by outside
        self.calls = np.zeros(len(instances), np.int64)
        self.batches = self.asked = 0
        self.label = "tree + guide" if guided else "tree"  # how outcomes call this search
        self._tables = t = tables(self.structure, options.level)
        if options.strategy == "nogoods" or (options.strategy != "dfs" and options.max_solutions > 1):
            raise ValueError(f"strategy = {options.strategy!r}: a plan would have chosen another")
        self._several = 1 < answers < options.max_solutions and len(instances) == 1
        self._proof = proof
        self._lemmas = None if proof is None else Lemmas(proof, t)
        noted = traced or proof is not None
        rich = guided or noted or options.strategy != "dfs"
        several = guided and (options.reuse is not None or options.strategy != "dfs")  # rankings that are kept
        if rich and t.watching is None:
            self._tables = t = t._replace(watching=0)
        slots = (state.RANKINGS if several else 1) if rich else 0
        sizes = state.sizes(t, slots, answers, PROVED if proof is not None else EVENTS if traced else 0)
        self._room = _room(len(instances), sizes), sizes
        self._searches = s = state.Searches._make(array[: len(instances)] for array in self._room[0])
        row, literal = type(instances[0]).givens(instances)
        s.counts[:, state.GIVEN] = np.bincount(row, minlength=len(instances))
        start = np.cumsum(s.counts[:, state.GIVEN]) - s.counts[:, state.GIVEN]
        s.order[row, np.arange(len(row)) - start[row]] = t.address[literal]
        stream = options.seed * 1_000_003 % 2**62  # any seed will do, the counters have 63 bits
        s.counts[:, state.SEED] = stream + np.array(range(len(instances)) if places is None else places)
        s.counts[:, state.MOST] = MOST if options.max_nodes is None else min(options.max_nodes, MOST)
        self._rules = state.Rules(
            rich=1 if rich else None,
            tie=state.TIES[options.tie],
            order=state.ORDERS[options.order if options.order != "oracle" else "ascending"],
            trigger=state.TRIGGERS[options.trigger] if guided else state.TRIGGERS["never"],
            static=static,
            select=state.SELECTS[options.select],
            reuse=state.NEVER_REUSE if options.reuse is None else float(options.reuse),
            asks=MOST if options.max_asks is None else min(options.max_asks, MOST),
            ask_nodes=ask_nodes,
            strategy=state.STRATEGIES[options.strategy],
            restart_base=min(options.restart_base, LONGEST),
            wanted=min(answers if self._several else options.max_solutions, MOST),
        )
        self._events: list[list[NDArray[np.int64]]] | None = [[] for _ in instances] if traced else None
        most_given = int(s.counts[:, state.GIVEN].max())
        self._queue = np.zeros(len(t.group) + len(t.unit_low) + len(t.base) + len(t.unit) + most_given, np.uint32)
        self._keys = np.zeros(len(t.outer))
        self._bits = np.zeros(t.rows, np.uint64)
        self._spot = plane_bit(t.address, t.values) if guided else None
        self._live = np.arange(len(instances))
        self._variant = options.level, rich
        self._kernel = _variants.get(self.structure, {}).get(self._variant)  # `advance` without the dispatcher
        self._calls = 0
        domains = len(t.base) - 1
        self._slice = SLICE if domains <= SMALL else max(1, SLICE * SMALL // (16 * domains))
        self._answered = self._live  # the searches that the last answer was for
        self._handing = 0.0  # seconds that it took to put the last asks together
        self._candidates = np.zeros((0, self.structure.literals), bool)  # of the last asks
        self._waiting: tuple[Asks, NDArray[np.int64]] | None = None  # the last asks, and the searches they are of

    def __del__(self) -> None:
        if hasattr(self, "_room"):
            _spare.room = self._room

    def advance(self, stopped: Callable[[], bool] = never) -> Asks | None:
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
        if not len(self._live):
            return None
        begin = clock()
        asks = self._asks(self._live)
        self._waiting = asks, self._live
        self._handing = clock() - begin
        return asks

    def _advance(self, rows: NDArray[np.int64]) -> None:
        counts = self._searches.counts
        before = counts[rows, state.WORK]
        rest = self._rules, self._slice, self._queue, self._keys, self._bits
        arguments = self._tables, self._searches, rows, *rest
        kernel = self._kernel or advance
        begin = clock()
        kernel(*arguments)
        if self._lemmas is not None:
            self._lemmas.follow(self._searches.log[0, : counts[0, state.LOGGED]])
        took = clock() - begin
        self._slice = fitted(self._slice, took, SLICE)
        if self._kernel is None and self._calls:  # this structure is searched for longer
            self._kernel = _variants.setdefault(self.structure, {})[self._variant] = _variant(arguments)
        self._calls += 1
        if self._events is not None:
            for row in rows:
                self._events[row].append(self._searches.log[row, : counts[row, state.LOGGED]].copy())
        counts[rows, state.LOGGED] = 0
        more = self._several and counts[0, state.TOP] and counts[0, state.SOLUTIONS] < self.options.max_solutions
        if more and counts[0, state.PHASE] == state.SAT:
            counts[0, state.PHASE] = state.TRY  # it goes on when they are taken
        if len(rows) == 1:
            self.seconds[rows[0]] += took
        else:
            share = counts[rows, state.WORK] - before + 1.0
            self.seconds[rows] += took * share / share.sum()
        self._end_late(rows)

    def _end_late(self, rows: NDArray[np.int64]) -> None:
        """LIMIT for the searches that, with what their guide took, have used up their time."""
        if self.options.max_seconds is None:
            return
        counts = self._searches.counts
        used = self.used(rows) + self.elsewhere[rows]
        late = rows[(used >= self.options.max_seconds) & (counts[rows, state.PHASE] < state.SAT)]
        counts[late, state.ASKS] -= counts[late, state.PHASE] == state.WAIT  # nobody will be asked any more
        counts[late, state.PHASE] = state.LIMIT

    def allow(self, rows: NDArray[np.int64], nodes: NDArray[np.int64]) -> None:
        """New limits of nodes; a search that stands at its old one goes on. None of them may be out of time."""
        counts = self._searches.counts
        counts[rows, state.MOST] = nodes
        counts[rows[self._phase(rows) == state.LIMIT], state.PHASE] = state.ENTER
        self._live = np.flatnonzero(counts[:, state.PHASE] < state.SAT)

    def _asks(self, rows: NDArray[np.int64]) -> Asks:
        open_, true = self.literals(rows)
        top = self._searches.counts[rows, state.TOP] - 1
        selecting = self.options.guide_selects
        domain = self._searches.frame_domain[rows, top]
        there = True if selecting else self._tables.address // DOMAIN == domain[:, None]
        self._candidates = open_ & there  # a guide gets another one
        return Asks(
            structure=self.structure,
            instances=[self.instances[r] for r in rows],
            rows=rows.copy(),
            open=open_,
            true=true,
            candidates=self._candidates.copy(),
            depth=top,
            selecting=selecting,
        )

    def answer(self, asks: Asks, scores: NDArray[Any]) -> None:
        """Hand over a guide's scores, [len(asks), literals]; refuses anything of another shape or kind.

        `asks` says which ones are meant, no more: whatever a guide did to them, all searches that wait are answered.
        """
        if self._waiting is None or asks is not self._waiting[0]:
            raise ValueError("these asks were answered already")
        rows = self._answered = self._waiting[1]
        scores = checked(scores, (len(rows), self.structure.literals))
        self._waiting = None
        inner = np.where(self._tables.outer >= 0, self._tables.outer, 0)
        with np.errstate(over="ignore"):
            slot = self._searches.counts[rows, state.SLOT]
            self._searches.score[rows, slot] = np.where(self._tables.outer >= 0, scores[:, inner], 0)
        hopeless = ~(self._candidates & (scores != -np.inf)).any(axis=1)
        counts = self._searches.counts
        counts[rows, state.HOPELESS] = np.where(hopeless, counts[rows, state.TOP], 0)
        counts[rows, state.PHASE] = state.ARRANGE

    def charge(self, seconds: float, passes: int) -> None:
        rows = self._answered
        self.batches += 1
        self.asked += len(rows)
        self.calls[rows] += passes
        self.guide_seconds[rows] += (seconds + self._handing) / len(rows)  # what nobody would do without a guide
        self._end_late(rows)

    def wait(self, seconds: float) -> None:
        self.elsewhere += seconds

    def patience(self) -> float:
        if self._waiting is None or self.options.max_seconds is None:
            return inf
        rows = self._waiting[1]
        used = float((self.used(rows) + self.elsewhere[rows]).min())
        return (self.options.max_seconds - used) * len(rows)

    def outcomes(self) -> list[Outcome | None]:
        """One for each instance, None where the search is not finished. Every solution has been verified."""
        s = self._searches
        if self._proof is not None:
            self._proof.solutions = self._kept(0)
        found = np.flatnonzero(s.counts[:, state.SOLUTIONS] > 0)
        solutions = dict(zip(found.tolist(), self._decoded(found), strict=True))
        phases = s.counts[:, state.PHASE].tolist()
        figures = [state.NODES, state.BACKTRACKS, state.ASKS, state.DEPTH, state.SOLUTIONS, state.TRIES]
        costs = zip(self.seconds.tolist(), self.calls.tolist(), self.guide_seconds.tolist(), strict=True)
        rows = zip(phases, s.counts[:, figures].tolist(), costs, strict=True)
        return [
            Outcome(
                _STATUS[phase],
                next(iter(solutions.get(i, ())), None),
                nodes,
                backtracks,
                asks,
                depth,
                seconds,
                count,
                calls,
                guide,
                tries,
                self.label,
                others=tuple(solutions.get(i, ())[1:]),
            )
            if phase in _STATUS
            else None
            for i, (phase, (nodes, backtracks, asks, depth, count, tries), (seconds, calls, guide)) in enumerate(rows)
        ]

    def _decoded(self, rows: NDArray[np.int64]) -> list[list[Any]]:
        """The solutions of these searches that are kept, checked by their family's own code."""
        counts, answers = self._searches.counts, self._searches.answer.shape[1]
        kept = np.minimum(counts[rows, state.SOLUTIONS] - counts[rows, state.TAKEN], answers)
        if not kept.any():
            return [[] for _ in rows]
        many = np.repeat(rows, kept)
        end = np.cumsum(kept)
        chosen = np.sort(self._chosen(many, np.arange(len(many)) - np.repeat(end - kept, kept)), axis=1)
        true = chosen if chosen.min(initial=0) >= 0 else [row[row >= 0] for row in chosen]
        found = verified([self.instances[r] for r in many.tolist()], list(true))
        return [found[e - k : e] for e, k in zip(end.tolist(), kept.tolist(), strict=True)]

    @property
    def ready(self) -> bool:
        counts = self._searches.counts[0]
        return self._several and bool(counts[state.SOLUTIONS] > counts[state.TAKEN])

    def take(self) -> list[Any]:
        [found] = self._decoded(np.zeros(1, np.int64))
        counts = self._searches.counts[0]
        counts[state.TAKEN] = counts[state.SOLUTIONS]
        left = self.options.max_solutions - int(counts[state.SOLUTIONS])
        self._rules = self._rules._replace(wanted=min(self._searches.answer.shape[1], left))
        return found
