"""What a relational network is told of literals and groups: the kinds of groups, and numbers of the user's own."""

from __future__ import annotations

from typing import NamedTuple

# Kinds of groups of grids and formulas: rows and columns are one kind, so that a transposed grid is the same graph. In
# a formula the variables are cells, and the clauses are lines. Other families have kinds of their own, cells first.
GROUP_KINDS = ("cell", "line", "box")
PLAIN, BOUNDED = 2, 4  # features of a kind of groups, without what they need and have room for, and with it
TINY, HUGE = 1e-30, 1e30  # what features may be divided by


class OwnFeatures(NamedTuple):
    """Features of the user's own that a network takes: the name of each, and what its numbers are divided by."""

    literals: tuple[tuple[str, float], ...] = ()
    groups: tuple[tuple[str, float], ...] = ()

    def as_dict(self) -> dict[str, dict[str, float]]:
        return {"literals": dict(self.literals), "groups": dict(self.groups)}


NO_FEATURES = OwnFeatures()
