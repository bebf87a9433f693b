"""A board to be tiled with pentominoes that may not be turned, each so many times. A tiling is hidden in it."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from itertools import product

import numpy as np

from dibs.problem.own import Bounds, Problem

Cells = tuple[tuple[int, int], ...]

SEVERAL, FILES = "boards", "board-"

# The twelve pentominoes, row by row
SHAPES = (
    *(".## ##. .#.", "#####", "#### #...", "##.. .###", "### ##.", "### .#. .#."),
    *("#.# ###", "#.. #.. ###", "#.. ##. .##", ".#. ### .#.", "#### .#..", "##. .#. .##"),
)
TRIES = 20_000  # places that are looked at for a tiling, before another one is begun


def tiling(seed: int, *, rows: int = 10, columns: int = 14, fixed: float = 0.0) -> Problem:
    """Boards for pentominoes that may not be turned, as problems in JSON.

    Each can be tiled with its pieces. Files and seeds are as for timetables.

    For example:
      dibs generate tiling 20 --rows 10 --columns 12 --output boards

    Args:
        seed: which instance.
        rows: rows of the board, 4 or more
        columns: its columns; the cells are a multiple of 5
        fixed: share of the pieces that lie already

    Returns:
        A problem. Its literals are the places of pieces.
    """
    if rows * columns % 5 or min(rows, columns) < 4:
        raise ValueError(f"rows = {rows}, columns = {columns}: 4 or more of each, and a multiple of 5 cells")
    if not 0 <= fixed < 1:
        raise ValueError(f"fixed = {fixed}: a share below 1")
    rng = np.random.default_rng((seed, rows, columns))
    board = list(product(range(rows), range(columns)))
    while (tiled := _tiled(board, rng)) is None:
        pass
    order = rng.permutation(len(tiled)).tolist()
    lying, rest = order[: round(fixed * len(order))], order[round(fixed * len(order)) :]
    covered = {cell for i in lying for cell in _moved(*tiled[i])}
    over: dict[tuple[int, int], list[int]] = {cell: [] for cell in board if cell not in covered}
    pieces, number = [], 0
    for piece, count in sorted(Counter(tiled[i][0] for i in rest).items()):
        places = [cells for at in board if over.keys() >= set(cells := _moved(piece, at))]
        for literal, cells in enumerate(places, number):
            for cell in cells:
                over[cell].append(literal)
        pieces.append(Bounds(count, count, range(number, number + len(places)), "piece"))
        number += len(places)
    return Problem(number, groups=[*(Bounds(1, 1, some, "cell") for some in over.values()), *pieces])


@cache
def _turned() -> list[Cells]:
    """All shapes, turned and mirrored, each with its first cell at (0, 0)."""
    found = set()
    for shape in SHAPES:
        cells = [(r, c) for r, line in enumerate(shape.split()) for c, one in enumerate(line) if one == "#"]
        for turn in range(8):
            cells = [(c, r) if turn == 4 else (c, -r) for r, c in cells]
            r0, c0 = min(cells)
            found.add(tuple(sorted((r - r0, c - c0) for r, c in cells)))
    return sorted(found)


def _moved(piece: Cells, at: tuple[int, int]) -> Cells:
    return tuple((r + at[0], c + at[1]) for r, c in piece)


def _tiled(board: list[tuple[int, int]], rng: np.random.Generator) -> list[tuple[Cells, tuple[int, int]]] | None:
    """Pieces and where they lie: the first free cell gets one that fits. None where that takes too long."""
    pieces, under = _turned(), _under(tuple(board))
    free = (1 << len(board)) - 1
    laid: list[tuple[int, int]] = []  # piece, cell
    left = [rng.permutation(len(pieces)).tolist()]  # at each depth: what was not tried
    for _ in range(TRIES):
        if not free:
            return [(pieces[piece], board[at]) for piece, at in laid]
        if not left[-1]:
            left.pop()
            piece, at = laid.pop()
            free |= under[at][piece]
            continue
        piece, at = left[-1].pop(), (free & -free).bit_length() - 1
        cells = under[at][piece]
        if cells and cells & free == cells:
            laid.append((piece, at))
            free ^= cells
            left.append(rng.permutation(len(pieces)).tolist())
    return None


@lru_cache(maxsize=16)
def _under(board: Cells) -> list[list[int]]:
    """[cell][piece] the cells under a piece with its first cell there, as bits; 0 where it is not all on the board."""
    bit = {cell: 1 << i for i, cell in enumerate(board)}
    laid = [[_moved(piece, at) for piece in _turned()] for at in board]
    return [[sum(bit[c] for c in cells) if bit.keys() >= set(cells) else 0 for cells in some] for some in laid]


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.tiling:family` learns: boards of several sizes."""
    rng = np.random.default_rng((seed, 1))
    return tiling(seed, rows=10, columns=int(rng.integers(6, 14)))
