"""What all grids of one size and box share: units, literals and groups. Built once per shape."""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure

Box = tuple[int, int]


class Shape:
    """An n x n grid, with boxes (Sudoku) or without (Latin square). Get one by `shape`, which keeps them."""

    def __init__(self, size: int, box: Box | None) -> None:
        self.size = size
        self.box = box
        self.cells = size * size

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """[n * n, 2 or 3] the row, column and box of each cell, numbered 0..3n-1."""
        row, column = np.divmod(np.arange(self.cells), self.size)
        columns = [row, self.size + column]
        if self.box:
            rows, wide = self.box
            columns.append(2 * self.size + row // rows * (self.size // wide) + column // wide)
        return np.stack(columns, axis=1).astype(np.int64)

    @cached_property
    def _unit_keys(self) -> NDArray[np.int64]:
        return self.units * (self.size + 1)

    def repeats(self, values: NDArray[np.uint8]) -> bool:
        """Whether a unit holds a value twice, for `values` uint8 [n * n]; about 6 us."""
        cells = values.nonzero()[0]
        keys = (self._unit_keys[cells] + values[cells, None]).ravel().tolist()
        return len(set(keys)) != len(keys)

    @cached_property
    def structure(self) -> Structure:
        """Literal of (cell, value) = cell * n + value - 1; a decision group for each cell."""
        n = self.size
        literals = np.arange(n**3, dtype=np.int64)
        grid = literals.reshape(n, n, n)  # row, column, value
        implied = [grid.transpose(0, 2, 1).reshape(-1, n), grid.transpose(1, 2, 0).reshape(-1, n)]
        if self.box:
            rows, wide = self.box
            bands = grid.reshape(n // rows, rows, n // wide, wide, n)
            implied.append(bands.transpose(0, 2, 4, 1, 3).reshape(-1, n))
        return Structure.build(
            n**3,
            decide=literals.reshape(-1, n),
            implied=np.concatenate(implied),
            family="sudoku" if self.box else "latin",
            shape=self.box or (n,),
        )


@cache
def shape(size: int, box: Box | None) -> Shape:
    return Shape(size, box)
