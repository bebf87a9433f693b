"""The search: propagate; learn from a failure, begin again, or decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import view
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
    OPEN,
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
    search(view(problem), view(memory), unit, budget)


@entry(error_model="numpy")
def exclude(problem: Problem, memory: Memory, literals: NDArray[np.int64]) -> None:
    """At the root: these literals are false for a reason that groups and nogoods do not show."""
    excluded(view(problem), view(memory), literals)


@part
def excluded(p: Problem, m: Memory, literals: NDArray[np.int64]) -> None:
    for i in range(len(literals)):
        if m.state[literals[i]] == OPEN:
            kill(p, m, literals[i], NONE)
    if not propagate(p, m):
        m.counts[PHASE] = UNSAT


@part
def search(p: Problem, m: Memory, unit: Int, budget: Int) -> None:
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
