"""The checkers of solutions, one at a time and in batches: nothing that is wrong gets past them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dibs import CNF, Latin, Problem, Sudoku
from dibs.problem import batch
from dibs.problem.shape import shape

SHAPES = [(4, (2, 2)), (6, (2, 3)), (9, (3, 3)), (16, (4, 4)), (5, None), (12, None), (13, None)]


def pattern(size: int, box: tuple[int, int] | None) -> np.ndarray:
    """[size, size] a solved grid."""
    high, wide = box or (1, size)
    rows, columns = np.indices((size, size))
    return ((rows % high) * wide + rows // high + columns) % size + 1


def instance(values: np.ndarray, box: tuple[int, int] | None) -> Sudoku | Latin:
    flat = values.astype(np.uint8).ravel()
    return Sudoku(flat, box) if box else Latin(flat)


@pytest.mark.parametrize(("size", "box"), SHAPES)
def test_a_solved_grid_that_ignores_a_given_is_wrong(size: int, box: tuple[int, int] | None) -> None:
    """Every cell in turn, beside right ones in the same batch."""
    grid = pattern(size, box)
    cells = np.eye(size * size, dtype=int).reshape(-1, size, size)
    agreeing = [instance(grid * one, box) for one in cells]
    against = [instance((grid % size + 1) * one, box) for one in cells]
    together: list[Any] = [one for pair in zip(agreeing, against, strict=True) for one in pair]
    solution = instance(grid, box).line()
    family = type(together[0])
    found = family.violations(together, [solution] * len(together))
    assert found[::2] == [None] * len(agreeing)
    assert all(found[1::2])
    assert [one.violation(solution) for one in together] == found


@pytest.mark.parametrize(("size", "box"), SHAPES)
def test_every_unit_is_looked_at(size: int, box: tuple[int, int] | None) -> None:
    of = shape(size, box)
    grid = pattern(size, box)
    blank = np.zeros((1, size * size), np.uint8)

    def solved(values: np.ndarray) -> bool:
        return bool(batch.solved(of, blank, values.reshape(1, -1).astype(np.uint8))[0])

    rows = grid.copy()  # columns (and a box) are right, two rows are not
    rows[[0, 1], 0] = rows[[1, 0], 0]
    assert solved(grid)
    assert not solved(rows)
    assert not solved(rows.T)
    if box:
        latin = pattern(size, None)  # rows and columns are right, boxes are not
        assert not solved(latin)
    for value in (0, size + 1, 255):
        wrong = grid.copy()
        wrong[size // 2, size // 2] = value
        assert not solved(wrong)


def _violations(instances: Sequence[Any], solutions: Sequence[Any]) -> list[str | None]:
    found: list[str | None] = type(instances[0]).violations(instances, solutions)
    return found


def test_givens_of_an_own_problem() -> None:
    free = Problem(3, exactly_one=[[0, 1]])
    given = Problem(3, exactly_one=[[0, 1]], given=[1, 2])
    assert _violations([free, given, given, given], [[0], [0, 2], [1], [1, 2]]) == [
        None,
        "1 is given, but not true",
        "2 is given, but not true",
        None,
    ]


def test_groups_of_an_own_problem() -> None:
    """Each kind with too few and too many."""
    every = Problem(8, exactly_one=[[0, 1]], at_most_one=[[2, 3]], at_least_one=[[4, 5]], implied=[[6, 7]])
    right = [{0, 4, 6}, {1, 2, 4, 5, 7}, {0, 3, 5, 6}]
    wrong = [{4, 6}, {0, 1, 4, 6}, {0, 2, 3, 4, 6}, {0, 6}, {0, 4}, {0, 4, 6, 7}]
    words = [
        "exactly_one[0] has 0 true literals",
        "exactly_one[0] has 2 true literals",
        "at_most_one[0] has 2 true literals",
        "at_least_one[0] has 0 true literals",
        "implied[0] has 0 true literals",
        "implied[0] has 2 true literals",
    ]
    assert _violations([every] * 9, [*right, *wrong]) == [None, None, None, *words]


def test_units_of_a_formula() -> None:
    formula = CNF(3, [[1, 2], [-1], [3]])
    assert formula.violation([-1, 2, 3]) is None
    assert all(_violations([formula] * 4, [[1, 2, 3], [-1, -2, 3], [-1, 2, -3], [-1, 2]]))
