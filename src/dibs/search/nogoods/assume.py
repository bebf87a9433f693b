"""Assumptions: literals that are true in one call, decided before all others and never taken back within it.

Each has a level of its own, from 1 on, so that a call that assumes the same things first goes on from there. Nogoods
have literals of these levels like any others: they hold without the assumptions too, and stay from call to call.
The first of them may be selectors, which switch groups on (`Problem.selector`). A failure at these levels ends the
call, and the assumptions behind it are what fails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import view
from dibs.search.nogoods import arrays
from dibs.search.nogoods.analyse import accuse, blame, doubt, ground, see, switched
from dibs.search.nogoods.arrays import NONE, Int, Memory, Problem
from dibs.search.nogoods.groups import asleep, kill
from dibs.search.nogoods.premises import clear, enrol, forget_others, free
from dibs.search.nogoods.propagate import back, propagate


@part
def assume(p: Problem, m: Memory) -> None:
    """Decide the next assumption; after the selectors, let the groups that they switch on have their say."""
    counts = m.counts
    literal = m.assumed[counts[arrays.LEVEL]]
    m.mark[counts[arrays.LEVEL]] = counts[arrays.TRAIL]
    counts[arrays.LEVEL] += 1
    if literal < 0:
        wake(p, m)
    elif m.state[literal] == arrays.FALSE:
        counts[arrays.FAILED] = len(m.left) + literal
    else:
        m.queue[0], m.queue_group[0] = literal, NONE
        counts[arrays.QUEUED] = 1


@part
def wake(p: Problem, m: Memory) -> None:
    """What groups with bounds say that have just been switched on, or at the root those that always hold.

    All queue what they need before any of them excludes: each queues its literals once.
    """
    counts = m.counts
    special = len(p.need)
    root = counts[arrays.LEVEL] == 0
    for g in range(special, special + len(p.least)):
        least, most = p.least[g - special], p.most[g - special]
        if (p.selector[g - special] < 0) != root or asleep(p, m, g):
            continue
        if (m.left[g] < least or m.held[g] > most) and counts[arrays.FAILED] < 0:
            counts[arrays.FAILED] = g
        elif m.left[g] == least and m.held[g] < least:
            for i in range(p.group_start[g], p.group_start[g + 1]):
                if m.state[p.group_member[i]] == arrays.OPEN:
                    m.queue[counts[arrays.QUEUED]], m.queue_group[counts[arrays.QUEUED]] = p.group_member[i], g
                    counts[arrays.QUEUED] += 1
    for g in range(special, special + len(p.least)):
        if (p.selector[g - special] < 0) != root or asleep(p, m, g) or m.held[g] != p.most[g - special]:
            continue
        for i in range(p.group_start[g], p.group_start[g + 1]):
            if m.state[p.group_member[i]] == arrays.OPEN:
                kill(p, m, p.group_member[i], len(m.state) + g)


@part
def hopeless(m: Memory) -> None:
    """There is no solution, whatever is assumed."""
    m.counts[arrays.PHASE] = arrays.UNSAT
    m.counts[arrays.LENGTH] = 0


@part
def fail(p: Problem, m: Memory) -> None:
    """There is no solution with these assumptions: write those that fail together to `learnt`; at the root, none."""
    counts = m.counts
    hopeless(m)
    if counts[arrays.LEVEL] == 0:
        return
    if counts[arrays.CUT]:
        fail_without(p, m)
        return
    counts[arrays.TOUCHED] = counts[arrays.HERE] = counts[arrays.GROUND] = 0
    clear(m)
    group, denied = counts[arrays.FAILED], -1
    if group >= len(m.left):
        denied = group - len(m.left)
        if m.level[denied] > 0:
            doubt(p, m, denied, counts[arrays.TRAIL])
    elif group < 0:
        accuse(p, m, counts[arrays.BROKEN], -1)
    elif group >= len(p.need) and m.held[group] > p.most[group - len(p.need)]:
        switched(p, m, group)
        for i in range(p.group_start[group], p.group_start[group + 1]):
            if m.state[p.group_member[i]] == arrays.TRUE:
                see(p, m, p.group_member[i])
    else:
        blame(p, m, group, -1)
    trace(p, m)
    name(m, m.assumed, counts[arrays.ASSUMED], denied)
    free(p, m)


@part
def fail_without(p: Problem, m: Memory) -> None:
    """The same where what is assumed was cut away: gather those that fail together."""
    counts = m.counts
    m.mark[counts[arrays.LEVEL]] = counts[arrays.TRAIL]
    ground(p, m)
    counts[arrays.TOUCHED] = 0
    if counts[arrays.FAILED] >= 0:
        blame(p, m, counts[arrays.FAILED], -1)
    else:
        accuse(p, m, counts[arrays.BROKEN], -1)


@part
def trace(p: Problem, m: Memory) -> None:
    """From what was seen, back to the assumptions behind it: what is blamed comes last in `touched`."""
    at = 0
    while at < m.counts[arrays.TOUCHED]:
        literal = m.touched[at]
        if m.reason[literal] != NONE:
            blame(p, m, m.reason[literal], literal)
        at += 1


@part
def name(m: Memory, assumed: NDArray[np.int32], size: Int, denied: Int) -> None:
    """Write the assumptions that were seen to `learnt`, and one that is false; nothing is seen any more."""
    counts = m.counts
    counts[arrays.LENGTH] = 0
    for i in range(size):
        literal = assumed[i]
        if literal >= 0 and (literal == denied or (m.seen[literal] and m.reason[literal] == NONE)):
            m.learnt[counts[arrays.LENGTH]] = literal
            counts[arrays.LENGTH] += 1
    for i in range(counts[arrays.TOUCHED]):
        m.seen[m.touched[i]] = 0


@part
def stamp(m: Memory, assumed: NDArray[np.int32], value: Int) -> None:
    for i in range(len(assumed)):
        m.stamp[assumed[i] + 1] = value


@part
def recalled(m: Memory, assumed: NDArray[np.int32], failures: NDArray[np.int32]) -> Int:
    """Which of the failures, each a row that ends with -1, has nothing but assumptions; -1: none."""
    stamp(m, assumed, -1)
    found = -1
    for row in range(len(failures)):
        at = 0
        while at < failures.shape[1] and failures[row, at] >= 0 and m.stamp[failures[row, at] + 1] == -1:
            at += 1
        if at > 0 and (at == failures.shape[1] or failures[row, at] < 0):
            found = row
            break
    stamp(m, assumed, 0)
    return found


@part
def refuted(p: Problem, m: Memory, assumed: NDArray[np.int32], same: Int) -> bool:
    """Whether a new assumption is false where the last call stood, because of assumptions that are all there still."""
    counts = m.counts
    new = same
    while new < len(assumed):
        literal = assumed[new]
        if literal >= 0 and m.state[literal] == arrays.FALSE and m.level[literal] <= counts[arrays.ASSUMED]:
            break
        new += 1
    if new == len(assumed):
        return False
    stamp(m, assumed, -1)
    counts[arrays.LENGTH] = counts[arrays.TOUCHED] = counts[arrays.HERE] = counts[arrays.GROUND] = 0
    if m.level[literal] > 0:
        doubt(p, m, literal, m.position[literal])
    trace(p, m)
    there = True
    for i in range(counts[arrays.TOUCHED]):
        cause = m.touched[i]
        there = there and (m.reason[cause] != NONE or m.stamp[cause + 1] == -1)
    stamp(m, assumed, 0)
    name(m, assumed, len(assumed), literal)
    if there:
        counts[arrays.PHASE] = arrays.UNSAT
        free(p, m)
    return bool(there)


@entry(error_model="numpy")
def resume(problem: Problem, memory: Memory, assumed: NDArray[np.int32]) -> None:
    """Search with these assumptions, each of them once: where the search stood, as far as they are the same.

    Not for a search that has failed at its root.
    """
    resumed(view(problem), view(memory), assumed, False)


@part
def resumed(p: Problem, m: Memory, assumed: NDArray[np.int32], anew: bool) -> None:
    counts = m.counts
    if anew:
        counts[arrays.RUN_END] = max(0, counts[arrays.RUN_END] - counts[arrays.CONFLICTS])
        counts[arrays.NODES] = counts[arrays.CONFLICTS] = counts[arrays.DEPTH] = 0
        counts[arrays.WORK] = 0
    if counts[arrays.LEVEL] == 0 and not propagate(p, m):
        hopeless(m)
        return
    most = min(len(assumed), counts[arrays.ASSUMED], counts[arrays.LEVEL])
    if counts[arrays.PHASE] != arrays.SAT and counts[arrays.PHASE] != arrays.LIMIT:
        most = min(most, counts[arrays.LEVEL] - 1)  # what is queued at this level would be lost
    same = 0
    while same < most and m.assumed[same] == assumed[same]:
        same += 1
    if anew and refuted(p, m, assumed, same):
        return
    back(p, m, same)
    if len(m.gathered) > 0 and not (counts[arrays.ASSUMED] == same == len(assumed)):
        counts[arrays.DETACHED] = 1
        if not enrol(m, assumed):
            back(p, m, 0)
            same = 0
            forget_others(m, assumed)
            enrol(m, assumed)
    for i in range(same, len(assumed)):
        m.assumed[i] = assumed[i]
    counts[arrays.ASSUMED] = len(assumed)
    counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
    counts[arrays.PHASE] = arrays.RUNNING


@entry(error_model="numpy")
def settle(problem: Problem, memory: Memory, true: NDArray[np.int64], false: NDArray[np.int64]) -> None:
    """At the root of a search on groups that nobody has followed yet: what is known, and all that follows."""
    settled(view(problem), view(memory), true, false)


@part
def settled(p: Problem, m: Memory, true: NDArray[np.int64], false: NDArray[np.int64]) -> None:
    counts = m.counts
    for g in range(len(p.need)):
        if p.need[g] and m.left[g] == 1:
            m.queue[counts[arrays.QUEUED]], m.queue_group[counts[arrays.QUEUED]] = m.total[g], g
            counts[arrays.QUEUED] += 1
    wake(p, m)
    for i in range(len(false)):
        if m.state[false[i]] == arrays.OPEN:
            kill(p, m, false[i], NONE)
    consistent = propagate(p, m)
    for i in range(len(true)):
        if consistent and m.state[true[i]] != arrays.TRUE:
            consistent = m.state[true[i]] == arrays.OPEN
            m.queue[0], m.queue_group[0] = true[i], NONE
            counts[arrays.QUEUED] = 1
            consistent = consistent and propagate(p, m)
    if not consistent:
        hopeless(m)
