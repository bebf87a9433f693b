"""Sudoku of any size up to 36x36, with boxes of any rows x columns."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import ClassVar, Self

from numpy.typing import ArrayLike

from dibs.problem.grid import Grid
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.symbols import MOST_SYMBOLS
from dibs.wording import plural

SMALLEST = 4


def default_box(size: int) -> Box | None:
    """The most square box with rows <= columns, or None if the size has none with at least two rows."""
    rows = next((rows for rows in range(isqrt(size), 1, -1) if size % rows == 0), None)
    return (rows, size // rows) if rows else None


SIZES = tuple(size for size in range(SMALLEST, MOST_SYMBOLS + 1) if default_box(size))


class Sudoku(Grid):
    """A Sudoku: every row, column and box holds 1..n once.

    `Sudoku(values, box)` takes n * n numbers, 0 for a blank; `parse` takes text.
    """

    __slots__ = ()
    family: ClassVar[str] = "sudoku"
    title: ClassVar[str] = "Sudoku"
    lettered: ClassVar[int] = MOST_SYMBOLS

    @classmethod
    def parse(cls, text: str | ArrayLike, box: Box | None = None, *, repeats: bool = False) -> Self:
        """One puzzle, on one line or as a grid, with or without lines between the boxes.

        Blanks are . 0 _ - * ?; values above 9 are letters (A = 10, ..., @ = 36) or numbers set apart by blanks; `#`
        begins a comment.

        Args:
            text: the puzzle, or an array of numbers, 0 for a blank.
            box: (rows, columns) of a box; the most square one, unless you say otherwise.
            repeats: lets equal givens in a unit pass, for a grid that is still being written.

        Returns:
            The puzzle.

        Raises:
            InputError: what is wrong, with line and column.

        Examples:
            >>> import dibs
            >>> dibs.Sudoku.parse("4.....1..3.....2")
            <4x4 Sudoku, 4 givens>
        """
        return cls._parse(text, box, repeats)

    @property
    def box(self) -> Box:
        """(rows, columns) of a box."""
        assert self.shape.box is not None
        return self.shape.box

    @classmethod
    def known(cls, cells: int, box: Box | None) -> Shape | str:
        """The shape of a Sudoku with so many cells.

        Args:
            cells: how many.
            box: (rows, columns) of a box, or None.

        Returns:
            The shape, or why there is none.
        """
        return _known(cells, box)


@cache
def _known(cells: int, box: Box | None) -> Shape | str:
    """The shape of a Sudoku with so many cells, or why there is none."""
    size = isqrt(cells)
    if box is not None:
        box = check_box(box)
        wanted = box[0] * box[1]
        if cells == wanted * wanted:
            return shape(wanted, box)
        makes = f"{wanted * wanted} ({wanted}x{wanted})"
        return f"{plural(cells, 'cell')}; boxes of {box[0]} rows and {box[1]} columns make {makes}"
    if size * size != cells or size < 2:
        near = min(SIZES, key=lambda n: abs(n * n - cells))
        return f"{plural(cells, 'cell')}; expected a square number of a Sudoku size, e.g. {near * near} ({near}x{near})"
    if size > MOST_SYMBOLS:
        return f"{size}x{size} is larger than {MOST_SYMBOLS}x{MOST_SYMBOLS}, the largest Sudoku"
    usual = default_box(size)
    if usual is None:
        return f"a {size}x{size} grid has no boxes of at least 2 rows; if it is a Latin square, use --family latin"
    return shape(size, usual)


def check_box(box: Box) -> Box:
    """A box with at least two rows and columns and at most 36 cells; raises ValueError."""
    rows, columns = box
    if rows < 2 or columns < 2 or rows * columns > MOST_SYMBOLS:
        raise ValueError(f"a box of {rows} rows and {columns} columns: both must be at least 2, with 36 cells at most")
    return (int(rows), int(columns))
