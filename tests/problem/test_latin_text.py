"""Latin squares: sizes up to 100, both ways of writing, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.problem import InputError, Latin, Sudoku


def cyclic(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([(r + c) % size + 1 for r in range(size) for c in range(size)])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*range(1, 41), 64, 100]), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_every_form_reads_back(size: int, kept: float, seed: int) -> None:
    full = cyclic(size)
    latin = Latin(np.where(np.random.default_rng(seed).random(size * size) < kept, full, 0))
    numbers = "\n".join(" ".join(map(str, row)) for row in latin.values.reshape(size, size).tolist())
    for text in (latin.line(), latin.format(), numbers):
        assert Latin.parse(text) == latin
    if size <= 35:
        line = latin.line()
        assert Latin.parse("\n".join(line[i : i + size] for i in range(0, size * size, size))) == latin
    assert pickle.loads(pickle.dumps(latin)) == latin
    solution = latin.decode(np.arange(size * size) * size + full - 1)
    assert latin.violation(solution) is None
    assert Latin.violations([latin] * 2, [solution] * 2) == [None, None]
    assert Latin.parse(latin.format(solution)).line() == solution


def test_structure() -> None:
    latin = Latin.parse("12.\n...\n..1")
    structure = latin.structure
    assert (structure.literals, structure.groups, structure.decisions) == (27, 27, 9)
    assert (structure.family, structure.shape) == ("latin", (3,))
    assert latin.given.tolist() == [0, 4, 24]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("123\n12", 2, 2, "5 cells; expected a square number, e.g. 4 (2x2)"),
        ("1 2 3\n. . 4\n. . .", 2, 5, "'4' is not a value of a 3x3 Latin square (1-3, or . for a blank)"),
        ("1 2 3\n. . .\n1 . .", 3, 1, "r1c1 and r3c1 are both 1"),
        ("1 . 1\n. . .\n. . .", 1, 5, "r1c1 and r1c3 are both 1"),
        (" ".join(["37", "37"] + ["."] * (40 * 40 - 2)), 1, 4, "r1c1 and r1c2 are both 37"),
        (".\n" * 256 * 256, 65536, 1, "256x256 is larger than 255x255, the largest Latin square"),
    ],
)
def test_error(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Latin.parse(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


@pytest.mark.parametrize("size", [5, 38])
def test_violation_catches_every_changed_cell(size: int) -> None:
    empty = Latin([0] * size * size)
    full = cyclic(size)
    for cell in range(0, size * size, max(1, size * size // 50)):
        changed = full.copy()
        changed[cell] = changed[cell] % size + 1
        text = Latin(full).line(Latin(changed).line())
        assert empty.violation(text) is not None
        assert Latin.violations([empty] * 2, [Latin(full).line(), text])[0] is None


def test_a_latin_square_is_no_sudoku() -> None:
    assert Latin([0] * 16) != Sudoku([0] * 16)
    assert repr(Latin.parse("1..." * 1 + "." * 12)) == "<4x4 Latin square, 1 givens>"
