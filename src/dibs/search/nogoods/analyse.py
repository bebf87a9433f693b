"""From a failure to the nogood behind it."""

from __future__ import annotations

import numpy as np

from dibs.compiled import part
from dibs.machine import trailing_zeros
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.premises import clear, gather, nothing, put


@part
def see(p: Problem, m: Memory, literal: Int) -> None:
    """A true literal has to do with a failure; in an exact cover its groups count for that, not only its reason."""
    counts = m.counts
    if m.seen[literal] or m.level[literal] == 0:
        return
    m.seen[literal] = 1
    if m.level[literal] <= counts[arrays.GROUND]:
        m.touched[counts[arrays.TOUCHED]] = literal
        counts[arrays.TOUCHED] += 1
        gather(m, m.premises, literal)
        return
    if counts[arrays.COVER] and m.level[literal] > counts[arrays.ASSUMED]:
        for k in range(p.literal_start[literal], p.literal_start[literal + 1]):
            m.weight[p.literal_group[k]] += m.real[0]
    m.touched[counts[arrays.TOUCHED]] = literal
    counts[arrays.TOUCHED] += 1
    if m.level[literal] == counts[arrays.LEVEL]:
        counts[arrays.HERE] += 1
    else:
        m.learnt[counts[arrays.LENGTH]] = literal
        counts[arrays.LENGTH] += 1


@part
def blame(p: Problem, m: Memory, group: Int, spared: Int) -> None:
    """See what made the members of a group false: all but one, or with a bound those before the one that is spared."""
    m.weight[group] += m.real[0]
    bounded = group >= len(p.need)
    if bounded:
        switched(p, m, group)
    elif m.counts[arrays.CUT]:
        gather(m, m.closed, group)
    end = m.counts[arrays.TRAIL] if spared < 0 else m.position[spared]
    enough = p.group_start[group + 1] - p.group_start[group]  # members of which the rest is too few, or just enough
    if bounded:
        enough -= p.least[group - len(p.need)] - (spared < 0)
    for i in range(p.group_start[group], p.group_start[group + 1]):
        literal = p.group_member[i]
        if literal == spared:
            continue
        if bounded:
            if m.state[literal] != arrays.FALSE or m.position[literal] > end or enough == 0:
                continue
            enough -= 1
        if m.level[literal] > 0:
            doubt(p, m, literal, end)


@part
def doubt(p: Problem, m: Memory, literal: Int, end: Int) -> None:
    """See what made a literal false, or the one literal that says so, where that was true before `end` of the trail."""
    reason, pair = m.reason[literal], p.pair[literal]
    if 0 <= reason < len(m.state):
        see(p, m, reason)
    elif pair >= 0 and m.state[pair] == arrays.TRUE and m.position[pair] < end:
        see(p, m, pair)
    elif reason >= 0:
        charge(p, m, reason - len(m.state), literal)
    else:
        accuse(p, m, -2 - reason, literal)


@part
def switched(p: Problem, m: Memory, group: Int) -> None:
    """See what switched a group with bounds on."""
    selector = p.selector[group - len(p.need)]
    if selector >= 0:
        see(p, m, selector)


@part
def charge(p: Problem, m: Memory, group: Int, excluded: Int) -> None:
    """See the true members of a group that had all it may have, and so excluded a literal."""
    m.weight[group] += m.real[0]
    switched(p, m, group)
    for i in range(p.group_start[group], p.group_start[group + 1]):
        literal = p.group_member[i]
        if m.state[literal] == arrays.TRUE and m.position[literal] < m.position[excluded]:
            see(p, m, literal)


@part
def accuse(p: Problem, m: Memory, nogood: Int, spared: Int) -> None:
    m.use[nogood] += np.float32(1)
    if m.counts[arrays.GROUND] > 0:
        gather(m, m.needs, nogood)
    else:
        for w in range(len(m.gathered)):
            left = m.needs[nogood, w]
            while left > 0:
                see(p, m, m.bearer[w * arrays.BITS + trailing_zeros(left)] - 1)
                left &= left - 1
    for i in range(m.place[nogood], m.place[nogood] + m.length[nogood]):
        if m.arena[i] != spared:
            see(p, m, m.arena[i])


@part
def granted(p: Problem, m: Memory, cause: Int, noting: bool) -> bool:
    """Whether a true literal need not be in the new nogood: it is there, or follows from what is assumed."""
    if m.seen[cause] or m.level[cause] == 0:
        return True
    if m.level[cause] > m.counts[arrays.GROUND]:
        return False
    if noting:
        see(p, m, cause)
    return True


@part
def follows(p: Problem, m: Memory, literal: Int, noting: bool) -> bool:
    """Whether a literal of the new nogood follows from others of it; if so, `noting` gathers by which assumptions."""
    group = m.reason[literal]
    if group < 0:
        return False
    bounded = group >= len(p.need)
    if bounded and not cleared(p, m, group, noting):
        return False
    if noting and m.counts[arrays.CUT]:
        gather(m, m.closed, group)
    for i in range(p.group_start[group], p.group_start[group + 1]):
        other = p.group_member[i]
        if other == literal or m.level[other] == 0:
            continue
        if bounded and (m.state[other] != arrays.FALSE or m.position[other] > m.position[literal]):
            continue
        reason, pair = m.reason[other], p.pair[other]
        if pair >= 0 and m.seen[pair] and m.position[pair] < m.position[literal]:
            continue
        if reason >= len(m.state):
            if not charged(p, m, reason - len(m.state), other, noting):
                return False
        elif reason >= 0:
            if not granted(p, m, reason, noting):
                return False
        else:
            nogood = -2 - reason
            if noting:
                gather(m, m.needs, nogood)
            for k in range(m.place[nogood], m.place[nogood] + m.length[nogood]):
                cause = m.arena[k]
                if cause != other and not granted(p, m, cause, noting):
                    return False
    return True


@part
def cleared(p: Problem, m: Memory, group: Int, noting: bool) -> bool:
    """Whether what switched a group with bounds on has been seen."""
    selector = p.selector[group - len(p.need)]
    return bool(selector < 0 or granted(p, m, selector, noting))


@part
def charged(p: Problem, m: Memory, group: Int, excluded: Int, noting: bool) -> bool:
    """Whether all true members for which a group excluded a literal have been seen."""
    if not cleared(p, m, group, noting):
        return False
    for i in range(p.group_start[group], p.group_start[group + 1]):
        cause = p.group_member[i]
        before = m.state[cause] == arrays.TRUE and m.position[cause] < m.position[excluded]
        if before and not granted(p, m, cause, noting):
            return False
    return True


@part
def analyse(p: Problem, m: Memory) -> Int:
    """Write the nogood of a failure to `learnt`, its one literal of this level first; returns the level to go to."""
    counts = m.counts
    if len(m.gathered) > 0:
        ground(p, m)
    counts[arrays.LENGTH], counts[arrays.TOUCHED], counts[arrays.HERE] = 1, 0, 0
    if counts[arrays.FAILED] >= 0:
        blame(p, m, counts[arrays.FAILED], -1)
    else:
        accuse(p, m, counts[arrays.BROKEN], -1)
    i = counts[arrays.TRAIL] - 1
    while True:
        literal = m.trail[i]
        i -= 1
        if m.state[literal] != arrays.TRUE or not m.seen[literal] or m.level[literal] != counts[arrays.LEVEL]:
            continue
        m.seen[literal] = 0
        if counts[arrays.HERE] == 1:
            m.learnt[0] = literal
            break
        counts[arrays.HERE] -= 1
        blame(p, m, m.reason[literal], literal)
    length = 1
    level = 0
    for k in range(1, counts[arrays.LENGTH]):
        literal = m.learnt[k]
        if not follows(p, m, literal, False):
            m.learnt[length] = literal
            if m.level[literal] > level:
                level = m.level[literal]
                m.learnt[length] = m.learnt[1]
                m.learnt[1] = literal
            length += 1
        elif counts[arrays.GROUND] > 0:
            follows(p, m, literal, True)
    counts[arrays.LENGTH] = length
    for k in range(counts[arrays.TOUCHED]):
        m.seen[m.touched[k]] = 0
    m.real[0] *= arrays.GROWTH
    if m.real[0] > arrays.HUGE:
        m.real[0] /= arrays.HUGE
        for g in range(len(m.weight)):
            m.weight[g] = max(m.weight[g] / arrays.HUGE, arrays.LEAST)
    return level


@part
def ground(p: Problem, m: Memory) -> None:
    """Find by which assumptions the true literals of their levels follow, in the order of the trail."""
    counts = m.counts
    counts[arrays.GROUND] = counts[arrays.ASSUMED]
    counted, m.real[0] = m.real[0], 0.0  # nothing of this has to do with a failure
    end = m.mark[counts[arrays.ASSUMED]]
    for i in range(counts[arrays.GROUNDED], end):
        literal = m.trail[i]
        if m.state[literal] != arrays.TRUE or m.level[literal] == 0:
            continue
        clear(m)
        if m.reason[literal] == arrays.NONE:
            put(m.gathered, m.bit[literal] - 1)
        else:
            counts[arrays.TOUCHED] = 0
            blame(p, m, m.reason[literal], literal)
            for k in range(counts[arrays.TOUCHED]):
                m.seen[m.touched[k]] = 0
        for w in range(len(m.gathered)):
            m.premises[literal, w] = m.gathered[w]
    counts[arrays.GROUNDED] = max(end, counts[arrays.GROUNDED])
    clear(m)
    m.real[0] = counted


@part
def span(m: Memory) -> Int:
    """Of how many levels the new nogood's literals are."""
    found = 0 if nothing(m) else 1  # those of assumptions are one
    m.counts[arrays.SPANS] += 1
    for k in range(m.counts[arrays.LENGTH]):
        level = max(m.level[m.learnt[k]], m.counts[arrays.ASSUMED])
        if m.stamp[level] != m.counts[arrays.SPANS]:
            m.stamp[level] = m.counts[arrays.SPANS]
            found += 1
    return found
