"""Many suspended searches over one structure, and the guide asked for all that wait at once.

engine = TreeSearch(instances, Options(trigger="binary"), guided=True)
while asks := engine.advance():
    engine.answer(asks, guide.rank(asks))
outcomes = engine.outcomes()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance, Structure
from dibs.search.contract import Asks, Searcher, checked, never
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, verified
from dibs.search.slices import LONGEST, MOST, fitted
from dibs.search.tree import state
from dibs.search.tree.loop import advance
from dibs.search.tree.tables import DOMAIN, Tables, plane_bit, tables

SLICE = 500_000  # units of work before a search lets Python look at the clock and at Ctrl-C: some milliseconds
SMALL = 256  # domains of a problem for which that is so at once; larger ones begin with shorter slices
EVENTS = 4096  # room for a search's events between two looks, where they are wanted

# The names of `state.ENTERED` and so on.
EVENT_NAMES = ("node", "try", "fail", "solution", "run")

_STATUS = {state.SAT: Status.SAT, state.UNSAT: Status.UNSAT, state.LIMIT: Status.LIMIT}


# The arrays of the last engine of each thread, for the next one: fresh memory would cost more than an easy search.
_spare = threading.local()


def _room(t: Tables, rows: int, *sizes: int) -> state.Searches:
    """Arrays for `rows` searches with all counters 0, perhaps the first rows of the last engine's.

    `sizes`: the others that `state.shapes` takes.
    """
    spare: state.Searches | None = getattr(_spare, "room", None)
    _spare.room = None
    wanted = state.shapes(t, rows, *sizes)
    if spare is None or len(spare.counts) < rows or [a.shape[1:] for a in spare] != [shape[1:] for shape in wanted]:
        spare = state.searches(t, rows, *sizes)
    spare.counts[:rows] = 0
    return spare


# The compiled forms of `advance` that have been used, by structure, level and whether rules are rich: for the same ones
# the types of all its arguments are the same.
_variants: WeakKeyDictionary[Structure, dict[tuple[str, bool], Callable[..., None]]] = WeakKeyDictionary()


_forms: set[tuple[int | None, int | None]] = (
    set()
)  # of the kernel that have been called: one for swept or watched, plain or rich


def _variant(arguments: tuple[Any, ...]) -> Callable[..., None]:
    """The compiled form of `advance` for arguments of these types.

    Numba's dispatcher finds it too, but takes a quarter of a millisecond for such long tuples at every call.
    """
    from numba import typeof

    overloads = getattr(advance, "overloads", None)  # None where the kernel is not compiled
    found: Callable[..., None] = advance
    return found if overloads is None else overloads[tuple(map(typeof, arguments))].entry_point


class Counters(NamedTuple):
    """Of all searches of an engine, [instances] each."""

    phase: NDArray[np.int64]  # state.SAT, UNSAT, LIMIT, or where it stands
    nodes: NDArray[np.int64]
    backtracks: NDArray[np.int64]
    solutions: NDArray[np.int64]


class OpenNode(NamedTuple):
    """A node whose values are being tried."""

    domain: int
    values: list[int]  # addresses, in the order they are tried
    tried: int  # so many of them have been tried, the last one leads on
    ask: int  # which of the search's asks ranked them, from 1; 0: none


class TreeSearch(Searcher):
    """Searches of instances that share one structure.

    `block`: how many searches one call of the kernel advances. 1 times each search by itself; more saves call
    overhead, and the time of a block is shared out by the work its searches did.
    `answers`: how many solutions of each search are kept.
    `places`: where each instance stands in the user's list; with the seed it drives `random` choices.
    `traced`: keep the events of every search, see `trace`.
    `ask_nodes`: nodes that an ask counts for at the limit of nodes.

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
    ) -> None:
        if not instances:
            raise ValueError("an engine needs at least one instance")
        if len({id(i.structure) for i in instances}) > 1:
            raise ValueError("the instances of one engine must share a structure: same family, same shape")
        self.instances = instances
        self.structure = instances[0].structure
        self.options = options
        self.block = block
        self.seconds = np.zeros(len(instances))
        self.guide_seconds = np.zeros(len(instances))
        self.elsewhere = np.zeros(len(instances))  # seconds that another search of the same instance has used
        self.calls = np.zeros(len(instances), np.int64)
        self.batches = self.asked = 0
        self.label = "tree + guide" if guided else "tree"  # how outcomes call this search
        self._tables = t = tables(self.structure, options.level)
        if options.strategy == "nogoods" or (options.strategy != "dfs" and options.max_solutions > 1):
            raise ValueError(f"strategy = {options.strategy!r}: a plan would have chosen another")
        rich = guided or traced or options.strategy != "dfs"
        several = guided and (options.reuse is not None or options.strategy != "dfs")  # rankings that are kept
        slots = (state.RANKINGS if several else 1) if rich else 0
        self._room = _room(t, len(instances), slots, answers, EVENTS if traced else 0)
        self._searches = s = state.Searches._make(array[: len(instances)] for array in self._room)
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
            keep=state.NEVER_KEEP if options.reuse is None else float(options.reuse),
            asks=MOST if options.max_asks is None else min(options.max_asks, MOST),
            ask_nodes=ask_nodes,
            strategy=state.STRATEGIES[options.strategy],
            unit=min(options.restart_base, LONGEST),
            wanted=min(options.max_solutions, MOST),
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
        begin = perf_counter()
        asks = self._asks(self._live)
        self._waiting = asks, self._live
        self._handing = perf_counter() - begin
        return asks

    def _advance(self, rows: NDArray[np.int64]) -> None:
        counts = self._searches.counts
        before = counts[rows, state.WORK]
        rest = self._rules, self._slice, self._queue, self._keys, self._bits
        arguments = self._tables, self._searches, rows, *rest
        kernel = self._kernel or advance
        if self._kernel is None and (form := (self._tables.watching, self._rules.rich)) not in _forms:
            advance(self._tables, self._searches, rows[:0], *rest)  # compiles the kernel, or loads it: nobody's time
            _forms.add(form)
        begin = perf_counter()
        kernel(*arguments)
        took = perf_counter() - begin
        self._slice = fitted(self._slice, took, SLICE)
        if self._kernel is None and self._calls:  # this structure is searched for longer
            self._kernel = _variants.setdefault(self.structure, {})[self._variant] = _variant(arguments)
        self._calls += 1
        if self._events is not None:
            for row in rows:
                self._events[row].append(self._searches.log[row, : counts[row, state.LOGGED]].copy())
            counts[rows, state.LOGGED] = 0
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

    def decided(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[rows] whether the search has its answer: not at a limit, not stopped."""
        return np.isin(self._phase(rows), (state.SAT, state.UNSAT))

    def nodes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        nodes: NDArray[np.int64] = self._searches.counts[rows, state.NODES]
        return nodes

    def used(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """[rows] seconds of search and guide."""
        used: NDArray[np.float64] = self.seconds[rows] + self.guide_seconds[rows]
        return used

    def _phase(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        phase: NDArray[np.int64] = self._searches.counts[rows, state.PHASE]
        return phase

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

    def literals(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """[rows, L] each: the literals that are open and those that are true in the state where a search stands."""
        t, plane = self._tables, self._searches.plane
        spot = plane_bit(t.address, t.values) if self._spot is None else self._spot
        alive = _bits(plane[rows])[:, spot]
        free = _bits(plane[rows, t.planes :])[:, t.address // DOMAIN]
        return alive & free, alive & ~free

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

    @property
    def occupancy(self) -> float:
        """States in a batch of the guide, on average, as a share of the engine's searches; 0 if it was never asked.

        Every unfinished search is in every batch, so this falls only as searches finish before others.
        """
        return self.asked / (self.batches * len(self.instances)) if self.batches else 0.0

    def trace(self, row: int) -> list[tuple[str, int]]:
        """What a traced search did so far, in order: ("node", domain), ("try", address), ("fail", 0),
        ("solution", 0), ("run", number). A domain is a decision group; an address is 64 * domain + value."""
        kinds, whats = self.events(row)
        return [(EVENT_NAMES[kind], what) for kind, what in zip(kinds.tolist(), whats.tolist(), strict=True)]

    def events(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`trace` as two arrays: kinds, which are indices of EVENT_NAMES, and what each was about."""
        assert self._events is not None, "the engine was made without traced=True"
        parts = self._events[row]
        events = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return events >> state.EVENT, events & (1 << state.EVENT) - 1

    def take_events(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`events` since the last call; they are forgotten, so that a search can be followed without keeping it."""
        found = self.events(row)
        assert self._events is not None
        self._events[row].clear()
        return found

    def open_nodes(self, row: int) -> list[OpenNode]:
        """The nodes that a search is inside of, the root first; of a search that ended with SAT, the solution path."""
        s = self._searches
        top = int(s.counts[row, state.TOP])
        ends, next_ = (array[row, :top].tolist() for array in (s.frame_end, s.frame_next))
        asks = np.zeros(top, np.int64)
        if s.frame_slot.shape[1]:
            ranked = s.frame_slot[row, :top] != state.NO_SLOT
            asks = np.where(ranked, 1 if self._rules.static else s.frame_ask[row, :top], 0)
        starts = [0, *ends][:top]
        return [
            OpenNode(domain, s.order[row, start:end].tolist(), at - start, ask)
            for domain, start, end, at, ask in zip(
                s.frame_domain[row, :top].tolist(), starts, ends, next_, asks.tolist(), strict=True
            )
        ]

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
    def counters(self) -> Counters:
        """Where the searches are, without decoding anything."""
        columns = state.PHASE, state.NODES, state.BACKTRACKS, state.SOLUTIONS
        return Counters(*(self._searches.counts[:, column].copy() for column in columns))

    def outcomes(self) -> list[Outcome | None]:
        """One for each instance, None where the search is not finished. Every solution has been verified."""
        s = self._searches
        found = np.flatnonzero(s.counts[:, state.SOLUTIONS] > 0)
        solutions: dict[int, Any] = dict(zip(found.tolist(), self._decoded(found), strict=True))
        phases = s.counts[:, state.PHASE].tolist()
        figures = [state.NODES, state.BACKTRACKS, state.ASKS, state.DEPTH, state.SOLUTIONS, state.TRIES]
        costs = zip(self.seconds.tolist(), self.calls.tolist(), self.guide_seconds.tolist(), strict=True)
        rows = zip(phases, s.counts[:, figures].tolist(), costs, strict=True)
        return [
            Outcome(
                _STATUS[phase],
                solutions.get(i),
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
            )
            if phase in _STATUS
            else None
            for i, (phase, (nodes, backtracks, asks, depth, count, tries), (seconds, calls, guide)) in enumerate(rows)
        ]

    def _decoded(self, rows: NDArray[np.int64]) -> list[Any]:
        """The solutions of these searches, checked by their family's own code."""
        if not len(rows):
            return []
        chosen = np.sort(self._chosen(rows), axis=1)
        true = chosen if chosen.min(initial=0) >= 0 else [row[row >= 0] for row in chosen]
        return verified([self.instances[r] for r in rows], list(true))


def _bits(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """[n, w] words as [n, 64 w] bits."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)
