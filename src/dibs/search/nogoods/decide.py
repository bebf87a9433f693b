"""Which group is branched on, and which of its members goes first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.groups import asleep


@part
def choose(p: Problem, m: Memory) -> Int:
    """The group to branch on: the fewest open literals for its weight; -1: every need is met, whatever the weights."""
    assumed = m.counts[arrays.ASSUMED]
    if assumed > 0 and m.counts[arrays.LEVEL] == assumed:  # all choices above come after one here
        enlist(p, m)
    if len(m.top) > 0:
        refresh(p, m)
        return top(p, m)
    if assumed > 0:
        return best(p, m, m.listed, 0, m.counts[arrays.LISTED], 0, len(p.least))
    return best(p, m, p.choices, 0, len(p.choices), 0, len(p.least))


@part
def best(
    p: Problem, m: Memory, groups: NDArray[np.int32], first: Int, last: Int, first_bound: Int, last_bound: Int
) -> Int:
    """Among these places of `groups`, and these groups with bounds."""
    found, size, weight = -1, 1.0, 0.0
    for i in range(first, last):
        g = groups[i]
        if m.held[g] == 0 and (found < 0 or m.left[g] * weight < size * m.weight[g]):
            found, size, weight = g, float(m.left[g]), m.weight[g]
    for b in range(first_bound, last_bound):
        g = len(p.need) + b
        room = places(p, m, g)
        wanted = m.held[g] < p.least[b] and (found < 0 or room * weight < size * m.weight[g])
        if wanted and not asleep(p, m, g):
            found, size, weight = g, float(room), m.weight[g]
    return found


@part
def places(p: Problem, m: Memory, group: Int) -> Int:
    """How many literals a group can still choose among: with a least of one what is left."""
    return m.left[group] - (p.least[group - len(p.need)] - 1 if group >= len(p.need) else 0)


@part
def top(p: Problem, m: Memory) -> Int:
    """The best one of all blocks."""
    found, size, weight = -1, 1.0, 0.0
    for block in range(len(m.top)):
        g = m.top[block]
        if g >= 0 and (found < 0 or places(p, m, g) * weight < size * m.weight[g]):
            found, size, weight = g, float(places(p, m, g)), m.weight[g]
    return found


@part
def refresh(p: Problem, m: Memory) -> None:
    """The best group of each block anew, where the trail went through one: a choice need not look at all groups."""
    counts, special = m.counts, len(p.need)
    if counts[arrays.LOOKED] == 0:
        for block in range(len(m.top)):
            m.top[block] = arrays.STALE
    for i in range(counts[arrays.LOOKED], counts[arrays.TRAIL]):
        literal = m.trail[i]
        for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
            m.top[p.literal_group[k] // arrays.BLOCK] = arrays.STALE
        for k in range(p.bound_start[literal], p.bound_start[literal + 1]):
            m.top[p.bound_group[k] // arrays.BLOCK] = arrays.STALE
    counts[arrays.LOOKED] = counts[arrays.TRAIL]
    for block in range(len(m.top)):
        if m.top[block] == arrays.STALE:
            begin = block * arrays.BLOCK
            end = min(begin + arrays.BLOCK, len(m.held))
            m.top[block] = best(
                p, m, p.choices, m.first[block], m.first[block + 1], max(begin - special, 0), end - special
            )


@part
def enlist(p: Problem, m: Memory) -> None:
    """Above all that is assumed: the groups that still need a literal, among which all choices will be made."""
    found = 0
    for i in range(len(p.choices)):
        if m.held[p.choices[i]] == 0:
            m.listed[found] = p.choices[i]
            found += 1
    m.counts[arrays.LISTED] = found


@part
def decide(p: Problem, m: Memory, group: Int) -> None:
    """Queue the member of a group that goes first: the one of the furthest state, otherwise by score."""
    counts = m.counts
    found, top = -1, -np.inf
    for i in range(p.group_start[group], p.group_start[group + 1]):
        literal = p.group_member[i]
        if m.state[literal] != arrays.OPEN:
            continue
        if m.best[literal]:
            found = literal
            break
        if found < 0 or m.score[literal] > top:
            found, top = literal, m.score[literal]
    m.mark[counts[arrays.LEVEL]] = counts[arrays.TRAIL]
    counts[arrays.LEVEL] += 1
    counts[arrays.DEPTH] = max(counts[arrays.DEPTH], counts[arrays.LEVEL])
    counts[arrays.NODES] += 1
    m.queue[0], m.queue_group[0] = found, arrays.NONE
    counts[arrays.QUEUED] = 1


@part
def remember(m: Memory) -> None:
    """Note what is true: no state has got further."""
    counts = m.counts
    first = counts[arrays.FURTHEST] if counts[arrays.AHEAD] else 0
    counts[arrays.FURTHEST], counts[arrays.AHEAD] = counts[arrays.TRAIL], 1
    if first == 0:
        for literal in range(len(m.best)):
            m.best[literal] = 0
    for i in range(first, counts[arrays.TRAIL]):
        if m.state[m.trail[i]] == arrays.TRUE:
            m.best[m.trail[i]] = 1
