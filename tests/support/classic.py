"""Problems that everybody knows, as literals and groups."""

from __future__ import annotations

import numpy as np

from dibs import Problem


def queens(n: int) -> Problem:
    """No two queens on a line."""
    cell = np.arange(n * n).reshape(n, n)
    diagonals = [part.diagonal(i).tolist() for part in (cell, cell[::-1]) for i in range(2 - n, n - 1)]
    return Problem(n * n, exactly_one=[*cell.tolist(), *cell.T.tolist()], at_most_one=diagonals, decide=range(n))


def pigeons(holes: int) -> Problem:
    """One more than there are holes."""
    cell = np.arange((holes + 1) * holes).reshape(holes + 1, holes)
    return Problem(cell.size, exactly_one=cell.tolist(), at_most_one=cell.T.tolist())
