"""Exact covers that are written as formulas: Latin squares, tilings and the like come as DIMACS files, too.

A clause of positive literals, and a clause for each two of them that says "not both", is a group with exactly one true
literal. Where a formula is nothing but such groups, its variables are literals of an exact cover: half as many as the
formula has, and a group where that has dozens of clauses.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.cnf import CNF
from dibs.problem.structure import Flat, Instance, Structure, per_structure

MOST_PAIRS = 300_000  # that exclude each other: to look at more would take longer than many a search


class Cover(Instance):
    """A formula as the exact cover that it is: a literal for each variable that is in a group; others are false.

    The formula itself checks solutions.
    """

    family: ClassVar[str] = "problem"

    def __init__(self, formula: CNF, said: CoverGroups) -> None:
        self.formula, self._said = formula, said

    @classmethod
    def of(cls, formula: CNF) -> Cover | None:
        """None where the formula says something else as well."""
        said = exact_cover(formula.structure)
        return cls(formula, said) if said else None

    @property
    def structure(self) -> Structure:
        """An exactly-one group for each clause of positive literals."""
        return self._said.structure

    @property
    def given(self) -> NDArray[np.int64]:
        """None: what is given is no literal any more."""
        return np.zeros(0, np.int64)

    @property
    def signed(self) -> NDArray[np.int64]:
        """[literals] the formula's variable that a literal is, from 1 on."""
        return self._said.variable + 1

    def decode(self, literals: NDArray[np.int64]) -> list[int]:
        """The formula's solution: a signed number for each variable."""
        signed = -np.arange(1, self.formula.variables + 1)
        signed[self._said.given] *= -1
        signed[self._said.variable[literals]] *= -1
        return [int(z) for z in signed]

    def violation(self, solution: list[int]) -> str | None:
        """By the formula's own checker."""
        return self.formula.violation(solution)


class CoverGroups(NamedTuple):
    """What a formula says as an exact cover; variables count from 0."""

    structure: Structure
    variable: NDArray[np.int64]  # [literals] of each literal
    given: NDArray[np.int64]  # variables that are true by a clause of their own


@per_structure
def exact_cover(structure: Structure) -> CoverGroups | tuple[()]:
    """The exact cover that a formula's structure says; () where it says something else."""
    if structure.family != "cnf":
        return ()
    first = structure.start[structure.decisions]
    size, literal = np.diff(structure.start)[structure.decisions :], structure.member[first:]
    clause = np.repeat(np.arange(len(size)), size)
    negative = np.bincount(clause[literal % 2 == 1], minlength=len(size))
    asking, excluding, false = negative == 0, (negative == 2) & (size == 2), (negative == 1) & (size == 1)
    if not asking.any() or not (asking | excluding | false).all():
        return ()
    variables = structure.literals // 2
    pairs = literal[excluding[clause]].reshape(-1, 2) // 2
    given = np.zeros(variables, bool)
    given[literal[(asking & (size == 1))[clause]] // 2] = True
    dead = np.zeros(variables, bool)
    dead[literal[false[clause]] // 2] = True
    dead[pairs[given[pairs[:, ::-1]]]] = True
    if (dead & given).any():
        return ()  # there is no solution, as propagation shows
    met = np.bincount(clause, given[literal // 2], minlength=len(size)) > 0
    asking &= ~met
    kept = asking[clause] & ~dead[literal // 2]
    sizes, member = np.bincount(clause[kept], minlength=len(size))[asking], literal[kept] // 2
    pairs = pairs[~(given | dead)[pairs].any(axis=1)]
    if not len(sizes) or max(len(pairs), (sizes * (sizes - 1) // 2).sum()) > MOST_PAIRS:
        return ()
    if (several := np.flatnonzero(sizes > 1)).size:  # most formulas of clauses that ask and exclude end here
        first = sizes[: several[0]].sum()
        if not (pairs == member[first : first + 2]).all(axis=1).any():
            return ()
    if not np.array_equal(np.unique(_together(sizes, member) @ (variables, 1)), np.unique(pairs @ (variables, 1))):
        return ()  # two members of a group may both be true, or two that are in no group may not
    used, number = np.unique(member, return_inverse=True)
    return CoverGroups(Structure.build(len(used), decide=Flat(sizes, number)), used, np.flatnonzero(given))


def _together(sizes: NDArray[np.int64], member: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n, 2] any two members of a group, the smaller one first."""
    start = np.cumsum(sizes) - sizes
    found = [np.zeros((0, 2), np.int64)]
    for size in np.unique(sizes).tolist():
        members = member[start[sizes == size][:, None] + np.arange(size)]  # [groups, size]
        found.append(members[:, np.stack(np.triu_indices(size, 1), 1)].reshape(-1, 2))
    return np.concatenate(found)
