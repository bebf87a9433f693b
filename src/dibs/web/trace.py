"""A search as a stream of nodes: followed while it runs, and never kept as a whole."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.bench.experiment import Row
from dibs.problem.structure import Instance
from dibs.search.contract import Around, Asks, Guide
from dibs.search.options import Options
from dibs.search.oracle import KnownSolutions, foresee
from dibs.search.outcome import Outcome, Status
from dibs.search.race import race
from dibs.search.tree import state
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.tables import DOMAIN
from dibs.web import limits
from dibs.web.scheduling import Cancelled, Job


class Node(NamedTuple):
    """An open node."""

    number: int  # among all nodes of the search, in the order entered
    domain: int
    value: int  # index of the value that led to it, in its parent's domain; -1 for a root


class Nodes:
    """Nodes that have been entered and not been handed over: a column for each thing that is known of them."""

    COLUMNS = ("parent", "depth", "domain", "value", "asked", "run")

    def __init__(self) -> None:
        self.first = 0
        self.columns: dict[str, list[int]] = {name: [] for name in self.COLUMNS}

    def __len__(self) -> int:
        return len(self.columns["parent"])

    @property
    def end(self) -> int:
        """The number of the next node."""
        return self.first + len(self)

    def add(self, *values: int) -> None:
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)

    def take(self, most: int) -> dict[str, Any]:
        """The first of them, at most so many."""
        found = {name: column[:most] for name, column in self.columns.items()}
        self.columns = {name: column[most:] for name, column in self.columns.items()}
        first, self.first = self.first, self.first + len(found["parent"])
        return {"first": first, **found}


class Trace:
    """One engine with one search, and the nodes that it stands in."""

    def __init__(self, engine: TreeSearch, run: int) -> None:
        self.engine = engine
        self.run = run  # the number of its first run, from 0
        self.path: list[Node] = []
        self.entered = 0
        self.asked: set[int] = set()  # which of its nodes were asked about, of those not yet seen here
        self.runs = 0
        self._before = state.BEGUN, 0  # the last event

    def take(self, nodes: Nodes, each: Callable[[int, int], None] | None = None) -> None:
        """Put what happened since the last call into `nodes`. `each(kind, what)` hears every event, after it."""
        kinds, whats = self.engine.take_events(0)
        if not len(kinds):
            return
        before = np.concatenate([[self._before[0]], kinds[:-1]])
        about = np.concatenate([[self._before[1]], whats[:-1]])
        self._before = int(kinds[-1]), int(whats[-1])
        if each is None:  # a value that fails at once changes no path
            some = (
                (kinds == state.ENTERED) | (kinds == state.BEGUN) | ((kinds == state.FAILED) & (before != state.TRIED))
            )
            kinds, whats, before, about = (array[some] for array in (kinds, whats, before, about))
        rows = zip(kinds.tolist(), whats.tolist(), before.tolist(), about.tolist(), strict=True)
        for kind, what, last, tried in rows:
            if kind == state.ENTERED:
                above = self.path[-1].number if self.path else -1
                value = tried % DOMAIN if last == state.TRIED else -1
                asked = int(self.entered in self.asked)
                self.asked.discard(self.entered)
                number = nodes.end
                nodes.add(above, len(self.path), what, value, asked, self.run + self.runs - 1)
                self.path.append(Node(number, what, value))
                self.entered += 1
            elif kind == state.FAILED and last != state.TRIED:
                self.path.pop()
            elif kind == state.BEGUN:
                self.path.clear()
                self.runs += 1
            if each is not None:
                each(kind, what)


class Watched(Around):
    """A guide that notes at which nodes it was asked."""

    def __init__(self, guide: Guide) -> None:
        super().__init__(guide)
        self.trace: Trace | None = None  # the one that asks

    def rank(self, asks: Asks) -> NDArray[Any]:
        if self.trace is not None:
            self.trace.asked.add(int(self.trace.engine.nodes(asks.rows)[0]) - 1)
        return self.guide.rank(asks)


def foreseen(instance: Instance, options: Options, job: Job) -> tuple[KnownSolutions | None, float]:
    """The oracle of an instance, found within the limits of its search, and the seconds that it took.

    None if that was not enough. An instance without a solution has an oracle that knows nothing.
    """
    known, [seconds] = foresee([instance], options, stopped=job.stopped)
    if job.cancelled:
        raise Cancelled
    return (known if known.decided[0] else None), float(seconds)


class TracedSearch:
    """A search of one instance that is run once, on whatever calls `run`.

    `put(name, fields)` gets the events; `asking` is held while the guide is asked.
    """

    def __init__(
        self,
        instance: Instance,
        row: Row,
        guide: Guide | None,
        job: Job,
        asking: Any,
        put: Callable[[str, dict[str, Any]], None] = lambda name, fields: None,
    ) -> None:
        self.instance = instance
        self.row = row
        self.job = job
        self.asking = asking
        self.guide = None if guide is None else Watched(guide)
        self.put = put
        self.traces: list[Trace] = []
        self.nodes = Nodes()
        self._beat = 0.0
        self._oracle_seconds = 0.0
        job.each = self.each

    def run(self) -> Outcome:
        """The outcome; raises Cancelled if it was cancelled."""
        options, guide = self.row.options, self.guide
        self._beat = monotonic()
        if options.order == "oracle":
            known, self._oracle_seconds = foreseen(self.instance, options, self.job)
            if known is None:
                self.flush()
                return Outcome(Status.LIMIT, guide_seconds=self._oracle_seconds)
            guide = self.guide = Watched(known)
        if guide is not None and options.guide_after is not None:
            outcome = race(
                [self.instance],
                options,
                guide,
                places=[0],
                block=1,
                stopped=self.job.stopped,
                turn=self.asking,
                make=self.make,
            )[0]
        else:
            static = guide is not None and guide.static
            engine = self.make([self.instance], options, guided=guide is not None, static=static)
            engine.guide_seconds[0] = self._oracle_seconds
            engine.run(guide, self.job.stopped, self.asking)
            outcome = engine.outcomes()[0]
        if outcome is None:
            raise Cancelled
        self.flush()
        return outcome

    def make(self, *about: Any, **settings: Any) -> TreeSearch:
        """An engine that is followed."""
        engine = TreeSearch(*about, **settings, traced=True)
        trace = Trace(engine, len(self.traces))  # of two searches the first, a plain one, has one run
        if settings.get("guided") and self.guide is not None:
            self.guide.trace = trace
        self.traces.append(trace)
        return engine

    def each(self) -> None:
        """Between two steps: what is new goes out in whole batches, or after a while."""
        for trace in self.traces:
            trace.take(self.nodes)
        if len(self.nodes) >= limits.BATCH or monotonic() - self._beat >= limits.BEAT:
            self.flush()

    def flush(self) -> None:
        for trace in self.traces:
            trace.take(self.nodes)
        while len(self.nodes):
            self.put("nodes", self.nodes.take(limits.BATCH))
        self.put("counters", self.counters())
        self._beat = monotonic()

    def counters(self) -> dict[str, Any]:
        """What has been counted so far, by all engines together."""
        engines = [trace.engine for trace in self.traces]
        return {
            "nodes": sum(int(engine.counters.nodes[0]) for engine in engines),
            "backtracks": sum(int(engine.counters.backtracks[0]) for engine in engines),
            "asks": sum(engine.asked for engine in engines),
            "seconds": round(sum(float(engine.seconds[0]) for engine in engines), 6),
            "guide_seconds": round(sum(float(engine.guide_seconds[0]) for engine in engines), 6),
        }

    def path(self) -> list[int]:
        """The nodes on the way to the solution, the root first; none if there is no solution."""
        for trace in self.traces:
            if trace.engine.counters.phase[0] == state.SAT:
                return [node.number for node in trace.path]
        return []
