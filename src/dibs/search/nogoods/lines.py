"""Lines: cells and values that must be matched one to one, as in the rows of a Latin square or a Sudoku.

A local search (walk.py) keeps every line a matching and counts what that breaks elsewhere. It needs problems whose
literals are each in one *cell*, in one *place* (a value in a row) and in one other group, all of which have exactly one
true literal (Sudokus have two others: there the nogood search is quicker by itself). Cells and places that share
literals, directly or by others, are a line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.search.nogoods.arrays import Problem
from dibs.search.nogoods.swaps import LANES, WIDEST

Ints = NDArray[np.int32]


MOST = 1 << 22  # entries


class Lines(NamedTuple):
    """C cells in lines, each with n of its own and up to LANES - 1 that fill it up. Places are numbered as cells are.

    An *entry* is a pair of a cell and a place of its line, open or not: E of them.
    """

    first: Ints  # [lines + 1] the first cell of each line
    size: Ints  # [lines] n
    line: Ints  # [C]
    row: Ints  # [C] the entry of each cell with place p is row + p; and that of each place with cell c is row + c
    literal: Ints  # [E] of each cell with each place; -1: not open
    group: Ints  # [E] that of its literal which is neither its cell nor its place; one of its own where it is not open;
    # -1 where the line is filled up
    start: Ints  # [G+1] the entries of each group, first those of groups of the problem:
    at: Ints  # of a cell with a place
    to: Ints  # and of the place with the cell
    cell: Ints  # their cells, where they are open
    place: Ints  # and places
    closed: int  # the first group of an entry that is not open


def kinds(p: Problem) -> Ints | None:
    """[L, K] the groups of each literal by kind, where each has exactly one true literal and belongs to one kind.

    Kinds are by number: in grids cells, then the values of rows, of columns and of boxes. None in other problems.
    """
    count = np.diff(p.literal_start)
    if not count.max(initial=0) or count.min() != count.max() or not (p.need & p.exclusive).all():
        return None
    group = p.literal_group.reshape(-1, count[0])
    used = np.array([np.bincount(column, minlength=len(p.need)) > 0 for column in group.T])  # [K, G]
    return group if (used.sum(axis=0) <= 1).all() else None


def walkable(p: Problem) -> bool:
    """Whether it may have lines: each literal is in three groups."""
    return bool((np.diff(p.literal_start) == 3).all())


def lines(p: Problem, open_: NDArray[np.bool_]) -> Lines | None:
    """The lines of a problem as far as literals are `open_` [L]; None where it has none, or too long ones."""
    group = kinds(p)
    if group is None or not walkable(p) or not open_.any():
        return None
    literals = np.flatnonzero(open_)
    cells, cell = np.unique(group[literals, 0], return_inverse=True)
    places, place = np.unique(group[literals, 1], return_inverse=True)
    if len(cells) != len(places):
        return None
    of_cell, of_place = _components(cell, place, len(cells))
    count = np.bincount(of_cell)
    if not np.array_equal(count, np.bincount(of_place, minlength=len(count))):
        return None  # no matching, so no solution: a search finds that out by itself
    # Cells and places in the order of their lines, with gaps.
    width = -(-count // LANES) * LANES
    if width.max() > WIDEST or (width**2).sum() > MOST:
        return None
    first = np.concatenate([[0], np.cumsum(width)])
    gaps = first[:-1] - np.cumsum(count) + count
    cell = (_order(of_cell) + gaps[of_cell])[cell]
    place = (_order(of_place) + gaps[of_place])[place]
    line = np.repeat(np.arange(len(count)), width)
    row = np.cumsum(width[line]) - width[line] - first[line]
    literal = np.full(int((width**2).sum()), -1)
    literal[row[cell] + place] = literals
    # The groups of entries: those of the problem, then one for each that is not open.
    real = np.arange(len(line)) < (first[:-1] + count)[line]
    holder = np.repeat(np.arange(len(line)), width[line])
    value = np.arange(len(literal)) - row[holder]
    shut = np.flatnonzero((literal < 0) & real[holder] & real[value])
    third = np.where(literal < 0, -1, group[literal, 2])
    third[shut] = len(p.need) + np.arange(len(shut))
    other = group[literals, 2]
    order = np.argsort(other, kind="stable")
    sizes = np.concatenate([np.bincount(other, minlength=len(p.need)), np.ones(len(shut), np.int64)])
    start = np.concatenate([[0], np.cumsum(sizes)])
    cell, place = cell[order], place[order]
    at = np.concatenate([row[cell] + place, shut])
    to = np.concatenate([row[place] + cell, row[value[shut]] + holder[shut]])
    found = first, count, line, row, literal, third, start, at, to, cell, place
    return Lines._make([*(np.ascontiguousarray(each, np.int32) for each in found), len(p.need)])


def _order(of: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the rank of each number when they are sorted by `of`, ties by number."""
    rank = np.empty(len(of), np.int64)
    rank[np.argsort(of, kind="stable")] = np.arange(len(of))
    return rank


def _components(
    cell: NDArray[np.int64], place: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The line of each cell [count] and of each place [count], from the pairs that share a literal."""
    of_cell, of_place = np.arange(count), np.full(count, count)
    while True:
        before = of_cell.copy()
        np.minimum.at(of_place, place, of_cell[cell])
        np.minimum.at(of_cell, cell, of_place[place])
        if np.array_equal(before, of_cell):
            break
    number = np.unique(of_cell, return_inverse=True)[1]
    return number, number[of_place]
