"""Latin squares with holes (quasigroup completion), up to 255x255."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import ClassVar, Self

from numpy.typing import ArrayLike

from dibs.problem.grid import Grid
from dibs.problem.shape import Box, Shape, shape
from dibs.wording import plural

LARGEST = 255  # values are uint8
MOST_LETTERS = 35


class Latin(Grid):
    """A Latin square: every row and column holds 1..n once. `Latin(values)` takes n * n numbers, 0 for a hole."""

    __slots__ = ()
    family: ClassVar[str] = "latin"
    title: ClassVar[str] = "Latin square"
    lettered: ClassVar[int] = MOST_LETTERS

    def __init__(self, values: ArrayLike) -> None:
        super().__init__(values)

    @classmethod
    def parse(cls, text: str | ArrayLike) -> Self:
        """One square: numbers set apart by blanks, or one character for each cell up to 35x35 (A = 10, ...).

        Holes are . 0 _ - * ?; `#` begins a comment. An array of numbers, 0 for a hole, will do as well. Raises
        InputError that names line and column.

        Args:
            text: the square, or an array of numbers, 0 for a hole.

        Returns:
            The square.

        Raises:
            InputError: what is wrong, with line and column.

        Examples:
            >>> import dibs
            >>> dibs.count_solutions(dibs.Latin.parse("1.. ... ..."))
            4
        """
        return cls._parse(text, None)

    @classmethod
    def known(cls, cells: int, box: Box | None) -> Shape | str:
        """The shape of a square with so many cells.

        Args:
            cells: how many.
            box: must be None.

        Returns:
            The shape, or why there is none.
        """
        if box is not None:
            raise ValueError("a Latin square has no boxes")
        return _known(cells)


@cache
def _known(cells: int) -> Shape | str:
    """The shape of a Latin square with so many cells, or why there is none."""
    size = isqrt(cells)
    if size * size != cells or size == 0:
        near = max(1, round(cells**0.5))
        return f"{plural(cells, 'cell')}; expected a square number, e.g. {near * near} ({near}x{near})"
    if size > LARGEST:
        return f"{size}x{size} is larger than {LARGEST}x{LARGEST}, the largest Latin square"
    return shape(size, None)
