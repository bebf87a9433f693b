"""Families of the guides that come with dibs: sizes, seeds, and that each instance can be solved."""

from collections.abc import Callable

import pytest

import dibs
from dibs.generate import shipped
from dibs.problem import Instance

MAKERS = pytest.mark.parametrize("make", [shipped.latin, shipped.large_sudoku, shipped.small_sudoku, shipped.sat])


@MAKERS
def test_an_instance_follows_from_its_seed(make: Callable[[int], Instance]) -> None:
    def said(seed: int) -> tuple[object, ...]:
        one = make(seed)
        return one.structure.shape, one.structure.member.tolist(), one.given.tolist()

    assert said(3) == said(3) != said(4)


def test_sizes_are_those_that_are_said() -> None:
    some = range(12)
    squares = [shipped.latin(seed) for seed in some]
    assert all(14 <= one.shape.size <= 30 for one in squares)
    assert all(0.33 <= (one.values == 0).mean() <= 0.49 for one in squares), "balanced ones are rounded"
    sudokus = [shipped.large_sudoku(seed) for seed in some]
    assert {one.shape.size for one in sudokus} == {16, 25}
    assert all(0.37 <= (one.values > 0).mean() <= 0.53 for one in sudokus)
    small = [shipped.small_sudoku(seed) for seed in some]
    assert all(one.shape.size == 9 and (one.values > 0).sum() > 17 for one in small)
    listed = set(shipped.doubted())
    lines = ["".join(map(str, one.values.tolist())).replace("0", ".") for one in small]
    assert 3 <= sum(line in listed for line in lines) <= 11
    assert all(dibs.is_unique(one) for one in small)
    formulas = [shipped.sat(seed) for seed in some]
    assert all(5 <= one.variables <= 200 for one in formulas)
    assert len({one.variables for one in formulas}) > 6


def test_formulas_have_a_solution() -> None:
    assert all(dibs.solve(shipped.sat(seed)).status is dibs.Status.SAT for seed in range(6))
