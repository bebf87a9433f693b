"""The search: propagate; learn from a failure, begin again, or decide."""

from __future__ import annotations

from dibs.compiled import entry, part
from dibs.machine import borrow
from dibs.search.luby import luby
from dibs.search.nogoods.analyse import analyse, span
from dibs.search.nogoods.arrays import (
    BROKEN,
    CONFLICTS,
    FAILED,
    FULL,
    FURTHEST,
    LENGTH,
    LEVEL,
    LIMIT,
    MOST,
    NODES,
    NOGOODS,
    NONE,
    PHASE,
    RUN,
    RUN_END,
    RUNNING,
    SAT,
    TRAIL,
    UNSAT,
    USED,
    Int,
    Memory,
    Problem,
)
from dibs.search.nogoods.decide import choose, decide, remember
from dibs.search.nogoods.forget import keep, tidy
from dibs.search.nogoods.groups import kill
from dibs.search.nogoods.propagate import back, propagate


@part
def learn(p: Problem, m: Memory) -> bool:
    """Note the nogood of a failure, go back to where it matters and draw its consequence.

    False, with the search at its root, where there is no room for it.
    """
    counts = m.counts
    level = analyse(p, m)
    levels = span(m)
    back(p, m, level)
    counts[FAILED] = counts[BROKEN] = -1
    if counts[LENGTH] == 1:
        kill(p, m, m.learnt[0], NONE)
    elif counts[USED] + counts[LENGTH] > len(m.arena) or counts[NOGOODS] == len(m.place):
        back(p, m, 0)
        counts[FULL] = 1
        return False
    else:
        kill(p, m, m.learnt[0], -2 - keep(m, levels))
    return True


@entry(error_model="numpy")
def advance(problem: Problem, memory: Memory, unit: Int, budget: Int) -> None:
    """Run until there is an answer, the limit of decisions is reached, or `budget` more conflicts were met.

    It also returns, at the root, where there is no room for another nogood: then FULL is set. Where it returns never
    changes what it does next: what is queued stays queued.
    """
    p = Problem(
        borrow(problem.group_start),
        borrow(problem.group_member),
        borrow(problem.literal_start),
        borrow(problem.literal_group),
        borrow(problem.exclusive),
        borrow(problem.need),
        borrow(problem.bound_start),
        borrow(problem.bound_group),
        borrow(problem.least),
        borrow(problem.most),
    )
    m = Memory(
        borrow(memory.state),
        borrow(memory.level),
        borrow(memory.reason),
        borrow(memory.position),
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
        if not propagate(p, m):
            counts[CONFLICTS] += 1
            if counts[LEVEL] == 0:
                counts[PHASE] = UNSAT
            elif not learn(p, m):
                return
        elif counts[CONFLICTS] >= counts[RUN_END]:
            back(p, m, 0)
            if tidy(p, m):
                counts[RUN] += 1
                counts[RUN_END] = counts[CONFLICTS] + unit * luby(counts[RUN])
            else:
                counts[PHASE] = UNSAT
        else:
            group = choose(p, m)
            if counts[TRAIL] > counts[FURTHEST]:
                remember(m)
            if group < 0:
                counts[PHASE] = SAT
            elif counts[NODES] >= counts[MOST]:
                counts[PHASE] = LIMIT
            else:
                decide(p, m, group)
