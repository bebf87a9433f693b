"""Plain depth-first searches at level `naked`, kept as yardsticks: they copy the state for every value they try.

`solve_table` is what one writes first: a table of candidates, cell by value, and how many each cell has. `solve_masks`
is what one writes second: a bit mask of candidates per cell. Forced cells go on a stack, the cell with the fewest
candidates (lowest index) is next, values ascend. Nodes and backtracks of both are those of dibs to the last unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def _peers(cell: int) -> list[int]:
    row, column = divmod(cell, 9)

    def sees(other: int) -> bool:
        r, c = divmod(other, 9)
        return other != cell and (r == row or c == column or (r // 3, c // 3) == (row // 3, column // 3))

    return [other for other in range(81) if sees(other)]


PEERS = np.array([_peers(cell) for cell in range(81)])


@njit()
def assign(
    domains: NDArray[np.int64], peers: NDArray[np.int64], cell: int, mask: int, stack: NDArray[np.int64]
) -> bool:
    """Give a cell one value, and every cell that has one value left; False if a cell has none."""
    domains[cell] = mask
    stack[0] = cell
    waiting = 1
    while waiting:
        waiting -= 1
        value = domains[stack[waiting]]
        for peer in peers[stack[waiting]]:
            if domains[peer] & value:
                left = domains[peer] & ~value
                if left == 0:
                    return False
                domains[peer] = left
                if left & (left - 1) == 0:
                    stack[waiting] = peer
                    waiting += 1
    return True


@njit()
def size(mask: int) -> int:
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit()
def search(
    domains: NDArray[np.int64], peers: NDArray[np.int64], stack: NDArray[np.int64], counts: NDArray[np.int64]
) -> bool:
    fewest, cell = 10, -1
    for c in range(81):
        candidates = size(domains[c])
        if 1 < candidates < fewest:
            fewest, cell = candidates, c
    if cell < 0:
        return True
    counts[0] += 1
    left = domains[cell]
    while left:
        value = left & -left
        left &= left - 1
        child = domains.copy()
        if assign(child, peers, cell, value, stack) and search(child, peers, stack, counts):
            return True
        counts[1] += 1
    return False


def solve_masks(values: NDArray[Any]) -> tuple[int, int]:
    """(nodes, backtracks) for 81 values, 0 for a blank; the puzzle must have a solution."""
    domains = np.full(81, 511, np.int64)
    stack = np.zeros(128, np.int64)
    counts = np.zeros(2, np.int64)
    for cell in np.flatnonzero(values):
        assert assign(domains, PEERS, cell, 1 << (int(values[cell]) - 1), stack)
    assert search(domains, PEERS, stack, counts)
    return int(counts[0]), int(counts[1])


@njit()
def assign_table(
    table: NDArray[np.bool_],
    left: NDArray[np.int64],
    peers: NDArray[np.int64],
    cell: int,
    value: int,
    stack: NDArray[np.int64],
) -> bool:
    """Give a cell one value, and every cell that has one value left; False if a cell has none."""
    table[cell] = False
    table[cell, value] = True
    left[cell] = 1
    stack[0] = cell
    waiting = 1
    while waiting:
        waiting -= 1
        cell = stack[waiting]
        value = 0
        while not table[cell, value]:
            value += 1
        for peer in peers[cell]:
            if table[peer, value]:
                table[peer, value] = False
                left[peer] -= 1
                if left[peer] == 0:
                    return False
                if left[peer] == 1:
                    stack[waiting] = peer
                    waiting += 1
    return True


@njit()
def search_table(
    table: NDArray[np.bool_],
    left: NDArray[np.int64],
    peers: NDArray[np.int64],
    stack: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> bool:
    fewest, cell = 10, -1
    for c in range(81):
        if 1 < left[c] < fewest:
            fewest, cell = left[c], c
    if cell < 0:
        return True
    counts[0] += 1
    for value in range(9):
        if table[cell, value]:
            child, child_left = table.copy(), left.copy()
            if assign_table(child, child_left, peers, cell, value, stack) and search_table(
                child, child_left, peers, stack, counts
            ):
                return True
            counts[1] += 1
    return False


def solve_table(values: NDArray[Any]) -> tuple[int, int]:
    """(nodes, backtracks) for 81 values, 0 for a blank; the puzzle must have a solution."""
    table, left = np.ones((81, 9), bool), np.full(81, 9)
    stack = np.zeros(128, np.int64)
    counts = np.zeros(2, np.int64)
    for cell in np.flatnonzero(values):
        assert assign_table(table, left, PEERS, cell, int(values[cell]) - 1, stack)
    assert search_table(table, left, PEERS, stack, counts)
    return int(counts[0]), int(counts[1])
