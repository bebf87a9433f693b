"""Routes that fill a grid, as a formula: each joins its two ends, and no two cross. Such routes are hidden in it.

Every cell is on one route; joined cells are on the same; an end is joined to one neighbour, any other cell to two. The
formula says nothing else, and names nothing.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dibs.problem import CNF

SEVERAL, FILES = "formulas", "grid-"
MIXED = 10  # moves for each cell, which make the hidden path a random one
SHORTEST = 3  # cells of a route


def routes(seed: int, *, size: int = 18, routes: int = 18) -> CNF:
    """Routes that fill a grid and do not cross, as formulas in DIMACS form.

    Each has a solution. The ends of the routes are given; the formula does
    not say what it is about. Files and seeds are as for timetables.

    For example:
      dibs generate routes 20 --size 12 --routes 10 --output grids

    Args:
        seed: which instance.
        size: rows and columns of the grid
        routes: how many routes fill it

    Returns:
        A formula. Variable `routes` * cell + r + 1: the cell is on route r. Then come the joints of two cells.
    """
    cells, count = size * size, routes
    if size < 3 or not 2 <= routes <= cells // SHORTEST:
        raise ValueError(f"size = {size}, routes = {routes}: 3 or more rows, 2 routes or more of {SHORTEST} cells each")
    rng = np.random.default_rng((seed, size, count))
    path = _path(size, rng)
    length = SHORTEST + rng.multinomial(cells - SHORTEST * count, np.full(count, 1 / count))
    last = np.cumsum(length)
    ends = [(path[end - own], path[end - 1]) for own, end in zip(length.tolist(), last.tolist(), strict=True)]
    near = _near(size)
    joint = {
        pair: count * cells + i + 1 for i, pair in enumerate((a, b) for a in range(cells) for b in near[a] if a < b)
    }
    clauses = []
    for a in range(cells):
        on = range(count * a + 1, count * (a + 1) + 1)
        clauses += [[*on], *([-r, -s] for r, s in combinations(on, 2))]
        joints = [joint[min(a, b), max(a, b)] for b in near[a]]
        degree = 1 if any(a in pair for pair in ends) else 2
        clauses += [[-one for one in some] for some in combinations(joints, degree + 1)]
        clauses += [[*some] for some in combinations(joints, len(joints) - degree + 1)]
    for (a, b), one in joint.items():
        for r in range(1, count + 1):
            clauses += [[-one, -count * a - r, count * b + r], [-one, count * a + r, -count * b - r]]
    clauses += [[count * a + r + 1] for r, pair in enumerate(ends) for a in pair]
    return CNF(count * cells + len(joint), clauses)


def _near(size: int) -> list[list[int]]:
    """The neighbours of each cell."""
    steps = ((-1, 0), (0, -1), (0, 1), (1, 0))
    return [
        [size * (r + dr) + c + dc for dr, dc in steps if 0 <= r + dr < size and 0 <= c + dc < size]
        for r in range(size)
        for c in range(size)
    ]


def _path(size: int, rng: np.random.Generator) -> list[int]:
    """A path through all cells: from one that goes to and fro, by moves that join an end to a neighbour."""
    path = [size * r + (c if r % 2 == 0 else size - 1 - c) for r in range(size) for c in range(size)]
    near = _near(size)
    for _ in range(MIXED * len(path)):
        if rng.random() < 0.5:
            path.reverse()
        at = path.index(near[path[0]][rng.integers(len(near[path[0]]))])
        path[:at] = path[:at][::-1]  # the joint before `at` is cut, and the end joined to it
    return path


def family(seed: int) -> CNF:
    """What `dibs train dibs.generate.routes:family` learns: grids of several sizes."""
    rng = np.random.default_rng((seed, 1))
    size = int(rng.integers(8, 17))
    return routes(seed, size=size, routes=size)
