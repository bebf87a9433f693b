"""Grids in bulk through the search: what all the generators ask is whether there is one solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import never
from dibs.problem.shape import Shape
from dibs.problem.sudoku import Sudoku
from dibs.search.options import Options
from dibs.search.outcome import Status

if TYPE_CHECKING:
    from dibs.search.tree.search import TreeSearch

BLOCK = 64
AT_ONCE = 4096  # grids of an engine that looks for solutions
RUN = 256  # failures of the shortest run of a nogood search


def engine_of(
    of: Shape, values: NDArray[np.uint8], *, answers: int = 1, guided: bool = False, **options: Any
) -> TreeSearch:
    """An engine over the grids `values` [k, cells], which must not change any more. Keywords are those of `Options`."""
    from dibs.search.tree.search import TreeSearch  # Numba comes with it

    grids = [Sudoku._of(of, row) for row in values]
    return TreeSearch(grids, Options(**options), guided=guided, static=guided, block=BLOCK, answers=answers)


def solved(of: Shape, values: NDArray[np.uint8], most: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """([k, cells] the first solution of each grid, 0 where there is none; [k] how many there are, up to `most`)."""
    solutions, counts = np.zeros_like(values), np.zeros(len(values), np.int64)
    for at in range(0, len(values), AT_ONCE):
        engine = engine_of(of, values[at : at + AT_ONCE], max_solutions=most)
        engine.run()
        counts[at : at + AT_ONCE] = engine.counters.solutions
        for row in np.flatnonzero(engine.counters.solutions).tolist():
            solutions[at + row] = engine.choices(row)[0] + 1
    return solutions, counts


def uniqueness(of: Shape, values: NDArray[np.uint8]) -> NDArray[np.int64]:
    """[k] 1 if a grid has one solution, 0 if it has none or more."""
    if not len(values):
        return np.zeros(0, np.int64)
    engine = engine_of(of, values, max_solutions=2)
    engine.run()
    found: NDArray[np.int64] = (engine.counters.solutions == 1).astype(np.int64)
    return found


def still_unique(
    of: Shape, values: NDArray[np.uint8], solution: NDArray[np.uint8], cells: Sequence[int], nodes: int
) -> int:
    """Whether a puzzle stays unique without these cells: 1, 0, or -1 if `nodes` of the nogood search do not tell.

    `values` [cells of the grid]: the puzzle without them, whose solution was the only one before. So another one has
    another value in one of them: that is all there is to look for.
    """
    from dibs.search.nogoods import loop
    from dibs.search.nogoods.search import Search
    from dibs.search.root import roots

    grid = Sudoku._of(of, values)
    root = roots([grid], locked=True)
    options = Options(strategy="nogoods", root="locked", restart_base=RUN, max_nodes=nodes)
    answer = 1
    for cell in cells:
        literal = cell * of.size + int(solution[cell]) - 1
        if root.true[0, literal]:
            continue
        search = Search(grid, options, root.open[0], root.true[0], 0, 0.0)
        loop.exclude(search.problem, search.memory, np.searchsorted(search.open, [literal]))
        search.advance(never)
        outcome = search.outcome()
        assert outcome is not None
        if outcome.status is Status.SAT:
            return 0
        if outcome.status is Status.LIMIT:
            answer = -1
    return answer
