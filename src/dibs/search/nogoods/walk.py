"""A local search on groups: every line stays a matching, and two of its cells swap their values until nothing clashes.

A *clash* is a pair of true literals in one group, or a value that is not open in its cell. The best swap of a cell that
clashes is made, whatever it costs; values do not return to a cell for some moves (tabu search). Where it has got far
from the best state it goes back to that. It proves nothing: its best state is handed to the nogood search as phases.

What a value costs a cell stands where the cell that has it now stands in the line, and once more transposed: then all
swaps of a cell are looked at as one vector.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

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
MOVE = 3  # how many there were, at least
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
NEAR = 3  # clashes above the best state's from where one swap may lead to a better one
TABU = 1 << 12  # what a value that is tabu costs besides
NEVER = 6500  # clashes that a swap adds which is none, also where TABU is taken away; all this fits into 16 bits
MOST = 1024  # clashes that a swap takes away, at most
AGES = 1 << 13  # moves after which nothing is tabu, a power of two: more than LONGEST + SPREAD
EACH = 16  # looks: what a move costs besides them
TIES = 1 << 16  # random numbers that break ties
CELL_BITS, GAIN_BITS = 24, 40  # where these numbers, and gains, stand in what `choose` compares

i2 = np.int16
AS_IS, FREELY = i2(-1), i2(TABU - 1)  # see `added`


class Walk(NamedTuple):
    """The state of a walk; see `Lines`."""

    value: Annotated[NDArray[np.int32], "cells"]  # places
    holder: Annotated[NDArray[np.int32], "cells"]  # the cell that has each place
    best: Annotated[NDArray[np.int32], "cells"]  # values where clashes were fewest
    moved: Annotated[NDArray[np.int32], "cells"]  # cells whose value may not be the best state's
    listed: Annotated[NDArray[np.bool_], "cells"]  # which those are
    # Of a cell with the value of another: true literals in its group, its own included. Where it is not open: 1, and
    # 1 more where the cell has it. While it is tabu, TABU more.
    cost: Annotated[NDArray[np.int16], "entries"]
    # The same of the other with the value of the cell; of the cell itself NEVER more.
    paid: Annotated[NDArray[np.int16], "entries"]
    own: Annotated[NDArray[np.int16], "cells"]  # the same of a cell with its own value; -NEVER: it only fills up
    # What is tabu: of every move to come the last one that ends there (1 + its number), and of each the one before it,
    # its cell and its place.
    ends: Annotated[NDArray[np.int32], "ages"]
    before: Annotated[NDArray[np.int32], "pairs"]
    away: Annotated[NDArray[np.int32], "pairs"]
    gone: Annotated[NDArray[np.int32], "pairs"]
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
    sizes = {
        "cells": cells,
        "entries": entries,
        "groups": len(t.start) - 1,
        "counters": COUNTERS,
        "ages": AGES,
        "pairs": 2 * AGES,
    }
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
            w.cost[t.row[c] + d] = w.paid[t.row[d] + c] = t.group[t.row[c] + w.value[d]] < 0
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
    g = t.group[t.row[cell] + w.value[cell]]
    others = 0
    if g < 0:
        w.cost[t.row[cell] + cell] += sign
        w.paid[t.row[cell] + cell] += sign
        w.own[cell] += sign
    else:
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
    cost, paid = w.cost, w.paid
    at = t.row[first]  # of the first cell's entries
    for _ in range(t.size[t.line[a]]):
        cost[at + a], cost[at + b] = cost[at + b], cost[at + a]
        at += width
    one, two = t.row[a] + first, t.row[b] + first
    for k in range(width):
        paid[one + k], paid[two + k] = paid[two + k], paid[one + k]
    for c, d in ((a, b), (b, a)):
        paid[t.row[c] + c] += NEVER
        paid[t.row[c] + d] -= NEVER
        w.own[c] = cost[t.row[c] + c] & (TABU - 1)
    x, y = w.value[a], w.value[b]
    w.value[a], w.value[b] = y, x
    w.holder[x], w.holder[y] = b, a
    put(t, w, a, 1)
    put(t, w, b, 1)


@part
def forbid(t: Lines, w: Walk, cell: Int, place: Int, number: Int, until: Int) -> None:
    """A value is tabu for a cell until that move; `number`: 0 or 1, of the two of a move."""
    entry = t.row[cell] + w.holder[place]
    if w.cost[entry] < TABU:
        pair = 2 * (w.counts[MOVE] % AGES) + number
        w.cost[entry] += TABU
        w.paid[t.row[w.holder[place]] + cell] += TABU
        w.away[pair], w.gone[pair], w.before[pair] = cell, place, w.ends[until % AGES]
        w.ends[until % AGES] = pair + 1


@part
def allow(t: Lines, w: Walk) -> None:
    """What is tabu until this move no longer is."""
    end = w.counts[MOVE] % AGES
    pair = w.ends[end]
    while pair > 0:
        cell, other = w.away[pair - 1], w.holder[w.gone[pair - 1]]
        w.cost[t.row[cell] + other] -= TABU
        w.paid[t.row[other] + cell] -= TABU
        pair = w.before[pair - 1]
    w.ends[end] = 0


@part
def added(cost: Any, paid: Any, own: Any, bits: np.int16) -> np.int16:
    """The clashes that a swap adds, and `own` of the first cell less 2; `bits`: AS_IS, or FREELY: tabu or not."""
    return i2(i2(i2(cost + paid - own + MOST) & bits) - MOST)


@part
def best_of(t: Lines, w: Walk, c: Int, bits: np.int16) -> Int:
    """The least `added` of all swaps of a cell."""
    begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
    row = t.row[c]
    cost, paid, own = w.cost, w.paid, w.own
    least = i2(NEVER)
    for d in range(begin, end):
        found = added(cost[row + d], paid[row + d], own[d], bits)
        least = found if found < least else least
    return least


@part
def choose(t: Lines, w: Walk) -> None:
    """The best swap of a cell that clashes: of those that are not tabu, or of all where no state was better.

    Where every swap adds clashes, it is the best of a random one of these cells. Ties are broken at random: what is
    compared is the gain, then random bits, then the number of the cell in `bad`. A branch would cost more than a look.
    """
    counts = w.counts
    step = 2 * draw(w, TIES) + 1
    near = counts[CLASHES] - counts[LEAST] < NEAR
    better, better_first = counts[LEAST] - counts[CLASHES], -1
    top: Int = NEVER << GAIN_BITS
    looks = 0
    for i in range(counts[BAD]):
        c = w.bad[i]
        looks += t.first[t.line[c] + 1] - t.first[t.line[c]]
        stay = w.own[c] - 2
        gain = best_of(t, w, c, AS_IS) - stay
        w.gain[i] = gain
        key = (gain << GAIN_BITS) + ((((i + 1) * step) & (TIES - 1)) << CELL_BITS) + i
        top = key if key < top else top
        if near:
            gain = best_of(t, w, c, FREELY) - stay
            if gain < better:
                better, better_first = gain, i
    counts[LOOKS] += looks
    some = draw(w, counts[BAD])
    first = some if top >> GAIN_BITS > 0 else top & ((1 << CELL_BITS) - 1)
    gain, bits = w.gain[first] + 0, AS_IS
    if better_first >= 0:
        first, gain, bits = better_first, better, FREELY
    counts[FIRST] = -1
    if gain < TABU // 2:
        counts[FIRST], counts[CHANGE] = w.bad[first], gain
        counts[SECOND] = partner(t, w, w.bad[first], gain, bits)


@part
def partner(t: Lines, w: Walk, c: Int, gain: Int, bits: np.int16) -> Int:
    """A random cell whose swap with this one adds so many clashes; there is one."""
    begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
    row = t.row[c]
    cost, paid, own = w.cost, w.paid, w.own
    wanted = i2(gain + own[c] - 2)
    ties = 0
    for d in range(begin, end):
        ties += added(cost[row + d], paid[row + d], own[d], bits) == wanted
    skip = draw(w, ties)
    for d in range(begin, end):
        skip -= added(cost[row + d], paid[row + d], own[d], bits) == wanted
        if skip < 0:
            return d
    return c


@part
def swap(t: Lines, w: Walk) -> None:
    """Make the chosen swap."""
    counts = w.counts
    a, b = counts[FIRST], counts[SECOND]
    x, y = w.value[a], w.value[b]
    until = counts[MOVE] + min(int(TENURE * counts[CLASHES]), LONGEST) + 1
    counts[FREE] = max(counts[FREE], until + SPREAD)
    exchange(t, w, a, b)
    forbid(t, w, a, x, 0, until + draw(w, SPREAD))
    forbid(t, w, b, y, 1, until + draw(w, SPREAD))
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
        while counts[MOVE] < counts[FREE]:
            counts[MOVE] += 1
            allow(t, w)
        counts[REWINDS] += 1
    else:
        counts[LEAST] = counts[CLASHES]


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
        allow(t, w)
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
