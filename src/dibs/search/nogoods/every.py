"""All solutions: the search goes on after each of them, and what it learns serves all.

The first few solutions are *blocked*: the decisions of one become a nogood that stays, and the search is as free as
before; that is best where the question is whether there is another one. Then it *backtracks* (Gebser, Kaufmann, Neumann
and Schaub 2007): the last decision of a solution is flipped where it stands, and no run goes back beyond that, so that
memory is constant. A literal has a *partner* that is true where it was flipped. A flip has no reason, like a
decision: so each nogood follows from the problem, and holds for all solutions to come.

With a projection its literals are decided first, and only they are blocked or flipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import view
from dibs.search.luby import luby
from dibs.search.nogoods import arrays
from dibs.search.nogoods.analyse import analyse, span
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.decide import choose, decide
from dibs.search.nogoods.forget import keep, tidy
from dibs.search.nogoods.groups import assign, kill
from dibs.search.nogoods.lemmas import crowded, note_learnt
from dibs.search.nogoods.propagate import back, look, propagate

# Columns of `Aim.counts`.
FLOOR = 0  # no run goes back beyond so many decisions
SOLUTIONS = 1  # found
WANTED = 2  # SAT at so many
BLOCKED = 3  # so many, at first, are blocked
ROWS = 4  # of `found` that are filled
WIDTH = 5  # L
BOTTOM = 6  # the first so many decisions say which part of all solutions it is: they are never flipped
AIMS = 7


class Aim(NamedTuple):
    """What solutions are wanted, and those that were found. L literals of the problem, K of which say what differs."""

    partner: NDArray[np.int32]  # [literals with partners] those of the problem go first
    first: NDArray[np.int32]  # groups that need a literal, and have only literals of the K
    literals: NDArray[np.int32]  # [K]
    among: NDArray[np.uint8]  # [literals with partners] 1: one of the K, or the partner of one
    found: NDArray[np.uint8]  # [rows, L] 1: true; without rows solutions are only counted
    counts: NDArray[np.int64]  # [AIMS]


@part
def choose_first(p: Problem, m: Memory, aim: Aim) -> Int:
    """As `choose`, among the groups that go first."""
    best, size, weight = -1, 1.0, 0.0
    by_weight = aim.counts[SOLUTIONS] < aim.counts[BLOCKED]
    for i in range(len(aim.first)):
        g = aim.first[i]
        least = 1 if g < len(p.need) else p.least[g - len(p.need)]
        room = m.left[g] - least + 1
        if m.held[g] >= least:
            continue
        if by_weight:
            better = room * weight < size * m.weight[g]
        else:
            better = room < size or (room == size and m.weight[g] > weight)
        if best < 0 or better:
            best, size, weight = g, float(room), m.weight[g]
    return best


@part
def undecided(m: Memory, aim: Aim) -> Int:
    """A literal that no group needs and that is open: as it was in the last solution; -1: there is none."""
    for i in range(len(aim.literals)):
        literal = aim.literals[i]
        if m.state[literal] == arrays.OPEN:
            other = aim.partner[literal]
            # A partner need not be true where its literal is false, so nogoods that block have none.
            if m.best[literal] or m.state[other] != arrays.OPEN or aim.counts[SOLUTIONS] < aim.counts[BLOCKED]:
                return literal
            return other
    return -1


@part
def put(p: Problem, m: Memory, aim: Aim, literal: Int) -> None:
    """Make a literal true that has no reason: a decision, or a flip. A partner in no group rules out its literal."""
    counts = m.counts
    if literal < aim.counts[WIDTH]:
        m.queue[0], m.queue_group[0] = literal, arrays.NONE
        counts[arrays.QUEUED] = 1
        return
    assign(m, literal, arrays.TRUE, arrays.NONE)
    look(p, m, literal)
    other = aim.partner[literal]
    if m.state[other] == arrays.OPEN:
        kill(p, m, other, literal)


@part
def take(p: Problem, m: Memory, aim: Aim, literal: Int) -> None:
    """A decision."""
    counts = m.counts
    m.mark[counts[arrays.LEVEL]] = counts[arrays.TRAIL]
    counts[arrays.LEVEL] += 1
    counts[arrays.DEPTH] = max(counts[arrays.DEPTH], counts[arrays.LEVEL])
    put(p, m, aim, literal)


@part
def flip(p: Problem, m: Memory, aim: Aim, level: Int) -> None:
    """All below the decision of a level is done: its partner follows the decisions before it."""
    counts = m.counts
    while True:
        if level <= aim.counts[BOTTOM]:
            counts[arrays.PHASE] = arrays.UNSAT
            break
        literal = m.trail[m.mark[level - 1]]
        level -= 1
        back(p, m, level)
        aim.counts[FLOOR] = level
        counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
        if m.state[aim.partner[literal]] != arrays.FALSE:
            if len(m.log) > 0:
                decided(m, literal)
                note_learnt(m)
            put(p, m, aim, aim.partner[literal])
            break


@part
def decided(m: Memory, literal: Int) -> None:
    """A literal and the decisions that stand, the last one first, as a nogood."""
    level = m.counts[arrays.LEVEL]
    m.learnt[0] = literal
    for k in range(level):
        m.learnt[level - k] = m.trail[m.mark[k]]
    m.counts[arrays.LENGTH] = level + 1


@part
def block(p: Problem, m: Memory, level: Int) -> None:
    """The first so many decisions become a nogood that stays."""
    literal = m.trail[m.mark[level - 1]]
    back(p, m, level - 1)
    decided(m, literal)
    note_learnt(m)
    kill(p, m, m.learnt[0], arrays.NONE if level == 1 else -2 - keep(m, 0))


@part
def solved(p: Problem, m: Memory, aim: Aim) -> None:
    """Note a solution, and go on to where the next one may be."""
    for literal in range(len(m.best)):
        m.best[literal] = m.state[literal] == arrays.TRUE
    if len(aim.found):
        for literal in range(aim.counts[WIDTH]):
            aim.found[aim.counts[ROWS], literal] = m.state[literal] == arrays.TRUE
        aim.counts[ROWS] += 1
    aim.counts[SOLUTIONS] += 1
    level = m.counts[arrays.LEVEL]
    while level > 0 and not aim.among[m.trail[m.mark[level - 1]]]:
        level -= 1
    if aim.counts[SOLUTIONS] >= aim.counts[WANTED]:
        m.counts[arrays.PHASE] = arrays.SAT
    elif level > 0 and aim.counts[SOLUTIONS] <= aim.counts[BLOCKED]:
        block(p, m, level)
    else:
        flip(p, m, aim, level)


@part
def standing(m: Memory, aim: Aim) -> Int:
    """Note the decisions, as -1 - literal, and the flips that no run goes back beyond; returns how many."""
    noted = 0
    for i in range(m.mark[0] if m.counts[arrays.LEVEL] else m.counts[arrays.TRAIL], m.counts[arrays.TRAIL]):
        literal = m.trail[i]
        level = m.level[literal]
        if level > aim.counts[FLOOR]:
            break
        if m.state[literal] == arrays.TRUE and m.reason[literal] == arrays.NONE:
            m.touched[noted] = -1 - literal if i == m.mark[level - 1] else literal
            noted += 1
    return noted


@part
def restore(p: Problem, m: Memory, aim: Aim, noted: Int) -> None:
    """From the root, which is consistent: decisions and flips once more, as far as they still say anything."""
    bottom = aim.counts[BOTTOM]
    aim.counts[FLOOR] = aim.counts[BOTTOM] = 0
    for k in range(noted):
        literal = m.touched[k]
        decision = literal < 0
        if decision:
            literal = -1 - literal
            bottom -= 1
        if m.state[literal] == arrays.TRUE:
            continue
        if m.state[literal] == arrays.FALSE or m.state[aim.partner[literal]] == arrays.TRUE:
            if decision and bottom >= 0:
                m.counts[arrays.PHASE] = arrays.UNSAT
            elif not decision:
                flip(p, m, aim, m.counts[arrays.LEVEL])
            return
        if decision:
            take(p, m, aim, literal)
            aim.counts[FLOOR] = m.counts[arrays.LEVEL]
            if bottom >= 0:
                aim.counts[BOTTOM] = m.counts[arrays.LEVEL]
        else:
            put(p, m, aim, literal)
        if not propagate(p, m):
            flip(p, m, aim, m.counts[arrays.LEVEL])
            return


@part
def learn(p: Problem, m: Memory, aim: Aim) -> None:
    """Note the nogood of a failure above the floor, go back to where it matters, and draw its consequence."""
    counts = m.counts
    level = analyse(p, m)
    levels = span(m)
    if counts[arrays.LENGTH] > 1:
        back(p, m, max(level, aim.counts[FLOOR]))
        counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
        note_learnt(m)
        kill(p, m, m.learnt[0], -2 - keep(m, levels))
        return
    note_learnt(m)
    noted = standing(m, aim)
    back(p, m, 0)
    counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
    kill(p, m, m.learnt[0], arrays.NONE)
    if propagate(p, m):
        restore(p, m, aim, noted)
    else:
        counts[arrays.PHASE] = arrays.UNSAT


@part
def again(p: Problem, m: Memory, aim: Aim, unit: Int) -> None:
    """A new run: forget nogoods at the root, and return to the floor."""
    counts = m.counts
    noted = standing(m, aim)
    back(p, m, 0)
    if tidy(p, m):
        counts[arrays.RUN] += 1
        counts[arrays.RUN_END] = counts[arrays.CONFLICTS] + unit * luby(counts[arrays.RUN])
        restore(p, m, aim, noted)
    else:
        counts[arrays.PHASE] = arrays.UNSAT


@entry(error_model="numpy")
def enter(problem: Problem, memory: Memory, aim: Aim, cube: NDArray[np.int32]) -> None:
    """Begin with another part of all solutions: those in which the literals of a cube are true."""
    entered(view(problem), view(memory), view(aim), cube)


@part
def entered(p: Problem, m: Memory, aim: Aim, cube: NDArray[np.int32]) -> None:
    counts = m.counts
    back(p, m, 0)
    counts[arrays.FAILED] = counts[arrays.BROKEN] = -1
    counts[arrays.PHASE] = arrays.RUNNING
    aim.counts[BOTTOM] = len(cube)
    for k in range(len(cube)):
        m.touched[k] = -1 - cube[k]
    if propagate(p, m):
        restore(p, m, aim, len(cube))
    else:
        counts[arrays.PHASE] = arrays.UNSAT


@entry(error_model="numpy")
def advance(problem: Problem, memory: Memory, aim: Aim, unit: Int, budget: Int) -> None:
    """As `loop.advance`, for all solutions: UNSAT where there are no more, SAT where as many as wanted are found.

    It also returns where `found` is full.
    """
    search(view(problem), view(memory), view(aim), unit, budget)


@part
def search(p: Problem, m: Memory, aim: Aim, unit: Int, budget: Int) -> None:
    counts = m.counts
    stop = counts[arrays.CONFLICTS] + budget
    while counts[arrays.PHASE] == arrays.RUNNING and counts[arrays.CONFLICTS] < stop and not crowded(m):
        if counts[arrays.USED] + len(m.head) > len(m.arena) or counts[arrays.NOGOODS] == len(m.place):
            counts[arrays.FULL] = 1
            return
        if not propagate(p, m):
            counts[arrays.CONFLICTS] += 1
            if counts[arrays.LEVEL] > aim.counts[FLOOR]:
                learn(p, m, aim)
            else:
                flip(p, m, aim, counts[arrays.LEVEL])
            continue
        if counts[arrays.CONFLICTS] >= counts[arrays.RUN_END]:
            again(p, m, aim, unit)
            continue
        group, literal = choose_first(p, m, aim), -1
        if group < 0:
            literal = undecided(m, aim)
            if literal < 0:
                group = choose(p, m)
        if group < 0 and literal < 0:
            solved(p, m, aim)
            if aim.counts[ROWS] == len(aim.found) and len(aim.found):
                return
        elif counts[arrays.NODES] >= counts[arrays.MOST]:
            counts[arrays.PHASE] = arrays.LIMIT
        elif group >= 0:
            decide(p, m, group)
        else:
            counts[arrays.NODES] += 1
            take(p, m, aim, literal)
