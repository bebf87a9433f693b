"""Dig a grid larger than 9x9: which clues may go, asked of one search that keeps what it learns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dibs.clock import never
from dibs.generate.check import RUN, still_unique
from dibs.problem.shape import Shape
from dibs.problem.sudoku import Sudoku
from dibs.search.options import Options
from dibs.search.outcome import Status, WrongSolution

EASY = 100  # nodes of a question to the search that is kept; a harder one is a search of its own
TOGETHER = 16  # clues that have to stay, and are put first at once: all are assumed anew then


class Digging:
    """A full grid, and its clues in the order in which they will be asked about: what comes last is assumed first."""

    def __init__(self, of: Shape, solution: NDArray[np.uint8], order: Sequence[int], nodes: int) -> None:
        from dibs.search.nogoods.incremental import Incremental  # Numba comes with it

        self.values = solution.copy()  # the puzzle
        self._of, self._solution, self._nodes = of, solution, nodes
        self._empty = Sudoku._of(of, np.zeros(of.cells, np.uint8))
        literals: list[int] = (np.arange(of.cells) * of.size + solution - 1).tolist()
        self._literal = literals
        self._options = Options(strategy="nogoods", restart_base=RUN, max_nodes=min(EASY, nodes))
        self._search = Incremental(self._empty, self._options)
        self._search.expect(literals)
        others = sorted(set(range(of.cells)).difference(order))
        self._assumed = [literals[cell] for cell in [*others, *reversed(order)]]
        self._stay = 0  # so many of these, the last ones, turned out to be needed

    def without(self, cells: Sequence[int]) -> int:
        """Take clues out that were not asked about before, if the puzzle stays unique.

        Returns:
            1: it does, and they are gone. 0: it does not; -1: so many nodes of the nogood search do not tell.
        """
        for cell in cells:
            self._assumed.remove(self._literal[cell])
        self.values[cells] = 0
        answer = 1
        for cell in cells:
            found = self._one(cell)
            answer = found if found == 0 else min(answer, found)
            if answer == 0:
                break
        if answer != 1:
            self.values[cells] = self._solution[cells]
            self._assumed += [self._literal[cell] for cell in cells]
            self._stay += len(cells)
            if self._stay >= TOGETHER:
                self._assumed = self._assumed[-self._stay :] + self._assumed[: -self._stay]
                self._stay = 0
        return answer

    def _one(self, cell: int) -> int:
        """Whether all solutions of the puzzle as it is have the same value in a cell."""
        search = self._search
        search.begin([], [*self._assumed, ~self._literal[cell]], self._options)
        if search.outcome() is None:
            search.advance(never)
        outcome = search.outcome()
        assert outcome is not None
        if outcome.status is Status.LIMIT:
            return still_unique(self._of, self.values, self._solution, [cell], self._nodes)
        if outcome.status is Status.UNSAT:
            return 1
        found = self._empty._solution_array(outcome.solution)
        if found[cell] == self._solution[cell] or (found != self.values)[self.values > 0].any():
            raise WrongSolution(f"{self._empty!r}: not a second solution of the puzzle")
        return 0
