"""All-different filtering: literals that are in no perfect matching of two kinds of groups are false.

Where every literal is in exactly one group of each of two kinds, and every group of both has exactly one true literal,
the true literals of a solution match the groups of one kind with those of the other: cells with the values of their
rows, cells with the values of their columns, and for each value rows with columns. An edge of a bipartite graph that
has a perfect matching is in one of them if it is in this one, or if its ends are in one strongly connected component
once matched edges lead one way and all others the other way (Régin 1994). Singles do not see all of that.

What it excludes does not follow by unit propagation: a search whose proof others check must do without it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.search.nogoods.arrays import Problem
from dibs.search.nogoods.lines import kinds

Ints = NDArray[np.int32]
NOBODY = -1


def unmatched(p: Problem, open_: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Open literals that are true in no perfect matching of two kinds of groups; None: there is no matching at all.

    `open_` [L]: at a state that propagation has left, so that no open literal is in a group with a true one. A problem
    without `kinds` of groups is left as it is.
    """
    literals = np.flatnonzero(open_)
    groups = kinds(p)
    if groups is None or not len(literals):
        return literals[:0]
    group = groups[literals]  # [open, kinds]
    out = np.zeros(len(literals), bool)
    for i in range(group.shape[1]):
        for j in range(i + 1, group.shape[1]):
            inside = np.flatnonzero(~out)
            left, right = (np.unique(group[inside, k], return_inverse=True)[1].astype(np.int32) for k in (i, j))
            if left.max() != right.max():
                return None
            order = np.argsort(left, kind="stable")
            start = np.concatenate([[0], np.cumsum(np.bincount(left))]).astype(np.int32)
            kept = np.zeros(len(inside), np.bool_)
            if not in_matchings(start, right[order], kept):
                return None
            out[inside[order[~kept]]] = True
    return literals[out]


@entry(error_model="numpy")
def in_matchings(start: Ints, right: Ints, kept: NDArray[np.bool_]) -> bool:
    """Which edges are in a perfect matching, written to `kept` [E]; False if there is none.

    `start` [n+1]: the edges of each node on the left; `right` [E]: the node that each leads to on the right.
    """
    size = len(start) - 1
    owner = np.full(size, NOBODY, np.int32)  # of each node on the right
    if not match(start, right, owner):
        return False
    component = np.full(size, NOBODY, np.int32)
    connect(start, right, owner, component)
    for u in range(size):
        for e in range(start[u], start[u + 1]):
            kept[e] = component[u] == component[owner[right[e]]]
    return True


@part
def match(start: Ints, right: Ints, owner: Ints) -> bool:
    """Match every node on the left, by augmenting paths found breadth first; False where one cannot be matched."""
    size = len(start) - 1
    seen = np.full(size, NOBODY, np.int32)  # on the right: the node on the left whose search came here
    parent = np.zeros(size, np.int32)  # on the right: the node on the left that it was reached from
    mine = np.full(size, NOBODY, np.int32)  # of each node on the left
    queue = np.zeros(size, np.int32)
    for root in range(size):
        queue[0], head, tail, free = root, 0, 1, NOBODY
        while head < tail and free < 0:
            u = queue[head]
            head += 1
            for e in range(start[u], start[u + 1]):
                v = right[e]
                if seen[v] != root:
                    seen[v], parent[v] = root, u
                    if owner[v] == NOBODY:
                        free = v
                        break
                    queue[tail] = owner[v]
                    tail += 1
        if free < 0:
            return False
        while free >= 0:
            u = parent[free]
            before = mine[u]
            mine[u], owner[free] = free, u
            free = before
    return True


@part
def connect(start: Ints, right: Ints, owner: Ints, component: Ints) -> None:
    """Tarjan's strongly connected components of nodes on the left: from each to the owners of what it could have."""
    size = len(start) - 1
    number = np.full(size, NOBODY, np.int32)
    low = np.zeros(size, np.int32)
    at = start[:-1].copy()  # the next edge of each
    stack, path = np.zeros(size, np.int32), np.zeros(size, np.int32)
    held = deep = count = components = 0
    for root in range(size):
        if number[root] != NOBODY:
            continue
        path[0], deep = root, 1
        number[root] = low[root] = count
        count += 1
        stack[held] = root
        held += 1
        while deep:
            u = path[deep - 1]
            if at[u] < start[u + 1]:
                v = owner[right[at[u]]]
                at[u] += 1
                if number[v] == NOBODY:
                    number[v] = low[v] = count
                    count += 1
                    stack[held] = v
                    held += 1
                    path[deep] = v
                    deep += 1
                elif component[v] == NOBODY:
                    low[u] = min(low[u], number[v])
                continue
            deep -= 1
            if deep:
                low[path[deep - 1]] = min(low[path[deep - 1]], low[u])
            if low[u] == number[u]:
                while True:
                    held -= 1
                    component[stack[held]] = components
                    if stack[held] == u:
                        break
                components += 1
