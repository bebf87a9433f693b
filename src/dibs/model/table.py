"""Puzzles with their solutions from a CSV file, such as the million easy ones (`quizzes,solutions`) of the paper."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.reading import PUZZLE_COLUMNS, SOLUTION_COLUMNS
from dibs.problem.text import InputError, Source, open_text

CELLS, SIZE = 81, 9
CHUNK = 1 << 15  # rows that are checked at once: their arrays stay in the cache
TEST_GIVENS = 17  # 17-clue puzzles are the test set and are never trained on
WRONG = 255
FULL = (1 << SIZE) - 1

Values = NDArray[np.uint8]

_DIGIT = np.full(256, WRONG, np.uint8)
_DIGIT[ord("0") : ord("9") + 1] = np.arange(10)
_DIGIT[ord(".")] = 0
_BIT = np.concatenate([[0], 1 << np.arange(SIZE)]).astype(np.int16)  # of a digit; a blank has none


class Table(NamedTuple):
    quizzes: Values  # [n, 81], 0 = blank
    solutions: Values  # [n, 81]
    skipped: int  # rows with 17 clues, which are left out


class _Rows(NamedTuple):
    """A part of the file."""

    lines: list[int]
    quizzes: list[str]
    solutions: list[str]


def read_table(source: Source, name: str | None = None) -> Table:
    """All rows of a CSV file (plain, .gz or .xz) with a column of 9x9 quizzes and one of their solutions.

    A million rows take less than ten seconds. Every row is checked; the first bad one raises InputError with its line.
    """
    quizzes, solutions, skipped = [], [], 0
    with open_text(source, name) as (file, lines):
        for rows in _chunks(lines, file):
            lines.progress()
            quiz, solution = _checked(rows, file)
            kept = np.count_nonzero(quiz, axis=1) != TEST_GIVENS
            skipped += len(quiz) - int(kept.sum())
            quizzes.append(quiz[kept])
            solutions.append(solution[kept])
    if not any(map(len, quizzes)):
        why = f": all {skipped} have 17 clues, which are for tests only" if skipped else ""
        raise InputError(f"has no puzzle to train on{why}", file)
    return Table(np.concatenate(quizzes), np.concatenate(solutions), skipped)


def _chunks(lines: Iterator[str], file: str) -> Iterator[_Rows]:
    reader = csv.reader(lines)
    try:
        header = next(reader, None)
        if header is None:
            raise InputError("is empty", file)
        quiz, solution = (_column(header, names, file) for names in (PUZZLE_COLUMNS, SOLUTION_COLUMNS))
        width = max(quiz, solution) + 1
        while part := [(reader.line_num, row) for row in islice(reader, CHUNK)]:
            for _, row in part:
                row.extend([""] * (width - len(row)))  # a field that is not there has 0 characters
            part = [(line, row) for line, row in part if any(row)]
            yield _Rows(
                [line for line, _ in part],
                [row[quiz].strip() for _, row in part],
                [row[solution].strip() for _, row in part],
            )
    except csv.Error as error:
        raise InputError(f"is not a CSV file: {error}", file, reader.line_num) from None


def _column(header: list[str], names: tuple[str, ...], file: str) -> int:
    found = [i for i, name in enumerate(header) if name.strip().lower() in names]
    if not found:
        raise InputError(f"no column {names[0]!r}: the first line must name the columns, quizzes,solutions", file, 1)
    return found[0]


def _checked(rows: _Rows, file: str) -> tuple[Values, Values]:
    """(quizzes [n, 81], solutions [n, 81]); raises for the first row that is wrong.

    Only rows of the right length can be an array: those above the first other one are checked before it is named.
    """
    lengths = np.array([list(map(len, rows.quizzes)), list(map(len, rows.solutions))], np.int64).reshape(2, -1)
    end = _first((lengths != CELLS).any(axis=0))
    quizzes, solutions = _values(rows.quizzes[:end]), _values(rows.solutions[:end])
    faults = {
        "the quiz has a character that is no digit; blanks are 0 or .": (quizzes == WRONG).any(axis=1),
        "the solution has a character that is no digit": (solutions == WRONG).any(axis=1),
        "the solution is not complete; solve the puzzle or leave the row out": (solutions == 0).any(axis=1),
        "the solution repeats a digit in a row, column or box; correct it or leave the row out": ~_solved(solutions),
        "the quiz differs from its solution at a given cell; correct it or leave the row out": (
            (quizzes != 0) & (quizzes != solutions)
        ).any(axis=1),
        "the quiz has fewer than 17 clues, so more than one solution; leave the row out": (
            np.count_nonzero(quizzes, axis=1) < TEST_GIVENS
        ),
    }
    bad = [(row, fault) for fault, where in faults.items() if (row := _first(where)) < end]
    if bad:
        row, fault = min(bad, key=lambda entry: entry[0])  # the first fault of the first row
        raise InputError(fault, file, rows.lines[row])
    if end < len(rows.lines):
        which, length = next(
            (w, int(n)) for w, n in zip(("quiz", "solution"), lengths[:, end], strict=True) if n != CELLS
        )
        raise InputError(f"the {which} has {length} characters; a 9x9 grid has {CELLS}", file, rows.lines[end])
    return quizzes, solutions


def _first(where: NDArray[np.bool_]) -> int:
    """The first true place of `where` [n], or n."""
    return int(where.argmax()) if where.any() else len(where)


def _values(texts: list[str]) -> Values:
    """[n, 81] of texts with 81 characters each; WRONG for what is no digit."""
    code = "".join(texts).encode("ascii", "replace")  # one byte a character, whatever it is
    return _DIGIT[np.frombuffer(code, np.uint8)].reshape(-1, CELLS)


def _solved(solutions: Values) -> NDArray[np.bool_]:
    """[n] whether each row, column and box of `solutions` [n, 81] holds all digits."""
    digits = np.where(solutions == WRONG, np.uint8(0), solutions)
    grid = _BIT[digits].reshape(-1, 3, 3, 3, 3)  # n, band, row, stack, column
    masks = [np.bitwise_or.reduce(grid, axis=axes) for axes in ((3, 4), (1, 2), (2, 4))]
    solved: NDArray[np.bool_] = (np.stack(masks, axis=1) == FULL).all(axis=(1, 2, 3))
    return solved
