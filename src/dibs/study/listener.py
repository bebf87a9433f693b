"""What a guide said at the nodes of a search that are still open at its end, without keeping all that it ever said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools
from dibs.guide.score import DiBS
from dibs.guide.steps import denoise
from dibs.search.contract import Around, Asks, Guide
from dibs.search.tree.search import TreeSearch

Bits = NDArray[np.uint8]

BATCH = 1024  # states that a denoiser is asked about again at once


class Ranking(NamedTuple):
    """An answer of the guide."""

    node: int  # which it was about: the number of the node in the order entered, from 1
    scores: NDArray[Any]  # [L]
    logs: NDArray[Any] | None  # [L] the denoiser's log-probabilities, for a guide that has one

    def score(self, candidates: Sequence[int]) -> tuple[float, ...]:
        """Of each candidate."""
        return tuple(_of(self.scores, candidates).tolist())

    def probability(self, candidates: Sequence[int]) -> tuple[float, ...] | None:
        """Of each candidate, if one of them is true; None where the guide has no denoiser, or calls all impossible."""
        if self.logs is None or not np.isfinite(most := (found := _of(self.logs, candidates)).max()):
            return None
        weights = np.exp(found - most)
        return tuple((weights / weights.sum()).tolist())


def _of(numbers: NDArray[Any], candidates: Sequence[int]) -> NDArray[np.float64]:
    """The numbers of literals; a complement has 0, as in the kernel."""
    literals = np.array(candidates)
    return np.where(literals >= 0, numbers[np.maximum(literals, 0)].astype(np.float64), 0.0)


class _Answer(NamedTuple):
    """An answer, and the state that it was about; sets of literals as packed bits."""

    number: int  # of the ask, in its search
    node: int
    depth: int
    open: Bits
    true: Bits
    candidates: Bits
    scores: NDArray[Any]


class Listener(Around):
    """Passes a guide's scores on, and remembers what it said last at each depth of each search.

    That is enough: what serves an open node was said there or above it, and nothing was asked at that depth since. (A
    static guide speaks once.)
    """

    def __init__(self, guide: Guide, engine: TreeSearch) -> None:
        super().__init__(guide)
        self.engine = engine
        self._asked = np.zeros(len(engine.instances), np.int64)
        self._answers: list[dict[int, _Answer]] = [{} for _ in engine.instances]  # by depth
        self._selecting = False

    def rank(self, asks: Asks) -> NDArray[Any]:
        scores = np.asarray(self.guide.rank(asks))
        if scores.shape != asks.open.shape:
            return scores  # the engine says what is wrong with them
        self._selecting = asks.selecting
        self._asked[asks.rows] += 1
        numbers, nodes = self._asked[asks.rows].tolist(), self.engine.nodes(asks.rows).tolist()
        sets = [np.packbits(part, axis=1) for part in (asks.open, asks.true, asks.candidates)]
        for i, (row, depth) in enumerate(zip(asks.rows.tolist(), asks.depth.tolist(), strict=True)):
            own = (part[i].copy() for part in (*sets, scores))  # a view would keep the whole batch
            self._answers[row][depth] = _Answer(numbers[i], nodes[i], depth, *own)
        return scores

    def rankings(self, asks: Sequence[tuple[int, int]]) -> list[Ranking]:
        """The answers to asks that serve open nodes, by row and number."""
        by_number = [{answer.number: answer for answer in row.values()} for row in self._answers]
        found: list[Ranking] = []
        for at in range(0, len(asks), BATCH):
            some = [(row, by_number[row][number]) for row, number in asks[at : at + BATCH]]
            logs = self._logs(some)
            for i, (_, answer) in enumerate(some):
                found.append(Ranking(answer.node, answer.scores, None if logs is None else logs[i].copy()))
        return found

    def at(self, row: int, depth: int, node: int) -> Ranking | None:
        """The answer about the node with this number, from 1, at this depth, if it is the last one there."""
        answer = self._answers[row].get(depth)
        return self.rankings([(row, answer.number)])[0] if answer is not None and answer.node == node else None

    def _logs(self, answers: Sequence[tuple[int, _Answer]]) -> NDArray[Any] | None:
        """[n, L] log-probabilities of the denoiser at the states of (row, answer); None if the guide has none."""
        if not isinstance(self.guide, DiBS):
            return None
        structure = self.engine.structure

        def unpacked(sets: list[Bits]) -> Bools:
            return np.unpackbits(np.stack(sets), axis=1, count=structure.literals).astype(bool)

        asks = Asks.of(
            structure,
            [self.engine.instances[row] for row, _ in answers],
            unpacked([one.open for _, one in answers]),
            unpacked([one.true for _, one in answers]),
            rows=np.array([row for row, _ in answers]),
            candidates=unpacked([one.candidates for _, one in answers]),
            depth=np.array([one.depth for _, one in answers]),
            selecting=self._selecting,
        )
        return denoise(self.guide.denoiser, asks, self.guide.passes)
