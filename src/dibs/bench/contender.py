"""A row as its user would run it: from an instance to its checked answer, with everything in between on the clock.

Off the clock is what a process does once: compiling or loading the kernel, loading a guide, and the tables that dibs
makes for each shape of instances. All of it is done on throw-away instances before the first search.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import Any, NamedTuple

from dibs.bench.experiment import Row
from dibs.guide.lazy import LazyGuide, lazy_guide
from dibs.problem import InputError, Instance
from dibs.search.contract import Asks, Guide, Ranks, as_guide
from dibs.search.guidance import Guidance, suited_name
from dibs.search.outcome import Outcome
from dibs.search.root import roots
from dibs.search.solver import Solver
from dibs.solving import ready

NODES, SECONDS = 2_000, 1.0  # of a throw-away search: enough to ask the guide of a policy that begins without it


class Timed(NamedTuple):
    """An outcome whose `seconds` and `guide_seconds` are all that passed, guide included."""

    outcome: Outcome
    around: float  # seconds of it outside the search's own clock: writing a formula, making an engine, checking
    cpu: float  # CPU seconds of all of it, on all threads and in processes that were started for it


def cpu_seconds() -> float:
    """What this process has used so far, and those of its children that have ended, such as Kissat's."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


class Loads:
    """What loading took, of each guide the first time. `lazy_guide` has every guide once for all rows."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def load(self, guidance: Guidance, instance: Instance) -> tuple[LazyGuide, float, str | None]:
        """The guide, the seconds, and why it cannot take such instances, if so."""
        assert guidance.guide is not None
        begin = perf_counter()
        guide = lazy_guide(guidance)
        reason = guide.refusal(instance.structure)  # loads the weights
        if reason is not None:
            return guide, 0.0, reason
        name, _ = suited_name(guidance.guide, instance.structure)
        return guide, self._seconds.setdefault(str(name), perf_counter() - begin), None


class Contender:
    """A row that is ready: its guides are loaded and its code is compiled for instances like `throwaway`.

    `own`: a guide that is an object, where the row's request says that there is one.
    """

    def __init__(self, row: Row, throwaway: Sequence[Instance], loads: Loads, own: Ranks | None = None) -> None:
        assert row.request is not None
        self.row, self._own = row, own
        self.load_seconds: dict[str, float] = {}  # by family
        self.solver = ready(row.request, own)
        for one in throwaway:
            guide = self._guide(one, loads)
            self._brief(one)
            root = roots([one])
            if guide is not None and root.consistent[0] and root.open.any():
                guide.rank(Asks.of(one.structure, [one], root.open, root.true))

    def _guide(self, instance: Instance, loads: Loads) -> Guide | None:
        if self._own is not None:
            return as_guide(self._own)
        if self.row.guidance.guide is None:
            return None
        family = instance.structure.family
        guide, seconds, reason = loads.load(self.row.guidance, instance)
        if reason is not None:
            if self.row.policy is not None:
                return None
            raise InputError(f"row {self.row.name!r}: {reason}")
        self.load_seconds[family] = max(seconds, self.load_seconds.get(family, 0.0))
        return guide

    def _brief(self, instance: Instance) -> None:
        """A throw-away search: with its guide from the start, and not for long."""
        plan = self.solver.plan(instance)
        after = None if plan.options.guide_after is None else 0
        nodes: dict[str, Any] = {"max_nodes": NODES} if plan.search in ("tree", "nogoods") else {}
        short = replace(plan, options=replace(plan.options, max_seconds=SECONDS, guide_after=after, **nodes))
        Solver(lambda structure: short, self.solver.guide).run([instance], block=1)

    def solve(self, instance: Instance, place: int) -> Timed:
        """One instance, everything on the clock. `place`: for `random` choices."""
        gc.collect()  # what earlier searches have left behind is not this one's
        begin, used = perf_counter(), cpu_seconds()
        [outcome] = self.solver.run([instance], [place], block=1)
        assert outcome is not None
        took, cpu = perf_counter() - begin, cpu_seconds() - used
        whole = max(0.0, took - outcome.guide_seconds)
        return Timed(replace(outcome, seconds=whole), max(0.0, whole - outcome.seconds), cpu)
