"""A local search on groups: every line stays a matching, and two of its cells swap their values until nothing clashes.

A *clash* is a pair of true literals in one group, or a value that is not open in its cell. The best swap of a cell that
clashes is made, whatever it costs; values do not return to a cell for some moves (tabu search). Where it has got far
from the best state it goes back to that. It proves nothing: its best state is handed to the nogood search as phases.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import declared
from dibs.compiled import entry, part
from dibs.machine import view
from dibs.search.nogoods.arrays import Int
from dibs.search.nogoods.lines import Lines

# Columns of `Walk.counts`.
CLASHES = 0  # of the state
LEAST = 1  # of the best state
BAD = 2  # cells that clash
MOVE = 3  # moves since it went back to the best state
LOOKS = 4  # swaps that were looked at: what a walk costs
REWINDS = 5  # how often it went back
FIRST, SECOND, CHANGE = 6, 7, 8  # the swap that was chosen, and what it adds to the clashes
KINDS = 9  # other groups that each literal is in
COUNTERS = 10

TENURE = 0.4  # moves that a value stays away, for each clash of the state
SPREAD = 10  # and up to so many more, at random
FAR, FARTHEST = 10, 15  # clashes above the best state's where it goes back; one more after every
PATIENCE = 1000  # rewinds
FAR_AWAY = 1 << 30


class Walk(NamedTuple):
    """The state of a walk."""

    value: Annotated[NDArray[np.int32], "cells"]  # places in their lines
    best: Annotated[NDArray[np.int32], "cells"]  # the same where clashes were fewest
    # True literals in the other groups of each, its own included; 1 and more: not open.
    cost: Annotated[NDArray[np.int16], "entries"]
    tabu: Annotated[NDArray[np.int32], "entries"]  # it may not become true until that move
    held: Annotated[NDArray[np.int32], "groups"]  # true literals
    total: Annotated[NDArray[np.int64], "groups"]  # the sum of their cells: where there is one, it is that one
    bad: Annotated[NDArray[np.int32], "cells"]  # cells that clash
    where: Annotated[NDArray[np.int32], "cells"]  # of each in `bad`; -1: it does not clash
    counts: Annotated[NDArray[np.int64], "counters"]
    random: Annotated[NDArray[np.uint64], "1"]  # state of the generator


def begin(t: Lines, liking: NDArray[np.float64], rng: np.random.Generator) -> Walk:
    """A walk from the state that takes the literals liked best, one after the other. `liking` [L]."""
    cells, entries = len(t.line), len(t.literal)
    sizes = {"cells": cells, "entries": entries, "groups": len(t.start) - 1, "counters": COUNTERS}
    walk = declared.zeros(Walk, sizes, random=rng.integers(1, 2**63, 1, np.uint64))
    walk.value[:] = walk.where[:] = -1
    walk.counts[KINDS] = t.other.shape[1]
    size = np.diff(t.first)[t.line]
    cell = np.repeat(np.arange(cells, dtype=np.int32), size)
    liked = np.where(t.literal < 0, -np.inf, liking[t.literal])
    order = np.lexsort((rng.random(entries), -liked)).astype(np.int32)
    start(t, walk, cell, order)
    return walk


@entry(error_model="numpy")
def start(lines: Lines, walk: Walk, cell: NDArray[np.int32], order: NDArray[np.int32]) -> None:
    """Match cells and places by their entries in this order, and count what clashes."""
    match(view(lines), view(walk), cell, order)


@part
def match(t: Lines, w: Walk, cell: NDArray[np.int32], order: NDArray[np.int32]) -> None:
    taken = np.zeros(len(t.line), np.bool_)
    for i in range(len(order)):
        c = cell[order[i]]
        value = order[i] - t.base[c]
        place = t.first[t.line[c]] + value
        if w.value[c] < 0 and not taken[place]:
            w.value[c] = value
            taken[place] = True
    for e in range(len(t.literal)):
        w.cost[e] = t.literal[e] < 0
    for c in range(len(t.line)):
        w.counts[CLASHES] += w.cost[t.base[c] + w.value[c]]
        put(t, w, c, 1)
        w.best[c] = w.value[c]
    w.counts[LEAST] = w.counts[CLASHES]


@part
def draw(w: Walk, below: Int) -> Int:
    """A random number from 0 on: xorshift, and a product in place of a slow division."""
    x = w.random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    w.random[0] = x
    return np.int64(((x >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@part
def look(t: Lines, w: Walk, cell: Int) -> None:
    """Note whether a cell clashes."""
    clashes = w.cost[t.base[cell] + w.value[cell]] > w.counts[KINDS]
    at = w.where[cell]
    if clashes and at < 0:
        w.where[cell] = w.counts[BAD]
        w.bad[w.counts[BAD]] = cell
        w.counts[BAD] += 1
    elif not clashes and at >= 0:
        w.counts[BAD] -= 1
        last = w.bad[w.counts[BAD]]
        w.bad[at] = last
        w.where[last] = at
        w.where[cell] = -1


@part
def put(t: Lines, w: Walk, cell: Int, sign: Int) -> None:
    """A cell's value is put there (1) or taken away (-1)."""
    e = t.base[cell] + w.value[cell]
    literal = t.literal[e]
    if literal < 0:
        w.cost[e] += sign * w.counts[KINDS]
    else:
        for k in range(w.counts[KINDS]):
            g = t.other[literal, k]
            alone = w.total[g] if w.held[g] == 1 else -1
            w.held[g] += sign
            w.total[g] += sign * cell
            for i in range(t.start[g], t.start[g + 1]):
                w.cost[t.entry[t.member[i]]] += sign
            if sign > 0 and alone >= 0:
                look(t, w, alone)
            elif sign < 0 and w.held[g] == 1:
                look(t, w, w.total[g])
    if sign > 0:
        look(t, w, cell)


@part
def shared(t: Lines, w: Walk, one: Int, other: Int) -> Int:
    """How many groups two entries share."""
    found = 0
    a, b = t.literal[one], t.literal[other]
    if a >= 0 and b >= 0:
        for k in range(w.counts[KINDS]):
            found += t.other[a, k] == t.other[b, k]
    return found


@part
def choose(t: Lines, w: Walk) -> None:
    """The best swap of a cell that clashes: of those that are not tabu, or of all where no state was better.

    Where every swap adds clashes, it is the best of a random one of these cells. Ties are broken at random.
    """
    kinds = w.counts[KINDS]
    move = w.counts[MOVE]
    top, first, second, ties = FAR_AWAY, -1, -1, 0
    tabu_top, tabu_first, tabu_second = w.counts[LEAST] - w.counts[CLASHES], -1, -1  # only better ones count
    drawn, drawn_first, drawn_second, cells = FAR_AWAY, -1, -1, 0
    for i in range(w.counts[BAD]):
        c = w.bad[i]
        begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
        base, x = t.base[c], w.value[c]
        mine, mine_second, mine_ties = FAR_AWAY, -1, 0
        there, size = t.base[begin], end - begin
        gain = w.cost[base + x] - 2 * kinds  # of leaving both, but for what the other cell costs
        w.counts[LOOKS] += size
        for d in range(begin, end):
            y = w.value[d]
            change = w.cost[base + y] + w.cost[there + x] - w.cost[there + y] - gain
            if kinds > 1 and d != c:
                change -= shared(t, w, base + x, there + x) + shared(t, w, there + y, base + y)
            if change <= mine and d != c:
                if w.tabu[base + y] > move or w.tabu[there + x] > move:
                    if change < tabu_top:
                        tabu_top, tabu_first, tabu_second = change, c, d
                elif change < mine:
                    mine, mine_second, mine_ties = change, d, 1
                else:
                    mine_ties += 1
                    if draw(w, mine_ties) == 0:
                        mine_second = d
            there += size
        if mine_second < 0:
            continue
        if mine < top:
            top, first, second, ties = mine, c, mine_second, 1
        elif mine == top:
            ties += 1
            if draw(w, ties) == 0:
                first, second = c, mine_second
        cells += 1
        if draw(w, cells) == 0:
            drawn, drawn_first, drawn_second = mine, c, mine_second
    if tabu_first >= 0 and tabu_top < top:
        top, first, second = tabu_top, tabu_first, tabu_second
    elif top > 0:
        top, first, second = drawn, drawn_first, drawn_second
    w.counts[FIRST], w.counts[SECOND], w.counts[CHANGE] = first, second, top


@part
def swap(t: Lines, w: Walk) -> None:
    """Make the chosen swap."""
    a, b = w.counts[FIRST], w.counts[SECOND]
    x, y = w.value[a], w.value[b]
    away = w.counts[MOVE] + int(TENURE * w.counts[CLASHES]) + 1
    w.tabu[t.base[a] + x] = away + draw(w, SPREAD)
    w.tabu[t.base[b] + y] = away + draw(w, SPREAD)
    put(t, w, a, -1)
    put(t, w, b, -1)
    w.value[a], w.value[b] = y, x
    put(t, w, a, 1)
    put(t, w, b, 1)
    w.counts[CLASHES] += w.counts[CHANGE]


@part
def rewind(t: Lines, w: Walk) -> None:
    """Go back to the best state; nothing is tabu there."""
    for c in range(len(t.line)):
        if w.value[c] != w.best[c]:
            put(t, w, c, -1)
            w.value[c] = w.best[c]
            put(t, w, c, 1)
    for e in range(len(w.tabu)):
        w.tabu[e] = 0
    w.counts[CLASHES] = w.counts[LEAST]
    w.counts[MOVE] = 0
    w.counts[REWINDS] += 1


@entry(error_model="numpy")
def advance(lines: Lines, walk: Walk, budget: Int) -> None:
    """Walk on until nothing clashes or `budget` more swaps were looked at."""
    go(view(lines), view(walk), budget)


@part
def go(t: Lines, w: Walk, budget: Int) -> None:
    counts = w.counts
    stop = counts[LOOKS] + budget
    while counts[LEAST] > 0 and counts[LOOKS] < stop:
        counts[MOVE] += 1
        choose(t, w)
        if counts[FIRST] < 0:
            counts[LOOKS] += 1
            continue
        swap(t, w)
        if counts[CLASHES] <= counts[LEAST]:
            counts[LEAST] = counts[CLASHES]
            for c in range(len(t.line)):
                w.best[c] = w.value[c]
        elif counts[CLASHES] - counts[LEAST] > min(FAR + counts[REWINDS] // PATIENCE, FARTHEST):
            rewind(t, w)


def literals(t: Lines, w: Walk) -> NDArray[np.int32]:
    """The open literals of the best state."""
    found: NDArray[np.int32] = t.literal[t.base + w.best]
    return found[found >= 0]
