"""A denoiser alone, without a search: denoise, take the surest value, propagate, denoise again; nothing is taken back.

A puzzle has one solution, so the first wrong value is the end: a search would come back to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure
from dibs.search.root import singles

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Asked = Callable[[Bools, Bools], Floats]  # log-probabilities [n, L] of the open literals; the true ones are known


def solved_alone(structure: Structure, open_: Bools, truth: Bools, asked: Asked) -> Bools:
    """[n] which states are solved by taking the surest value again and again, with singles in between.

    `open_` [n, L] are the open literals of the states, `truth` [n, L] the only solution of each. Literals go cell by
    cell.
    """
    cells = (-1, structure.decisions, structure.literals // structure.decisions)
    solved = np.zeros(len(open_), bool)
    rows, now = np.arange(len(open_)), np.ascontiguousarray(open_)
    while len(rows):
        left, _ = singles(structure, now)
        over = ~left.any(axis=1)
        solved[rows[over]] = True
        rows, left = rows[~over], left[~over]
        if not len(rows):
            break
        closed = ~left.reshape(cells).any(axis=2, keepdims=True)
        true = truth[rows] & np.broadcast_to(closed, left.reshape(cells).shape).reshape(left.shape)
        first = np.where(left, asked(left, true), -np.inf).argmax(axis=1)
        right = truth[rows, first]
        rows, left, first = rows[right], left[right], first[right]
        begin, group = structure.memberships
        for state, literal in zip(left, first.tolist(), strict=True):
            for of in group[begin[literal] : begin[literal + 1]].tolist():
                state[structure.members(of)] = False
        now = np.ascontiguousarray(left)
    return solved
