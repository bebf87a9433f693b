"""Many grids of one shape at once: arrays in place of loops, for files of a million puzzles.

Both checks say only where all is well beyond doubt; the others go through the slow path, which finds the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Values
from dibs.problem.shape import Shape
from dibs.problem.symbols import MOST_SYMBOLS, VALUE_OF

Flags = NDArray[np.bool_]
Bits = NDArray[np.unsignedinteger[Any]]


def values_of(of: Shape, texts: Sequence[str]) -> Values | None:
    """uint8 [k, n * n] from k texts with one character for each cell (255 where it is no symbol), or None."""
    if of.size > MOST_SYMBOLS or any(len(text) != of.cells for text in texts):
        return None
    raw = "".join(texts).encode("ascii", "replace")
    # `?` is a blank, so a replaced character must not become one: it is no symbol at all.
    if b"?" in raw and not all(map(str.isascii, texts)):
        return None
    return np.frombuffer(raw.translate(VALUE_OF), np.uint8).reshape(-1, of.cells)


def sound(of: Shape, values: Values) -> Flags:
    """[k] whether all values are in 0..n and no unit holds one twice, for `values` [k, n * n]."""
    right: Flags = np.all(values <= of.size, axis=1)
    for unit in _units(of, _bits(of, values, right)):
        # A sum of powers of two is their union only if no two are equal.
        total = unit.sum(axis=1, dtype=unit.dtype)
        right &= (total == np.bitwise_or.reduce(unit, axis=1)).all(axis=0)
    return right


def solved(of: Shape, given: Values, values: Values) -> Flags:
    """[k] whether `values` [k, n * n] agree with `given` [k, n * n] and every unit holds every value."""
    agreeing = (values >= 1) & (values <= of.size) & ((given == 0) | (given == values))
    right: Flags = np.all(agreeing, axis=1)
    full = (1 << of.size) - 1
    for unit in _units(of, _bits(of, values, right)):
        right &= (np.bitwise_or.reduce(unit, axis=1) == full).all(axis=0)
    return right


def solved_one(of: Shape, given: Values, values: NDArray[np.integer[Any]]) -> bool:
    """The same for one grid [n * n]: n cells hold n values only if each is one of them."""
    if len(values) != of.cells or (given * (given != values)).any():
        return False
    found = np.bitwise_or.reduce(_bit(of)[values][_cells(of)], axis=0)
    return bool((found == (1 << of.size) - 1).all())


def _bits(of: Shape, values: Values, where: Flags) -> Bits:
    """[n * n, k] bit v - 1 for the value v, nothing for a blank or where not asked for.

    The k grids lie side by side, so that the operations on units run over long rows.
    """
    bits: Bits = _bit(of)[np.ascontiguousarray(values.T)]
    bits[:, ~where] = 0
    return bits


@cache
def _bit(of: Shape) -> Bits:
    """[256] bit v - 1 for the value v, nothing for others."""
    # Wide enough for the sum of n equal values: n * 2 ** (n - 1).
    bit: Bits = np.zeros(256, np.uint16 if of.size <= 12 else np.uint64)
    bit[1 : of.size + 1] = 1 << np.arange(of.size, dtype=np.uint64)
    return bit


@cache
def _cells(of: Shape) -> NDArray[np.int64]:
    """[n, units] the cells of each: for a single grid that is quicker than rows side by side."""
    units = np.concatenate([unit[:, :, 0] for unit in _units(of, np.arange(of.cells).reshape(-1, 1))])
    return np.ascontiguousarray(units.T)


def _units(of: Shape, bits: NDArray[Any]) -> list[NDArray[Any]]:
    """[n units, n cells, k] of the rows, columns and boxes."""
    n = of.size
    grid = bits.reshape(n, n, -1)
    units = [grid, grid.transpose(1, 0, 2)]
    if of.box:
        rows, wide = of.box
        bands = grid.reshape(n // rows, rows, n // wide, wide, -1)
        units.append(bands.transpose(0, 2, 1, 3, 4).reshape(n, n, -1))
    return units
