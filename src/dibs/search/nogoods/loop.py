"""The search: propagate; learn from a failure, begin again, or decide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import view
from dibs.search.luby import luby
from dibs.search.nogoods import arrays
from dibs.search.nogoods.analyse import analyse, span
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.assume import assume, fail, hopeless
from dibs.search.nogoods.attach import attach
from dibs.search.nogoods.decide import choose, decide, remember
from dibs.search.nogoods.forget import keep, tidy
from dibs.search.nogoods.groups import kill
from dibs.search.nogoods.lemmas import crowded, note_learnt
from dibs.search.nogoods.premises import nothing
from dibs.search.nogoods.propagate import back, propagate
from dibs.search.nogoods.sharing import hear, tell


@part
def learn(p: Problem, m: Memory) -> bool:
    """Note the nogood of a failure, go back to where it matters and draw its consequence.

    False, with the search at its root, where there is no room for it.
    """
    counts = m.counts
    level = analyse(p, m)
    levels = span(m)
    for_good = counts[arrays.LENGTH] == 1 and nothing(m) and not counts[arrays.CUT]
    back(p, m, 0 if for_good else max(level, counts[arrays.ASSUMED]))
    counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
    if for_good:
        note_learnt(m)
        kill(p, m, m.learnt[0], arrays.NONE)
    elif counts[arrays.USED] + counts[arrays.LENGTH] > len(m.arena) or counts[arrays.NOGOODS] == len(m.place):
        back(p, m, 0)
        counts[arrays.FULL] = 1
        return False
    else:
        note_learnt(m)
        kill(p, m, m.learnt[0], -2 - keep(m, levels))
    tell(m, levels)
    return True


@entry(error_model="numpy")
def advance(problem: Problem, memory: Memory, unit: Int, budget: Int) -> None:
    """Run until there is an answer, the limit of decisions is reached, or `budget` more conflicts were met.

    It also returns, at the root, where there is no room for another nogood: then FULL is set; and where the log of
    lemmas has to be read. Where it returns never changes what it does next: what is queued stays queued.
    """
    search(view(problem), view(memory), unit, budget)


@entry(error_model="numpy")
def exclude(problem: Problem, memory: Memory, literals: NDArray[np.int64]) -> None:
    """At the root: these literals are false for a reason that groups and nogoods do not show."""
    excluded(view(problem), view(memory), literals)


@part
def excluded(p: Problem, m: Memory, literals: NDArray[np.int64]) -> None:
    for i in range(len(literals)):
        if m.state[literals[i]] == arrays.OPEN:
            kill(p, m, literals[i], arrays.NONE)
    if not propagate(p, m):
        hopeless(m)


@part
def search(p: Problem, m: Memory, unit: Int, budget: Int) -> None:
    counts = m.counts
    stop = counts[arrays.CONFLICTS] + budget
    while counts[arrays.PHASE] == arrays.RUNNING and counts[arrays.CONFLICTS] < stop and not crowded(m):
        if not propagate(p, m):
            counts[arrays.CONFLICTS] += 1
            if counts[arrays.LEVEL] <= counts[arrays.ASSUMED]:
                fail(p, m)
            elif not learn(p, m):
                return
        elif counts[arrays.CONFLICTS] >= counts[arrays.RUN_END]:
            back(p, m, 0)
            hear(m)
            if tidy(p, m):
                counts[arrays.RUN] += 1
                counts[arrays.RUN_END] = counts[arrays.CONFLICTS] + unit * luby(counts[arrays.RUN])
            else:
                hopeless(m)
        elif counts[arrays.LEVEL] < counts[arrays.ASSUMED]:
            assume(p, m)
        elif counts[arrays.DETACHED]:
            attach(p, m)
        else:
            group = choose(p, m)
            if counts[arrays.TRAIL] > counts[arrays.FURTHEST]:
                remember(m)
            if group < 0:
                counts[arrays.PHASE] = arrays.SAT
            elif counts[arrays.NODES] >= counts[arrays.MOST]:
                counts[arrays.PHASE] = arrays.LIMIT
            else:
                decide(p, m, group)
