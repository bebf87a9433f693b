"""The inner loops of the generators, compiled by Numba. Imported only where one of them is about to run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part

_ORDERS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]], np.int64)


@entry()
def tally_single(solutions: NDArray[np.uint8], cells: NDArray[np.int64], table: NDArray[np.uint8]) -> None:
    """Count which of `solutions` [s, 81] (digits 0..8) hold each literal of `cells` [f]; `table` [9 f] stops at 2."""
    for s in range(len(solutions)):
        for i in range(len(cells)):
            a = 9 * i + solutions[s, cells[i]]
            if table[a] < 2:
                table[a] += np.uint8(1)


@entry()
def tally_pair(solutions: NDArray[np.uint8], cells: NDArray[np.int64], table: NDArray[np.uint8]) -> None:
    """The same for pairs of literals of different cells: `table` [9 f, 9 f], only the part above the diagonal."""
    literal = np.empty(len(cells), np.int64)
    for s in range(len(solutions)):
        for i in range(len(cells)):
            literal[i] = 9 * i + solutions[s, cells[i]]
        for i in range(len(cells)):
            row = table[literal[i]]
            for j in range(i + 1, len(cells)):
                seen = row[literal[j]]
                # Without a branch: the counter stops at 2, and 2 and 3 (see moves.py) stay what they are.
                row[literal[j]] = seen + np.uint8(seen < 2)


@part
def compare(a: int, b: int) -> int:
    """-1, 0 or 1; a difference of unsigned values would wrap around."""
    return 1 if a > b else -1 if a < b else 0


@entry()
def minlex(solution: NDArray[np.uint8], puzzle: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The least image [162] of (solution, puzzle) under the symmetries of Sudoku, both uint8 [81]; 0 is a blank.

    Least by the solution first. With the first row and the order of the columns fixed, the rest follows: the labels are
    those that make the first row 1..9, and as the first column has no equal values, sorting by it orders rows and
    bands. That leaves 2 * 9 * 1296 images to look at, most of which lose within the second row.
    """
    best = np.full(162, 10, np.uint8)
    image = np.empty(162, np.uint8)
    grid, given = np.empty((9, 9), np.uint8), np.empty((9, 9), np.uint8)
    column, row = np.empty(9, np.int64), np.empty(9, np.int64)
    label = np.zeros(10, np.uint8)
    rank = np.empty(9, np.int64)
    taken = np.zeros(3, np.bool_)
    for turn in range(2):
        for r in range(9):
            for c in range(9):
                at = 9 * c + r if turn else 9 * r + c
                grid[r, c] = solution[at]
                given[r, c] = puzzle[at]
        for choice in range(1296):
            stacks = _ORDERS[choice // 216]
            for i in range(3):
                inner = _ORDERS[(choice // (1, 6, 36)[i]) % 6]
                for j in range(3):
                    column[3 * i + j] = 3 * stacks[i] + inner[j]
            for first in range(9):
                for c in range(9):
                    label[grid[first, column[c]]] = c + 1
                # The second row alone settles most cases, so it is compared before the rows are put in order.
                band = first - first % 3
                a, b = band + (first + 1) % 3, band + (first + 2) % 3
                second = a if label[grid[a, column[0]]] < label[grid[b, column[0]]] else b
                state = 0  # -1: less than the best so far, 0: equal, 1: greater
                for c in range(9):
                    state = compare(label[grid[second, column[c]]], best[9 + c])
                    if state != 0:
                        break
                if state > 0:
                    continue
                # The first column's labels are the rows' ranks: 1 is `first`, so its band is the first one.
                for r in range(9):
                    rank[label[grid[r, column[0]]] - 1] = r
                filled = 0
                taken[:] = False
                for i in range(9):
                    group = rank[i] // 3
                    if not taken[group]:
                        taken[group] = True
                        for j in range(i, 9):
                            if rank[j] // 3 == group:
                                row[filled] = rank[j]
                                filled += 1
                state = 0
                for i in range(162):
                    r, c = row[i % 81 // 9], column[i % 9]
                    image[i] = label[grid[r, c]] if i < 81 else label[given[r, c]]
                    if state == 0:
                        state = compare(image[i], best[i])
                        if state > 0:
                            break
                if state < 0:
                    best[:] = image
    return best


@entry()
def mix_square(square: NDArray[np.int64], seed: int, moves: int, settle: int) -> None:
    """Jacobson and Matthews's walk on Latin squares, in place on `square` [n, n] (symbols 0..n-1).

    A square is a cube of 0 and 1 with one 1 on every line; an improper one has a single -1. A move adds +-1 to the
    corners of a subcube. After `moves` moves the walk goes on to the `settle`-th proper square that it meets: the
    proper squares it meets form a chain that is uniform in the limit; the first one after a fixed time is not quite.
    """
    n = len(square)
    cube = np.zeros((n, n, n), np.int8)
    for x in range(n):
        for y in range(n):
            cube[x, y, square[x, y]] = 1
    state = np.uint64(seed)
    proper = True
    hole = np.zeros(3, np.int64)
    other = np.zeros(3, np.int64)
    done = 0
    while done < moves or settle > 0:
        if proper:
            while True:
                for axis in range(3):
                    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                    hole[axis] = np.int64(((state >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))
                if cube[hole[0], hole[1], hole[2]] == 0:
                    break
        x, y, z = hole[0], hole[1], hole[2]
        for axis in range(3):
            # A line through a proper 0 has one 1; through the -1 it has two, of which one is drawn.
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            skip = 0 if proper else np.int64(state >> np.uint64(63))
            for i in range(n):
                value = cube[i, y, z] if axis == 0 else cube[x, i, z] if axis == 1 else cube[x, y, i]
                if value == 1:
                    if skip == 0:
                        other[axis] = i
                        break
                    skip -= 1
        u, v, w = other[0], other[1], other[2]
        cube[x, y, z] += 1
        cube[x, v, w] += 1
        cube[u, y, w] += 1
        cube[u, v, z] += 1
        cube[u, y, z] -= 1
        cube[x, v, z] -= 1
        cube[x, y, w] -= 1
        cube[u, v, w] -= 1
        proper = cube[u, v, w] >= 0
        hole[0], hole[1], hole[2] = u, v, w
        done += 1
        if proper and done >= moves:
            settle -= 1
    for x in range(n):
        for y in range(n):
            for z in range(n):
                if cube[x, y, z] == 1:
                    square[x, y] = z


@entry()
def mix_pattern(pattern: NDArray[np.bool_], draws: NDArray[np.int64]) -> None:
    """Random switches of `pattern` [n, n] that keep the sums of all rows and columns.

    Each row of `draws` [k, 4] names two rows and two columns; where their corners are on, off / off, on they swap.
    """
    for k in range(len(draws)):
        a, b, c, d = draws[k]
        if pattern[a, c] and pattern[b, d] and not pattern[a, d] and not pattern[b, c]:
            pattern[a, c] = pattern[b, d] = False
            pattern[a, d] = pattern[b, c] = True


@entry()
def mix_grid(grid: NDArray[np.uint8], rows: int, wide: int, seed: int, moves: int) -> None:
    """Random switches, in place, of a full Sudoku `grid` [n * n] (values 1..n) with boxes of `rows` x `wide`.

    Two rows of a band (or columns of a stack) hold the same values in another order. From one place, follow the value
    of the second to where the first holds it, until the way closes: both hold the same values on it, so that exchanging
    them there keeps both rows, and as they cross the same boxes, columns and boxes too. The same draw undoes the move.
    """
    n = rows * wide
    state = np.uint64(seed)
    place = np.empty(n + 1, np.int64)
    draw = np.empty(4, np.int64)
    for _ in range(moves):
        for i in range(4):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            draw[i] = np.int64(state >> np.uint64(33))
        upright = draw[0] >> 30
        group, line, step = (wide, 1, n) if upright else (rows, n, 1)
        first = (draw[1] * n) >> 31
        second = first // group * group + ((draw[2] * group) >> 31)
        if first == second:
            continue
        for i in range(n):
            place[grid[first * line + i * step]] = i
        start = (draw[3] * n) >> 31
        i = start
        while True:
            a, b = first * line + i * step, second * line + i * step
            grid[a], grid[b] = grid[b], grid[a]
            i = place[grid[a]]
            if i == start:
                break
