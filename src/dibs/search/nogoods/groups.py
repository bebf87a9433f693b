"""Groups: what a literal that is decided does to them, and what they make of others."""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem


@part
def asleep(p: Problem, m: Memory, group: Int) -> bool:
    """Whether a group with bounds is switched off."""
    selector = p.selector[group - len(p.need)]
    return bool(selector >= 0 and m.state[selector] != arrays.TRUE)


@part
def assign(m: Memory, literal: Int, value: Int, reason: Int) -> None:
    """Put a literal on the trail."""
    counts = m.counts
    m.state[literal] = value
    m.level[literal] = counts[arrays.LEVEL]
    m.reason[literal] = reason
    m.position[literal] = counts[arrays.TRAIL]
    m.trail[counts[arrays.TRAIL]] = literal
    counts[arrays.TRAIL] += 1


@part
def kill(p: Problem, m: Memory, literal: Int, reason: Int) -> None:
    """A literal is false. Groups that need one note what is left."""
    counts = m.counts
    assign(m, literal, arrays.FALSE, reason)
    for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
        g = p.literal_group[k]
        m.left[g] -= 1
        m.total[g] -= literal
        if p.need[g] and m.held[g] == 0 and m.left[g] < 2:
            if m.left[g] == 0:
                if counts[arrays.FAILED] < 0:
                    counts[arrays.FAILED] = g
            else:
                m.queue[counts[arrays.QUEUED]] = m.total[g]
                m.queue_group[counts[arrays.QUEUED]] = g
                counts[arrays.QUEUED] += 1
    for k in range(p.bound_start[literal], p.bound_start[literal + 1]):
        g = p.bound_group[k]
        m.left[g] -= 1
        least = p.least[g - len(p.need)]
        if m.left[g] > least or asleep(p, m, g):
            continue
        if m.left[g] < least:
            if counts[arrays.FAILED] < 0:
                counts[arrays.FAILED] = g
        elif m.held[g] < least:
            for i in range(p.group_start[g], p.group_start[g + 1]):
                if m.state[p.group_member[i]] == arrays.OPEN:
                    m.queue[counts[arrays.QUEUED]] = p.group_member[i]
                    m.queue_group[counts[arrays.QUEUED]] = g
                    counts[arrays.QUEUED] += 1


@part
def exclude(p: Problem, m: Memory, literal: Int) -> None:
    """What cannot be true beside a true literal, by its groups."""
    for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
        g = p.literal_group[k]
        m.held[g] += 1
        if p.exclusive[g]:
            for i in range(p.group_start[g], p.group_start[g + 1]):
                other = p.group_member[i]
                if m.state[other] == arrays.OPEN:
                    kill(p, m, other, literal)
    for k in range(p.bound_start[literal], p.bound_start[literal + 1]):
        g = p.bound_group[k]
        m.held[g] += 1
        if m.held[g] == p.most[g - len(p.need)] and not asleep(p, m, g):
            for i in range(p.group_start[g], p.group_start[g + 1]):
                other = p.group_member[i]
                if m.state[other] == arrays.OPEN:
                    kill(p, m, other, len(m.state) + g)
