"""Level `locked`: where all open literals of one group are in another, the rest of the other dies.

What two groups share, two literals or more, is a *piece*: in a Sudoku, the places of a value where a line crosses a
box. Pieces that do not overlap, and what they leave of the group, are a *whole*: a row's places of a value are cut up
by the boxes, and a box's twice, by rows and by columns. So it is seen by counting that one piece of a whole is left. A
group that is all within another is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Structure


class Pieces(NamedTuple):
    """Q pieces. Those that two groups share come first; after them what is left of a group is a piece of its own."""

    start: NDArray[np.int64]  # [Q+1] where each piece's literals begin
    member: NDArray[np.int64]  # literals, ascending within a piece
    groups: NDArray[np.int64]  # [Q, 2] the two groups that share it; -1: only one has it
    whole: NDArray[np.int64]  # [Q, 2] the whole of each of the two that it is a part of; -1: it is all of that group

    @property
    def wholes(self) -> int:
        return int(self.whole.max(initial=-1)) + 1


NO_PIECES = Pieces(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))


def pieces(s: Structure, exact: NDArray[np.bool_]) -> Pieces:
    """What the groups that are `exact` [groups] share."""
    groups, shared = _shared(s, exact)
    whole = np.full(groups.shape, -1, np.int64)
    members = list(shared)
    left: list[tuple[int, int]] = []  # (group, whole) of the pieces that only one group has
    wholes = 0
    order = np.argsort(groups.ravel(), kind="stable")
    for sides in np.split(order, np.flatnonzero(np.diff(groups.ravel()[order])) + 1) if len(order) else []:
        group = int(groups.flat[sides[0]])
        every = set(s.members(group).tolist())
        for covered, parts in _together({side: set(shared[side // 2].tolist()) for side in sides.tolist()}):
            rest = every - covered
            if rest:
                members.append(np.array(sorted(rest)))
                left.append((group, wholes))
            if rest or len(parts) > 1:
                whole.flat[parts] = wholes
                wholes += 1
    if not members:
        return NO_PIECES
    alone = np.array(left, np.int64).reshape(-1, 2)
    none = np.full(len(alone), -1)
    return Pieces(
        np.concatenate([[0], np.cumsum([len(one) for one in members])]).astype(np.int64),
        np.concatenate(members),
        np.concatenate([groups, np.stack([alone[:, 0], none], axis=1)]),
        np.concatenate([whole, np.stack([alone[:, 1], none], axis=1)]),
    )


def _shared(s: Structure, exact: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The pairs of groups [Q, 2] that share two literals or more, and which those are."""
    owner = np.repeat(np.arange(s.groups), np.diff(s.start))
    inside = exact[owner]
    order = np.lexsort((owner[inside], s.member[inside]))
    literal, group = s.member[inside][order], owner[inside][order]
    met = [np.zeros((0, 2), np.int64)]  # (pair of groups as a number, literal)
    for ahead in range(1, int(np.bincount(literal).max(initial=0))):
        same = literal[ahead:] == literal[:-ahead]
        met.append(np.stack([group[:-ahead][same] * s.groups + group[ahead:][same], literal[ahead:][same]], axis=1))
    pair, member = np.concatenate(met).T
    pair, number, count = np.unique(pair, return_inverse=True, return_counts=True)
    order = np.lexsort((member, number))
    ends = np.cumsum(count)
    found = [member[order[end - size : end]] for end, size in zip(ends, count, strict=True) if size > 1]
    pair = pair[count > 1]
    return np.stack([pair // max(s.groups, 1), pair % max(s.groups, 1)], axis=1), found


def _together(parts: dict[int, set[int]]) -> Iterator[tuple[set[int], list[int]]]:
    """Sets that do not overlap, put together greedily: their union, and which they are."""
    found: list[tuple[set[int], list[int]]] = []
    for number, own in parts.items():
        for covered, numbers in found:
            if not covered & own:
                covered |= own
                numbers.append(number)
                break
        else:
            found.append((set(own), [number]))
    yield from found
