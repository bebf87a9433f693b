"""States with what is right there: what a relational denoiser learns from where instances have many solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dibs.guide.graph import NetworkGroups

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


class Labelled(Protocol):
    """A state with N open literals."""

    @property
    def groups(self) -> NetworkGroups:
        """Of the open literals; those that have nothing to say are left out."""

    @property
    def candidates(self) -> Bools:
        """[N] of the domain to branch on."""

    @property
    def target(self) -> Floats:
        """[N] share of the known solutions that agree with the state."""


@dataclass(frozen=True)
class State:
    """A state with N open literals, and nothing else of it: groups that have a true literal are left out."""

    groups: NetworkGroups  # of the open literals
    candidates: Bools  # [N] of the domain to branch on
    target: NDArray[np.float32]  # [N] share of the known solutions that agree with the state


@dataclass(frozen=True)
class OwnState:
    """A state of an instance. Its groups are made when they are needed: those of the instance are shared."""

    whole: NetworkGroups  # of the instance
    open: Bools  # [L]
    true: Bools  # [L]
    candidates: Bools  # [N] of the open literals: those of the cell with the fewest
    target: NDArray[np.float32]  # [N] share of the known solutions that agree with the state

    @property
    def groups(self) -> NetworkGroups:
        return reduced(self.whole, self.open, self.true)


def reduced(groups: NetworkGroups, open_: Bools, true: Bools) -> NetworkGroups:
    """The groups of the open literals only, with what they need and have room for, without those that say nothing."""
    count = np.diff(groups.begin)
    literal = np.repeat(np.arange(len(open_)), count)
    held = np.bincount(groups.group[true[literal]], minlength=len(groups.kind))
    size = np.bincount(groups.group[open_[literal]], minlength=len(groups.kind))
    least, most = np.maximum(groups.least - held, 0), groups.most - held
    gone = (most <= 0) | ((groups.kind > 0) & (least == 0) & (most >= size))
    kept = open_[literal] & ~gone[groups.group]
    which, group = np.unique(groups.group[kept], return_inverse=True)
    sizes = np.bincount(literal[kept], minlength=len(open_))[open_]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    bounds = least[which], np.minimum(most, size)[which]
    return NetworkGroups(
        group, begin, groups.kind[which], *bounds, groups.literal_features[open_], groups.group_features[which]
    )


def joined(states: Sequence[Labelled]) -> NetworkGroups:
    """The groups of many states as if they were one."""
    each = [state.groups for state in states]
    groups = np.cumsum([0, *(len(one.kind) for one in each)])
    edges = np.cumsum([0, *(len(one.group) for one in each)])
    parts = [np.concatenate(part) for part in zip(*(one[2:] for one in each), strict=True)]
    return NetworkGroups(
        np.concatenate([one.group + at for one, at in zip(each, groups, strict=False)]),
        np.concatenate([[0], *(one.begin[1:] + at for one, at in zip(each, edges, strict=False))]),
        *parts,
    )
