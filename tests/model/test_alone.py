"""A network alone: the surest value again and again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs.generate import sudoku
from dibs.generate.check import solved
from dibs.model.alone import solved_alone
from dibs.model.states import eliminated, truth
from dibs.problem import Sudoku
from dibs.problem.shape import shape
from dibs.search.options import Options
from dibs.search.tree.search import TreeSearch

NINE = shape(9, (3, 3))
Bools = NDArray[np.bool_]


@pytest.fixture(scope="module")
def puzzles() -> tuple[NDArray[np.uint8], Bools, Bools]:
    """(values, open literals, solutions) of random minimal puzzles."""
    values = np.array([one.values for one in sudoku(60, box=(3, 3), minimal=True, seed=4)], np.uint8)
    return values, eliminated(NINE, values), truth(NINE, solved(NINE, values)[0])


def test_a_perfect_network_solves_all(puzzles: tuple[NDArray[np.uint8], Bools, Bools]) -> None:
    _, open_, right = puzzles
    found = solved_alone(NINE.structure, open_, right, lambda left, true: _truth_of(true, right))
    assert found.all()


def _truth_of(true: Bools, right: Bools) -> NDArray[np.float32]:
    """The solution of the puzzle whose assigned values these are."""
    agrees = (true[:, None, :] <= right[None]).all(axis=2)
    found: NDArray[np.float32] = right[agrees.argmax(axis=1)].astype(np.float32)
    return found


def test_as_one_puzzle_after_the_other(puzzles: tuple[NDArray[np.uint8], Bools, Bools]) -> None:
    """Any fixed preference for literals: the search's own propagation at level hidden, and a new puzzle each time."""
    values, open_, right = puzzles
    preference = np.random.default_rng(3).permutation(729).astype(np.float32)
    alone = solved_alone(NINE.structure, open_, right, lambda left, true: np.where(left, preference, -np.inf))
    assert 0 < alone.sum() < len(alone)
    for grid, solution, found in zip(values[:30], right, alone, strict=False):
        now, wrong = grid.copy(), False
        while not wrong and (
            asks := TreeSearch([Sudoku._of(NINE, now)], Options(level="hidden"), guided=True).advance()
        ):
            first = int(np.where(asks.open[0], preference, -np.inf).argmax())
            wrong = not solution[first]
            now[first // 9] = first % 9 + 1
        assert found == (not wrong)
