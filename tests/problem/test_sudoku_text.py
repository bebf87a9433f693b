"""Sudoku and its text: every size, every accepted form, every error with its place."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.problem import InputError, Sudoku
from dibs.problem.sudoku import SIZES, default_box
from dibs.problem.symbols import SYMBOLS

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
ROWS = [PUZZLE[i : i + 9] for i in range(0, 81, 9)]


def solved(size: int, box: tuple[int, int]) -> list[int]:
    """A full grid by shifting rows: by the box's width within a band, by one from band to band."""
    rows, wide = box
    return [(r % rows * wide + r // rows + c) % size + 1 for r in range(size) for c in range(size)]


def error_of(text: str, box: tuple[int, int] | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        Sudoku.parse(text, box)
    return caught.value


def with_values(size: int, values: dict[int, int]) -> str:
    return "".join(SYMBOLS[values.get(i, 0)] for i in range(size * size))


def test_sizes_and_their_boxes() -> None:
    assert SIZES == (4, 6, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 22, 24, 25, 26, 27, 28, 30, 32, 33, 34, 35, 36)
    boxes = {4: (2, 2), 6: (2, 3), 8: (2, 4), 9: (3, 3), 10: (2, 5), 12: (3, 4), 15: (3, 5)}
    boxes |= {16: (4, 4), 20: (4, 5), 25: (5, 5), 30: (5, 6), 36: (6, 6)}
    assert {size: default_box(size) for size in boxes} == boxes


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SIZES), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_every_form_reads_back(size: int, kept: float, seed: int) -> None:
    box = default_box(size)
    assert box is not None
    full = np.array(solved(size, box))
    sudoku = Sudoku(np.where(np.random.default_rng(seed).random(size * size) < kept, full, 0))
    numbers = " ".join(map(str, sudoku.values.tolist()))
    for text in (sudoku.line(), sudoku.line().lower(), sudoku.format(), numbers):
        again = Sudoku.parse(text)
        assert again == sudoku
        assert hash(again) == hash(sudoku)
        assert again.box == box
    assert pickle.loads(pickle.dumps(sudoku)) == sudoku
    solution = sudoku.decode(np.arange(size * size) * size + full - 1)
    assert Sudoku.parse(solution).values.tolist() == full.tolist()
    assert Sudoku.parse(sudoku.format(solution)).line() == solution == sudoku.line(solution)
    assert sudoku.violation(solution) is None
    assert Sudoku.violations([sudoku] * 3, [solution] * 3) == [None] * 3


def test_box_of_the_other_shape() -> None:
    sudoku = Sudoku(solved(6, (3, 2)), box=(3, 2))
    assert sudoku != Sudoku.parse(with_values(6, {0: 1}))
    assert Sudoku.parse(sudoku.format(), box=(3, 2)) == sudoku
    assert sudoku.violation(sudoku.line()) is None
    assert sudoku.structure.shape == (3, 2)


def test_format_of_nine() -> None:
    assert Sudoku.parse(PUZZLE).format().splitlines()[:4] == [
        "5 3 . | . 7 . | . . .",
        "6 . . | 1 9 5 | . . .",
        ". 9 8 | . . . | . 6 .",
        "------+-------+------",
    ]


FORMS = {
    "zeros": PUZZLE.replace(".", "0"),
    "underscores": PUZZLE.replace(".", "_"),
    "dashes": PUZZLE.replace(".", "-"),
    "stars": PUZZLE.replace(".", "*"),
    "questions": PUZZLE.replace(".", "?"),
    "spaced": " ".join(PUZZLE),
    "commas": ",".join(PUZZLE.replace(".", "0")),
    "lines": "\n".join(ROWS),
    "carriage returns": "\r\n".join(ROWS) + "\r\n",
    "groups": "\n".join(f"{r[:3]} {r[3:6]} {r[6:]}" for r in ROWS),
    "walls": "\n".join(f"|{r[:3]}|{r[3:6]}|{r[6:]}|" for r in ROWS),
    "every cell walled": "\n".join("|" + "|".join(r) + "|" for r in ROWS),
    "comments": "# a comment\n" + "\n".join(f"{r}  # row" for r in ROWS),
    "equals rules": "\n=======\n".join("\n".join(ROWS[i : i + 3]) for i in (0, 3, 6)),
    "dash rules": "\n-------------\n".join("\n".join(ROWS[i : i + 3]) for i in (0, 3, 6)),
    "dash rules as wide as a row": "\n---------\n".join("\n".join(ROWS[i : i + 3]) for i in (0, 3, 6)),
    "frame": "+---+---+---+\n" + "\n".join(f"|{r}|" for r in ROWS) + "\n+---+---+---+",
    "plus in a row": "\n".join(f"{r[:3]}+{r[3:6]}+{r[6:]}" for r in ROWS),
}


@pytest.mark.parametrize("form", FORMS)
def test_accepted_form(form: str) -> None:
    assert Sudoku.parse(FORMS[form]).line() == PUZZLE


def test_a_row_of_dashes_is_a_row_where_it_fits() -> None:
    grid = ["---------", *[r.replace(".", "-") for r in ROWS[1:]]]
    assert Sudoku.parse("\n".join(grid)).line() == "." * 9 + PUZZLE[9:]
    ruled = "\n------+-------+------\n".join("\n".join(grid[i : i + 3]) for i in (0, 3, 6))
    assert Sudoku.parse(ruled).line() == "." * 9 + PUZZLE[9:]


def test_zero_padded_numbers_and_groups_of_zeros() -> None:
    full = solved(16, (4, 4))
    rows = [full[i : i + 16] for i in range(0, 256, 16)]
    assert Sudoku.parse("\n".join(" ".join(f"{v:02}" for v in row) for row in rows)).values.tolist() == full
    grouped = "\n".join(" ".join("".join(SYMBOLS[v] for v in row[i : i + 4]) for i in range(0, 16, 4)) for row in rows)
    assert Sudoku.parse(grouped).values.tolist() == full
    assert Sudoku.parse("\n".join(["0000 0000 0000 0000"] * 16)).size == 16
    assert Sudoku.parse("12 34\n34 12\n21 43\n43 21").size == 4


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("." * 80, 1, 80, "80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9)"),
        ("1", 1, 1, "1 cell; expected a square number of a Sudoku size, e.g. 16 (4x4)"),
        ("." * 49, 1, 49, "a 7x7 grid has no boxes of at least 2 rows; if it is a Latin square, use --family latin"),
        ("12\n2.", 2, 2, "a 2x2 grid has no boxes of at least 2 rows; if it is a Latin square, use --family latin"),
        (
            "123 23. 3.2",
            1,
            11,
            "a 3x3 grid has no boxes of at least 2 rows; if it is a Latin square, use --family latin",
        ),
        ("." * 49 * 49, 1, 2401, "49x49 is larger than 36x36, the largest Sudoku"),
        ("", None, None, "no cells: the text is empty"),
        ("53..x" + PUZZLE[5:], 1, 5, "'x' is not a value of a 9x9 Sudoku (1-9, or . for a blank)"),
        ("53..é" + PUZZLE[5:], 1, 5, "'é' is not a value of a 9x9 Sudoku (1-9, or . for a blank)"),
        ("53..&" + PUZZLE[5:], 1, 5, "'&' is not a value of a 9x9 Sudoku (1-9, or . for a blank)"),
        ("..7" + "." * 33, 1, 3, "'7' is not a value of a 6x6 Sudoku (1-6, or . for a blank)"),
        (
            "17 " + ". " * 255,
            1,
            1,
            "'17' is not a value of a 16x16 Sudoku (1-16, with ABCDEFG for 10 and up, or . for a blank)",
        ),
        (with_values(9, {2: 5, 6: 5}), 1, 7, "r1c3 and r1c7 are both 5"),
        (with_values(9, {1: 4, 73: 4}), 1, 74, "r1c2 and r9c2 are both 4"),
        (
            with_values(9, {0: 9, 20: 9}),
            1,
            21,
            "r1c1 and r3c3 are both 9; if it is a Latin square, use --family latin",
        ),
        (with_values(16, {0: 12, 5: 12}), 1, 6, "r1c1 and r1c6 are both C"),
    ],
)
def test_error(text: str, line: int | None, column: int | None, message: str) -> None:
    error = error_of(text)
    assert (error.message, error.line, error.column) == (message, line, column)


def test_error_in_a_grid_names_the_row() -> None:
    short = error_of("\n".join([*ROWS[:2], ROWS[2][:8], *ROWS[3:]]))
    assert (short.line, short.column) == (3, 8)
    assert short.message.endswith("e.g. 81 (9x9); this row has 8 cells, most have 9")
    grouped = [f"{r[:3]} {r[3:6]} {r[6:]}".replace(".", "0") for r in ROWS]
    short = error_of("\n".join([*grouped[:4], grouped[4][:-1], *grouped[5:]]))
    assert (short.line, short.column) == (5, 10)
    assert short.message.startswith("80 cells")
    wrong = error_of("\n".join([*ROWS[:2], "# c", " " + ROWS[2][:4] + "!" + ROWS[2][5:], *ROWS[3:]]))
    assert (wrong.line, wrong.column) == (4, 6)
    twice = error_of(Sudoku.parse(PUZZLE).format().replace("5 3 .", "5 3 5"))
    assert str(twice) == "line 1, column 5: r1c1 and r1c3 are both 5"


def test_boxes_that_cannot_be() -> None:
    for box in ((1, 9), (9, 1), (7, 7), (0, 4)):
        with pytest.raises(ValueError, match="both must be at least 2"):
            Sudoku.parse(PUZZLE, box)
    assert error_of(PUZZLE, (2, 3)).message == "81 cells; boxes of 2 rows and 3 columns make 36 (6x6)"


def test_hidden_contradiction_is_no_error() -> None:
    # r1c9 can hold nothing: 1..8 stand in its row, 9 in its column.
    assert Sudoku.parse(with_values(9, {**{i: i + 1 for i in range(8)}, 80: 9})).size == 9


@given(st.text(st.sampled_from("0123456789.-+=|#@,_ AZaz\n\té²!"), max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    [found] = Sudoku.many([text])
    if isinstance(found, Sudoku):
        assert Sudoku.parse(found.format()) == found


def test_constructor_checks_values() -> None:
    for bad in ([10] + [0] * 80, [-1] + [0] * 80, [0.5] * 81):
        with pytest.raises(InputError, match=r"whole numbers 0\.\.9"):
            Sudoku(bad)
    assert Sudoku([[0] * 9] * 9).line() == "." * 81
    with pytest.raises(ValueError, match="read-only"):
        Sudoku.parse(PUZZLE).values[0] = 1


def test_many_is_parse_for_each() -> None:
    texts = [PUZZLE, "5" + PUZZLE[1:2] + "5" + PUZZLE[3:], PUZZLE[:-1] + "x", "é" + PUZZLE[1:], SOLUTION]
    for batch in (texts, [PUZZLE, SOLUTION], [PUZZLE], [*texts, PUZZLE[:-1]], []):
        for text, found in zip(batch, Sudoku.many(batch), strict=True):
            if isinstance(found, InputError):
                assert str(error_of(text)) == str(found)
            else:
                assert found == Sudoku.parse(text)


def test_structure_of_nine() -> None:
    sudoku = Sudoku.parse(PUZZLE)
    structure = sudoku.structure
    assert structure is Sudoku.parse(SOLUTION).structure
    assert (structure.literals, structure.groups, structure.decisions) == (729, 4 * 81, 81)
    assert structure.members(1).tolist() == list(range(9, 18))
    assert structure.members(81).tolist() == list(range(0, 81, 9))  # row 1, value 1
    assert structure.members(162 + 1).tolist() == [1 + 81 * r for r in range(9)]  # column 1, value 2
    assert structure.members(243).tolist() == [(r * 9 + c) * 9 for r in range(3) for c in range(3)]
    assert (np.diff(structure.start) == 9).all()
    assert (np.bincount(structure.member) == 4).all()
    assert sudoku.given[:3].tolist() == [4, 9 + 2, 4 * 9 + 6]


def test_violation_catches_every_changed_cell() -> None:
    sudoku = Sudoku.parse(PUZZLE)
    changed = [SOLUTION[:i] + str(int(SOLUTION[i]) % 9 + 1) + SOLUTION[i + 1 :] for i in range(81)]
    found = Sudoku.violations([sudoku] * 82, [*changed, SOLUTION])
    assert found[:81] == [sudoku.violation(text) for text in changed]
    assert all(found[:81])
    assert found[81] is None
    assert found[0] == "r1c1 is 6, but 5 is given"
    assert found[2] == "row 1 has no 4"


def test_violation_in_words() -> None:
    empty = Sudoku.parse("." * 81)
    assert empty.violation(SOLUTION[:-1]) == "80 cells instead of 81"
    assert empty.violation("." + SOLUTION[1:]) == "r1c1 has no value 1..9"
    assert empty.violation("é" + SOLUTION[1:]) == "r1c1 has no value 1..9"
    assert empty.violation("123456789" * 9) == "column 1 has no 2"
    shifted = "".join("123456789"[r:] + "123456789"[:r] for r in range(9))
    assert empty.violation(shifted) == "box 1 has no 6"
    mixed = Sudoku.violations([empty, Sudoku.parse("." * 16)], [SOLUTION, "1234341221434321"])
    assert mixed == [None, None]
    assert Sudoku.violations([empty] * 2, [SOLUTION, "é" + SOLUTION[1:]]) == [None, "r1c1 has no value 1..9"]
