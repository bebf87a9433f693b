"""Level `locked`: the literals that two groups share, and the groups that such pieces cut up.

In a Sudoku the places of a value in one line and one box are a piece. A row's places of a value are cut up by the
boxes, and a box's twice, by rows and by columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure


class Pieces(NamedTuple):
    """Q pieces, of two literals or more; wholes are sets of pieces that have every literal of a group once."""

    start: NDArray[np.int64]  # [Q+1] where each piece's literals begin
    member: NDArray[np.int64]  # literals, ascending within a piece
    groups: NDArray[np.int64]  # [Q, 2] the two groups that share it
    whole: NDArray[np.int64]  # [Q, 2] the whole of each of the two that it is a part of; -1: there is none

    @property
    def wholes(self) -> int:
        return int(self.whole.max(initial=-1)) + 1


NO_PIECES = Pieces(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))


def pieces(s: Structure, exact: NDArray[np.bool_]) -> Pieces:
    """Those of the groups that are `exact` [groups]; the ones that are part of no whole are left out."""
    sizes = np.diff(s.start)
    owner = np.repeat(np.arange(s.groups), sizes)
    inside = exact[owner]
    order = np.lexsort((owner[inside], s.member[inside]))
    literal, group = s.member[inside][order], owner[inside][order]
    shared: list[NDArray[np.int64]] = []  # [.., 2] (pair of groups, literal)
    for ahead in range(1, int(np.bincount(literal).max(initial=0))):
        same = literal[ahead:] == literal[:-ahead]
        shared.append(np.stack([group[:-ahead][same] * s.groups + group[ahead:][same], literal[ahead:][same]], axis=1))
    pair, member = np.concatenate([np.zeros((0, 2), np.int64), *shared]).T
    pair, number, count = np.unique(pair, return_inverse=True, return_counts=True)
    kept = count > 1
    order = np.lexsort((member, number))
    order = order[kept[number[order]]]
    groups = np.stack([pair[kept] // max(s.groups, 1), pair[kept] % max(s.groups, 1)], axis=1)
    start = np.concatenate([[0], np.cumsum(count[kept])]).astype(np.int64)
    return _useful(Pieces(start, member[order], groups, _wholes(start, member[order], groups, sizes)))


def _wholes(
    start: NDArray[np.int64], member: NDArray[np.int64], groups: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[Q, 2] see `Pieces`. The pieces of a group are put together greedily: each joins the first that it does not
    overlap with."""
    whole = np.full(groups.shape, -1, np.int64)
    count = 0
    order = np.argsort(groups.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(groups.ravel()[order])) + 1
    for sides in np.split(order, ends) if len(order) else []:
        together: list[tuple[set[int], list[int]]] = []
        for side in sides.tolist():
            own = set(member[start[side // 2] : start[side // 2 + 1]].tolist())
            for literals, parts in together:
                if not literals & own:
                    literals |= own
                    parts.append(side)
                    break
            else:
                together.append((own, [side]))
        size = sizes[groups.flat[sides[0]]]
        for literals, parts in together:
            if len(literals) == size and len(parts) > 1:
                whole.flat[parts] = count
                count += 1
    return whole


def _useful(found: Pieces) -> Pieces:
    """Without the pieces that are part of no whole: nothing follows from them."""
    kept = (found.whole >= 0).any(axis=1)
    sizes = np.diff(found.start)
    start = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    return Pieces(start, found.member[np.repeat(kept, sizes)], found.groups[kept], found.whole[kept])
