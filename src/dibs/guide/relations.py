"""What a guide needs of a structure: its cells, and which literals exclude which.

*Cells* are disjoint decision groups; a literal in none of them is a cell by itself, which may stay empty. So every
literal is in one cell, whatever the problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Ints
from dibs.problem.structure import Structure, per_structure


class Lists(NamedTuple):
    """Lists of numbers, one after the other."""

    start: Ints  # [lists + 1] where each begins
    item: Ints  # [start[-1]]

    def __getitem__(self, number: int) -> Ints:  # type: ignore[override]
        return self.item[self.start[number] : self.start[number + 1]]


class Cells(NamedTuple):
    """The cells of a structure as lists of literals, one after the other."""

    start: Ints  # [cells + 1] where each begins
    item: Ints  # [literals] each literal once
    group: Ints  # [cells] the decision group that each is, or -1: a literal by itself


@per_structure
def cells_of(structure: Structure) -> Cells:
    """Decision groups that share no literal with an earlier one, then every other literal by itself."""
    end = structure.start[structure.decisions]
    member, sizes = structure.member[:end], np.diff(structure.start[: structure.decisions + 1])
    group = np.arange(structure.decisions)
    taken = np.zeros(structure.literals, bool)
    taken[member] = True
    if np.count_nonzero(taken) < end:
        taken[:] = False
        chosen = []
        for g in range(structure.decisions):
            own = structure.members(g)
            if len(own) and not taken[own].any():
                taken[own] = True
                chosen.append(g)
        group = np.array(chosen, np.int64)
        member = np.concatenate([*(structure.members(g) for g in chosen), np.zeros(0, np.int64)])
        sizes = np.diff(structure.start)[group]
    alone = np.flatnonzero(~taken)  # sets of NumPy's would take half a second at order 60
    sizes = np.append(sizes, np.ones(len(alone), np.int64))
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Cells(start, np.append(member, alone), np.append(group, np.full(len(alone), -1)))


class CellLists(NamedTuple):
    """The literals of the cells, one cell after the other."""

    start: Ints  # [cells + 1] where each begins
    item: Ints  # [literals]
    free: NDArray[np.bool_]  # [cells] may stay empty: a literal by itself


class Relations:
    """Some tables of a structure with L literals; get them by `relations`, which keeps them."""

    def __init__(self, structure: Structure) -> None:
        size = np.diff(structure.start)
        group = np.repeat(np.arange(structure.groups), size)
        found = cells_of(structure)
        is_cell = np.zeros(structure.groups, bool)
        is_cell[found.group[found.group >= 0]] = True
        other = (structure.exclusive & ~is_cell)[group]
        # All arrays are writable: for those of the structure, which are for reading, code would be compiled once more.
        self.cells = CellLists(found.start, found.item, found.group < 0)
        # The exclusive groups that are no cells, all groups counted: literals of each group, groups of each literal.
        self.members = _lists(group[other], structure.member[other], structure.groups)
        self.groups = _lists(structure.member[other], group[other], structure.literals)
        self._neighbours: dict[int, Ints] = {}

    def neighbours(self, literal: int) -> Ints:
        """The other literals that share an exclusive group with it, each once: "u is d" for every peer u of a cell.

        Found when it is first asked for: a table of all literals of a large Latin square would fill the memory.
        """
        found = self._neighbours.get(literal)
        if found is None:
            members = [self.members[group] for group in self.groups[literal].tolist()]
            found = np.setdiff1d(np.concatenate([*members, np.zeros(0, np.int64)]), [literal])
            self._neighbours[literal] = found
        return found


def _lists(key: Ints, item: Ints, count: int) -> Lists:
    """The items of each key 0..count-1, in their order."""
    start = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=count))]).astype(np.int64)
    return Lists(start, item[np.argsort(key, kind="stable")])


@per_structure
def relations(structure: Structure) -> Relations:
    """The relations of a structure, made once."""
    return Relations(structure)
