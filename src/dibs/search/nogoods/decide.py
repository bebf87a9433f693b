"""Which group is branched on, and which of its members goes first."""

from __future__ import annotations

import numpy as np

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
    best, size, weight = -1, 1.0, 0.0
    for i in range(m.counts[arrays.LISTED] if assumed > 0 else len(p.choices)):
        g = m.listed[i] if assumed > 0 else p.choices[i]
        if m.held[g] == 0 and (best < 0 or m.left[g] * weight < size * m.weight[g]):
            best, size, weight = g, float(m.left[g]), m.weight[g]
    for b in range(len(p.least)):
        g = len(p.need) + b
        room = m.left[g] - p.least[b] + 1  # with a least of one that is what is left, as above
        wanted = m.held[g] < p.least[b] and (best < 0 or room * weight < size * m.weight[g])
        if wanted and not asleep(p, m, g):
            best, size, weight = g, float(room), m.weight[g]
    return best


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
