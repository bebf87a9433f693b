"""Where all that is assumed has been decided: watch the nogoods that need nothing else."""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.forget import watch
from dibs.search.nogoods.groups import kill
from dibs.search.nogoods.premises import put, replace_freed, within


@part
def attach(p: Problem, m: Memory) -> None:
    """Watch the nogoods of this call from here on, and draw what follows from those with one literal left.

    Below this level nobody may look at them: what they need may not be assumed there.
    """
    counts = m.counts
    counts[arrays.DETACHED] = 0
    replace_freed(m)
    for w in range(len(m.present)):
        m.present[w] = 0
    for i in range(counts[arrays.ASSUMED]):
        if m.assumed[i] >= 0:
            put(m.present, m.bit[m.assumed[i]] - 1)
    for literal in range(len(m.head)):
        m.head[literal] = -1
    for c in range(counts[arrays.NOGOODS]):
        if not counts[arrays.CUT] and not within(m, c, m.present):
            continue
        left = undecided(m, c)
        if left == 0:
            counts[arrays.BROKEN] = c
            return
        if left == 1:
            kill(p, m, m.arena[m.place[c]], -2 - c)
        elif left == 2:
            watch(m, c)


@part
def undecided(m: Memory, nogood: Int) -> Int:
    """How many literals of a nogood are not decided, up to two, which come first then; 3: one is false."""
    first, found = m.place[nogood], 0
    for i in range(first, first + m.length[nogood]):
        literal = m.arena[i]
        if m.state[literal] == arrays.FALSE:
            return 3
        if m.state[literal] == arrays.OPEN and found < 2:
            m.arena[i], m.arena[first + found] = m.arena[first + found], literal
            found += 1
    return found
