"""Sudokus that keep some cells of a full grid: the wanted number, from grids that are well mixed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs.generate import sudoku
from dibs.generate.loops import mix_grid
from dibs.generate.sudokus import full_grids, mixed_grids
from dibs.problem.shape import Box, Shape, shape
from uniform import chi_square

Grids = NDArray[np.uint8]


@pytest.mark.parametrize(("box", "kept", "wanted"), [((5, 5), 0.44, 275), ((5, 5), 100, 100), ((6, 6), 0.5, 648)])
def test_puzzles_are_a_part_of_full_grids(box: Box, kept: float, wanted: int) -> None:
    puzzles = list(sudoku(3, box=box, kept=kept, seed=3))
    full = list(sudoku(3, box=box, kept=1.0, seed=3))
    assert len(set(full)) == 3
    for puzzle, grid in zip(puzzles, full, strict=True):
        assert puzzle.box == box
        assert grid.values.all()
        assert not grid.shape.repeats(grid.values)
        assert np.count_nonzero(puzzle.values) == wanted
        assert (puzzle.values[puzzle.values > 0] == grid.values[puzzle.values > 0]).all()


def test_which_cells_are_kept_is_random() -> None:
    given = np.stack([puzzle.values > 0 for puzzle in sudoku(400, kept=0.25)])
    assert set(given.sum(axis=1).tolist()) == {20}
    # 20/81 +- 5 standard deviations of 400 draws
    assert abs(given.mean(axis=0) - 20 / 81).max() < 5 * (20 / 81 * 61 / 81 / 400) ** 0.5
    assert list(sudoku(1, kept=81)) == list(sudoku(1, kept=1.0))
    assert not next(sudoku(1, kept=0)).values.any()


def test_puzzle_i_depends_on_seed_and_number_only() -> None:
    first = list(sudoku(30, box=(4, 4), kept=0.4, seed=5, workers=1))
    assert list(sudoku(30, box=(4, 4), kept=0.4, seed=5, workers=3)) == first
    assert list(sudoku(7, box=(4, 4), kept=0.4, seed=5)) == first[:7]
    assert not set(sudoku(7, box=(4, 4), kept=0.4, seed=6)) & set(first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kept": 0.0}, "above 0 and at most 1"),
        ({"kept": 1.01}, "above 0 and at most 1"),
        ({"kept": float("nan")}, "above 0 and at most 1"),
        ({"kept": -1}, r"0\.\.81"),
        ({"kept": 82}, r"0\.\.81"),
        ({"kept": 0.4, "givens": (30, 40)}, "without givens, minimal and symmetric"),
        ({"kept": 0.4, "minimal": True}, "without givens, minimal and symmetric"),
        ({"kept": 40, "symmetric": True}, "without givens, minimal and symmetric"),
        ({"kept": 0.4, "box": (6, 7)}, "36 cells at most"),
        ({"kept": 0.4, "workers": 0}, "workers = 0"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sudoku(1, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count = -1"):
        sudoku(-1, kept=0.4)


def _random(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng((7, i)) for i in range(count)]


def _pattern(of: Shape) -> NDArray[np.uint8]:
    """[cells] the grid whose rows are shifts of the first."""
    assert of.box is not None
    rows, wide = of.box
    r, c = np.divmod(np.arange(of.cells), of.size)
    values: NDArray[np.uint8] = ((wide * (r % rows) + r // rows + c) % of.size + 1).astype(np.uint8)
    return values


def _exchanges(of: Shape, grids: Grids) -> NDArray[np.float64]:
    """[2, groups] pairs of columns where two rows of a band hold the same two values, mean for each pair of rows.

    For each band, then with rows and columns exchanged for each stack; the boxes must be square. Shuffling rows,
    columns and values, which is all that happened to a mere copy of a pattern, changes nothing but the bands' order.
    """
    side = round(of.size**0.5)
    means = np.zeros((2, side))
    squares = grids.reshape(-1, of.size, of.size).astype(np.int64) - 1
    for turn, lines in enumerate((squares, squares.transpose(0, 2, 1))):
        where = np.argsort(lines, axis=2)  # [k, line, value] the place of the value
        pairs = [(a, b) for a in range(of.size) for b in range(a + 1, of.size) if a // side == b // side]
        for a, b in pairs:
            there = np.take_along_axis(where[:, a], lines[:, b], axis=1)
            closed = np.take_along_axis(there, there, axis=1) == np.arange(of.size)
            means[turn, a // side] += closed.sum() / 2 / len(grids) / (len(pairs) / side)
    return means


@pytest.mark.parametrize(
    ("box", "count", "usual", "error"),
    [((3, 3), 1500, 0.65, 0.05), ((4, 4), 500, 0.63, 0.06), ((5, 5), 250, 0.6, 0.08)],
)
def test_full_grids_are_mixed_in_every_band_and_stack(box: Box, count: int, usual: float, error: float) -> None:
    # `usual`: measured after walks ten times as long, from a pattern grid and from searches alike;
    # `error`: about five standard deviations of a band's mean.
    of = shape(box[0] * box[1], box)
    mixed = _exchanges(of, mixed_grids(of, _random(count)))
    assert abs(mixed - usual).max() < error


@pytest.mark.parametrize(("box", "count"), [((3, 3), 1500), ((5, 5), 250)])
def test_the_test_of_mixing_can_fail(box: Box, count: int) -> None:
    of = shape(box[0] * box[1], box)
    assert _exchanges(of, _pattern(of)[None]).max() == 0
    last = _exchanges(of, full_grids(of, _random(count)))[0, -1]  # a search alone: the band that it fills last
    assert last < 0.52


def test_4x4_grids_are_uniform() -> None:
    of = shape(4, (2, 2))
    seen = Counter(grid.tobytes() for grid in mixed_grids(of, _random(4320)))
    assert len(seen) == 288
    assert abs(chi_square(list(seen.values()), 288)) < 4
    alone = Counter(grid.tobytes() for grid in full_grids(of, _random(4320)))
    assert chi_square(list(alone.values()), 288) > 4


@pytest.mark.parametrize("box", [(2, 2), (2, 3), (3, 2), (3, 3), (3, 5), (6, 6)])
def test_the_walk_keeps_grids_valid_and_leaves_the_pattern(box: Box) -> None:
    of = shape(box[0] * box[1], box)
    grid = _pattern(of)
    assert not of.repeats(grid)
    for seed in range(5):
        mix_grid(grid, *box, seed, 20 * of.size)
        assert grid.all()
        assert not of.repeats(grid)
    assert (grid != _pattern(of)).mean() > 0.4
