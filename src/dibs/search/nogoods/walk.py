"""A local search on groups: every line stays a matching, and two of its cells swap their values until nothing clashes.

A *clash* is a pair of true literals in one group, or a value that is not open in its cell. The best swap of a cell that
clashes is made, whatever it costs; values do not return to a cell for some moves (tabu search). Where it has got far
from the best state it goes back to that. It proves nothing: its best state is handed to the nogood search as phases.

What a value costs a cell stands where the cell that has it now stands in the line, and once more transposed: then all
swaps of a cell are looked at as one vector.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.declared import zeros
from dibs.machine import view
from dibs.search.nogoods.arrays import Int
from dibs.search.nogoods.lines import Lines

# Columns of `Walk.counts`.
CLASHES = 0  # of the state
LEAST = 1  # of the best state
BAD = 2  # cells that clash
MOVE = 3  # moves since nothing was tabu, at least
FREE = 4  # the move from which on nothing is tabu
LOOKS = 5  # swaps that were looked at, and EACH for every move: what a walk costs
REWINDS = 6  # how often it went back
FIRST, SECOND, CHANGE = 7, 8, 9  # the swap that was chosen, and what it adds to the clashes
MOVED = 10  # cells that have moved since the best state
COUNTERS = 11

TENURE = 0.4  # moves that a value stays away, for each clash of the state
SPREAD = 10  # and up to so many more, at random
LONGEST = 4000  # without these
FAR, FARTHEST = 10, 15  # clashes above the best state's where it goes back; one more after every
PATIENCE = 1000  # rewinds
NEVER = 8000  # clashes that a swap adds which is none
LAST_MOVE = 16_000  # then nothing is tabu: all this fits into 16 bits
EACH = 16  # looks: what a move costs besides them

i2 = np.int16


class Walk(NamedTuple):
    """The state of a walk; see `Lines`."""

    value: Annotated[NDArray[np.int32], "cells"]  # places
    holder: Annotated[NDArray[np.int32], "cells"]  # the cell that has each place
    best: Annotated[NDArray[np.int32], "cells"]  # values where clashes were fewest
    moved: Annotated[NDArray[np.int32], "cells"]  # cells whose value may not be the best state's
    listed: Annotated[NDArray[np.bool_], "cells"]  # which those are
    # Of a cell with the value of another: true literals in its group, its own included. Where it is not open: 1, and
    # 1 more where the cell has it.
    cost: Annotated[NDArray[np.int16], "entries"]
    # The same of the other with the value of the cell; of the cell itself NEVER more.
    paid: Annotated[NDArray[np.int16], "entries"]
    own: Annotated[NDArray[np.int16], "cells"]  # the same of a cell with its own value; -NEVER: it only fills up
    tabu: Annotated[NDArray[np.int16], "entries"]  # a cell may not take the value of another until that move
    shut: Annotated[NDArray[np.int16], "entries"]  # nor the other that of the cell
    held: Annotated[NDArray[np.int32], "groups"]  # true literals
    total: Annotated[NDArray[np.int32], "groups"]  # the sum of their cells: where there is one, it is that one
    bad: Annotated[NDArray[np.int32], "cells"]  # cells that clash
    where: Annotated[NDArray[np.int32], "cells"]  # 1 + of each in `bad`; 0: it does not clash
    gain: Annotated[NDArray[np.int16], "cells"]  # what the best swap of each in `bad` adds to the clashes
    counts: Annotated[NDArray[np.int64], "counters"]
    random: Annotated[NDArray[np.uint64], "1"]  # state of the generator


def begin(t: Lines, liking: NDArray[np.float64], rng: np.random.Generator) -> Walk:
    """A walk from the state that takes the literals liked best, one after the other. `liking` [L]."""
    cells, entries = len(t.line), len(t.literal)
    sizes = {"cells": cells, "entries": entries, "groups": len(t.start) - 1, "counters": COUNTERS}
    walk = zeros(Walk, sizes)
    walk.value[:] = walk.best[:] = -1
    walk.random[:] = rng.integers(1, 2**63, 1, np.uint64)
    liked = np.where(t.literal < 0, -np.inf, liking[t.literal])
    order = np.lexsort((rng.random(entries), -liked)).astype(np.int32)
    start(t, walk, np.repeat(np.arange(cells, dtype=np.int32), np.diff(t.first)[t.line]), order)
    return walk


@entry(error_model="numpy")
def start(lines: Lines, walk: Walk, cell: NDArray[np.int32], order: NDArray[np.int32]) -> None:
    """Match cells and places by their entries in this order, and count what clashes. `cell` [E]: of each entry."""
    match(view(lines), view(walk), cell, order)


@part
def match(t: Lines, w: Walk, cell: NDArray[np.int32], order: NDArray[np.int32]) -> None:
    taken = np.zeros(len(t.line), np.bool_)
    for i in range(len(order)):
        c = cell[order[i]]
        place = order[i] - t.row[c]
        line = t.line[c]
        real = max(c, place) < t.first[line] + t.size[line]
        if real and w.value[c] < 0 and not taken[place]:
            w.value[c] = w.best[c] = place
            w.holder[place] = c
            taken[place] = True
    for c in range(len(t.line)):
        if w.value[c] < 0:
            w.own[c] = -NEVER
            continue
        line = t.line[c]
        for d in range(t.first[line], t.first[line] + t.size[line]):
            w.cost[t.row[c] + d] = w.paid[t.row[d] + c] = t.literal[t.row[c] + w.value[d]] < 0
        w.own[c] = w.cost[t.row[c] + c]
        w.paid[t.row[c] + c] += NEVER
        w.counts[CLASHES] += w.own[c]
    for c in range(len(t.line)):
        if w.value[c] >= 0:
            w.counts[CLASHES] += put(t, w, c, 1)
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
def look(w: Walk, cell: Int) -> None:
    """Note whether a cell clashes."""
    clashes = w.own[cell] > 1
    at = w.where[cell]
    if clashes and at == 0:
        w.bad[w.counts[BAD]] = cell
        w.counts[BAD] += 1
        w.where[cell] = w.counts[BAD]
    elif not clashes and at > 0:
        w.counts[BAD] -= 1
        last = w.bad[w.counts[BAD]]
        w.bad[at - 1] = last
        w.where[last] = at
        w.where[cell] = 0


@part
def put(t: Lines, w: Walk, cell: Int, sign: Int) -> Int:
    """A cell's value is put there (1) or taken away (-1); returns how many others of its group are true."""
    literal = t.literal[t.row[cell] + w.value[cell]]
    others = 0
    if literal < 0:
        w.cost[t.row[cell] + cell] += sign
        w.paid[t.row[cell] + cell] += sign
        w.own[cell] += sign
    else:
        g = t.other[literal]
        alone = w.total[g] if w.held[g] == 1 else -1
        others = w.held[g] - (sign < 0)
        w.held[g] += sign
        w.total[g] += sign * cell
        cost, paid, row, holder, cells, places = w.cost, w.paid, t.row, w.holder, t.cell, t.place
        for i in range(t.start[g], t.start[g + 1]):
            c = cells[i]
            d = holder[places[i]]
            cost[row[c] + d] += sign
            paid[row[d] + c] += sign
            if c == d:
                w.own[c] += sign
        if sign > 0 and alone >= 0:
            look(w, alone)
        elif sign < 0 and w.held[g] == 1:
            look(w, w.total[g])
    if sign > 0:
        look(w, cell)
    return others


@part
def exchange(t: Lines, w: Walk, a: Int, b: Int) -> None:
    """Two cells of a line swap their values: what stands for these moves with them."""
    put(t, w, a, -1)
    put(t, w, b, -1)
    first = t.first[t.line[a]]
    width = t.first[t.line[a] + 1] - first
    cost, paid, tabu, shut = w.cost, w.paid, w.tabu, w.shut
    at = t.row[first]  # of the first cell's entries
    for _ in range(t.size[t.line[a]]):
        cost[at + a], cost[at + b] = cost[at + b], cost[at + a]
        tabu[at + a], tabu[at + b] = tabu[at + b], tabu[at + a]
        at += width
    one, two = t.row[a] + first, t.row[b] + first
    for k in range(width):
        paid[one + k], paid[two + k] = paid[two + k], paid[one + k]
        shut[one + k], shut[two + k] = shut[two + k], shut[one + k]
    for c, d in ((a, b), (b, a)):
        paid[t.row[c] + c] += NEVER
        paid[t.row[c] + d] -= NEVER
        w.own[c] = cost[t.row[c] + c]
    x, y = w.value[a], w.value[b]
    w.value[a], w.value[b] = y, x
    w.holder[x], w.holder[y] = b, a
    put(t, w, a, 1)
    put(t, w, b, 1)


@part
def choose(t: Lines, w: Walk) -> None:
    """The best swap of a cell that clashes: of those that are not tabu, or of all where no state was better.

    Where every swap adds clashes, it is the best of a random one of these cells. Ties are broken at random.
    """
    counts = w.counts
    now = i2(counts[MOVE])
    cost, paid, own, tabu, shut = w.cost, w.paid, w.own, w.tabu, w.shut
    top: Int = NEVER
    first, ties = -1, 0
    barred, barred_first = counts[LEAST] - counts[CLASHES], -1  # only better ones count
    for i in range(counts[BAD]):
        c = w.bad[i]
        begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
        row = t.row[c]
        best = all_best = i2(NEVER)
        for d in range(begin, end):
            change = i2(cost[row + d] + paid[row + d] - own[d])
            away = tabu[row + d] if tabu[row + d] > shut[row + d] else shut[row + d]
            allowed = change if away <= now else i2(NEVER)
            best = allowed if allowed < best else best
            all_best = change if change < all_best else all_best
        counts[LOOKS] += end - begin
        stay = own[c] - 2
        w.gain[i] = best - stay
        if w.gain[i] < top:
            top, first, ties = w.gain[i], i, 1
        elif w.gain[i] == top:
            ties += 1
            if draw(w, ties) == 0:
                first = i
        if all_best - stay < barred:
            barred, barred_first = all_best - stay, i
    all_ = barred_first >= 0 and barred < top
    if all_:
        top, first = barred, barred_first
    elif top > 0 and counts[BAD] > 0:
        first = draw(w, counts[BAD])
        top = w.gain[first]
    counts[FIRST] = -1
    if first >= 0 and top < NEVER // 2:
        counts[FIRST], counts[CHANGE] = w.bad[first], top
        counts[SECOND] = partner(t, w, w.bad[first], top, all_)


@part
def partner(t: Lines, w: Walk, c: Int, change: Int, tabu: bool) -> Int:
    """A random cell whose swap with this one adds so many clashes, and is not tabu unless `tabu`."""
    begin = t.first[t.line[c]]
    row = t.row[c]
    found, ties = -1, 0
    change += w.own[c] - 2
    for d in range(begin, begin + t.size[t.line[c]]):
        allowed = tabu or max(w.tabu[row + d], w.shut[row + d]) <= w.counts[MOVE]
        if allowed and w.cost[row + d] + w.paid[row + d] - w.own[d] == change:
            ties += 1
            if ties == 1 or draw(w, ties) == 0:
                found = d
    return found


@part
def swap(t: Lines, w: Walk) -> None:
    """Make the chosen swap."""
    counts = w.counts
    a, b = counts[FIRST], counts[SECOND]
    away = counts[MOVE] + min(int(TENURE * counts[CLASHES]), LONGEST) + 1
    counts[FREE] = max(counts[FREE], away + SPREAD)
    exchange(t, w, a, b)
    w.tabu[t.row[a] + b] = w.shut[t.row[b] + a] = away + draw(w, SPREAD)
    w.tabu[t.row[b] + a] = w.shut[t.row[a] + b] = away + draw(w, SPREAD)
    counts[CLASHES] += counts[CHANGE]
    for c in (a, b):
        if not w.listed[c]:
            w.listed[c] = True
            w.moved[counts[MOVED]] = c
            counts[MOVED] += 1


@part
def settle(t: Lines, w: Walk, back: bool) -> None:
    """This is the best state; or go back to that, where nothing is tabu."""
    counts = w.counts
    for i in range(counts[MOVED]):
        c = w.moved[i]
        w.listed[c] = False
        if not back:
            w.best[c] = w.value[c]
        elif w.value[c] != w.best[c]:
            exchange(t, w, c, w.holder[w.best[c]])
    counts[MOVED] = 0
    if back:
        counts[CLASHES] = counts[LEAST]
        counts[MOVE] = max(counts[MOVE], counts[FREE])
        counts[REWINDS] += 1
    else:
        counts[LEAST] = counts[CLASHES]


@part
def forgive(w: Walk) -> None:
    """Nothing is tabu."""
    for e in range(len(w.tabu)):
        w.tabu[e] = w.shut[e] = 0
    w.counts[MOVE] = w.counts[FREE] = 0


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
        counts[LOOKS] += EACH
        if counts[MOVE] >= LAST_MOVE:
            forgive(w)
        choose(t, w)
        if counts[FIRST] < 0:
            continue
        swap(t, w)
        if counts[CLASHES] <= counts[LEAST]:
            settle(t, w, False)
        elif counts[CLASHES] - counts[LEAST] > min(FAR + counts[REWINDS] // PATIENCE, FARTHEST):
            settle(t, w, True)


def literals(t: Lines, w: Walk) -> NDArray[np.int32]:
    """The open literals of the best state."""
    cells = np.flatnonzero(w.value >= 0)
    found: NDArray[np.int32] = t.literal[t.row[cells] + w.best[cells]]
    return found[found >= 0]
