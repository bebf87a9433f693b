"""The states that one step of training draws from, and the hidden states that are carried from segment to segment.

A state stays in the batch for a number of segments that is drawn at random, less if every value is right before that;
then the next state of the pool takes its place. So a batch has states of all ages, and time goes where it is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dibs.guide.graph import Graph, NetworkGroups, graph_of
from dibs.guide.network import Batch
from dibs.model.relational import cell_log_probabilities

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

STAYS = 0.75  # chance of a solved state to stay for one more segment: with 0.25 more rounds undid what was right


class Pool:
    """S states as one graph with N literals: `target` [N] is the share of solutions that have each literal true.

    `begin` [S + 1]: where the literals of each state begin.
    """

    def __init__(self, found: Graph, target: NDArray[Any], begin: Ints, width: int, own: int = 0) -> None:
        self.own = own  # the last so many features are the user's
        self.graph, self.begin, self.target = found, begin, np.ascontiguousarray(target, np.float32)
        self.at = np.append(found.at, len(found.link))
        self.groups = _groups(found, self.at, begin)
        self.free = found.least[: found.kinds[1]] == 0  # cells that may stay empty
        self.share = _shares(found.cell, self.target, self.free, begin)
        self.hidden = np.zeros((len(found.literal), width), np.float32)
        self.age = np.zeros(len(begin) - 1, np.int64)  # segments that each state has had

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """What compiled code reads."""
        g = self.graph
        return g.features, g.link, self.at, self.begin, self.groups, g.cell, self.free, self.target, g.group_features

    def cells(self, rows: Ints) -> float:
        """How many cells of the states `rows` have a target: the sum of all shares."""
        return max(float(self.share[rows].sum()), 1.0)

    def literals(self, rows: Ints) -> Ints:
        """The literals of the states `rows`, which ascend."""
        chosen = np.zeros(len(self.begin) - 1, bool)
        chosen[rows] = True
        return np.flatnonzero(np.repeat(chosen, np.diff(self.begin)))


def _shares(cell: Ints, target: Floats, free: Bools, begin: Ints) -> NDArray[np.float64]:
    """[S] of each state how many cells have a target: one that may stay empty always has."""
    of_cell = np.where(free, 1.0, np.bincount(cell, target, len(free)))
    state = np.zeros(len(free), np.int64)
    state[cell] = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    shares: NDArray[np.float64] = np.bincount(state, of_cell, len(begin) - 1).astype(np.float64)
    return shares


def _groups(found: Graph, at: Ints, begin: Ints) -> Ints:
    """[S + 1, kinds] where the groups of each kind of each state begin: the states' groups are in the states' order."""
    kinds = len(found.kinds) - 1
    groups = np.zeros((len(begin), kinds), np.int64)
    groups[0] = found.kinds[:-1]
    edges = at[begin]
    for s in range(len(begin) - 1):
        own = found.link[edges[s] : edges[s + 1]]
        for k in range(kinds):
            of_kind = own[(own >= found.kinds[k]) & (own < found.kinds[k + 1])]
            groups[s + 1, k] = of_kind.max() + 1 if len(of_kind) else groups[s, k]
    return groups


def loss(
    module: torch.nn.Module, pool: Pool, rows: Ints, heads: tuple[int, ...], device: torch.device
) -> tuple[Tensor, Bools]:
    """The mean cross-entropy of the cells of the states `rows`, which ascend, over the rounds `heads`.

    Also which states have the right value first in every cell after the last one. Their hidden states are replaced by
    those after the last round.
    """
    literals = pool.literals(rows)
    kinds, features = len(pool.graph.kinds) - 1, pool.graph.features.shape[1] - pool.own
    part = graph_of(_part(pool, literals), np.ones((1, len(literals)), bool), kinds=kinds, per=(features - 1) // kinds)
    x = Batch(part, device)
    target = torch.from_numpy(pool.target[literals]).to(device)
    count = pool.begin[rows + 1] - pool.begin[rows]
    fresh = torch.from_numpy(np.repeat(pool.age[rows] == 0, count)).to(device)
    before = torch.from_numpy(pool.hidden[literals]).to(device)
    passed = module(x, heads, before, fresh)
    probabilities = [cell_log_probabilities(logits, x) for logits in passed.logits]
    losses = torch.stack([-(target * found).sum() + emptied(found, target, x) for found in probabilities])
    pool.hidden[literals] = passed.hidden.detach().float().cpu().numpy()
    last = probabilities[-1].detach()
    top = last.new_full((x.kinds[1],), -torch.inf).scatter_reduce(0, x.cell, last, "amax")
    likely = torch.where(x.free[x.cell], last > np.log(0.5), last >= top[x.cell])
    wrong = ((likely & (target <= 0)) | (x.free[x.cell] & ~likely & (target >= 1))).cpu().numpy()
    solved = np.add.reduceat(wrong, np.cumsum(count) - count) == 0
    return losses.mean() / pool.cells(rows), solved


def _part(pool: Pool, literals: Ints) -> NetworkGroups:
    """The groups of some literals of a pool."""
    count = np.diff(pool.at)[literals]
    ends = np.cumsum(count)
    edges = np.repeat(pool.at[literals] - (ends - count), count) + np.arange(ends[-1])
    which, group = np.unique(pool.graph.link[edges], return_inverse=True)
    kind = np.searchsorted(pool.graph.kinds, which, side="right") - 1
    bounds = pool.graph.least[which], pool.graph.most[which]
    own = np.ascontiguousarray(pool.graph.features[literals, pool.graph.features.shape[1] - pool.own :])
    said = pool.graph.group_features if not pool.graph.group_features.size else pool.graph.group_features[which]
    return NetworkGroups(group, np.concatenate([[0], ends]), kind, *bounds, own, said)


def emptied(found: Tensor, target: Tensor, x: Batch) -> Tensor:
    """The cross-entropy of "none of them", where a cell may stay empty: such a cell has one literal."""
    alone = x.free[x.cell]
    none = torch.log1p(-found[alone].exp().clamp(max=1 - 1e-6))
    return -((1 - target[alone]).clamp(min=0) * none).sum()


class Carried:
    """Which `batch` states of a pool an update is about: the first ones, then whoever follows."""

    def __init__(self, pool: Pool, batch: int, segments: int, rng: np.random.Generator) -> None:
        self.pool, self.segments, self.rng = pool, segments, rng
        self.rows: Ints = np.arange(batch)
        self.following = batch
        self.left = rng.integers(1, segments + 1, batch)

    def after(self, solved: Bools) -> None:
        """Let the states grow older, and replace those that are done."""
        self.pool.age[self.rows] += 1
        self.left -= 1
        done = (self.left == 0) | (solved & (self.rng.random(len(solved)) >= STAYS))
        for place in np.flatnonzero(done).tolist():
            new = self._next(self.rows[place])
            self.rows[place], self.pool.age[new] = new, 0
            self.left[place] = self.rng.integers(1, self.segments + 1)
        order = np.argsort(self.rows)
        self.rows, self.left = self.rows[order], self.left[order]

    def _next(self, old: int) -> int:
        """A state that is not in the batch; after the last one of the pool the first again, perhaps `old` itself."""
        while True:
            new = self.following % len(self.pool.age)
            self.following += 1
            if new == old or new not in self.rows:
                return new
