"""What a search has learned and forgotten, for a proof that others check.

The log has clauses one after the other: how many members (negative: the clause is forgotten), then the members. Member
`l` says that literal l is false, `~l` that it is true. Each clause follows from the groups and the clauses before it by
unit propagation.
"""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory


def room(m: Memory) -> Int:
    """What may be added to the log before the next look at it: all nogoods twice, and the root."""
    return 2 * (m.counts[arrays.USED] + m.counts[arrays.NOGOODS]) + 4 * len(m.state) + 16


_room = part(room)


@part
def crowded(m: Memory) -> bool:
    """Whether the log has to be read before the search goes on."""
    return bool(len(m.log) > 0 and m.counts[arrays.LOGGED] + _room(m) > len(m.log))


@part
def add(m: Memory, value: Int) -> None:
    m.log[m.counts[arrays.LOGGED]] = value
    m.counts[arrays.LOGGED] += 1


@part
def note_learnt(m: Memory) -> None:
    """The new nogood."""
    if len(m.log) > 0:
        first, length = m.counts[arrays.LOGGED], m.counts[arrays.LENGTH]
        m.log[first] = length
        for k in range(length):
            m.log[first + 1 + k] = m.learnt[k]
        m.counts[arrays.LOGGED] += length + 1


@part
def note_root(m: Memory) -> None:
    """What the root has decided since the last time: nogoods that it follows from may be forgotten."""
    if len(m.log) > 0:
        for i in range(m.counts[arrays.ROOTED], m.counts[arrays.TRAIL]):
            literal = m.trail[i]
            add(m, 1)
            add(m, ~literal if m.state[literal] == arrays.TRUE else literal)
        m.counts[arrays.ROOTED] = m.counts[arrays.TRAIL]


@part
def note_tidied(m: Memory, nogood: Int, dropped: bool) -> None:
    """A nogood before it is forgotten, or loses the literals that are true at the root."""
    if len(m.log) == 0:
        return
    first, end = m.place[nogood], m.place[nogood] + m.length[nogood]
    left = 0
    for k in range(first, end):
        if m.state[m.arena[k]] == arrays.FALSE:
            dropped = True
        elif m.state[m.arena[k]] == arrays.OPEN:
            left += 1
    if not dropped and (left == m.length[nogood] or left == 0):  # nothing is lost; or it is broken, and that is the end
        return
    if not dropped:
        add(m, left)
        for k in range(first, end):
            if m.state[m.arena[k]] == arrays.OPEN:
                add(m, m.arena[k])
    add(m, -m.length[nogood])
    for k in range(first, end):
        add(m, m.arena[k])
