"""Reading the instances of a file, whatever its format, one after the other."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple, TypeVar, get_args

from dibs.problem.blocks import Blocks
from dibs.problem.cnf import CNF
from dibs.problem.grid import Grid
from dibs.problem.latin import Latin
from dibs.problem.shape import Box
from dibs.problem.structure import Instance
from dibs.problem.sudoku import Sudoku, check_box
from dibs.problem.text import InputError, Source, open_text

Family = Literal["auto", "sudoku", "latin", "cnf"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Item = tuple[int, Instance | InputError]

CNF_ENDINGS = tuple(ending + packed for ending in (".cnf", ".dimacs") for packed in ("", ".gz", ".xz"))
PUZZLE_COLUMNS = ("quizzes", "quiz", "puzzles", "puzzle", "question")
SOLUTION_COLUMNS = ("solutions", "solution", "answer")
LARGEST_BATCH = 1024

T = TypeVar("T")


def read_instances(
    source: Source, family: Family = "auto", box: Box | None = None, *, name: str | None = None
) -> Iterator[Item]:
    """The instances of a path, of standard input ("-") or of a text stream, each with the line where it begins.

    A bad puzzle gives its InputError in place of an instance, and reading goes on; a file that cannot be read, or has
    no puzzle, raises InputError. `box` is (rows, columns) of a Sudoku's boxes; `name` is how messages call the source.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is none of {', '.join(FAMILIES)}")
    if box is not None:
        box = check_box(box)
        if family in ("latin", "cnf"):
            raise ValueError(f"box is for Sudokus, not for family {family!r}")
    return _read(source, family, box, name)


class Start(NamedTuple):
    """The first line that is no comment, its number, and the lines above it."""

    number: int
    line: str
    skipped: list[str]


def _read(source: Source, family: Family, box: Box | None, name: str | None) -> Iterator[Item]:
    with open_text(source, name) as (file, lines):
        start = _start(lines, file)
        grid = Latin if family == "latin" else Sudoku
        items: Iterable[Item]
        if family == "cnf" or (family == "auto" and _is_cnf(start, file)):
            items = [_read_cnf(chain(start.skipped, [start.line], lines), file, start.number)]
        elif columns := _csv_columns(start.line):
            items = _read_csv(lines, file, start.number, columns, grid, box)
        else:
            items = _read_text(chain(start.skipped, [start.line], lines), file, grid, box)
        nothing = True
        for item in items:
            nothing = False
            yield item
        if nothing:
            raise InputError("has no puzzle", file)


def _start(lines: Iterator[str], file: str) -> Start:
    """Read up to the first line that is neither blank nor a comment of any of the formats."""
    skipped: list[str] = []
    for line in lines:
        words = line.split(None, 1)
        if words and not words[0].startswith("#") and words[0] != "c":
            return Start(len(skipped) + 1, line, skipped)
        skipped.append(line)
    raise InputError("has no puzzle" if any(line.strip() for line in skipped) else "is empty", file)


def _is_cnf(start: Start, file: str) -> bool:
    return file.lower().endswith(CNF_ENDINGS) or start.line.split()[:2] == ["p", "cnf"]


def _read_cnf(lines: Iterable[str], file: str, number: int) -> Item:
    try:
        return number, CNF.from_lines(lines, file)
    except InputError as error:
        if error.line is None:  # the file itself cannot be read
            raise
        return number, error


def _read_text(lines: Iterable[str], file: str, grid: type[Grid], box: Box | None) -> Iterator[Item]:
    for batch in _batches(Blocks(grid, box).records(lines)):
        found = grid.many([record.text for record in batch], box)
        for record, instance in zip(batch, found, strict=True):
            if isinstance(instance, InputError):
                yield record.line, instance.moved(file, record.line - 1, record.indent)
            else:
                yield record.line, instance


def _batches(records: Iterator[T]) -> Iterator[list[T]]:
    """Small batches first, so that the first answers do not wait; then large ones, which are faster.

    Where the file breaks off (a damaged archive), what came before is handed over first.
    """
    size = 1
    while True:
        batch: list[T] = []
        try:
            batch.extend(islice(records, size))
        except InputError:
            if batch:
                yield batch
            raise
        if not batch:
            return
        yield batch
        size = min(2 * size, LARGEST_BATCH)


class Columns(NamedTuple):
    puzzle: int
    solution: int | None


class Entry(NamedTuple):
    """One row of a CSV file."""

    line: int
    indent: int  # characters before the puzzle
    puzzle: str
    solution: str


def _csv_columns(header: str) -> Columns | None:
    """Where a CSV header says that the puzzles are, or None if the line is no such header."""
    names = [name.strip().strip('"').lower() for name in header.split(",")]
    puzzle = next((i for i, name in enumerate(names) if name in PUZZLE_COLUMNS), None)
    solution = next((i for i, name in enumerate(names) if name in SOLUTION_COLUMNS), None)
    return None if puzzle is None else Columns(puzzle, solution)


def _csv_entries(lines: Iterator[str], file: str, header: int, columns: Columns) -> Iterator[Entry]:
    rows = csv.reader(lines)
    ended = 0
    try:
        for row in rows:
            began, ended = header + ended + 1, rows.line_num
            if row:
                padded = [*row, *[""] * (max(columns.puzzle, columns.solution or 0) + 1 - len(row))]
                solution = "" if columns.solution is None else padded[columns.solution].strip()
                indent = sum(len(field) + 1 for field in padded[: columns.puzzle])
                yield Entry(began, indent, padded[columns.puzzle].strip(), solution)
    except csv.Error as error:
        raise InputError(f"is not a CSV file: {error}", file, header + rows.line_num) from None


def _read_csv(
    lines: Iterator[str], file: str, header: int, columns: Columns, grid: type[Grid], box: Box | None
) -> Iterator[Item]:
    for batch in _batches(_csv_entries(lines, file, header, columns)):
        found = grid.many([entry.puzzle for entry in batch], box)
        solved = [(i, e.solution) for i, e in zip(found, batch, strict=True) if e.solution and isinstance(i, Grid)]
        wrong = iter(grid.violations([instance for instance, _ in solved], [solution for _, solution in solved]))
        for entry, instance in zip(batch, found, strict=True):
            if isinstance(instance, InputError):
                yield entry.line, instance.moved(file, entry.line - 1, entry.indent)
            elif entry.solution and (violation := next(wrong)):
                yield entry.line, InputError(f"the solution is wrong: {violation}", file, entry.line)
            else:
                yield entry.line, instance
