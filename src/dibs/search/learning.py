"""Search that learns: what failed together is noted as a nogood, and the search jumps back to where that matters.

Pure functions on arrays, compiled by Numba, on one problem cut down to what its root leaves open. A *nogood* is a set
of literals that cannot all be true. Every reason is such a set: a literal is false because a true one excludes it, or
because a nogood lacks only it; a literal is true because the rest of a group that needs one is false.

As in kernel.py nothing is recursive, nothing is allocated per node, and a search can be put aside and taken up again.
All jitted functions that call each other live in this file: Numba's cache does not notice a change in another one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dibs.search.machine import borrow

Int = Any

# A call would pass every array by value: the parts are inlined into `advance`, as in kernel.py.
_part = njit(forceinline=True, error_model="numpy")

OPEN, TRUE, FALSE = 0, 1, 2  # states of a literal
RUNNING, SAT, UNSAT, LIMIT = range(4)

# Columns of `Memory.counts`.
PHASE = 0  # one of the four above
NODES = 1  # decisions
CONFLICTS = 2  # failures, each of which gave a nogood
DEPTH = 3  # the most decisions that ever stood at once
TRAIL = 4  # length of the trail
LEVEL = 5  # decisions that stand
QUEUED = 6  # literals in `queue`
RUN = 7  # runs begun
RUN_END = 8  # the next run begins at so many conflicts
NOGOODS = 9  # numbers given to nogoods
USED = 10  # of the arena
FURTHEST = 11  # the longest trail so far
FAILED = 12  # the group that has no literal left; -1: none
BROKEN = 13  # the nogood whose literals are all true; -1: none
MOST = 14  # LIMIT at so many decisions
ROOM = 15  # nogoods that are kept at the beginning of a run; grows
LENGTH = 16  # of `learnt`
TOUCHED = 17  # of `touched`
HERE = 18  # literals of the current level that are still to be explained
FULL = 19  # there was no room for a nogood
COUNTERS = 20

GROWTH = 1.02  # of what a failure counts for, from one to the next: recent ones count more
HUGE = 1e100
NONE = -1  # no reason: a decision, or known from the root
ARENA = 1 << 16  # literals in all nogoods together, at first
MANY = 1 << 11  # nogoods, at first
FIRST_ROOM = 2000
MORE_ROOM = 300
LOW = 2  # nogoods about so few levels are kept for good


class Problem(NamedTuple):
    """L literals and G groups: all that the root leaves open. CSR in both directions."""

    group_start: NDArray[np.int32]  # [G+1]
    group_member: NDArray[np.int32]
    literal_start: NDArray[np.int32]  # [L+1]
    literal_group: NDArray[np.int32]
    exclusive: NDArray[np.bool_]  # [G] at most one is true
    need: NDArray[np.bool_]  # [G] at least one is true


class Memory(NamedTuple):
    """The state of one search. C nogoods, A literals in them."""

    state: NDArray[np.uint8]  # [L]
    level: NDArray[np.int32]  # [L] decisions that stood when it was decided
    reason: NDArray[np.int32]  # [L] true: the group that needed it; false: the true literal, or -2 - nogood; NONE
    left: NDArray[np.int32]  # [G] members that are not false
    total: NDArray[np.int64]  # [G] the sum of their numbers: where one is left, it is that one
    held: NDArray[np.int32]  # [G] members that are true
    weight: NDArray[np.float64]  # [G] how much it had to do with failures
    score: NDArray[np.float32]  # [L] the guide's
    best: NDArray[np.uint8]  # [L] 1: true where the trail was longest
    trail: NDArray[np.int32]  # [L] what was decided, in order
    mark: NDArray[np.int32]  # [L+1] length of the trail at each decision
    queue: NDArray[np.int32]  # [G+1] literals that must be true
    queue_group: NDArray[np.int32]  # [G+1] because of which group
    seen: NDArray[np.uint8]  # [L] met in the analysis of a failure
    touched: NDArray[np.int32]  # [L] which of `seen` to reset
    learnt: NDArray[np.int32]  # [L] the new nogood; the first is of the current level
    stamp: NDArray[np.int64]  # [L+1] scratch: levels that were counted
    arena: NDArray[np.int32]  # [A] the literals of all nogoods, watched ones first
    place: NDArray[np.int32]  # [C] where each begins
    length: NDArray[np.int32]  # [C]
    levels: NDArray[np.int32]  # [C] of how many levels its literals were when it was learnt
    use: NDArray[np.float32]  # [C] how often it has been a reason
    head: NDArray[np.int32]  # [L] the first watch of each literal: 2 * nogood + which of the first two; -1: none
    link: NDArray[np.int32]  # [2C] the next watch of the same literal
    counts: NDArray[np.int64]  # [COUNTERS]
    real: NDArray[np.float64]  # [1] what a failure counts for


@_part
def kill(p: Problem, m: Memory, literal: Int, reason: Int) -> None:
    """A literal is false. Groups that need one note what is left."""
    counts = m.counts
    m.state[literal] = FALSE
    m.level[literal] = counts[LEVEL]
    m.reason[literal] = reason
    m.trail[counts[TRAIL]] = literal
    counts[TRAIL] += 1
    for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
        g = p.literal_group[k]
        m.left[g] -= 1
        m.total[g] -= literal
        if p.need[g] and m.held[g] == 0 and m.left[g] < 2:
            if m.left[g] == 0:
                if counts[FAILED] < 0:
                    counts[FAILED] = g
            else:
                m.queue[counts[QUEUED]] = m.total[g]
                m.queue_group[counts[QUEUED]] = g
                counts[QUEUED] += 1


@_part
def exclude(p: Problem, m: Memory, literal: Int) -> None:
    """What cannot be true beside a true literal, by its groups."""
    for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
        g = p.literal_group[k]
        m.held[g] += 1
        if p.exclusive[g]:
            for i in range(p.group_start[g], p.group_start[g + 1]):
                other = p.group_member[i]
                if m.state[other] == OPEN:
                    kill(p, m, other, literal)


@_part
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
        if counts[BROKEN] < 0 and m.state[other] != FALSE:
            for i in range(first + 2, first + m.length[nogood]):
                candidate = m.arena[i]
                if m.state[candidate] != TRUE:
                    m.arena[i] = literal
                    m.arena[first + side] = candidate
                    m.link[watch] = m.head[candidate]
                    m.head[candidate] = watch
                    moved = True
                    break
            if not moved:
                if m.state[other] == OPEN:
                    kill(p, m, other, -2 - nogood)
                else:
                    counts[BROKEN] = nogood
        if not moved:
            m.link[watch] = m.head[literal]
            m.head[literal] = watch
        watch = following


@_part
def propagate(p: Problem, m: Memory) -> bool:
    """All that follows from the queue; whether it is consistent."""
    counts = m.counts
    done = 0
    while done < counts[QUEUED] and counts[FAILED] < 0 and counts[BROKEN] < 0:
        literal, group = m.queue[done], m.queue_group[done]
        done += 1
        if m.state[literal] == TRUE:
            continue
        if m.state[literal] == FALSE:
            counts[FAILED] = group
            break
        m.state[literal] = TRUE
        m.level[literal] = counts[LEVEL]
        m.reason[literal] = group
        m.trail[counts[TRAIL]] = literal
        counts[TRAIL] += 1
        exclude(p, m, literal)
        if counts[FAILED] < 0:
            look(p, m, literal)
    counts[QUEUED] = 0
    return bool(counts[FAILED] < 0 and counts[BROKEN] < 0)


@_part
def back(p: Problem, m: Memory, level: Int) -> None:
    """Take back all decisions but the first `level`."""
    counts = m.counts
    counts[QUEUED] = 0
    if counts[LEVEL] <= level:
        return
    length = m.mark[level]
    for i in range(counts[TRAIL] - 1, length - 1, -1):
        literal = m.trail[i]
        true = m.state[literal] == TRUE
        for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
            g = p.literal_group[k]
            if true:
                m.held[g] -= 1
            else:
                m.left[g] += 1
                m.total[g] += literal
        m.state[literal] = OPEN
    counts[TRAIL] = length
    counts[LEVEL] = level


@_part
def see(m: Memory, literal: Int) -> None:
    """A true literal has to do with a failure."""
    counts = m.counts
    if m.seen[literal] or m.level[literal] == 0:
        return
    m.seen[literal] = 1
    m.touched[counts[TOUCHED]] = literal
    counts[TOUCHED] += 1
    if m.level[literal] == counts[LEVEL]:
        counts[HERE] += 1
    else:
        m.learnt[counts[LENGTH]] = literal
        counts[LENGTH] += 1


@_part
def blame(p: Problem, m: Memory, group: Int, spared: Int) -> None:
    """See what made the members of a group false, but for one."""
    m.weight[group] += m.real[0]
    for i in range(p.group_start[group], p.group_start[group + 1]):
        literal = p.group_member[i]
        if literal == spared or m.level[literal] == 0:
            continue
        reason = m.reason[literal]
        if reason >= 0:
            see(m, reason)
        else:
            accuse(m, -2 - reason, literal)


@_part
def accuse(m: Memory, nogood: Int, spared: Int) -> None:
    m.use[nogood] += np.float32(1)
    for i in range(m.place[nogood], m.place[nogood] + m.length[nogood]):
        if m.arena[i] != spared:
            see(m, m.arena[i])


@_part
def follows(p: Problem, m: Memory, literal: Int) -> bool:
    """Whether a literal of the new nogood follows from others of it."""
    group = m.reason[literal]
    if group < 0:
        return False
    for i in range(p.group_start[group], p.group_start[group + 1]):
        other = p.group_member[i]
        if other == literal or m.level[other] == 0:
            continue
        reason = m.reason[other]
        if reason >= 0:
            if not m.seen[reason] and m.level[reason] > 0:
                return False
        else:
            nogood = -2 - reason
            for k in range(m.place[nogood], m.place[nogood] + m.length[nogood]):
                cause = m.arena[k]
                if cause != other and not m.seen[cause] and m.level[cause] > 0:
                    return False
    return True


@_part
def analyse(p: Problem, m: Memory) -> Int:
    """Write the nogood of a failure to `learnt`, its one literal of this level first; returns the level to go to."""
    counts = m.counts
    counts[LENGTH], counts[TOUCHED], counts[HERE] = 1, 0, 0
    if counts[FAILED] >= 0:
        blame(p, m, counts[FAILED], -1)
    else:
        accuse(m, counts[BROKEN], -1)
    i = counts[TRAIL] - 1
    while True:
        literal = m.trail[i]
        i -= 1
        if m.state[literal] != TRUE or not m.seen[literal] or m.level[literal] != counts[LEVEL]:
            continue
        m.seen[literal] = 0
        if counts[HERE] == 1:
            m.learnt[0] = literal
            break
        counts[HERE] -= 1
        blame(p, m, m.reason[literal], literal)
    length = 1
    level = 0
    for k in range(1, counts[LENGTH]):
        literal = m.learnt[k]
        if not follows(p, m, literal):
            m.learnt[length] = literal
            if m.level[literal] > level:
                level = m.level[literal]
                m.learnt[length] = m.learnt[1]
                m.learnt[1] = literal
            length += 1
    counts[LENGTH] = length
    for k in range(counts[TOUCHED]):
        m.seen[m.touched[k]] = 0
    m.real[0] *= GROWTH
    if m.real[0] > HUGE:
        m.real[0] /= HUGE
        for g in range(len(m.weight)):
            m.weight[g] /= HUGE
    return level


@_part
def span(m: Memory) -> Int:
    """Of how many levels the new nogood's literals are."""
    found = 0
    for k in range(m.counts[LENGTH]):
        level = m.level[m.learnt[k]]
        if m.stamp[level] != m.counts[CONFLICTS]:
            m.stamp[level] = m.counts[CONFLICTS]
            found += 1
    return found


@_part
def keep(m: Memory, levels: Int) -> Int:
    """Note the new nogood, watching its first two; returns its number."""
    counts = m.counts
    nogood, first = counts[NOGOODS], counts[USED]
    counts[NOGOODS] += 1
    counts[USED] += counts[LENGTH]
    m.place[nogood], m.length[nogood] = first, counts[LENGTH]
    m.levels[nogood], m.use[nogood] = levels, 0
    for k in range(counts[LENGTH]):
        m.arena[first + k] = m.learnt[k]
    watch(m, nogood)
    return nogood


@_part
def watch(m: Memory, nogood: Int) -> None:
    for side in range(2):
        literal = m.arena[m.place[nogood] + side]
        m.link[2 * nogood + side] = m.head[literal]
        m.head[literal] = 2 * nogood + side


@_part
def tidy(p: Problem, m: Memory) -> bool:
    """At the root: forget the worse half of the nogoods if there are too many, and what the root has decided in them.

    Returns whether the root is consistent.
    """
    counts = m.counts
    total = counts[NOGOODS]
    dropped = np.zeros(total, np.bool_)
    if total > counts[ROOM]:
        rank = np.empty(total)
        for c in range(total):
            rank[c] = -1.0 if m.levels[c] <= LOW else m.levels[c] + 1.0 / (1.0 + m.use[c])
            m.use[c] *= np.float32(0.5)
        order = np.argsort(rank)
        for i in range(total // 2, total):
            dropped[order[i]] = rank[order[i]] >= 0
        counts[ROOM] += MORE_ROOM
    for literal in range(len(m.head)):
        m.head[literal] = -1
    kept = used = 0
    for c in range(total):
        if dropped[c]:
            continue
        first, length = used, 0
        void = False
        for k in range(m.place[c], m.place[c] + m.length[c]):
            literal = m.arena[k]
            if m.state[literal] == FALSE:
                void = True
                break
            if m.state[literal] == OPEN:
                m.arena[first + length] = literal
                length += 1
        if void:
            continue
        if length == 0:
            return False
        if length == 1:
            kill(p, m, m.arena[first], NONE)
            continue
        m.place[kept], m.length[kept], m.levels[kept], m.use[kept] = first, length, m.levels[c], m.use[c]
        used += length
        kept += 1
    counts[NOGOODS], counts[USED] = kept, used
    for c in range(kept):
        watch(m, c)
    return propagate(p, m)


@_part
def luby(i: Int) -> Int:
    """1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: the i-th, from 1."""
    size = 1
    while size < i + 1:
        size *= 2
    while size - 1 != i:
        i -= size // 2 - 1
        size = 1
        while size < i + 1:
            size *= 2
    return size // 2


@_part
def choose(p: Problem, m: Memory) -> Int:
    """The group to branch on: the fewest open literals for its weight; -1: every need is met."""
    best, size, weight = -1, 1.0, 0.0
    for g in range(len(m.left)):
        if p.need[g] and m.held[g] == 0 and m.left[g] * weight < size * m.weight[g]:
            best, size, weight = g, float(m.left[g]), m.weight[g]
    return best


@_part
def decide(p: Problem, m: Memory, group: Int) -> None:
    """Queue the member of a group that goes first: the one of the furthest state, otherwise by score."""
    counts = m.counts
    found, top = -1, -np.inf
    for i in range(p.group_start[group], p.group_start[group + 1]):
        literal = p.group_member[i]
        if m.state[literal] != OPEN:
            continue
        if m.best[literal]:
            found = literal
            break
        if found < 0 or m.score[literal] > top:
            found, top = literal, m.score[literal]
    m.mark[counts[LEVEL]] = counts[TRAIL]
    counts[LEVEL] += 1
    counts[DEPTH] = max(counts[DEPTH], counts[LEVEL])
    counts[NODES] += 1
    m.queue[0], m.queue_group[0] = found, NONE
    counts[QUEUED] = 1


@_part
def remember(m: Memory) -> None:
    """Note what is true: no state has got further."""
    m.counts[FURTHEST] = m.counts[TRAIL]
    for literal in range(len(m.best)):
        m.best[literal] = 0
    for i in range(m.counts[TRAIL]):
        if m.state[m.trail[i]] == TRUE:
            m.best[m.trail[i]] = 1


@njit(cache=True, nogil=True, error_model="numpy")
def advance(problem: Problem, memory: Memory, unit: Int, budget: Int) -> None:
    """Run until there is an answer, the limit of decisions is reached, or `budget` more conflicts were met.

    It also returns, at the root, where there is no room for another nogood: then FULL is set.
    """
    p = Problem(
        borrow(problem.group_start),
        borrow(problem.group_member),
        borrow(problem.literal_start),
        borrow(problem.literal_group),
        borrow(problem.exclusive),
        borrow(problem.need),
    )
    m = Memory(
        borrow(memory.state),
        borrow(memory.level),
        borrow(memory.reason),
        borrow(memory.left),
        borrow(memory.total),
        borrow(memory.held),
        borrow(memory.weight),
        borrow(memory.score),
        borrow(memory.best),
        borrow(memory.trail),
        borrow(memory.mark),
        borrow(memory.queue),
        borrow(memory.queue_group),
        borrow(memory.seen),
        borrow(memory.touched),
        borrow(memory.learnt),
        borrow(memory.stamp),
        borrow(memory.arena),
        borrow(memory.place),
        borrow(memory.length),
        borrow(memory.levels),
        borrow(memory.use),
        borrow(memory.head),
        borrow(memory.link),
        borrow(memory.counts),
        borrow(memory.real),
    )
    counts = m.counts
    stop = counts[CONFLICTS] + budget
    while counts[PHASE] == RUNNING and counts[CONFLICTS] < stop:
        if counts[CONFLICTS] >= counts[RUN_END]:
            back(p, m, 0)
            if not tidy(p, m):
                counts[PHASE] = UNSAT
                return
            counts[RUN] += 1
            counts[RUN_END] = counts[CONFLICTS] + unit * luby(counts[RUN])
        group = choose(p, m)
        if counts[TRAIL] > counts[FURTHEST]:
            remember(m)
        if group < 0:
            counts[PHASE] = SAT
            return
        if counts[NODES] >= counts[MOST]:
            counts[PHASE] = LIMIT
            return
        decide(p, m, group)
        while not propagate(p, m):
            counts[CONFLICTS] += 1
            if counts[LEVEL] == 0:
                counts[PHASE] = UNSAT
                return
            level = analyse(p, m)
            levels = span(m)
            back(p, m, level)
            counts[FAILED] = counts[BROKEN] = -1
            if counts[LENGTH] == 1:
                kill(p, m, m.learnt[0], NONE)
            elif counts[USED] + counts[LENGTH] > len(m.arena) or counts[NOGOODS] == len(m.place):
                back(p, m, 0)
                counts[FULL] = 1
                return
            else:
                kill(p, m, m.learnt[0], -2 - keep(m, levels))
