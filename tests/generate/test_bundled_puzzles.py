"""The puzzle lists that the package carries."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from dibs import Sudoku
from dibs.generate.canonical import canonical_forms, nine
from judge import Judge


def _read(name: str) -> tuple[list[str], list[Sudoku]]:
    lines = files("dibs").joinpath("data", name).read_text("ascii").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    return comments, [Sudoku.parse(line) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(
    ("name", "command", "least"),
    [("sample17.txt", "dibs generate low-clue ", 100), ("hard300.txt", "dibs generate hard 300 ", 300)],
)
def test_bundled_lists_are_unique_minimal_and_different(name: str, command: str, least: int) -> None:
    comments, puzzles = _read(name)
    assert any(command in line and "--seed" in line for line in comments)
    assert len(puzzles) >= least
    assert len(set(canonical_forms(nine(puzzles)))) == len(puzzles)
    judge = Judge()
    for puzzle in puzzles:
        assert judge.unique(puzzle.values.tolist())
        assert judge.minimal(puzzle.values.tolist())


def test_numbers_of_givens() -> None:
    assert {int(np.count_nonzero(p.values)) for p in _read("sample17.txt")[1]} == {17}
    assert min(int(np.count_nonzero(p.values)) for p in _read("hard300.txt")[1]) >= 18
