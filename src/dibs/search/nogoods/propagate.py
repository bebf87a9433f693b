"""Draw all that follows from what is queued, and take it back."""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.groups import assign, exclude, kill


@part
def look(p: Problem, m: Memory, literal: Int) -> None:
    """The nogoods that watch a literal which has become true: find another to watch, or one that must be false."""
    counts = m.counts
    watch = m.head[literal]
    m.head[literal] = -1
    while watch >= 0:
        following = m.link[watch]
        nogood, side = watch >> 1, watch & 1
        first = m.place[nogood]
        other = m.arena[first + 1 - side]
        moved = False
        if counts[arrays.BROKEN] < 0 and m.state[other] != arrays.FALSE:
            for i in range(first + 2, first + m.length[nogood]):
                candidate = m.arena[i]
                if m.state[candidate] != arrays.TRUE:
                    m.arena[i] = literal
                    m.arena[first + side] = candidate
                    m.link[watch] = m.head[candidate]
                    m.head[candidate] = watch
                    moved = True
                    break
            if not moved:
                if m.state[other] == arrays.OPEN:
                    kill(p, m, other, -2 - nogood)
                else:
                    counts[arrays.BROKEN] = nogood
        if not moved:
            m.link[watch] = m.head[literal]
            m.head[literal] = watch
        watch = following


@part
def propagate(p: Problem, m: Memory) -> bool:
    """All that follows from the queue; whether it is consistent."""
    counts = m.counts
    done = 0
    while done < counts[arrays.QUEUED] and counts[arrays.FAILED] < 0 and counts[arrays.BROKEN] < 0:
        literal, group = m.queue[done], m.queue_group[done]
        done += 1
        if m.state[literal] == arrays.TRUE:
            continue
        if m.state[literal] == arrays.FALSE:
            counts[arrays.FAILED] = group
            break
        assign(m, literal, arrays.TRUE, group)
        exclude(p, m, literal)
        if counts[arrays.FAILED] < 0 and not counts[arrays.DETACHED]:
            look(p, m, literal)
    counts[arrays.QUEUED] = 0
    return bool(counts[arrays.FAILED] < 0 and counts[arrays.BROKEN] < 0)


@part
def back(p: Problem, m: Memory, level: Int) -> None:
    """Take back all decisions but the first `level`."""
    counts = m.counts
    counts[arrays.QUEUED] = 0
    if counts[arrays.LEVEL] <= level:
        return
    counts[arrays.AHEAD] = counts[arrays.LOOKED] = 0
    length = m.mark[level]
    counts[arrays.GROUNDED] = min(counts[arrays.GROUNDED], length)
    if level < counts[arrays.ASSUMED] and len(m.gathered) > 0:
        counts[arrays.DETACHED] = 1
    counts[arrays.WORK] += counts[arrays.TRAIL] - length
    for i in range(counts[arrays.TRAIL] - 1, length - 1, -1):
        literal = m.trail[i]
        true = m.state[literal] == arrays.TRUE
        for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
            g = p.literal_group[k]
            if true:
                m.held[g] -= 1
            else:
                m.left[g] += 1
                m.total[g] += literal
        for k in range(p.bound_start[literal], p.bound_start[literal + 1]):
            if true:
                m.held[p.bound_group[k]] -= 1
            else:
                m.left[p.bound_group[k]] += 1
        m.state[literal] = arrays.OPEN
    counts[arrays.TRAIL] = length
    counts[arrays.LEVEL] = level
