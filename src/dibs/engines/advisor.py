"""A guide as engines see it: asked about one state, timed, and read as wishes for literals."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from dibs.guide.asks import Asks, Ranks, as_guide
from dibs.problem.structure import Instance

Bools = NDArray[np.bool_]


class Advisor:
    """The guide of one run. `asks`, `calls` and `seconds` are what it cost so far."""

    def __init__(self, guide: Ranks, instance: Instance) -> None:
        self.guide = as_guide(guide)
        self.instance = instance
        self.structure = instance.structure
        self.asks = self.calls = 0
        self.seconds = 0.0
        decision = np.repeat(np.arange(self.structure.groups), np.diff(self.structure.start)) < self.structure.decisions
        self._member = self.structure.member[decision]
        self._cell = np.repeat(
            np.arange(self.structure.decisions), np.diff(self.structure.start[: self.structure.decisions + 1])
        )
        self._free = np.ones(self.structure.literals, bool)  # literals that are decided by themselves
        self._free[self._member] = False

    def ask(self, open_: Bools, true: Bools) -> NDArray[np.float64]:
        """[literals] the guide's scores of the root; NaN is the worst score."""
        begin = perf_counter()
        asks = Asks(
            structure=self.structure,
            instances=[self.instance],
            rows=np.zeros(1, np.int64),
            open=open_[None].copy(),
            true=true[None].copy(),
            candidates=open_[None].copy(),
            depth=np.zeros(1, np.int64),
            selecting=True,
        )
        scores = asks.checked(self.guide.rank(asks))
        found = np.where(np.isnan(scores[0]), -np.inf, scores[0]).astype(np.float64)
        self.asks += 1
        self.calls += self.guide.passes
        self.seconds += perf_counter() - begin
        return found

    def wishes(self, open_: Bools, scores: NDArray[np.float64]) -> NDArray[np.int8]:
        """[literals] 1 for the first choice of each undecided cell, -1 for its others, 0 where there is no opinion."""
        wanted = np.zeros(self.structure.literals, np.int8)
        if not (open_ & (scores > -np.inf)).any():  # it gives up: no order can help
            return wanted
        free = self._free & open_
        wanted[free] = np.sign(scores[free])
        at = np.flatnonzero(open_[self._member])
        cell, literal = self._cell[at], self._member[at]
        score = scores[literal]
        best, worst = np.full(self.structure.decisions, -np.inf), np.full(self.structure.decisions, np.inf)
        np.maximum.at(best, cell, score)
        np.minimum.at(worst, cell, score)
        opinion = (best > worst)[cell]
        wanted[literal[opinion]] = -1
        firsts = np.flatnonzero(opinion & (score == best[cell]))
        _, first = np.unique(cell[firsts], return_index=True)  # equal scores: the lowest literal
        wanted[literal[firsts[first]]] = 1
        return wanted


def settle(instance: Instance) -> tuple[Bools, Bools] | None:
    """[literals] what is open and what is true once all that follows from the givens is done; None: a contradiction."""
    from dibs.search.root import roots

    [open_], [true], [consistent] = roots([instance])
    return (open_, true) if consistent else None
