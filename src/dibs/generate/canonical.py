"""The symmetries of 9x9 Sudoku, and one representative for all puzzles that they make of one another.

A symmetry permutes the bands, the rows in a band, the stacks, the columns in a stack and the digits, and may transpose.
The canonical form of a puzzle with one solution is the puzzle of the least pair (solution, puzzle) in lexical order
among all its images: two such puzzles are essentially the same if and only if their canonical forms are equal.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Values
from dibs.generate.check import solved
from dibs.problem.shape import Shape, shape
from dibs.problem.sudoku import Sudoku

NINE = shape(9, (3, 3))


def canonical(puzzle: Sudoku) -> Sudoku:
    """The canonical form of a 9x9 puzzle: the same for all of its symmetric images.

    Args:
        puzzle: with exactly one solution.

    Returns:
        The form, a puzzle itself.
    """
    values = nine([puzzle])
    return Sudoku._of(NINE, np.frombuffer(canonical_forms(values)[0], np.uint8))


def canonical_forms(puzzles: Values) -> list[bytes]:
    """The canonical form of each of `puzzles` [k, 81] as 81 bytes; about half a millisecond each."""
    from dibs.generate.loops import minlex

    solutions, counts = solved(NINE, puzzles, 2)
    if (counts != 1).any():
        raise ValueError("the canonical form is defined for puzzles with exactly one solution")
    return [minlex(solution, puzzle)[81:].tobytes() for solution, puzzle in zip(solutions, puzzles, strict=True)]


def nine(puzzles: Iterable[Sudoku]) -> Values:
    """[k, 81] the values of 9x9 puzzles; ValueError for any other size."""
    found = list(puzzles)
    for puzzle in found:
        if puzzle.shape is not NINE:
            raise ValueError(f"{puzzle!r}: this works on 9x9 puzzles with boxes of 3x3 only")
    return np.array([puzzle.values for puzzle in found], np.uint8).reshape(-1, 81)


def shuffled(puzzles: Values, rng: np.random.Generator, of: Shape = NINE) -> Values:
    """`puzzles` [k, cells], each under a random symmetry of its own; boxes that are not square are not transposed."""
    cells, labels = _symmetries(len(puzzles), rng, of)
    return np.take_along_axis(labels, np.take_along_axis(puzzles, cells, axis=1).astype(np.int64), axis=1)


def shuffles(count: int, rng: np.random.Generator, of: Shape = NINE) -> NDArray[np.int64]:
    """[count, L] random symmetries of literals: which literal takes the place of each."""
    cells, labels = _symmetries(count, rng, of)
    values = labels[:, 1:].argsort(axis=1)
    found: NDArray[np.int64] = cells[:, :, None] * of.size + values[:, None, :]
    return found.reshape(count, -1)


def _symmetries(count: int, rng: np.random.Generator, of: Shape) -> tuple[NDArray[np.int64], Values]:
    """(the cell [count, cells] that takes the place of each, the new name [count, n + 1] of each value; 0 is 0)."""
    assert of.box is not None
    n, (high, wide) = of.size, of.box
    rows, columns = _lines(count, wide, high, rng), _lines(count, high, wide, rng)
    cells = (n * rows[:, :, None] + columns[:, None, :]).reshape(count, n * n)
    if high == wide:
        turned = rng.random(count) < 0.5
        cells[turned] = cells[turned] % n * n + cells[turned] // n
    labels = np.zeros((count, n + 1), np.uint8)
    labels[:, 1:] = rng.permuted(np.tile(np.arange(1, n + 1, dtype=np.uint8), (count, 1)), axis=1)
    return cells, labels


def _lines(count: int, bands: int, each: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[count, bands * each] random orders of rows that keep the bands together."""
    order = rng.permuted(np.tile(np.arange(bands), (count, 1)), axis=1)
    inner = rng.permuted(np.tile(np.arange(each), (count, bands, 1)), axis=2)
    lines: NDArray[np.int64] = (each * order[:, :, None] + inner).reshape(count, bands * each)
    return lines
