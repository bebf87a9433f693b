"""States on the way to the solution: what a guide is trained on and judged by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dibs.problem.shape import Shape
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku
from dibs.search.contract import Asks
from dibs.search.options import Options, Tie

Values = NDArray[np.uint8]
Bools = NDArray[np.bool_]

BLOCK = 64


def truth(of: Shape, solutions: Values) -> Bools:
    """[n, L] the true literals of `solutions` [n, cells]; none of a cell with 0."""
    true: Bools = solutions[:, :, None] == np.arange(1, of.size + 1, dtype=np.uint8)
    return true.reshape(len(solutions), -1)


def eliminated(of: Shape, puzzles: Values) -> Bools:
    """[n, L] the literals that no given of `puzzles` [n, cells] rules out, of cells that are not given."""
    from dibs.search.root import settle

    return settle(of.structure, truth(of, puzzles), "eliminate").open


def solution_paths(
    of: Shape, puzzles: Values, solutions: Values, level: Level, tie: Tie = "index", seed: int = 0
) -> Iterator[Asks]:
    """The states that a search with a perfect guide branches on, all puzzles at depth 0, then 1, and so on.

    `asks.rows` says which puzzles the states belong to. A puzzle that propagation solves has none.
    """
    from dibs.search.tree.search import TreeSearch

    true = truth(of, solutions)
    grids = [Sudoku._of(of, row) for row in puzzles]
    engine = TreeSearch(grids, Options(level=level, tie=tie, seed=seed), guided=True, block=BLOCK)
    while asks := engine.advance():
        yield asks
        engine.answer(asks, true[asks.rows])


def walk(
    of: Shape, puzzles: Values, solutions: Values, steps: NDArray[np.int64], level: Level, seed: int
) -> tuple[Bools, NDArray[np.int64]]:
    """The state of each puzzle after `steps` [n] right decisions at random MRV cells, or as deep as it has states.

    Returns (open literals [n, L], depth [n]); depth -1 and nothing open where propagation alone solves the puzzle.
    Level `eliminate` forces nothing, so that a search has nothing to ask where a cell has one value: its states are
    the puzzles themselves, `steps` is not used.
    """
    if level == "eliminate":
        open_ = eliminated(of, puzzles)
        return open_, np.where(open_.any(axis=1), 0, -1)
    open_ = np.zeros((len(puzzles), of.size**3), bool)
    depth = np.full(len(puzzles), -1)
    paths = solution_paths(of, puzzles, solutions, level, "random", seed)
    for made, asks in enumerate(islice(paths, int(steps.max(initial=0)) + 1)):
        wanted = steps[asks.rows] >= made
        rows = asks.rows[wanted]
        open_[rows], depth[rows] = asks.open[wanted], made
    return open_, depth


@dataclass(frozen=True)
class States:
    """All states of many solution paths, n in all."""

    puzzle: NDArray[np.int64]  # [n] which puzzle
    open: Bools  # [n, L]
    true: Bools  # [n, L] assigned so far
    candidates: Bools  # [n, L] the open literals of the cell to branch on
    truth: Bools  # [n, L] the solution
    depth: NDArray[np.int64]  # [n]


def collect(of: Shape, puzzles: Values, solutions: Values, level: Level) -> States:
    """Every state on the solution paths of `puzzles`, MRV ties by index; at `eliminate` the puzzles as they are."""
    true = truth(of, solutions)
    if level == "eliminate":
        open_ = eliminated(of, puzzles)
        count = open_.reshape(-1, of.cells, of.size).sum(axis=2)
        cell = np.where(count > 1, count, of.size + 1).argmin(axis=1)
        chosen = np.repeat(cell[:, None] == np.arange(of.cells), of.size, axis=1)
        return States(
            np.arange(len(puzzles)), open_, truth(of, puzzles), open_ & chosen, true, np.zeros(len(puzzles), np.int64)
        )
    none = np.zeros((0, of.size**3), bool)
    parts = [(np.zeros(0, np.int64), none, none, none, np.zeros(0, np.int64))]
    for asks in solution_paths(of, puzzles, solutions, level):
        parts.append((asks.rows, asks.open, asks.true, asks.candidates, asks.depth))
    rows, open_, given, candidates, depth = (np.concatenate(part) for part in zip(*parts, strict=True))
    return States(rows, open_, given, candidates, true[rows], depth)
