"""Nogoods that searches of one problem tell each other: a search hears them where it begins a run.

Both lists have nogoods one after the other: length, levels, then the literals. They hold whatever is assumed.
"""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory


@part
def tell(m: Memory, levels: Int) -> None:
    """The new nogood, if it is short or of few levels, and if there is room."""
    counts = m.counts
    first, length = counts[arrays.TOLD], counts[arrays.LENGTH]
    if (length > 2 and levels > arrays.SHARED) or first + length + 2 > len(m.told):
        return
    m.told[first], m.told[first + 1] = length, levels
    for k in range(length):
        m.told[first + 2 + k] = m.learnt[k]
    counts[arrays.TOLD] += length + 2


@part
def hear(m: Memory) -> None:
    """At the root, before all nogoods are tidied: those of others go to the end, as far as there is room."""
    counts = m.counts
    at = 0
    while at < counts[arrays.HEARD]:
        length, nogood, first = m.heard[at], counts[arrays.NOGOODS], counts[arrays.USED]
        if nogood == len(m.place) or first + length > len(m.arena):
            break
        m.place[nogood], m.length[nogood] = first, length
        m.levels[nogood], m.use[nogood] = m.heard[at + 1], 0
        for k in range(length):
            m.arena[first + k] = m.heard[at + 2 + k]
        counts[arrays.NOGOODS] += 1
        counts[arrays.USED] += length
        at += length + 2
    counts[arrays.HEARD] = 0
