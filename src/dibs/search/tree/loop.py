"""The search, as a table of contents: start, enter a node, lay its values out, try the next one; `advance` runs rows.

`advance` runs rows until each is finished, at its limit, out of its slice of work, or waiting for a ranking; a row can
be put aside at any of these points and taken up again later, in any order, and its counters come out the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import borrow, view, view_row
from dibs.search.tree.consult import consult, pick
from dibs.search.tree.events import note
from dibs.search.tree.order import arrange
from dibs.search.tree.planes import Flag, Int, undo, unsigned
from dibs.search.tree.propagate import propagate
from dibs.search.tree.restart import again, begin
from dibs.search.tree.select import select
from dibs.search.tree.state import (
    AGAIN,
    ARRANGE,
    ASKS,
    BACKTRACKS,
    BY_SCORE,
    DEPTH,
    ENTER,
    ENTERED,
    FAILED,
    GIVEN,
    HOPELESS,
    LIMIT,
    LOGGED,
    MOST,
    NO_SLOT,
    NODES,
    PHASE,
    RESTARTS,
    RUN_END,
    SAT,
    SLOT,
    SOLUTIONS,
    SOLVED,
    START,
    TOP,
    TRAIL,
    TRIED,
    TRIES,
    TRY,
    UNSAT,
    WAIT,
    WORK,
    Rules,
    Searches,
)
from dibs.search.tree.tables import Tables

LEAST_CHANCE = 1e-6  # no guide is surer than that of what is not the case


@part
def start(t: Tables, s: Searches, rich: Flag, rules: Rules, queue: NDArray[np.uint32]) -> Int:
    """Lay out a fresh state and queue the givens, which stand in `order[:counts[GIVEN]]`; returns the queue length."""
    for i in range(len(t.plane)):
        s.plane[unsigned(i)] = t.plane[unsigned(i)]
    for i in range(len(t.group)):
        s.group[unsigned(i)] = t.group[unsigned(i)]
    if t.hopeless:
        s.counts[PHASE] = UNSAT
        return -1
    if rich is not None:
        for i in range(len(s.lesson)):
            s.lesson[unsigned(i)] = 0
        s.counts[SLOT] = NO_SLOT
        begin(s, rules)
    tail = 0
    for i in range(s.counts[GIVEN]):
        queue[tail] = s.order[i]
        tail += 1
    for i in range(len(t.unit)):
        queue[tail] = t.unit[unsigned(i)]
        tail += 1
    return tail


@part
def enter(t: Tables, s: Searches, watching: Flag, rich: Flag, rules: Rules, bits: NDArray[np.uint64]) -> None:
    """On a consistent state: note a solution, or open a node at what is selected."""
    counts = s.counts
    domain = select(t, s, watching, rules, bits)
    if domain < 0:
        if counts[SOLUTIONS] < len(s.answer):
            for i in range(len(s.value)):
                s.answer[counts[SOLUTIONS], i] = s.value[unsigned(i)]
        counts[SOLUTIONS] += 1
        counts[PHASE] = SAT if counts[SOLUTIONS] >= rules.wanted or counts[TOP] == 0 else TRY
        note(s, rich, SOLVED, 0)
        return
    if counts[NODES] + rules.ask_nodes * counts[ASKS] >= counts[MOST]:
        counts[PHASE] = LIMIT
        return
    if rich is not None and rules.strategy == RESTARTS and counts[NODES] >= counts[RUN_END] and counts[TOP]:
        counts[PHASE] = AGAIN
        return
    counts[NODES] += 1
    top = counts[TOP]
    s.frame_domain[top] = domain
    s.frame_mark[top] = counts[TRAIL]
    counts[TOP] = top + 1
    counts[DEPTH] = max(counts[DEPTH], top + 1)
    counts[PHASE] = ARRANGE
    if rich is not None:
        consult(t, s, watching, rules, top, bits)


@part
def lay_out(
    t: Tables,
    s: Searches,
    watching: Flag,
    rich: Flag,
    rules: Rules,
    keys: NDArray[np.float64],
    bits: NDArray[np.uint64],
) -> None:
    """Put the values of the innermost node in order."""
    top = s.counts[TOP] - 1
    first = np.int64(s.frame_end[top - 1]) if top else np.int64(0)
    order, slot = rules.order, np.int64(NO_SLOT)
    if rich is not None:
        slot = np.int64(s.frame_slot[top])
        if slot != NO_SLOT:
            order = BY_SCORE
            if s.counts[SLOT] == slot:  # it was made for this node
                if not s.counts[HOPELESS]:
                    s.frame_domain[top] = pick(t, s, watching, rules, slot, np.int64(s.frame_domain[top]), bits)[0]
                s.counts[SLOT] = NO_SLOT
    domain = np.int64(s.frame_domain[top])
    end = arrange(t, s, watching, domain, order, slot, first, keys)
    if rich is not None:
        total = 0.0
        for i in range(first, end):
            share = np.exp(keys[i] - keys[first]) if order == BY_SCORE else 1.0
            s.chance[i] = share
            total += share
        for i in range(first, end):
            s.chance[i] = max(s.chance[i] / total, LEAST_CHANCE)
    s.frame_next[top] = first
    s.frame_end[top] = end
    s.counts[PHASE] = TRY
    note(s, rich, ENTERED, domain)


@part
def next_value(t: Tables, s: Searches, watching: Flag, rich: Flag, queue: NDArray[np.uint32]) -> Int:
    """Take back the last value of the innermost node and queue the next one; returns the queue length, 1.

    When there is none the node is done, and with it the value that led to it: then it returns -1.
    """
    counts = s.counts
    top = counts[TOP] - 1
    undo(t, s, watching, counts[TRAIL], s.frame_mark[top])
    counts[TRAIL] = s.frame_mark[top]
    if s.frame_next[top] == s.frame_end[top]:
        counts[TOP] = top
        if top == 0:
            counts[PHASE] = SAT if counts[SOLUTIONS] else UNSAT
        elif s.frame_found[top - 1] == counts[SOLUTIONS]:
            counts[BACKTRACKS] += 1
            note(s, rich, FAILED, 0)
        return -1
    note(s, rich, TRIED, np.int64(s.order[s.frame_next[top]]))
    counts[TRIES] += 1
    queue[0] = s.order[s.frame_next[top]]
    s.frame_next[top] += np.uint32(1)
    s.frame_found[top] = counts[SOLUTIONS]
    return 1


@part
def advance_one(
    t: Tables,
    s: Searches,
    watching: Flag,
    rich: Flag,
    rules: Rules,
    budget: Int,
    queue: NDArray[np.uint32],
    keys: NDArray[np.float64],
    bits: NDArray[np.uint64],
) -> None:
    """Run one search until it is done, at its node limit, waiting for a ranking, or has done `budget` work."""
    counts = s.counts
    stop = counts[WORK] + budget
    while counts[PHASE] < SAT and counts[PHASE] != WAIT and counts[WORK] < stop:
        if rich is not None and len(s.log) and counts[LOGGED] + 2 > len(s.log):
            return
        phase = counts[PHASE]
        if phase == ENTER:
            enter(t, s, watching, rich, rules, bits)
        elif phase == ARRANGE:
            lay_out(t, s, watching, rich, rules, keys, bits)
        else:
            settled, tail = counts[TRAIL], -1
            if phase == START:
                tail = start(t, s, rich, rules, queue)
            elif phase == TRY:
                tail = next_value(t, s, watching, rich, queue)
                settled = counts[TRAIL]
            elif rich is not None:
                settled = np.int64(s.frame_mark[0])
                tail = again(t, s, watching, rules)
            if tail < 0:
                continue
            consistent, length = propagate(t, s, watching, queue, tail, settled, counts[TRAIL])
            counts[WORK] += length - counts[TRAIL] + 1
            counts[TRAIL] = length
            if consistent:
                counts[PHASE] = ENTER
            elif phase != TRY:
                counts[PHASE] = UNSAT
            else:
                counts[BACKTRACKS] += 1
                note(s, rich, FAILED, 0)


@entry(error_model="numpy")
def advance(
    t: Tables,
    s: Searches,
    rows: NDArray[np.int64],
    rules: Rules,
    budget: Int,
    queue: NDArray[np.uint32],
    keys: NDArray[np.float64],
    bits: NDArray[np.uint64],
) -> None:
    """`advance_one` for each of `rows`; `queue` [G + 2L], `keys` [L] and `bits` [R] are scratch."""
    table, options = view(t), view(rules)
    for r in rows:
        advance_one(
            table, view_row(s, r), t.watching, rules.rich, options, budget, borrow(queue), borrow(keys), borrow(bits)
        )
