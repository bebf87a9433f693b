"""TEMPLATE of a guide: subclass `dibs.Guide` and write `rank`. It can only reorder, so no answer can be wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dibs


class Template(dibs.Guide):
    """Prefers literals with many open ones in their groups. `solve(problem, guide=Template())`."""

    # static = True    it is asked once, about the root, and its scores hold everywhere
    # passes = 3       forward passes of an ask: what `calls` counts

    def refusal(self, structure: dibs.Structure) -> str | None:
        """Why it cannot take problems of a structure, in words, or None."""
        return None

    def rank(self, asks: dibs.Asks) -> NDArray[np.float64]:
        """[asks, literals] scores, higher first; those of `asks.candidates` count. `asks` is for reading only."""
        start, group = asks.structure.memberships  # the groups of each literal
        literal = np.repeat(np.arange(asks.structure.literals), np.diff(start))
        scores = np.zeros(asks.open.shape)
        of_group = np.repeat(np.arange(asks.structure.groups), np.diff(asks.structure.start))
        for row, open_ in enumerate(asks.open):
            size = np.bincount(of_group, open_[asks.structure.member], asks.structure.groups)
            scores[row] = np.bincount(literal, size[group], asks.structure.literals)
        return scores
