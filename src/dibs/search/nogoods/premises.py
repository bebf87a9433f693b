"""Premises: which assumptions a nogood needs, as bits, beside its literals.

Where a search is asked again, nine literals in ten of a nogood would be assumptions. They are left out of it and noted
here: its literals are then as few as if the assumptions were part of the problem, and it holds in every call that
assumes all that it needs. Each literal that was ever assumed has a bit, until bits run out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem


@part
def clear(m: Memory) -> None:
    """The new nogood needs nothing."""
    for w in range(len(m.gathered)):
        m.gathered[w] = 0


@part
def nothing(m: Memory) -> bool:
    """Whether the new nogood needs nothing that is assumed."""
    found = np.int64(0)
    for w in range(len(m.gathered)):
        found |= m.gathered[w]
    return bool(found == 0)


@part
def gather(m: Memory, sets: NDArray[np.int64], row: Int) -> None:
    """The new nogood needs one of these sets too."""
    for w in range(len(m.gathered)):
        m.gathered[w] |= sets[row, w]


@part
def put(of: NDArray[np.int64], bit: Int) -> None:
    of[bit // arrays.BITS] |= np.int64(1) << (bit % arrays.BITS)


@part
def unconditional(m: Memory, nogood: Int) -> bool:
    """Whether a nogood holds in every call."""
    found = np.int64(0)
    for w in range(len(m.gathered)):
        found |= m.needs[nogood, w]
    return bool(found == 0)


@part
def enrol(m: Memory, assumed: NDArray[np.int32]) -> bool:
    """A bit for everything that is assumed; False where they run out."""
    bit = 0
    for i in range(len(assumed)):
        literal = assumed[i]
        if literal < 0 or m.bit[literal] > 0:
            continue
        while bit < len(m.bearer) and m.bearer[bit] > 0:
            bit += 1
        if bit == len(m.bearer):
            return False
        m.bearer[bit], m.bit[literal] = literal + 1, bit + 1
    return True


@part
def forget_others(m: Memory, assumed: NDArray[np.int32]) -> None:
    """At the root: nothing else has a bit any more, and nogoods that need it are forgotten."""
    counts = m.counts
    replace_freed(m)
    clear(m)
    for i in range(len(assumed)):
        if assumed[i] >= 0 and m.bit[assumed[i]] > 0:
            put(m.gathered, m.bit[assumed[i]] - 1)
    total = counts[arrays.NOGOODS]
    counts[arrays.NOGOODS] = counts[arrays.USED] = 0
    for c in range(total):
        if not within(m, c, m.gathered):
            continue
        take(m, m, c)
    for bit in range(len(m.bearer)):
        held = (m.gathered[bit // arrays.BITS] >> (bit % arrays.BITS)) & 1
        if m.bearer[bit] > 0 and not held:
            m.bit[m.bearer[bit] - 1] = 0
            m.bearer[bit] = 0


@part
def take(m: Memory, n: Memory, c: Int) -> None:
    """The next nogood of a search is this one of another, or of itself."""
    kept, used, first, length = m.counts[arrays.NOGOODS], m.counts[arrays.USED], n.place[c], n.length[c]
    for k in range(length):
        m.arena[used + k] = n.arena[first + k]
    for w in range(len(m.gathered)):
        m.needs[kept, w] = n.needs[c, w]
    m.place[kept], m.length[kept], m.levels[kept], m.use[kept] = used, length, n.levels[c], n.use[c]
    m.counts[arrays.NOGOODS], m.counts[arrays.USED] = kept + 1, used + length


@part
def within(m: Memory, nogood: Int, there: NDArray[np.int64]) -> bool:
    """Whether all that a nogood needs is there."""
    lacking = np.int64(0)
    for w in range(len(m.gathered)):
        lacking |= m.needs[nogood, w] & ~there[w]
    return bool(lacking == 0)


@part
def free(p: Problem, m: Memory) -> None:
    """After a call without solutions: what it has assumed the opposite of follows from the rest of what fails.

    Nogoods that needed it need these others instead, from the next time on that they are watched.
    """
    counts = m.counts
    for i in range(counts[arrays.LENGTH] if len(m.gathered) > 0 else 0):
        opposite = p.pair[m.learnt[i]]
        if opposite < 0 or m.bit[opposite] == 0:
            continue
        if counts[arrays.PENDING] == len(m.freed):
            replace_freed(m)
        row = counts[arrays.PENDING]
        for w in range(len(m.gathered)):
            m.freeing[row, w] = 0
        known = True
        for k in range(counts[arrays.LENGTH]):
            bit = m.bit[m.learnt[k]] - 1
            known = known and (k == i or (bit >= 0 and m.learnt[k] != opposite))
            if k != i and bit >= 0:
                m.freeing[row, bit // arrays.BITS] |= np.int64(1) << (bit % arrays.BITS)
        if known:
            m.freed[row] = m.bit[opposite] - 1
            counts[arrays.PENDING] += 1


@part
def replace_freed(m: Memory) -> None:
    """In every nogood: what follows from other assumptions by these, in the order in which it was found."""
    for c in range(m.counts[arrays.NOGOODS] if m.counts[arrays.PENDING] > 0 else 0):
        for row in range(m.counts[arrays.PENDING]):
            word, bit = m.freed[row] // arrays.BITS, np.int64(1) << (m.freed[row] % arrays.BITS)
            if m.needs[c, word] & bit:
                m.needs[c, word] &= ~bit
                for w in range(len(m.gathered)):
                    m.needs[c, w] |= m.freeing[row, w]
    m.counts[arrays.PENDING] = 0
