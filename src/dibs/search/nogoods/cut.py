"""A hard call as a problem of its own: what is assumed is cut away, as far as it has decided anything.

A search on the rest has a few thousand literals where the whole has some ten thousand, and groups with a few members.
Each group notes what it needs (`Memory.closed`): the assumptions by which the members are false that it has lost. One
level, the first, stands for all assumptions: it decides nothing itself, but what nogoods say there needs assumptions.
Not for groups with bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import borrow, view
from dibs.search.nogoods import arrays
from dibs.search.nogoods.analyse import doubt, ground
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.premises import clear, free, gather, take, within
from dibs.search.nogoods.propagate import back, propagate

CARRIED = (
    arrays.NODES,
    arrays.CONFLICTS,
    arrays.RUN,
    arrays.RUN_END,
    arrays.MOST,
    arrays.WORK,
    arrays.ROOM,
    arrays.COVER,
)


@entry(error_model="numpy")
def ready(problem: Problem, memory: Memory, number: NDArray[np.int32], sizes: NDArray[np.int64]) -> bool:
    """Go back to what is assumed, if that is consistent; whether it is.

    `number` [literals] and `sizes` are written: 1 + the number of each open literal; literals, groups, members and
    groups to branch on.
    """
    p, m = view(problem), view(memory)
    counts = m.counts
    if counts[arrays.LEVEL] < counts[arrays.ASSUMED] or counts[arrays.DETACHED]:
        return False
    if counts[arrays.LEVEL] > counts[arrays.ASSUMED]:
        back(p, m, counts[arrays.ASSUMED])
    elif not propagate(p, m):
        return False
    count(p, m, borrow(number), borrow(sizes))
    return True


@part
def count(p: Problem, m: Memory, number: NDArray[np.int32], sizes: NDArray[np.int64]) -> None:
    for literal in range(len(m.state)):
        if m.state[literal] == arrays.OPEN:
            sizes[0] += 1
            number[literal] = sizes[0]
    for g in range(len(p.need)):
        if m.held[g] == 0 and m.left[g] > 0:
            sizes[1] += 1
            sizes[2] += m.left[g]
    for i in range(len(p.choices)):
        sizes[3] += m.held[p.choices[i]] == 0 and m.left[p.choices[i]] > 0


@entry(error_model="numpy")
def divide(problem: Problem, memory: Memory, rest: Problem, inner: Memory, number: NDArray[np.int32]) -> None:
    """Fill the problem `rest` and its search: groups, nogoods of this call, weights and phases."""
    p, m, q, n = view(problem), view(memory), view(rest), view(inner)
    m.mark[m.counts[arrays.LEVEL]] = m.counts[arrays.TRAIL]
    ground(p, m)
    groups(p, m, q, n, borrow(number))
    members(q, n)
    for literal in range(len(m.state)):
        if number[literal] > 0:
            inside = number[literal] - 1
            n.score[inside], n.best[inside] = m.score[literal], m.best[literal]
            pair = p.pair[literal]
            q.pair[inside] = number[pair] - 1 if pair >= 0 else -1
    nogoods(m, n, borrow(number))
    carry(m, n)
    n.counts[arrays.DEPTH] = max(0, m.counts[arrays.DEPTH] - m.counts[arrays.ASSUMED]) + 1
    n.counts[arrays.FURTHEST] = m.counts[arrays.FURTHEST] if m.counts[arrays.FURTHEST] >= arrays.SOLUTION else 0
    n.assumed[0], n.counts[arrays.ASSUMED] = -1, 1


@part
def carry(m: Memory, n: Memory) -> None:
    """Counters that go on, from one search to the other."""
    for i in range(len(CARRIED)):
        n.counts[CARRIED[i]] = m.counts[CARRIED[i]]
    n.real[0] = m.real[0]


@part
def groups(p: Problem, m: Memory, q: Problem, n: Memory, number: NDArray[np.int32]) -> None:
    """Groups that have nothing true, with their open members and what they need."""
    found = at = 0
    choice = chosen = 0
    for g in range(len(p.need)):
        branches = choice < len(p.choices) and p.choices[choice] == g
        choice += branches
        if m.held[g] > 0 or m.left[g] == 0:
            continue
        q.group_start[found], q.need[found], q.exclusive[found] = at, p.need[g], p.exclusive[g]
        n.weight[found], n.left[found] = m.weight[g], m.left[g]
        clear(m)
        m.counts[arrays.TOUCHED] = 0
        for i in range(p.group_start[g], p.group_start[g + 1]):
            literal = p.group_member[i]
            if m.state[literal] == arrays.OPEN:
                q.group_member[at] = number[literal] - 1
                n.total[found] += number[literal] - 1
                at += 1
            elif p.need[g] and m.level[literal] > 0:
                doubt(p, m, literal, m.counts[arrays.TRAIL])
        unsee(m)
        for w in range(len(m.gathered)):
            n.closed[found, w] = m.gathered[w]
        if branches:
            q.choices[chosen] = found
            chosen += 1
        found += 1
    q.group_start[found] = at


@part
def unsee(m: Memory) -> None:
    for k in range(m.counts[arrays.TOUCHED]):
        m.seen[m.touched[k]] = 0
    m.counts[arrays.TOUCHED] = 0


@part
def members(q: Problem, n: Memory) -> None:
    """The groups of each literal."""
    for i in range(len(q.group_member)):
        q.literal_start[q.group_member[i] + 1] += 1
    for literal in range(len(n.state)):
        q.literal_start[literal + 1] += q.literal_start[literal]
    for g in range(len(q.need)):
        for i in range(q.group_start[g], q.group_start[g + 1]):
            literal = q.group_member[i]
            q.literal_group[q.literal_start[literal] + n.stamp[literal]] = g
            n.stamp[literal] += 1
    for literal in range(len(n.state)):
        n.stamp[literal] = 0


@part
def nogoods(m: Memory, n: Memory, number: NDArray[np.int32]) -> None:
    """The nogoods of this call move; what is true in them by assumptions becomes a need."""
    kept = used = 0
    for c in range(m.counts[arrays.NOGOODS]):
        if not within(m, c, m.present):
            continue
        first, length = m.place[c], 0
        void = False
        clear(m)
        gather(m, m.needs, c)
        for i in range(first, first + m.length[c]):
            literal = m.arena[i]
            if m.state[literal] == arrays.FALSE:
                void = True
                break
            if m.state[literal] == arrays.OPEN:
                n.arena[used + length] = number[literal] - 1
                length += 1
            elif m.level[literal] > 0:
                gather(m, m.premises, literal)
        if void:
            continue
        n.place[kept], n.length[kept], n.levels[kept], n.use[kept] = used, length, m.levels[c], m.use[c]
        for w in range(len(m.gathered)):
            n.needs[kept, w] = m.gathered[w]
        m.length[c] = -1
        used += length
        kept += 1
    n.counts[arrays.NOGOODS], n.counts[arrays.USED] = kept, used


@entry(error_model="numpy")
def rejoin(problem: Problem, memory: Memory, inner: Memory, open_: NDArray[np.int64], failing: Int) -> None:
    """The search on the rest has ended: take its nogoods and weights over, at the root.

    `failing`: so many assumptions, in `learnt`, fail together.
    """
    p, m, n = view(problem), view(memory), view(inner)
    counts = m.counts
    before = counts[arrays.NOGOODS]
    found = 0
    for g in range(len(p.need)):
        if m.held[g] == 0 and m.left[g] > 0:
            m.weight[g] = n.weight[found]
            found += 1
    back(p, m, 0)
    counts[arrays.NOGOODS] = counts[arrays.USED] = 0
    for c in range(before):
        if m.length[c] >= 0:
            take(m, m, c)
    for c in range(n.counts[arrays.NOGOODS]):
        take(m, n, c)
        for k in range(m.counts[arrays.USED] - n.length[c], m.counts[arrays.USED]):
            m.arena[k] = open_[m.arena[k]]
    carry(n, m)
    if counts[arrays.NOGOODS] > counts[arrays.ROOM]:
        counts[arrays.RUN_END] = 0  # the next call begins with a run, which forgets the worse ones
    counts[arrays.PHASE], counts[arrays.LENGTH] = n.counts[arrays.PHASE], failing
    counts[arrays.DEPTH] = n.counts[arrays.DEPTH] - 1 + counts[arrays.ASSUMED]
    if counts[arrays.PHASE] == arrays.UNSAT:
        free(p, m)
