"""The search, as a table of contents: start, enter a node, lay its values out, try the next one; `advance` runs rows.

`advance` runs rows until each is finished, at its limit, out of its slice of work, or waiting for a ranking; a row can
be put aside at any of these points and taken up again later, in any order, and its counters come out the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import borrow, view, view_row
from dibs.search.tree import state
from dibs.search.tree.consult import consult, pick
from dibs.search.tree.events import note
from dibs.search.tree.order import arrange
from dibs.search.tree.planes import Flag, Int, undo, unsigned
from dibs.search.tree.propagate import propagate
from dibs.search.tree.restart import again, begin
from dibs.search.tree.select import select
from dibs.search.tree.state import Rules, Searches
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
        s.counts[state.PHASE] = state.UNSAT
        return -1
    if rich is not None:
        for i in range(len(s.lesson)):
            s.lesson[unsigned(i)] = 0
        s.counts[state.SLOT] = state.NO_SLOT
        begin(s, rules)
    tail = 0
    for i in range(s.counts[state.GIVEN]):
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
        place = counts[state.SOLUTIONS] - counts[state.TAKEN]
        if place < len(s.answer):
            for i in range(len(s.value)):
                s.answer[place, i] = s.value[unsigned(i)]
        counts[state.SOLUTIONS] += 1
        counts[state.PHASE] = state.SAT if place + 1 >= rules.wanted or counts[state.TOP] == 0 else state.TRY
        note(s, rich, state.SOLVED, 0)
        return
    if counts[state.NODES] + rules.ask_nodes * counts[state.ASKS] >= counts[state.MOST]:
        counts[state.PHASE] = state.LIMIT
        return
    if (
        rich is not None
        and rules.strategy == state.RESTARTS
        and counts[state.NODES] >= counts[state.RUN_END]
        and counts[state.TOP]
    ):
        counts[state.PHASE] = state.AGAIN
        return
    counts[state.NODES] += 1
    top = counts[state.TOP]
    s.frame_domain[top] = domain
    s.frame_mark[top] = counts[state.TRAIL]
    counts[state.TOP] = top + 1
    counts[state.DEPTH] = max(counts[state.DEPTH], top + 1)
    counts[state.PHASE] = state.ARRANGE
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
    top = s.counts[state.TOP] - 1
    first = np.int64(s.frame_end[top - 1]) if top else np.int64(0)
    order, slot = rules.order, np.int64(state.NO_SLOT)
    if rich is not None:
        slot = np.int64(s.frame_slot[top])
        if slot != state.NO_SLOT:
            order = state.BY_SCORE
            if s.counts[state.SLOT] == slot:  # it was made for this node
                if not s.counts[state.HOPELESS]:
                    s.frame_domain[top] = pick(t, s, watching, rules, slot, np.int64(s.frame_domain[top]), bits)[0]
                s.counts[state.SLOT] = state.NO_SLOT
    domain = np.int64(s.frame_domain[top])
    end = arrange(t, s, watching, domain, order, slot, first, keys)
    if rich is not None and rules.trigger != state.NEVER:
        total = 0.0
        for i in range(first, end):
            share = np.exp(keys[i] - keys[first]) if order == state.BY_SCORE else 1.0
            s.chance[i] = share
            total += share
        for i in range(first, end):
            s.chance[i] = max(s.chance[i] / total, LEAST_CHANCE)
    s.frame_next[top] = first
    s.frame_end[top] = end
    s.counts[state.PHASE] = state.TRY
    note(s, rich, state.ENTERED, domain)


@part
def next_value(t: Tables, s: Searches, watching: Flag, rich: Flag, queue: NDArray[np.uint32]) -> Int:
    """Take back the last value of the innermost node and queue the next one; returns the queue length, 1.

    When there is none the node is done, and with it the value that led to it: then it returns -1.
    """
    counts = s.counts
    top = counts[state.TOP] - 1
    undo(t, s, watching, counts[state.TRAIL], s.frame_mark[top])
    counts[state.TRAIL] = s.frame_mark[top]
    if s.frame_next[top] == s.frame_end[top]:
        counts[state.TOP] = top
        if top == 0:
            counts[state.PHASE] = state.SAT if counts[state.SOLUTIONS] else state.UNSAT
        elif s.frame_found[top - 1] == counts[state.SOLUTIONS]:
            counts[state.BACKTRACKS] += 1
            note(s, rich, state.FAILED, 0)
        return -1
    note(s, rich, state.TRIED, np.int64(s.order[s.frame_next[top]]))
    counts[state.TRIES] += 1
    queue[0] = s.order[s.frame_next[top]]
    s.frame_next[top] += np.uint32(1)
    s.frame_found[top] = counts[state.SOLUTIONS]
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
    stop = counts[state.WORK] + budget
    while counts[state.PHASE] < state.SAT and counts[state.PHASE] != state.WAIT and counts[state.WORK] < stop:
        if rich is not None and len(s.log) and counts[state.LOGGED] + 2 > len(s.log):
            return
        phase = counts[state.PHASE]
        if phase == state.ENTER:
            enter(t, s, watching, rich, rules, bits)
        elif phase == state.ARRANGE:
            lay_out(t, s, watching, rich, rules, keys, bits)
        else:
            settled, tail = counts[state.TRAIL], -1
            if phase == state.START:
                tail = start(t, s, rich, rules, queue)
            elif phase == state.TRY:
                tail = next_value(t, s, watching, rich, queue)
                settled = counts[state.TRAIL]
            elif rich is not None:
                settled = np.int64(s.frame_mark[0])
                tail = again(t, s, watching, rules)
            if tail < 0:
                continue
            consistent, length = propagate(t, s, watching, queue, tail, settled, counts[state.TRAIL])
            counts[state.WORK] += length - counts[state.TRAIL] + 1
            counts[state.TRAIL] = length
            if consistent:
                counts[state.PHASE] = state.ENTER
            elif phase != state.TRY:
                counts[state.PHASE] = state.UNSAT
            else:
                counts[state.BACKTRACKS] += 1
                note(s, rich, state.FAILED, 0)


@part
def looking(watching: Flag, rich: Flag) -> Flag:
    """`watching`, as a constant but in the rich form."""
    if watching is None:
        return None
    if rich is None:
        return 1
    return watching


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
    table, options, watching = view(t), view(rules), looking(t.watching, rules.rich)
    for r in rows:
        advance_one(
            table, view_row(s, r), watching, rules.rich, options, budget, borrow(queue), borrow(keys), borrow(bits)
        )
