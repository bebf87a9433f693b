"""The solution of a grid: a line of text, and an array where one is wanted."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.problem.symbols import Cell


class Filled(str):
    """A line of text in every respect; `array` has its numbers, `grid` its rows as text, which notebooks show.

    It is no array itself: lines are compared, hashed and written as JSON, and NumPy takes whatever is a `str` for text.
    """

    __slots__ = ()

    @property
    def array(self) -> NDArray[np.int64]:
        """[n, n] the values."""
        parts = self.split() if " " in self else list(self)
        size = isqrt(len(parts))
        return np.array([Cell(part, 1, 1).value for part in parts], np.int64).reshape(size, size)

    @property
    def grid(self) -> str:
        """A line of text for each row, for people to read."""
        width = len(str(len(self.array)))
        return "\n".join(" ".join(f"{value:{width}}" for value in row) for row in self.array.tolist())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How IPython and notebooks show it."""
        printer.text(self.grid)

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        rows = ("".join(f"<td>{value}</td>" for value in row) for row in self.array.tolist())
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
