"""A local search on groups: every line stays a matching, and two of its cells swap their values until nothing clashes.

A *clash* is a pair of true literals in one group, or a value that is not open in its cell. The best swap of a cell that
clashes is made, whatever it costs; values do not return to a cell for some moves (tabu search). Where it has got far
from the best state it goes back to that. It proves nothing: its best state is handed to the nogood search as phases.

What each place costs a cell is a byte, and stands once more transposed: then all swaps of a cell are looked at as one
vector (swaps.py).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.declared import zeros
from dibs.machine import ones, trailing_zeros, view
from dibs.search.nogoods.arrays import Int
from dibs.search.nogoods.lines import Lines
from dibs.search.nogoods.swaps import ALL, BIAS, LANES, REAL, least, same

# Columns of `Walk.counts`.
CLASHES = 0  # of the state
LEAST = 1  # of the best state
BAD = 2  # cells that clash
MOVE = 3  # how many there were, at least
FREE = 4  # the move from which on nothing is tabu
LOOKS = 5  # swaps that were looked at, and EACH for every move: what a walk costs
REWINDS = 6  # how often it went back
FIRST, SECOND = 7, 8  # the swap that was chosen
MOVED = 9  # cells that have moved since the best state
COUNTERS = 10

TENURE = 0.4  # moves that a value stays away, for each clash of the state
SPREAD = 10  # and up to so many more, at random
LONGEST = 480  # without these
FAR, FARTHEST = 10, 15  # clashes above the best state's where it goes back; one more after every
PATIENCE = 1000  # rewinds
NEAR = 3  # clashes above the best state's from where one swap may lead to a better one
TABU = 64  # what a value that is tabu costs besides
FILLING = 112  # what costs a cell, and a place, that only fill up: a swap with them is never made
HIGHEST = 15  # more true literals in a group count as so many, so that all this fits into a byte
NEVER = 1 << 20  # clashes that a swap adds which is none
AGES = 1 << 9  # moves after which nothing is tabu, a power of two: more than LONGEST + SPREAD
EACH = 480  # looks: what a move costs besides them
CELL_BITS, GAIN_BITS = 24, 40  # where random bits, and gains, stand in what `choose` compares
RANDOM = np.uint64(0xFFFF)  # bits that break a tie


class Walk(NamedTuple):
    """The state of a walk; see `Lines`."""

    value: Annotated[NDArray[np.int32], "cells"]  # places
    holder: Annotated[NDArray[np.int32], "cells"]  # the cell that has each place
    best: Annotated[NDArray[np.int32], "cells"]  # values where clashes were fewest
    moved: Annotated[NDArray[np.int32], "cells"]  # cells whose value may not be the best state's
    listed: Annotated[NDArray[np.bool_], "cells"]  # which those are
    local: Annotated[NDArray[np.uint8], "cells"]  # places, counted from the first one of their line
    # Of a cell with a place: true literals in their group, the cell's own included. Where it is not open: 1, and 1 more
    # where the cell has it. While it is tabu, TABU more.
    cost: Annotated[NDArray[np.uint8], "entries"]
    paid: Annotated[NDArray[np.uint8], "entries"]  # the same of a place with a cell; TABU more of the one that has it
    own: Annotated[NDArray[np.uint8], "cells"]  # what its own place costs a cell, tabu or not
    # What is tabu: of every move to come the last entry that it frees (1 + its number), and of each its entry of a
    # place with a cell, its entry of the cell with the place, and the one before it.
    ends: Annotated[NDArray[np.int32], "ages"]
    tabu: Annotated[NDArray[np.int32], "triples"]
    held: Annotated[NDArray[np.int32], "groups"]  # true literals
    total: Annotated[NDArray[np.int32], "groups"]  # the sum of their cells: where there is one, it is that one
    bad: Annotated[NDArray[np.int32], "cells"]  # cells that clash
    where: Annotated[NDArray[np.int32], "cells"]  # 1 + of each in `bad`; 0: it does not clash
    gain: Annotated[NDArray[np.int32], "cells"]  # what the best swap of each in `bad` adds to the clashes
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
        "triples": 6 * AGES,
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
        first, end = t.first[t.line[c]], t.first[t.line[c] + 1]
        last = first + t.size[t.line[c]]
        w.local[c] = (w.value[c] if c < last else c) - first
        for d in range(first, end):
            shut = FILLING if max(c, d) >= last else int(t.literal[t.row[c] + d] < 0)
            w.cost[t.row[c] + d] = w.paid[t.row[d] + c] = shut
        if c < last:
            w.paid[t.row[w.value[c]] + c] += TABU
    for c in range(len(t.line)):
        if w.value[c] >= 0:
            w.counts[CLASHES] += put(t, w, c, t.group[t.row[c] + w.value[c]], np.int64(1))[1]
    for c in range(len(t.line)):
        if w.value[c] >= 0:
            look(w, c)
    w.counts[LEAST] = w.counts[CLASHES]


@part
def draw(w: Walk) -> Any:
    """64 random bits: xorshift."""
    x = w.random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    w.random[0] = x
    return x


@part
def below(bits: np.uint64, shift: int, most: Int) -> Int:
    """A number from 0 on, from 16 of the bits."""
    return np.int64((((bits >> np.uint64(shift)) & RANDOM) * np.uint64(most)) >> np.uint64(16))


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
def put(t: Lines, w: Walk, cell: Int, g: Int, sign: Int) -> tuple[Int, Int]:
    """A cell's value in this group is put there (1) or taken away (-1).

    Returns another cell that clashes by it, or no longer does (or else the same one), and the clashes that it makes.
    """
    before = np.int64(w.held[g])
    now = before + sign
    total = np.int64(w.total[g]) + sign * cell
    shut = np.int64(g >= t.closed)
    w.held[g], w.total[g] = now, total
    if max(before, now) <= HIGHEST:
        cost, paid, at, to = w.cost, w.paid, t.at, t.to
        for i in range(t.start[g], t.start[g + 1]):
            cost[at[i]] += sign
            paid[to[i]] += sign
    if sign > 0:
        w.own[cell] = min(now + shut, HIGHEST)
    other = np.int64(cell)
    most = max(before, now)
    if most == 2:
        other = total - cell if sign > 0 else total
        w.own[other] = now
    elif most > 2:
        for i in range(t.start[g], t.start[g + 1]):
            if w.value[t.cell[i]] == t.place[i]:
                w.own[t.cell[i]] = min(now, HIGHEST)
    return other, min(before, now) + shut


@part
def exchange(t: Lines, w: Walk, a: Int, b: Int) -> None:
    """Two cells of a line swap their values."""
    x, y = np.int64(w.value[a]), np.int64(w.value[b])
    w.value[a], w.value[b] = y, x
    w.local[a], w.local[b] = w.local[b], w.local[a]
    w.holder[x], w.holder[y] = b, a
    w.paid[t.row[x] + a] -= TABU
    w.paid[t.row[x] + b] += TABU
    w.paid[t.row[y] + b] -= TABU
    w.paid[t.row[y] + a] += TABU
    one, two = t.row[a], t.row[b]
    c, fewer = put(t, w, a, t.group[one + x], np.int64(-1))
    d, less = put(t, w, b, t.group[two + y], np.int64(-1))
    e, more = put(t, w, a, t.group[one + y], np.int64(1))
    f, besides = put(t, w, b, t.group[two + x], np.int64(1))
    w.counts[CLASHES] += more + besides - fewer - less
    for cell in (a, b, c, d, e, f):
        look(w, cell)


@part
def forbid(t: Lines, w: Walk, cell: Int, place: Int, number: Int, until: Int) -> None:
    """A value is tabu for a cell until that move; `number`: 0 or 1, of the two of a move."""
    entry, back = t.row[cell] + place, t.row[place] + cell
    if w.cost[entry] < TABU:
        at = 3 * (2 * (w.counts[MOVE] % AGES) + number)
        w.cost[entry] += TABU
        w.paid[back] += TABU
        w.tabu[at], w.tabu[at + 1], w.tabu[at + 2] = back, entry, w.ends[until % AGES]
        w.ends[until % AGES] = at + 1


@part
def allow(t: Lines, w: Walk) -> None:
    """What is tabu until this move no longer is."""
    end = w.counts[MOVE] % AGES
    at = w.ends[end]
    while at > 0:
        w.paid[w.tabu[at - 1]] -= TABU
        w.cost[w.tabu[at]] -= TABU
        at = w.tabu[at + 1]
    w.ends[end] = 0


@part
def best_of(t: Lines, w: Walk, c: Int, bits: int) -> Int:
    """The clashes that the best swap of a cell adds; `bits`: ALL, or REAL: tabu or not."""
    begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
    row, place = t.row[c] + begin, t.row[w.value[c]]
    found: Int = np.int64(ALL)
    for d in range(begin, end, LANES):
        found = min(found, least(w.cost, row, w.local, w.paid, place + d, w.own, d, end - begin, bits))
    return found - BIAS - w.own[c] + 2


@part
def choose(t: Lines, w: Walk) -> None:
    """The best swap of a cell that clashes: of those that are not tabu, or of all where no state was better.

    Where every swap adds clashes, it is the best of a random one of these cells. Ties are broken at random: what is
    compared is the gain, then random bits, then the number of the cell in `bad`. A branch would cost more than a look.
    """
    counts = w.counts
    random = draw(w)
    step = np.int64(random & RANDOM) | 1
    top: Int = NEVER << GAIN_BITS
    width = 0
    for i in range(counts[BAD]):
        c = w.bad[i]
        width += t.first[t.line[c] + 1] - t.first[t.line[c]]
        gain = best_of(t, w, c, ALL)
        w.gain[i] = gain
        key = (gain << GAIN_BITS) + ((((i + 1) * step) & np.int64(RANDOM)) << CELL_BITS) + i
        top = key if key < top else top
    counts[LOOKS] += width
    first = below(random, 16, counts[BAD]) if top >> GAIN_BITS > 0 else top & ((1 << CELL_BITS) - 1)
    gain, bits = np.int64(w.gain[first]), ALL
    if counts[CLASHES] - counts[LEAST] < NEAR:
        better = counts[LEAST] - counts[CLASHES]
        for i in range(counts[BAD]):
            found = best_of(t, w, w.bad[i], REAL)
            if found < better:
                better, first, gain, bits = found, i, found, REAL
    c = np.int64(w.bad[first])
    counts[FIRST] = -1
    if gain + BIAS + w.own[c] - 2 < TABU:
        counts[FIRST], counts[SECOND] = c, partner(t, w, c, gain, bits, random)


@part
def partner(t: Lines, w: Walk, c: Int, gain: Int, bits: int, random: np.uint64) -> Int:
    """A random cell whose swap with this one adds so many clashes; there is one."""
    begin, end = t.first[t.line[c]], t.first[t.line[c] + 1]
    row, place = t.row[c] + begin, t.row[w.value[c]]
    wanted = gain + BIAS + w.own[c] - 2
    ties = 0
    for d in range(begin, end, LANES):
        ties += ones(same(wanted, w.cost, row, w.local, w.paid, place + d, w.own, d, end - begin, bits))
    skip = below(random, 32, ties)
    for d in range(begin, end, LANES):
        found = same(wanted, w.cost, row, w.local, w.paid, place + d, w.own, d, end - begin, bits)
        if skip < ones(found):
            for _ in range(skip):
                found &= found - np.uint64(1)
            return np.int64(d + trailing_zeros(found))
        skip -= ones(found)
    return c


@part
def swap(t: Lines, w: Walk) -> None:
    """Make the chosen swap."""
    counts = w.counts
    a, b = counts[FIRST], counts[SECOND]
    x, y = np.int64(w.value[a]), np.int64(w.value[b])
    until = counts[MOVE] + min(int(TENURE * counts[CLASHES]), LONGEST) + 1
    counts[FREE] = max(counts[FREE], until + SPREAD)
    exchange(t, w, a, b)
    forbid(t, w, a, x, 0, until + below(w.random[0], 48, SPREAD))
    forbid(t, w, b, y, 1, until + below(w.random[0], 40, SPREAD))
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
            exchange(t, w, np.int64(c), np.int64(w.holder[w.best[c]]))
    counts[MOVED] = 0
    if back:
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
