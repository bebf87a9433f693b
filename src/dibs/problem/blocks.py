"""Cutting a text with many puzzles into the text of each: one on a line, or grids of many lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dibs.problem.grid import Grid
from dibs.problem.latin import LARGEST, Latin
from dibs.problem.shape import Box
from dibs.problem.symbols import MOST_SYMBOLS, Cell, Row, arrange, is_rule, scan, without_comment
from dibs.problem.text import InputError

_HEADING = re.compile(r"(grid|puzzle|sudoku|game)\b", re.IGNORECASE)
_DRAWN = set("+=|,#")


class Record(NamedTuple):
    """The text of one puzzle, and where it begins."""

    line: int  # from 1
    indent: int  # characters before it
    text: str


class Line(NamedTuple):
    """One line of a grid that is being collected; a rule has no row."""

    number: int
    text: str
    row: Row | None


class Blocks:
    """The puzzles of a text, in one pass; it holds no more than the lines of one grid.

    A line that is longer than any row stands alone. Shorter lines are collected until the grid is complete, or until
    an empty line, a comment or a heading ends it.
    """

    def __init__(self, grid: type[Grid], box: Box | None) -> None:
        self.grid = grid
        self.box = box
        self.fits = grid.fitting(box)
        self.smallest = 1 if grid is Latin else 4
        self.longest_row = box[0] * box[1] if box else LARGEST if grid is Latin else MOST_SYMBOLS
        self.block: list[Line] = []

    def records(self, lines: Iterable[str], first: int = 1) -> Iterator[Record]:
        """The texts of `lines`, the first of which has the number `first`."""
        for number, line in enumerate(lines, first):
            head = line.split(None, 1)[:1]
            if head and len(head[0]) > self.longest_row and _is_plain(head[0]):
                yield from self.flush()
                yield Record(number, line.index(head[0]), head[0])
            else:
                yield from self.take(number, line)
        yield from self.flush()

    def take(self, number: int, line: str) -> Iterator[Record]:
        """A line that is no plain one-line puzzle."""
        body = without_comment(line).strip()
        if not body or _HEADING.match(body):
            yield from self.flush()
            return
        if is_rule(body):
            if 0 < len(self.block) < 2 * self.longest_row:
                self.block.append(Line(number, line, None))
            return
        body = self.without_remark(body)
        begin = line.index(body)
        rows = scan(body)
        if not rows:  # separators only
            return
        if self.stands_alone(rows[0]):
            yield from self.flush()
            yield Record(number, begin, body)
            return
        self.block.append(Line(number, line[: begin + len(body)], rows[0]))
        if self.complete() or len(self.block) >= 2 * self.longest_row:  # so many lines, with rules, are no grid
            yield from self.flush()

    def without_remark(self, body: str) -> str:
        """A one-line puzzle may have a remark after a blank; the blanks of a grid's row set shorter pieces apart."""
        head, *rest = body.split(None, 1)
        alone = len(head) > 9 and self.fits(len(head)) and _is_plain(head)
        return head if rest and alone else body

    def stands_alone(self, row: Row) -> bool:
        """Whether the line has more cells than a row can have; a rule of dashes may be as long as it likes."""
        if row.characters <= self.longest_row:
            return False
        count = len(self.cells(row))
        return count > self.longest_row and (not row.dashes or self.fits(count))

    def cells(self, row: Row) -> list[Cell]:
        """The cells of a line that may be a puzzle by itself."""
        return arrange([row], self.fits) or row.cells(row.numbers)

    def complete(self) -> bool:
        """Whether as many rows are there as each has cells. A row of dashes may be a rule, so it waits."""
        rows = [line.row for line in self.block if line.row and not line.row.dashes]
        count = len(rows)
        if count < self.smallest or count not in (rows[0].characters, len(rows[0].tokens)):
            return False
        return all(row.characters == count for row in rows) or all(
            row.numbers and len(row.tokens) == count and all(token.value <= count for token in row.tokens)
            for row in rows
        )

    def flush(self) -> Iterator[Record]:
        """What has been collected, as one grid or as a puzzle on each line."""
        block, self.block = self.block, []
        while block and block[-1].row is None:
            block.pop()
        if not block:
            return
        if all(line.row and line.row.dashes for line in block) and not self.fits(
            sum(line.row.characters for line in block if line.row)
        ):
            return  # nothing but a rule
        whole = Record(block[0].number, 0, "\n".join(line.text for line in block))
        if self.separate([line.row for line in block], whole.text):
            yield from (Record(line.number, 0, line.text) for line in block)
        else:
            yield whole

    def separate(self, rows: list[Row | None], text: str) -> bool:
        """Whether each line is a puzzle: sixteen lines of sixteen characters may be a grid or sixteen 4x4 puzzles.

        They are puzzles if each is one by itself (no symbol above 4); a block that cannot be a grid is also read by
        lines if most of them are puzzles, so that one bad line does not spoil the others.
        """
        if any(row is None for row in rows) or len(rows) == 1:
            return False
        puzzles = sum(self.is_puzzle(row) for row in rows if row)
        square = all(len(self.cells(row)) == len(rows) for row in rows if row)
        if puzzles < len(rows):
            return not square and 2 * puzzles > len(rows)
        if not square:
            return True
        blank = all(cell.value == 0 for row in rows if row for cell in self.cells(row))
        # Squares are written as blocks more often than on a line, so a block that is one stays one.
        return not blank and not (self.grid is Latin and self.reads(text))

    def is_puzzle(self, row: Row) -> bool:
        """Whether the line by itself has the length and the symbols of a puzzle."""
        cells = self.cells(row)
        if not self.fits(len(cells)):
            return False
        size = self.grid.shape_of(len(cells), self.box).size
        return all(0 <= cell.value <= size for cell in cells)

    def reads(self, text: str) -> bool:
        return not isinstance(self.grid.many([text], self.box)[0], InputError)


def _is_plain(text: str) -> bool:
    """Nothing in it is drawn: no separators, no comment and no rule of dashes."""
    return _DRAWN.isdisjoint(text) and text.strip("-") != ""
