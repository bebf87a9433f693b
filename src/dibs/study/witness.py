"""A guide under observation: what it says at the states on the way to the solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats32
from dibs.guide import Asks, DiBS
from dibs.guide.steps import denoise
from dibs.problem import InputError, Instance
from dibs.problem.structure import Structure, by_structure
from dibs.search.contract import Around
from dibs.study.judge import cells_of, order_of

BATCHES = 64  # of the guide that are judged at once: memory is bounded


@dataclass
class Path:
    """What a guide said on the way to the solution of one instance: an item for each ask there, see `COLUMNS`."""

    p: list[float] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    sure: list[float] = field(default_factory=list)


class AskedStates(NamedTuple):
    """States on the way to the solution, and what the guide said of them: n rows."""

    place: NDArray[np.int64]  # [n] of the instance
    structure: Structure
    open: Bools  # [n, L] as in `Asks`
    candidates: Bools
    selecting: bool
    found: Floats32  # [n, L] log-probabilities
    scores: Floats32  # [n, L]


class Witness(Around):
    """Passes a guide's scores on; `paths` says what it said on the way to the solution of each of `instances`.

    `path_only`: ask it on the way to the solution only, and say elsewhere that no order can help, which is so where
    there is one solution. In the guide's time nothing is done but to put such states aside.
    """

    def __init__(self, guide: DiBS, instances: Sequence[Instance], *, path_only: bool = False) -> None:
        super().__init__(guide)
        self.denoiser, self.scored = guide.denoiser, guide.scored
        self.path_only = path_only
        self._place = {id(instance): i for i, instance in enumerate(instances)}
        self._truth = solutions(instances, unique=path_only)
        self._seen: list[AskedStates] = []

    def rank(self, asks: Asks) -> Floats32:
        place = np.array([self._place[id(instance)] for instance in asks.instances])
        truth = np.stack([self._truth[i] for i in place])
        on = np.flatnonzero(truth.any(axis=1) & ~(asks.true & ~truth).any(axis=1))
        asked = asks.subset(on) if self.path_only else asks
        if not len(asked):
            return np.full(asks.open.shape, -np.inf, np.float32)
        found = denoise(self.denoiser, asked, self.passes)
        scores = self.scored(asked, found)
        if not self.path_only:
            kept = (found, scores) if len(on) == len(asks) else (found[on], scores[on])
            self._put_aside(asks.subset(on), place[on], *kept)
            return scores
        self._put_aside(asked, place[on], found, scores)
        every = np.full(asks.open.shape, -np.inf, np.float32)
        every[on] = scores
        return every

    def _put_aside(self, asks: Asks, place: NDArray[np.int64], found: Floats32, scores: Floats32) -> None:
        if len(asks):
            self._seen.append(
                AskedStates(place, asks.structure, asks.open, asks.candidates, asks.selecting, found, scores)
            )

    def paths(self) -> list[Path]:
        """One for each instance; where the guide selects, it is judged at its surest cell."""
        paths = [Path() for _ in self._truth]
        for seen in _joined(self._seen):
            truth = np.stack([self._truth[i] for i in seen.place])
            for i, *judged in zip(seen.place, *_judged(seen, truth), strict=True):
                for values, value in zip((paths[i].p, paths[i].place, paths[i].sure), judged, strict=True):
                    values.append(value)
        return paths


def _joined(every: Sequence[AskedStates]) -> Iterator[AskedStates]:
    """The same states in fewer parts: most batches have few of them."""
    for (structure, selecting), like in groupby(every, lambda seen: (seen.structure, seen.selecting)):
        parts = list(like)
        for at in range(0, len(parts), BATCHES):
            some = parts[at : at + BATCHES]
            yield AskedStates(
                place=np.concatenate([seen.place for seen in some]),
                structure=structure,
                open=np.concatenate([seen.open for seen in some]),
                candidates=np.concatenate([seen.candidates for seen in some]),
                selecting=selecting,
                found=np.concatenate([seen.found for seen in some]),
                scores=np.concatenate([seen.scores for seen in some]),
            )


def _judged(seen: AskedStates, truth: Bools) -> tuple[list[float], list[int], list[float]]:
    """The items of `Path` for each state, with the solutions `truth` [n, L]."""
    rows = np.arange(len(seen.place))
    cells = cells_of(seen.structure, seen.open, seen.found)
    sure = np.where(cells.open, np.exp(cells.best), 0).sum(axis=1) / np.maximum(cells.open.sum(axis=1), 1)
    candidates = seen.candidates
    if seen.selecting:
        there = np.zeros_like(cells.open)
        there[rows, cells.surest] = True
        candidates = seen.open & np.repeat(there, seen.open.shape[1] // there.shape[1], axis=1)
    order = order_of(seen.scores, candidates, truth)
    return np.exp(seen.found[rows, order.right]).tolist(), order.mistakes().tolist(), sure.tolist()


def solutions(instances: Sequence[Instance], *, unique: bool = False) -> list[NDArray[np.bool_]]:
    """[L] the true literals of a solution of each instance; all False where there is none.

    A formula with several solutions has no way to *the* solution: all False as well.
    """
    from dibs.search.options import Options
    from dibs.search.tree.search import TreeSearch

    found: list[NDArray[np.bool_]] = [np.zeros(0, bool)] * len(instances)
    for structure, places in by_structure(instances).items():
        several = structure.family == "cnf"
        count = 2 if unique or several else 1
        engine = TreeSearch([instances[i] for i in places], Options(tie="impact", max_solutions=count), block=64)
        engine.run()
        if unique and (engine.counters.solutions != 1).any():
            raise InputError("asked = 'path' needs instances with one solution each: elsewhere counts differ")
        for i, true, known in zip(places, engine.true(), engine.counters.solutions, strict=True):
            found[i] = true & (known == 1 or not several)
    return found
