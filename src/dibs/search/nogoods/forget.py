"""Keep nogoods, and forget the worse ones at the root."""

from __future__ import annotations

import numpy as np

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.groups import kill
from dibs.search.nogoods.lemmas import note_root, note_tidied
from dibs.search.nogoods.premises import unconditional
from dibs.search.nogoods.propagate import propagate


@part
def keep(m: Memory, levels: Int) -> Int:
    """Note the new nogood, watching its first two; returns its number."""
    counts = m.counts
    nogood, first = counts[arrays.NOGOODS], counts[arrays.USED]
    counts[arrays.NOGOODS] += 1
    counts[arrays.USED] += counts[arrays.LENGTH]
    m.place[nogood], m.length[nogood] = first, counts[arrays.LENGTH]
    m.levels[nogood], m.use[nogood] = levels, 0
    for w in range(len(m.gathered)):
        m.needs[nogood, w] = m.gathered[w]
    at, end = first + 2, first + counts[arrays.LENGTH] - 1
    for k in range(counts[arrays.LENGTH]):  # what is assumed goes last: nobody looks there for a literal to watch
        literal = m.learnt[k]
        if k < 2:
            m.arena[first + k] = literal
        elif m.level[literal] > counts[arrays.ASSUMED]:
            m.arena[at] = literal
            at += 1
        else:
            m.arena[end] = literal
            end -= 1
    if counts[arrays.LENGTH] > 1:
        watch(m, nogood)
    return nogood


@part
def watch(m: Memory, nogood: Int) -> None:
    for side in range(2):
        literal = m.arena[m.place[nogood] + side]
        m.link[2 * nogood + side] = m.head[literal]
        m.head[literal] = 2 * nogood + side


@part
def tidy(p: Problem, m: Memory) -> bool:
    """At the root: forget the worse half of the nogoods if there are too many, and what the root has decided in them.

    Returns whether the root is consistent.
    """
    counts = m.counts
    total = counts[arrays.NOGOODS]
    if len(m.gathered) > 0:
        counts[arrays.DETACHED] = 1
    dropped = np.zeros(total, np.bool_)
    if total > counts[arrays.ROOM]:
        rank = np.empty(total)
        for c in range(total):
            rank[c] = -1.0 if m.levels[c] <= arrays.LOW else m.levels[c] + 1.0 / (1.0 + m.use[c])
            m.use[c] *= np.float32(0.5)
        order = np.argsort(rank)
        for i in range(total // 2, total):
            dropped[order[i]] = rank[order[i]] >= 0
        counts[arrays.ROOM] += arrays.MORE_ROOM
    for literal in range(len(m.head)):
        m.head[literal] = -1
    kept = used = 0
    note_root(m)
    for c in range(total):
        note_tidied(m, c, dropped[c])
        if dropped[c]:
            continue
        first, length = used, 0
        void = False
        for k in range(m.place[c], m.place[c] + m.length[c]):
            literal = m.arena[k]
            if m.state[literal] == arrays.FALSE:
                void = True
                break
            if m.state[literal] == arrays.OPEN:
                m.arena[first + length] = literal
                length += 1
        if void:
            continue
        free = unconditional(m, c) and not counts[arrays.CUT]
        if length == 0 and free:
            return False
        if length == 1 and free:
            kill(p, m, m.arena[first], arrays.NONE)
            continue
        m.place[kept], m.length[kept], m.levels[kept], m.use[kept] = first, length, m.levels[c], m.use[c]
        for w in range(len(m.gathered)):
            m.needs[kept, w] = m.needs[c, w]
        used += length
        kept += 1
    counts[arrays.NOGOODS], counts[arrays.USED] = kept, used
    for c in range(kept if not counts[arrays.DETACHED] else 0):
        watch(m, c)
    return propagate(p, m)
