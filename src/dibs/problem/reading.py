"""Reading the instances of a file, whatever its format, one after the other."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple, TypeVar, get_args

from dibs.problem.blocks import Blocks, Record
from dibs.problem.cnf import CNF
from dibs.problem.grid import Grid
from dibs.problem.latin import LARGEST, Latin
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.opb import read_opb
from dibs.problem.shape import Box
from dibs.problem.stored import from_json
from dibs.problem.structure import Instance
from dibs.problem.sudoku import Sudoku, check_box
from dibs.problem.text import InputError, Lines, Source, open_text

Family = Literal["auto", "sudoku", "latin", "cnf", "opb", "problem"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Item = tuple[int, Instance | InputError]

ENDINGS: dict[str, Family] = {".cnf": "cnf", ".dimacs": "cnf", ".knf": "cnf", ".opb": "opb", ".json": "problem"}
PACKED = (".gz", ".xz")
PUZZLE_COLUMNS = ("quizzes", "quiz", "puzzles", "puzzle", "question")
SOLUTION_COLUMNS = ("solutions", "solution", "answer")
LARGEST_BATCH = 1024
LONGEST_BATCH = 1 << 20  # characters, or one puzzle if it is longer
LONGEST_ROW = 8 * LARGEST  # characters of a grid's row, with room for blanks

_LINEAR = re.compile(r"\s*(min\s*:|max\s*:|[+-]?\s*[0-9]+\s+~?\s*x[0-9])")  # how OPB begins without a header

T = TypeVar("T", "Record", "Entry")


def read_instances(
    source: Source,
    family: Family = "auto",
    box: Box | None = None,
    *,
    name: str | None = None,
    limits: InputLimits = DEFAULT,
    repeats: bool = False,
) -> Iterator[Item]:
    """The instances of a file, each with the line where it begins, in constant memory.

    A bad puzzle gives its InputError in place of an instance, and reading goes on.

    Args:
        source: a path, "-" for standard input, or a text stream.
        family: sudoku, latin, cnf, opb or problem; auto: by how it is called and how it begins.
        box: (rows, columns) of a Sudoku's boxes.
        name: how messages call the source.
        limits: how much of an input is taken.
        repeats: lets equal givens in a unit pass.

    Returns:
        An iterator of (line, instance or InputError).

    Raises:
        InputError: the file cannot be read, has no puzzle, or goes beyond a limit.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is none of {', '.join(FAMILIES)}")
    if box is not None:
        box = check_box(box)
        if family not in ("auto", "sudoku"):
            raise ValueError(f"box is for Sudokus, not for family {family!r}")
    return _read(source, family, box, name, limits, repeats)


class Start(NamedTuple):
    """The first line that is no comment, its number, and what stands above it and may yet be rows of its grid."""

    number: int
    line: str
    above: list[str]


def _read(
    source: Source, family: Family, box: Box | None, name: str | None, limits: InputLimits, repeats: bool
) -> Iterator[Item]:
    with open_text(source, name, limits) as (file, lines):
        start = _start(lines, file)
        family = _whole_file(start, file) or "sudoku" if family == "auto" else family
        grid = Latin if family == "latin" else Sudoku
        items: Iterable[Item]
        if family in ENDINGS.values():
            if box is not None:
                raise InputError(f"box is for Sudokus, not for family {family!r}", file)
            items = [_read_whole(family, chain([start.line], lines), file, start.number, limits)]
        elif columns := _csv_columns(start.line):
            items = _read_csv(
                _batches(_csv_entries(lines, file, start.number, columns), lines), file, grid, box, repeats
            )
        else:
            first = start.number - len(start.above)
            records = Blocks(grid, box).records(chain(start.above, [start.line], lines), first)
            items = _read_text(_batches(records, lines), file, grid, box, repeats)
        nothing = True
        for item in items:
            nothing = False
            yield item
        if nothing:
            raise InputError("has no puzzle", file)


def _start(lines: Lines, file: str) -> Start:
    """Read up to the first line that is neither blank nor a comment of any of the formats; comments do not pile up.

    A line that begins with a lone `c` is a comment of DIMACS or a row with a 12, so as many of them as make a grid are
    kept.
    """
    above: list[str] = []
    blank = True
    for line in lines:
        words = line.split(None, 1)
        if words and not words[0].startswith("#") and words[0] != "c":
            return Start(lines.number, line, above)
        blank = blank and not words
        if words and words[0] == "c" and len(line) <= LONGEST_ROW and len(above) < LARGEST:
            above.append(line)
        else:
            above.clear()
    raise InputError("is empty" if blank else "has no puzzle", file)


def _whole_file(start: Start, file: str) -> Family | None:
    """The family of a file that is one instance, by its name or by how it begins; None: it is none."""
    name = file.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    for ending, family in ENDINGS.items():
        if name.endswith(ending):
            return family
    words = start.line.split()
    if words[:2] in (["p", "cnf"], ["p", "knf"]):
        return "cnf"
    if (words[0] == "*" and "#variable=" in start.line) or _LINEAR.match(start.line):
        return "opb"
    return "problem" if words[0].startswith("{") else None


def _read_whole(family: Family, lines: Iterable[str], file: str, number: int, limits: InputLimits) -> Item:
    """The one instance of a file."""
    text = "".join(lines) if family == "problem" else ""
    try:
        if family == "problem":
            return number, from_json(text, file, limits)
        read = read_opb if family == "opb" else CNF.from_lines
        return number, read(lines, file, first=number, limits=limits)
    except InputError as error:
        if error.line is None and family != "problem":  # the file itself cannot be read
            raise
        return number, error


def _read_text(
    batches: Iterator[list[Record]], file: str, grid: type[Grid], box: Box | None, repeats: bool
) -> Iterator[Item]:
    for batch in batches:
        found = grid.many([record.text for record in batch], box, repeats)
        for record, instance in zip(batch, found, strict=True):
            if isinstance(instance, InputError):
                yield record.line, instance.moved(file, record.line - 1, record.indent)
            else:
                yield record.line, instance


def _batches(records: Iterator[T], lines: Lines) -> Iterator[list[T]]:
    """Small batches first, so that the first answers do not wait; then large ones, which are faster.

    Each of the records is progress in reading the `lines` that they come from.
    Where the file breaks off (a damaged archive), what came before is handed over first.
    """
    size = 1
    while True:
        batch: list[T] = []
        room = LONGEST_BATCH
        try:
            for record in islice(records, size):
                batch.append(record)
                lines.progress()
                room -= len(record.text)
                if room < 0:
                    break
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
    text: str
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
    batches: Iterator[list[Entry]], file: str, grid: type[Grid], box: Box | None, repeats: bool
) -> Iterator[Item]:
    for batch in batches:
        found = grid.many([entry.text for entry in batch], box, repeats)
        solved = [(i, e.solution) for i, e in zip(found, batch, strict=True) if e.solution and isinstance(i, Grid)]
        wrong = iter(grid.violations([instance for instance, _ in solved], [solution for _, solution in solved]))
        for entry, instance in zip(batch, found, strict=True):
            if isinstance(instance, InputError):
                yield entry.line, instance.moved(file, entry.line - 1, entry.indent)
            elif entry.solution and (violation := next(wrong)):
                yield entry.line, InputError(f"the solution is wrong: {violation}", file, entry.line)
            else:
                yield entry.line, instance
