"""A CSV of quizzes and solutions: what is read, what is left out, and one line for each way to be wrong."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs.model import table
from dibs.model.table import Table, read_table
from dibs.problem import InputError

QUIZ = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
HEADER = "quizzes,solutions"
ROW = f"{QUIZ},{SOLUTION}"


def numbers(text: str) -> NDArray[np.uint8]:
    return np.array(list(text.replace(".", "0")), np.uint8)


def relabelled(text: str, by: int) -> str:
    return "".join(c if c == "0" else str((int(c) - 1 + by) % 9 + 1) for c in text)


def few(clues: int) -> str:
    """The solution with its first `clues` cells given."""
    return SOLUTION[:clues].ljust(81, "0")


def read(*lines: str) -> Table:
    return read_table(io.StringIO("\n".join(lines) + "\n"), name="f.csv")


def refused(*lines: str) -> str:
    with pytest.raises(InputError) as error:
        read(*lines)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_rows_in_order(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK", chunk)
    rows = [(relabelled(QUIZ, i), relabelled(SOLUTION, i)) for i in range(9)]
    found = read(HEADER, *(f"{quiz},{solution}" for quiz, solution in rows))
    assert np.array_equal(found.quizzes, np.stack([numbers(quiz) for quiz, _ in rows]))
    assert np.array_equal(found.solutions, np.stack([numbers(solution) for _, solution in rows]))
    assert found.quizzes.dtype == found.solutions.dtype == np.uint8
    assert found.skipped == 0


def test_other_columns_dots_quotes_and_blank_lines() -> None:
    found = read("id, Solutions ,quizzes", f'7,{SOLUTION},"{QUIZ.replace("0", ".")}"', "", f"8, {SOLUTION} ,{QUIZ}")
    assert np.array_equal(found.quizzes, np.stack([numbers(QUIZ)] * 2))
    assert np.array_equal(found.solutions, np.stack([numbers(SOLUTION)] * 2))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_files_plain_and_packed(name: str, tmp_path: Path) -> None:
    text = "\r\n".join([HEADER, ROW, ROW, ""]).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert len(read_table(tmp_path / name).quizzes) == 2


def test_17_clues_are_for_tests_only() -> None:
    found = read(HEADER, f"{few(17)},{SOLUTION}", ROW, f"{few(18)},{SOLUTION}", f"{few(17)},{SOLUTION}")
    assert found.skipped == 2
    assert np.count_nonzero(found.quizzes, axis=1).tolist() == [30, 18]
    assert len(found.solutions) == 2
    only = refused(HEADER, f"{few(17)},{SOLUTION}")
    assert only == "f.csv: has no puzzle to train on: all 1 have 17 clues, which are for tests only"


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(InputError, match="is empty"):
        read_table(io.StringIO(""))
    assert refused(HEADER) == "f.csv: has no puzzle to train on"


@pytest.mark.parametrize(
    ("header", "missing"), [("quizzes,answers", "solutions"), ("a,solutions", "quizzes"), (ROW, "quizzes")]
)
def test_missing_column(header: str, missing: str) -> None:
    wanted = f"f.csv:1: no column '{missing}': the first line must name the columns, quizzes,solutions"
    assert refused(header, ROW) == wanted


def changed(text: str, cell: int, to: str) -> str:
    return text[:cell] + to + text[cell + 1 :]


def swapped(first: int, second: int) -> str:
    cells = list(SOLUTION)
    cells[first], cells[second] = cells[second], cells[first]
    return "".join(cells)


COLUMN_AND_BOX_ONLY = SOLUTION[27:36] + SOLUTION[9:27] + SOLUTION[:9] + SOLUTION[36:]  # rows 1 and 4 swapped
WRONG = {
    "short quiz": (f"{QUIZ[:-1]},{SOLUTION}", "the quiz has 80 characters; a 9x9 grid has 81"),
    "long solution": (f"{QUIZ},{SOLUTION}1", "the solution has 82 characters"),
    "no solution": (QUIZ, "the solution has 0 characters"),
    "letter": (f"{changed(QUIZ, 5, 'x')},{SOLUTION}", "the quiz has a character that is no digit; blanks are 0 or ."),
    "not ASCII": (f"{changed(QUIZ, 5, 'é')},{SOLUTION}", "the quiz has a character that is no digit"),
    "letter in solution": (f"{QUIZ},{changed(SOLUTION, 5, 'x')}", "the solution has a character that is no digit"),
    "unsolved": (f"{QUIZ},{changed(SOLUTION, 2, '0')}", "the solution is not complete; solve the puzzle or leave"),
    "given": (f"{changed(QUIZ, 0, '4')},{SOLUTION}", "the quiz differs from its solution at a given cell; correct it"),
    "row": (f"{'0' * 81},{swapped(2, 11)}", "the solution repeats a digit in a row, column or box; correct it"),
    "column": (f"{'0' * 81},{swapped(2, 1)}", "the solution repeats a digit in a row, column or box"),
    "box": (f"{'0' * 81},{COLUMN_AND_BOX_ONLY}", "the solution repeats a digit in a row, column or box"),
    "too few": (f"{few(16)},{SOLUTION}", "the quiz has fewer than 17 clues, so more than one solution"),
}


@pytest.mark.parametrize("chunk", [2, 1000])
@pytest.mark.parametrize("fault", WRONG)
def test_wrong_row_is_named(fault: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK", chunk)
    row, message = WRONG[fault]
    assert refused(HEADER, ROW, "", ROW, row, ROW).startswith(f"f.csv:5: {message}")


def test_first_wrong_row_is_the_one_named() -> None:
    short, unsolved, given = (WRONG[fault][0] for fault in ("short quiz", "unsolved", "given"))
    assert refused(HEADER, ROW, unsolved, short, given).startswith("f.csv:3: the solution is not complete")
    assert refused(HEADER, short, unsolved).startswith("f.csv:2: the quiz has 80")
    assert refused(HEADER, given, unsolved).startswith("f.csv:2: the quiz differs")
