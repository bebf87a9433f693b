"""A row as its user would run it: from an instance to its checked answer, with everything in between on the clock.

Off the clock is what a process does once: compiling or loading the kernel, loading a guide, and the tables that dibs
makes for each shape of instances. All of it is done on throw-away instances before the first search.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import asdict, replace
from time import perf_counter

from dibs import engines
from dibs.bench.experiment import Row
from dibs.engines.advisor import Advisor, settle
from dibs.guide import Guidance
from dibs.guide.asks import Guide
from dibs.problem import InputError, Instance
from dibs.search import Outcome
from dibs.search.policy import Waiting, suited, waiting
from dibs.search.solve import solve_together

NODES, SECONDS = 2_000, 1.0  # of a throw-away search: enough to ask the guide of a policy that begins without it


class Loads:
    """What loading took, of each guide the first time. `waiting` has every guide once for all rows."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def load(self, guidance: Guidance, instance: Instance) -> tuple[Waiting, float, str | None]:
        """The guide, the seconds, and why it cannot take such instances, if so."""
        begin = perf_counter()
        guide = waiting(guidance)
        reason = guide.refusal(instance.structure)  # loads the weights
        if reason is not None:
            return guide, 0.0, reason
        name = suited(guidance.guide, instance.structure)
        return guide, self._seconds.setdefault(name, perf_counter() - begin), None


class Contender:
    """A row that is ready: its guides are loaded and its code is compiled for instances like `throwaway`."""

    def __init__(self, row: Row, throwaway: Sequence[Instance], loads: Loads) -> None:
        self.row = row
        self.guide: Guide | None = None  # of a row that names one; a policy brings its own
        self.load_seconds: dict[str, float] = {}  # by family
        for one in throwaway:
            guide = self._guide(one, loads)
            self._solve(one, 0, brief=True)
            root = settle(one)
            if guide is not None and root is not None:
                Advisor(guide, one).ask(*root)

    def _guide(self, instance: Instance, loads: Loads) -> Guide | None:
        if self.row.guidance.guide is None:
            return None
        family = instance.structure.family
        guide, seconds, reason = loads.load(self.row.guidance, instance)
        if reason is not None:
            if self.row.as_policy:
                return None
            raise InputError(f"row {self.row.name!r}: {reason}")
        self.load_seconds[family] = max(seconds, self.load_seconds.get(family, 0.0))
        if not self.row.as_policy:
            self.guide = guide
        return guide

    def solve(self, instance: Instance, place: int) -> tuple[Outcome, float]:
        """An outcome whose `seconds` and `guide_seconds` are all that passed, and how much of it was outside the
        search's own clock: writing a formula, making an engine, checking the answer. `place`: for `random` choices."""
        gc.collect()  # what earlier searches have left behind is not this one's
        begin = perf_counter()
        outcome = self._solve(instance, place)
        took = perf_counter() - begin
        whole = max(0.0, took - outcome.guide_seconds)
        return replace(outcome, seconds=whole), max(0.0, whole - outcome.seconds)

    def _solve(self, instance: Instance, place: int, brief: bool = False) -> Outcome:
        row, guide = self.row, self.guide
        if row.settings is not None:
            settings = replace(row.settings, seconds=SECONDS) if brief else row.settings
            return engines.solve(instance, row.engine, guide=guide, **asdict(settings))
        options = dict(row.said) if row.as_policy else asdict(row.options)
        if brief:
            options |= {"nodes": NODES, "seconds": SECONDS}
            options |= {"after": 0} if row.options.after is not None else {}
        policy = row.policy if row.as_policy else "plain" if guide is None and row.options.order != "oracle" else None
        return solve_together([instance], guide=guide, policy=policy, places=[place], block=1, **options)[0]
