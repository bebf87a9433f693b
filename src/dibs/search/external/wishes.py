"""A guide's scores as engines read them: wishes for literals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure


def wishes(structure: Structure, open_: NDArray[np.bool_], scores: NDArray[np.floating]) -> NDArray[np.int8]:
    """[literals] 1 for the first choice of each undecided cell, -1 for its others, 0 where there is no opinion.

    `open_`, `scores` [literals]; NaN is the worst score.
    """
    size = np.diff(structure.start[: structure.decisions + 1])
    member = structure.member[: structure.start[structure.decisions]]
    free = np.ones(structure.literals, bool)  # literals that are decided by themselves
    free[member] = False
    scores = np.where(np.isnan(scores), -np.inf, scores).astype(np.float64)
    wanted = np.zeros(structure.literals, np.int8)
    if not (open_ & (scores > -np.inf)).any():  # it gives up: no order can help
        return wanted
    wanted[free & open_] = np.sign(scores[free & open_])
    at = np.flatnonzero(open_[member])
    cell, literal = np.repeat(np.arange(structure.decisions), size)[at], member[at]
    score = scores[literal]
    best, worst = np.full(structure.decisions, -np.inf), np.full(structure.decisions, np.inf)
    np.maximum.at(best, cell, score)
    np.minimum.at(worst, cell, score)
    opinion = (best > worst)[cell]
    wanted[literal[opinion]] = -1
    firsts = np.flatnonzero(opinion & (score == best[cell]))
    _, first = np.unique(cell[firsts], return_index=True)  # equal scores: the lowest literal
    wanted[literal[firsts[first]]] = 1
    return wanted
