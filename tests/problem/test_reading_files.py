"""Reading files of many puzzles: formats, ambiguities, errors in place, packed files."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.problem import CNF, InputError, Instance, Latin, Sudoku, read_instances
from dibs.problem.reading import Family

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
SMALL = "1...............", "..2.............", "...............4"
GRID = "\n".join(PUZZLE[i : i + 9] for i in range(0, 81, 9))


def read(text: str, family: Family = "auto", box: tuple[int, int] | None = None) -> list[tuple[int, str]]:
    """Line and one-line text, or error, of each instance."""
    items = read_instances(io.StringIO(text), family, box, name="f")
    return [(line, str(item) if isinstance(item, InputError) else item.line()) for line, item in items]


def only(text: str, family: Family = "auto") -> Instance:
    [(_, item)] = read_instances(io.StringIO(text), family)
    assert not isinstance(item, InputError)
    return item


def test_one_puzzle_on_a_line() -> None:
    text = f"# list\n{PUZZLE}\n\n  {PUZZLE} remark 3\n{PUZZLE}#c\n{PUZZLE.replace('.', '-')}\n{'.' * 256}\n"
    assert read(text) == [(2, PUZZLE), (4, PUZZLE), (5, PUZZLE), (6, PUZZLE), (7, "." * 256)]
    assert read(" ".join(PUZZLE) + "\n" + ",".join(PUZZLE)) == [(1, PUZZLE), (2, PUZZLE)]
    grouped = " ".join(PUZZLE.replace(".", "0")[i : i + 3] for i in range(0, 81, 3))
    assert read(f"{grouped}\n{grouped}\n") == [(1, PUZZLE), (2, PUZZLE)]
    assert read("." * 81 + "\n" + "-" * 81) == [(1, "." * 81), (2, "." * 81)]


def test_long_list_keeps_order_and_lines() -> None:
    lines = [PUZZLE if i % 7 else SOLUTION for i in range(5000)]
    lines[4000] = "5" + lines[4000][1:80] + "!"
    found = read("\n".join(lines))
    assert found[4000] == (4001, "f:4001:81: '!' is not a value of a 9x9 Sudoku (1-9, or . for a blank)")
    del found[4000], lines[4000]
    assert [text for _, text in found] == lines
    assert found[-1][0] == 5000


@pytest.mark.parametrize("between", ["\n\n", "\n# next\n", "\n", "\nGrid 02\n", "\n\n-----------\n\n", "\n=====\n"])
@pytest.mark.parametrize("decorated", [False, True])
def test_grids(between: str, decorated: bool) -> None:
    grid = Sudoku.parse(PUZZLE).format() if decorated else GRID
    found = read(f"{grid}{between}{grid}{between}{grid}\n")
    assert [text for _, text in found] == [PUZZLE] * 3
    assert found[0][0] == 1


def test_grids_with_rules_of_dashes() -> None:
    rows = GRID.split("\n")
    for width in (9, 13):
        rule = "-" * width
        grid = "\n".join([rule, *rows[:3], rule, *rows[3:6], rule, *rows[6:], rule])
        assert [text for _, text in read(f"{grid}\n\n{grid}\n")] == [PUZZLE] * 2
    blank = "---------\n" + "\n".join(rows[1:]).replace(".", "-")
    assert read(blank + "\n\n" + blank) == [(1, "." * 9 + PUZZLE[9:]), (11, "." * 9 + PUZZLE[9:])]


@pytest.mark.parametrize("size", [4, 6, 12, 16, 25, 36])
def test_formatted_grids_of_every_kind(size: int) -> None:
    sudoku = Sudoku([size] + [0] * (size * size - 1))
    assert [text for _, text in read(f"{sudoku.format()}\n\n{sudoku.format()}\n{sudoku.line()}")] == [sudoku.line()] * 3


def test_sixteen_lines_of_sixteen() -> None:
    puzzles = [SMALL[i % 3] for i in range(16)]
    assert read("\n".join(puzzles)) == [(i + 1, text) for i, text in enumerate(puzzles)]
    wide = ["G...............", *["." * 16] * 15]
    assert read("\n".join(wide)) == [(1, "".join(wide))]
    assert read("\n".join(["." * 16] * 16)) == [(1, "." * 256)]
    assert read("\n".join(["." * 16] * 16), box=(2, 2)) == [(i + 1, "." * 16) for i in range(16)]
    assert read("\n".join([SMALL[0], *["." * 16] * 15]), box=(4, 4)) == [(1, SMALL[0] + "." * 240)]
    assert len(read("\n".join(puzzles * 100))) == 1600
    six = ["6" + "." * 35] * 36
    assert len(read("\n".join(six))) == 36
    assert len(read("\n".join(["7" + "." * 35, *["." * 36] * 35]))) == 1


LINES = ["", "#", "c", "53.", "9x9", "1 2 3 4", "1234", ".-.-", "----", "-+-", "|1|2|3|4|", "....", "16 3", "Grid 1"]
LINES += ["p cnf 1 1", "1 0", "puzzle,solution", PUZZLE, PUZZLE[:-1], SMALL[0], SMALL[1] + " x", '"', "é²", "." * 36]


@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from(["auto", "sudoku", "latin", "cnf"]))
def test_any_lines_are_read_or_refused_in_order(lines: list[str], family: Family) -> None:
    # The last line is one more puzzle, so that there is something to find.
    found = read("\n".join([*lines, "", "1..."]), family)
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= len(lines) + 2 for number in numbers)


def test_a_bad_line_among_small_puzzles() -> None:
    found = read("\n".join([SMALL[0], "7" + "." * 15, SMALL[1] + " remark", SMALL[2]]))
    assert [line for line, _ in found] == [1, 2, 3, 4]
    assert found[1][1] == "f:2:1: '7' is not a value of a 4x4 Sudoku (1-4, or . for a blank)"
    assert found[2][1] == SMALL[1]


def test_bad_puzzles_and_the_ones_after() -> None:
    double = PUZZLE[:2] + "5" + PUZZLE[3:]
    found = read(f"{PUZZLE[:80]}\n  {double}\n\n{GRID[:-1]}\n\n{GRID[:-1]}x\n\n{PUZZLE}\n")
    assert [text for _, text in found] == [
        "f:1:80: 80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9)",
        "f:2:5: r1c1 and r1c3 are both 5",
        "f:12:8: 80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9); this row has 8 cells, most have 9",
        "f:22:9: 'x' is not a value of a 9x9 Sudoku (1-9, or . for a blank)",
        PUZZLE,
    ]
    assert [line for line, _ in found] == [1, 2, 4, 14, 24]


@pytest.mark.parametrize("size", [5, 7])
def test_a_size_without_boxes_suggests_latin(size: int) -> None:
    text = "\n".join(["." * size] * size)
    [(line, message)] = read(text)
    assert line == 1
    assert "use --family latin" in message
    assert isinstance(only(text, "latin"), Latin)


def test_latin_squares() -> None:
    five = "1 2 3 4 5\n. . . . .\n. . . . .\n. . . . .\n5 . . . ."
    line = "12345" + "." * 15 + "5...."
    assert read(f"{five}\n\n{five}\n# c\n{five}\n{line}\n{line}\n", "latin") == [
        (1, line),
        (7, line),
        (13, line),
        (18, line),
        (19, line),
    ]
    assert read("123231312\n" * 9, "latin") == [(i + 1, "123231312") for i in range(9)]
    assert len(read("....\n" * 4, "latin")) == 1
    numbers = " ".join(["40"] + ["."] * 1599)
    assert len(read(f"{numbers}\n{numbers}\n", "latin")) == 2
    rows = "\n".join([" ".join(["40"] + ["."] * 39)] + [" ".join(["."] * 40)] * 39)
    assert len(read(f"{rows}\n\n{rows}\n", "latin")) == 2


def test_csv() -> None:
    wrong = "6" + SOLUTION[1:]
    text = f"quizzes,solutions\n{PUZZLE},{SOLUTION}\n{PUZZLE},{wrong}\n\n{PUZZLE[:-1]}x,{SOLUTION}\n{PUZZLE},\n"
    assert read(text) == [
        (2, PUZZLE),
        (3, "f:3: the solution is wrong: r1c1 is 6, but 5 is given"),
        (5, "f:5:81: 'x' is not a value of a 9x9 Sudoku (1-9, or . for a blank)"),
        (6, PUZZLE),
    ]
    assert read(f'# c\nid,"Puzzle"\n7,"{PUZZLE}"\n8\n77,{PUZZLE[:80]}\n') == [
        (3, PUZZLE),
        (4, "f:4: no cells: the text is empty"),
        (5, "f:5:83: 80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9)"),
    ]
    assert read(f"puzzle\n{PUZZLE}\n{PUZZLE}") == [(2, PUZZLE), (3, PUZZLE)]
    assert read("puzzle,solution\n" + "1...." + "." * 20 + ",\n", "latin") == [(2, "1...." + "." * 20)]


def test_csv_in_quotes_over_lines() -> None:
    assert read(f'n,puzzle\n1,"{GRID}"\n2,{PUZZLE}\n') == [(2, PUZZLE), (11, PUZZLE)]


def test_cnf(tmp_path: Path) -> None:
    text = "c head\np cnf 2 1\n1 -2 0\n"
    assert only(text) == CNF(2, [[1, -2]])
    path = tmp_path / "x.cnf.gz"
    path.write_bytes(gzip.compress(b"1 0\n"))
    [(_, error)] = read_instances(path)
    assert str(error) == f"{path}:1:1: a clause before the header 'p cnf VARIABLES CLAUSES'"
    assert [line for line, _ in read(text, "cnf")] == [2]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_files_plain_and_packed(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "list"  # told by its first bytes, not by its name
    path.write_bytes(pack(("\ufeff" + f"{PUZZLE}\r\n" * 3).encode()))
    assert [line for line, item in read_instances(path) if item == Sudoku.parse(PUZZLE)] == [1, 2, 3]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (PUZZLE.encode(), gzip.compress(PUZZLE.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert [item for _, item in read_instances("-")] == [Sudoku.parse(PUZZLE)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("!\n"))
    [(_, error)] = read_instances("-")
    assert str(error).startswith("<stdin>:1:1: 1 cell;")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"# only\n\nc words\n", "has no puzzle"),
        (b"-----+-----\n", "has no puzzle"),
        (b"puzzle,solution\n", "has no puzzle"),
        (b"\x00\x01\x02", "is not a text file"),
        (b"." * 9000 + b"\n\x00", "is not a text file"),
        (b"\xff\xfe5\x003\x00", "is not a text file"),
        (b"12\xc3\n", "is not a text file"),
        (gzip.compress(PUZZLE.encode(), mtime=0)[:-12], "is damaged"),
        (lzma.compress(PUZZLE.encode())[:-12], "is damaged"),
        (b"\x1f\x8bnonsense here", "is damaged"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        list(read_instances(path))


def test_missing_file_directory_and_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        next(read_instances(tmp_path / "none"))
    with pytest.raises(InputError, match="is a directory"):
        next(read_instances(tmp_path))
    with pytest.raises(ValueError, match="family 'nonogram' is none of auto, sudoku, latin, cnf"):
        read_instances("-", "nonogram")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="box is for Sudokus"):
        read_instances("-", "latin", (2, 2))
    with pytest.raises(ValueError, match="both must be at least 2"):
        read_instances("-", "sudoku", (1, 9))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.cnf", "p cnf 1 1\n1 0\n"),
        ("x.opb", "+1 x1 >= 1 ;\n"),
        ("x.txt", '{"dibs": "problem", "version": 1, "literals": 1}'),
    ],
)
def test_a_box_of_what_has_none(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="box is for Sudokus, not for family"):
        list(read_instances(tmp_path / name, box=(3, 3)))


def test_input_error_text_and_pickle() -> None:
    error = InputError("is odd", "f", 2, 3)
    assert str(error) == "f:2:3: is odd"
    assert str(InputError("is odd", line=2, column=3)) == "line 2, column 3: is odd"
    assert str(InputError("is odd", "f")) == "f: is odd"
    assert str(InputError("is odd")) == "is odd"
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.file, again.line, again.column) == ("is odd", "f", 2, 3)


def test_what_came_before_the_damage_is_read(tmp_path: Path) -> None:
    puzzle = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    rng = np.random.default_rng(1)
    lines = [
        puzzle.translate(str.maketrans("123456789", "".join(map(str, rng.permutation(9) + 1)))) for _ in range(2000)
    ]
    packed = gzip.compress("\n".join(lines).encode())
    path = tmp_path / "broken.gz"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    found: list[str] = []
    items = read_instances(str(path))
    with pytest.raises(InputError, match="is damaged"):
        found.extend(item.line() for _, item in items if not isinstance(item, InputError))
    assert 1000 < len(found) < 2000
    assert found == lines[: len(found)]
