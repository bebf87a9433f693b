"""What a guide needs of a structure: its cells (decision groups), and which literals exclude which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure, per_structure

Ints = NDArray[np.int64]


class Lists(NamedTuple):
    """Lists of numbers, one after the other."""

    start: Ints  # [lists + 1] where each begins
    item: Ints  # [start[-1]]

    def __getitem__(self, number: int) -> Ints:  # type: ignore[override]
        return self.item[self.start[number] : self.start[number + 1]]


class Relations:
    """Some tables of a structure with L literals; get them by `relations`, which keeps them."""

    def __init__(self, structure: Structure) -> None:
        size = np.diff(structure.start)
        group = np.repeat(np.arange(structure.groups), size)
        decision = group < structure.decisions
        other = structure.exclusive[group] & ~decision
        # Copies, which nobody else can see or write to: the structure's own arrays are for reading, and compiled code
        # would be compiled once more for such arrays.
        self.cells = Lists(structure.start[: structure.decisions + 1].copy(), structure.member[decision])
        # The exclusive groups that are no cells, all groups counted: literals of each group, groups of each literal.
        self.members = _lists(group[other], structure.member[other], structure.groups)
        self.groups = _lists(structure.member[other], group[other], structure.literals)
        # Where every literal is in exactly one cell, the cells' softmaxes are one distribution each.
        self.partitioned = np.array_equal(np.sort(self.cells.item), np.arange(structure.literals))
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
