"""The searches for few givens and for hard puzzles, the moves they make, and the canonical form they compare by."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dibs import Sudoku, count_solutions
from dibs.generate import canonical, hard, low_clue, sudoku
from dibs.generate.canonical import canonical_forms, nine, shuffled
from dibs.generate.hardening import _Population
from dibs.generate.moves import completions, minimal, reduced, without
from judge import Judge

KNOWN = Sudoku.parse("000801000000000043500000000000070800000000100020030000600000075003400000000200600")


def test_canonical_form_is_invariant() -> None:
    rng = np.random.default_rng(0)
    puzzles = nine([*sudoku(20, seed=4), KNOWN])
    forms = canonical_forms(puzzles)
    assert len(set(forms)) == 21
    for _ in range(5):
        images = shuffled(puzzles, rng)
        assert not (images == puzzles).all(axis=1).any()
        assert canonical_forms(images) == forms


def test_canonical_form_is_an_image_of_the_puzzle() -> None:
    form = canonical(KNOWN)
    assert canonical(form) == form
    assert np.count_nonzero(form.values) == 17
    assert Judge().unique(form.values.tolist())


def test_each_kind_of_symmetry_alone() -> None:
    grid = KNOWN.values.reshape(9, 9)
    swapped = [1, 0, *range(2, 9)]
    bands = [3, 4, 5, 0, 1, 2, 6, 7, 8]
    labels = np.array([0, 2, 3, 4, 5, 6, 7, 8, 9, 1], np.uint8)
    for image in (grid.T, grid[swapped], grid[bands], grid[:, swapped], grid[:, bands], labels[grid]):
        assert canonical(Sudoku(image)) == canonical(KNOWN)
    # Not a symmetry: rows of different bands.
    other = grid[[3, 1, 2, 0, 4, 5, 6, 7, 8]]
    assert count_solutions(Sudoku(other), limit=2) != 1 or canonical(Sudoku(other)) != canonical(KNOWN)


def test_canonical_form_tells_solutions_with_symmetries_of_their_own() -> None:
    # The cyclic grid is mapped to itself by many symmetries; the form must still be one for all images.
    cyclic = np.array([[(3 * r + r // 3 + c) % 9 + 1 for c in range(9)] for r in range(9)], np.uint8).ravel()
    puzzle = cyclic.copy()
    puzzle[[0, 5, 17, 30]] = 0
    form = canonical_forms(puzzle[None])
    for seed in range(10):
        assert canonical_forms(shuffled(puzzle[None], np.random.default_rng(seed))) == form


def test_canonical_form_needs_one_solution_of_a_9x9() -> None:
    with pytest.raises(ValueError, match="exactly one solution"):
        canonical(Sudoku(np.zeros(81, int)))
    with pytest.raises(ValueError, match="9x9"):
        canonical(Sudoku(np.zeros(16, int)))


@pytest.mark.parametrize("removed", [1, 2])
def test_completions_are_exactly_those_with_one_solution(removed: int) -> None:
    (puzzle,) = nine(sudoku(1, seed=11))
    cells = np.flatnonzero(puzzle)[None, :removed]
    rest = without(puzzle, cells)
    found = {p.tobytes() for p in completions(rest, 1)[0]}
    judge = Judge()
    wanted = set()
    for cell in np.flatnonzero(rest[0] == 0):
        for digit in range(1, 10):
            trial = rest[0].copy()
            trial[cell] = digit
            if judge.unique(trial.tolist()):
                wanted.add(trial.tobytes())
    assert found == wanted


def test_completions_by_pairs_against_the_judge() -> None:
    # A rest with too many solutions to list, so that candidates are searched; judged on a small part of the pairs.
    cells = np.flatnonzero(KNOWN.values)
    rest = without(KNOWN.values, cells[None, :1])
    found = {p.tobytes() for p in completions(rest, 2)[0]}
    assert KNOWN.values.tobytes() not in found  # it has one clue less
    judge = Judge()
    assert all(judge.unique(np.frombuffer(p, np.uint8).tolist()) for p in found)
    free = np.flatnonzero(rest[0] == 0)[:4]
    for a, b in combinations(free, 2):
        for x in range(1, 10):
            for y in range(1, 10):
                trial = rest[0].copy()
                trial[a], trial[b] = x, y
                assert judge.unique(trial.tolist()) == (trial.tobytes() in found)


def test_reduced_is_minimal() -> None:
    puzzles = nine(sudoku(5, givens=(30, 30), seed=2))
    assert not minimal(puzzles).any()
    smaller = reduced(puzzles, np.random.default_rng(0))
    judge = Judge()
    assert all(judge.unique(p.tolist()) and judge.minimal(p.tolist()) for p in smaller)
    assert ((smaller == 0) | (smaller == puzzles)).all()


def test_low_clue_finds_a_new_17_next_to_a_17() -> None:
    start = Sudoku.parse("5....43..6...........9.8.....3....94....7............8....6.1...29...7....8......")
    (found,) = low_clue(1, start=[start], seed=1)
    assert np.count_nonzero(found.values) == 17
    assert canonical(found) != canonical(start)
    judge = Judge()
    assert judge.unique(found.values.tolist())
    assert judge.minimal(found.values.tolist())


def test_low_clue_descends_from_generated_puzzles() -> None:
    looked: list[int] = []
    found = list(low_clue(4, givens=21, seed=1, progress=looked.append))
    assert len({canonical(p) for p in found}) == 4
    judge = Judge()
    for puzzle in found:
        assert np.count_nonzero(puzzle.values) <= 21
        assert judge.unique(puzzle.values.tolist())
        assert judge.minimal(puzzle.values.tolist())
    assert looked == sorted(looked)
    assert list(low_clue(4, givens=21, seed=1)) == found


def test_low_clue_errors() -> None:
    with pytest.raises(ValueError, match="fewer than 17"):
        low_clue(1, givens=16)
    with pytest.raises(ValueError, match="start puzzle 2"):
        low_clue(1, start=[KNOWN, Sudoku(np.zeros(81, int))])
    with pytest.raises(ValueError, match="9x9"):
        low_clue(1, start=[Sudoku(np.zeros(16, int))])


def test_hard_puzzles_are_minimal_different_and_hard() -> None:
    looked: list[int] = []
    found = list(hard(4, nodes=15, seed=1, progress=looked.append))
    assert list(hard(4, nodes=15, seed=1)) == found
    assert len({canonical(p) for p in found}) == 4
    judge = Judge()
    for puzzle in found:
        assert np.count_nonzero(puzzle.values) >= 18
        assert judge.unique(puzzle.values.tolist())
        assert judge.minimal(puzzle.values.tolist())
    scale = _Population("hidden", np.random.SeedSequence(5))
    assert scale.measure(nine(found), 50).mean() > 4 * scale.measure(nine(sudoku(50, seed=1)), 4).mean()
    assert looked
