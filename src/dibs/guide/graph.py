"""Open literals of many states and the groups they share, as one sparse graph: what a relational denoiser looks at.

A group that has a true literal has nothing more to say: it is left out. In a state of a search on a grid such a group
has no open literals anyway, but between denoising steps it may (`steps.py`); in a formula it is a clause that is
satisfied. So literals may be in different numbers of groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry
from dibs.problem.structure import Structure, per_structure

# Of groups; rows and columns are one kind, so that a transposed grid is the same graph. In a formula the variables are
# cells, and the clauses are lines.
KINDS = ("cell", "line", "box")
FEATURES = 2 * len(KINDS) + 1

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Groups(NamedTuple):
    """The groups of L literals."""

    group: Ints  # [E] literal by literal
    begin: Ints  # [L + 1] where those of each literal begin
    kind: Ints  # [groups] of each group: an index of KINDS, ascending


class Graph(NamedTuple):
    """N open literals in G groups with E memberships, over all states of a batch.

    Groups are numbered kind by kind; the groups of kind 0 are the decision groups (cells).
    """

    features: NDArray[np.float32]  # [N, FEATURES] for each kind the sums of 1/size and 1/size^2 of its groups, and 1
    member: Ints  # [E] literals, group by group
    start: Ints  # [G] where each group's members begin
    link: Ints  # [E] groups, literal by literal
    at: Ints  # [N] where each literal's groups begin
    kinds: Ints  # [kinds + 1] where the groups of each kind begin
    cell: Ints  # [N] the group of kind 0 that each literal is in
    state: Ints  # [N] the state of each literal
    literal: Ints  # [N] its number in the structure


def graph(structure: Structure, open_: Bools, true: Bools | None = None) -> Graph:
    """The graph of the states whose open literals are `open_` and whose true ones are `true` [states, literals].

    Grids need no `true`.
    """
    return graph_of(groups_of(structure), open_, true)


def graph_of(groups: Groups, open_: Bools, true: Bools | None = None) -> Graph:
    """The same, from the groups of the literals."""
    true = np.zeros_like(open_) if true is None else true
    # Writable ones: for others, which are a type of their own, all would be compiled once more.
    open_, true = (np.require(part, requirements=["C", "W"]) for part in (open_, true))
    return Graph(*_link(open_, true, *groups, len(KINDS)))


@per_structure
def groups_of(structure: Structure) -> Groups:
    """The groups of a structure's literals, found once."""
    n, total = structure.decisions, structure.groups
    count = {"sudoku": (n, 2 * n, n), "latin": (n, 2 * n, 0), "cnf": (n, total - n, 0)}.get(structure.family)
    if count is None or sum(count) != total:
        raise ValueError(f"a relational guide takes grids and formulas (sudoku, latin, cnf), not {structure.family}")
    kind = np.repeat(np.arange(len(KINDS)), count)
    begin, group = structure.memberships
    return Groups(group.copy(), begin.copy(), kind)


@entry()
def _link(open_, true, group, begin, kind, kinds):  # type: ignore[no-untyped-def]
    states, literals = open_.shape
    groups = len(kind)
    size = np.zeros((states, groups), np.int64)
    gone = np.zeros((states, groups), np.bool_)
    count = edges = 0
    for s in range(states):
        for v in range(literals):
            if true[s, v]:
                for e in range(begin[v], begin[v + 1]):
                    gone[s, group[e]] = True
        for v in range(literals):
            if open_[s, v]:
                count += 1
                for e in range(begin[v], begin[v + 1]):
                    if not gone[s, group[e]]:
                        edges += 1
                        size[s, group[e]] += 1
    number = np.zeros((states, groups), np.int64)
    first = np.zeros(kinds + 1, np.int64)
    fill = np.zeros(states * groups, np.int64)
    total = at = 0
    for k in range(kinds):
        for s in range(states):
            for g in range(groups):
                if kind[g] == k and size[s, g] > 0:
                    number[s, g] = total
                    fill[total] = at
                    at += size[s, g]
                    total += 1
        first[k + 1] = total
    start = fill[:total].copy()
    features = np.zeros((count, 2 * kinds + 1), np.float32)
    member, link = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    place, cell = np.zeros(count, np.int64), np.zeros(count, np.int64)
    state, literal = np.zeros(count, np.int64), np.zeros(count, np.int64)
    i = edges = 0
    for s in range(states):
        for v in range(literals):
            if not open_[s, v]:
                continue
            state[i], literal[i], place[i] = s, v, edges
            for e in range(begin[v], begin[v + 1]):
                g = group[e]
                if gone[s, g]:
                    continue
                to = number[s, g]
                link[edges] = to
                edges += 1
                member[fill[to]] = i
                fill[to] += 1
                share = np.float32(1) / np.float32(size[s, g])
                features[i, 2 * kind[g]] += share
                features[i, 2 * kind[g] + 1] += share * share
                if kind[g] == 0:
                    cell[i] = to
            features[i, 2 * kinds] = 1
            i += 1
    return features, member, start, link, place, first, cell, state, literal
