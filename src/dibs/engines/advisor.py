"""A guide as engines see it: asked about one state at a time, timed, and read as probabilities."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.guide.asks import Asks, Guide
from dibs.problem.structure import Instance, Need, Structure

HUGE = 1e30  # infinite scores count as this much, so that differences are numbers

Bools = NDArray[np.bool_]


class Choice(NamedTuple):
    """What a guide would decide: a literal, true or false, and how probable it is."""

    literal: int
    value: bool
    share: float


class Advisor:
    """The guide of one run. `asks`, `calls` and `seconds` are what it cost so far."""

    def __init__(self, guide: Guide, instance: Instance) -> None:
        if not callable(getattr(guide, "rank", None)):
            raise TypeError(f"{type(guide).__name__} is not a guide: it has no method rank(asks)")
        self.guide = guide
        self.instance = instance
        self.structure = instance.structure
        self.static = bool(getattr(guide, "static", False))
        self.asks = self.calls = 0
        self.seconds = 0.0
        decision = np.repeat(np.arange(self.structure.groups), np.diff(self.structure.start)) < self.structure.decisions
        self._member = self.structure.member[decision]
        self._cell = np.repeat(
            np.arange(self.structure.decisions), np.diff(self.structure.start[: self.structure.decisions + 1])
        )
        self._free = np.ones(self.structure.literals, bool)  # literals that are decided by themselves
        self._free[self._member] = False

    def ask(self, open_: Bools, true: Bools, depth: int) -> NDArray[np.float64]:
        """[literals] the guide's scores of a state, as finite numbers or minus infinity; NaN is the worst score."""
        begin = perf_counter()
        asks = Asks(
            structure=self.structure,
            instances=[self.instance],
            rows=np.zeros(1, np.int64),
            open=open_[None],
            true=true[None],
            candidates=open_[None].copy(),
            depth=np.array([depth]),
            selecting=True,
        )
        scores = asks.checked(self.guide.rank(asks))
        found = np.where(np.isnan(scores[0]), -np.inf, np.minimum(scores[0], HUGE)).astype(np.float64)
        self.asks += 1
        self.calls += int(getattr(self.guide, "passes", 0))
        self.seconds += perf_counter() - begin
        return found

    def wishes(self, open_: Bools, scores: NDArray[np.float64]) -> NDArray[np.int8]:
        """[literals] 1 for the first choice of each undecided cell, -1 for its others, 0 where there is no opinion."""
        if gives_up(open_, scores):
            return np.zeros(self.structure.literals, np.int8)
        wanted = np.where(self._free & open_, np.sign(scores), 0).astype(np.int8)
        at, share = self._shares(open_, scores)
        cell, literal = self._cell[at], self._member[at]
        most, least = np.zeros(self.structure.decisions), np.ones(self.structure.decisions)
        np.maximum.at(most, cell, share)
        np.minimum.at(least, cell, share)
        opinion = most > least
        wanted[literal[opinion[cell]]] = -1
        firsts = np.flatnonzero(opinion[cell] & (share == most[cell]))
        _, first = np.unique(cell[firsts], return_index=True)  # equal scores: the lowest literal
        wanted[literal[firsts[first]]] = 1
        return wanted

    def surest(self, open_: Bools, scores: NDArray[np.float64]) -> Choice | None:
        """The most probable choice, None where the guide gives up or nothing is open."""
        if gives_up(open_, scores):
            return None
        best = Choice(-1, True, 0.0)
        at, share = self._shares(open_, scores)
        if len(at):
            top = int(share.argmax())
            best = Choice(int(self._member[at[top]]), True, float(share[top]))
        free = np.flatnonzero(self._free & open_)
        if len(free):
            # A literal that is decided by itself has a complement of score 0.
            strength = np.nan_to_num(np.abs(scores[free]), posinf=HUGE)
            top = int(strength.argmax())
            share_of = float(1 / (1 + np.exp(-strength[top])))
            if share_of > best.share:
                best = Choice(int(free[top]), bool(scores[free[top]] > 0), share_of)
        return best

    def _shares(self, open_: Bools, scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(places, shares) of the open literals of the cells: softmax of their scores in their cell."""
        at = np.flatnonzero(open_[self._member])
        cell, score = self._cell[at], np.maximum(scores[self._member[at]], -HUGE)
        top = np.full(self.structure.decisions, -np.inf)
        np.maximum.at(top, cell, score)
        weight = np.exp(score - top[cell])
        return at, weight / np.bincount(cell, weight, self.structure.decisions)[cell]


def gives_up(open_: Bools, scores: NDArray[np.float64]) -> bool:
    """Minus infinity for every candidate, or no candidate: no order can help."""
    return not (open_ & (scores > -np.inf)).any()


def settle(structure: Structure, given: NDArray[np.int64]) -> tuple[Bools, Bools] | None:
    """[literals] what is open and what is true once all that follows from the givens is done; None: a contradiction."""
    group = np.repeat(np.arange(structure.groups), np.diff(structure.start))
    member, exclusive = structure.member, structure.exclusive
    true = np.zeros(structure.literals, bool)
    true[given] = True
    open_ = ~true
    while True:
        hits = np.bincount(group, true[member], structure.groups)
        killed = member[open_[member] & (exclusive & (hits > 0))[group]]
        open_[killed] = False
        left = np.bincount(group, open_[member], structure.groups)
        lacking = (structure.need > Need.NONE) & (hits == 0)
        if (exclusive & (hits > 1)).any() or (lacking & (left == 0)).any():
            return None
        forced = member[open_[member] & (lacking & (left == 1))[group]]
        if not len(killed) and not len(forced):
            return open_, true
        true[forced] = True
        open_[forced] = False
