"""Open literals of many states and the groups they share, as one sparse graph: what a relational denoiser looks at."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dibs.problem.structure import Structure

KINDS = ("cell", "line", "box")  # of groups; rows and columns are one kind, so that a transposed grid is the same graph
FEATURES = 2 * len(KINDS) + 1

Ints = NDArray[np.int64]


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


def graph(structure: Structure, open_: NDArray[np.bool_]) -> Graph:
    """The graph of the states whose open literals are `open_` [states, literals]."""
    return Graph(*_link(np.ascontiguousarray(open_), *groups_of(structure), len(KINDS)))


@cache
def groups_of(structure: Structure) -> tuple[Ints, Ints, Ints]:
    """The groups of each literal as (group [E], begin [L + 1]), and the kind of each group [groups], ascending."""
    n = structure.decisions
    count = {"sudoku": (n, 2 * n, n), "latin": (n, 2 * n, 0)}.get(structure.family)
    if count is None or sum(count) != structure.groups:
        raise ValueError(f"a relational guide takes grids (sudoku, latin), not {structure.family}")
    kind = np.repeat(np.arange(len(KINDS)), count)
    group = np.repeat(np.arange(structure.groups), np.diff(structure.start))
    order = np.argsort(structure.member, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(structure.member, minlength=structure.literals))])
    return group[order], start.astype(np.int64), kind


@njit(cache=True, nogil=True)
def _link(open_, group, begin, kind, kinds):  # type: ignore[no-untyped-def]
    states, literals = open_.shape
    groups = len(kind)
    size = np.zeros((states, groups), np.int64)
    count = edges = 0
    for s in range(states):
        for v in range(literals):
            if open_[s, v]:
                count += 1
                edges += begin[v + 1] - begin[v]
                for e in range(begin[v], begin[v + 1]):
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
