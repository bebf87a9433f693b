"""Generated Sudokus: one solution, minimal, in range, symmetric, and the same whatever the workers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dibs.generate import digging, sudoku
from dibs.generate.check import still_unique
from dibs.generate.sudokus import full_grids
from dibs.problem.shape import Box, shape
from judge import Judge


def test_minimal_puzzles_are_unique_and_minimal() -> None:
    judge = Judge()
    puzzles = list(sudoku(12, minimal=True, seed=3))
    assert len(set(puzzles)) == 12
    for puzzle in puzzles:
        values = puzzle.values.tolist()
        assert judge.unique(values)
        assert judge.minimal(values)


def test_puzzle_i_depends_on_seed_and_number_only() -> None:
    first = list(sudoku(40, seed=5, workers=1))
    assert list(sudoku(40, seed=5, workers=3)) == first
    assert list(sudoku(7, seed=5)) == first[:7]
    assert not set(sudoku(7, seed=6)) & set(first)


@pytest.mark.parametrize("minimal", [False, True])
def test_givens_stay_in_the_range(minimal: bool) -> None:
    judge = Judge()
    counts = set()
    for puzzle in sudoku(30, givens=(24, 26), minimal=minimal, seed=1):
        counts.add(int(np.count_nonzero(puzzle.values)))
        assert judge.unique(puzzle.values.tolist())
        assert not minimal or judge.minimal(puzzle.values.tolist())
    assert counts == {24, 25, 26}


def test_many_givens_stop_the_digging() -> None:
    assert {int(np.count_nonzero(p.values)) for p in sudoku(5, givens=(81, 81))} == {81}
    assert {int(np.count_nonzero(p.values)) for p in sudoku(5, givens=(40, 40))} == {40}


def test_symmetric_patterns() -> None:
    judge = Judge()
    for puzzle in sudoku(6, symmetric=True, minimal=True, seed=2):
        values = puzzle.values
        assert ((values > 0) == (values[::-1] > 0)).all()
        assert judge.unique(values.tolist())
        for cell in np.flatnonzero(values[:41]):
            shorter = values.copy()
            shorter[[cell, 80 - cell]] = 0
            assert not judge.unique(shorter.tolist())


@pytest.mark.parametrize(("box", "count"), [((2, 2), 20), ((2, 3), 10), ((3, 2), 5), ((3, 4), 2), ((4, 4), 1)])
def test_other_sizes_have_one_solution(box: Box, count: int) -> None:
    judge = Judge(*box)
    for puzzle in sudoku(count, box=box, seed=1):
        assert puzzle.box == box
        assert np.count_nonzero(puzzle.values) < puzzle.size**2 * 0.6
        assert judge.unique(puzzle.values.tolist())


@pytest.mark.parametrize("easy", [0, 4, 100])
@pytest.mark.parametrize("symmetric", [False, True])
def test_digging_keeps_the_clues_that_single_questions_keep(
    monkeypatch: pytest.MonkeyPatch, easy: int, symmetric: bool
) -> None:
    """Whether a question is answered by the search that is kept, or by one of its own."""
    monkeypatch.setattr(digging, "EASY", easy)
    of = shape(12, (3, 4))
    rng = np.random.default_rng((easy, symmetric))
    [grid] = full_grids(of, [rng])
    cells = rng.permutation(72 if symmetric else 144).tolist()
    pairs = [[one, 143 - one] if symmetric else [one] for one in cells]
    dug = digging.Digging(of, grid, [cell for pair in pairs for cell in pair], 10_000)
    values = grid.copy()
    for pair in pairs:
        trial = values.copy()
        trial[pair] = 0
        unique = still_unique(of, trial, grid, pair, 10_000)
        assert dug.without(pair) == unique >= 0
        values = trial if unique else values
        assert (dug.values == values).all()
    assert np.count_nonzero(values) < 80
    assert Judge(3, 4).unique(values.tolist())


def test_large_sizes_keep_one_solution() -> None:
    (puzzle,) = sudoku(1, box=(5, 5), givens=(330, 330))
    assert puzzle.size == 25
    assert np.count_nonzero(puzzle.values) == 330
    assert Judge(5, 5).unique(puzzle.values.tolist())


def test_full_grids_differ_and_use_the_whole_range() -> None:
    grids = np.stack([p.values for p in sudoku(200, givens=(81, 81), seed=9)])
    shares = np.stack([(grids == v).mean(axis=0) for v in range(1, 10)])
    assert len(np.unique(grids, axis=0)) == 200
    # 1/9 +- 6 standard deviations of 200 draws
    assert abs(shares - 1 / 9).max() < 6 * (8 / 81 / 200) ** 0.5


def test_too_few_givens_point_to_low_clue() -> None:
    with pytest.raises(ValueError, match="low_clue"):
        sudoku(1, givens=(17, 20))
    with pytest.raises(ValueError, match="none of 200 grids"):
        list(sudoku(1, box=(2, 2), givens=(0, 3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"box": (6, 6)}, "largest size is 25x25"),
        ({"box": (1, 9)}, "at least 2"),
        ({"givens": (30, 25)}, "range"),
        ({"givens": (30, 82)}, "range"),
        ({"workers": 0}, "workers = 0"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sudoku(1, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count = -1"):
        sudoku(-1)


def test_no_puzzle_wanted() -> None:
    assert list(sudoku(0)) == []


def test_import_is_light() -> None:
    code = "import dibs.generate, sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
