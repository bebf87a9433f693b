"""States on solution paths of generated puzzles, for tests of models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs import generate
from dibs.generate.check import engine_of
from dibs.model.states import States, collect
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.structure import Level

Values = NDArray[np.uint8]

GIVENS: dict[Box, tuple[int, int] | None] = {(4, 4): (100, 110), (5, 5): (330, 350)}  # quick to make, not trivial


def puzzles(box: Box, count: int, seed: int = 0) -> tuple[Shape, Values, Values]:
    """(shape, puzzles [count, cells], solutions [count, cells]).

    A 4x4 puzzle with one solution needs no search, so those keep three clues only and have many solutions.
    """
    of = shape(box[0] * box[1], box)
    made = generate.sudoku(count, box=box, givens=GIVENS.get(box), seed=seed, workers=1)
    values = np.array([puzzle.values for puzzle in made], np.uint8)
    engine = engine_of(of, values)
    engine.run()
    solutions = np.concatenate([engine.choices(row) for row in range(count)]) + np.uint8(1)
    if of.size == 4:
        order = np.random.default_rng(seed).permuted(np.tile(np.arange(16), (count, 1)), axis=1)
        values = np.where(order < 3, solutions, np.uint8(0))
    return of, values, solutions


def states(box: Box, count: int, seed: int = 0, level: Level = "naked") -> tuple[Shape, States]:
    """All states on the solution paths of `count` puzzles."""
    of, values, solutions = puzzles(box, count, seed)
    return of, collect(of, values, solutions, level)
