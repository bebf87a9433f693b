"""What follows from a choice: swept in small grids, watched elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.machine import trailing_zeros
from dibs.search.tree.planes import BIT, NO_BITS, Flag, Int, choose, unsigned, watched
from dibs.search.tree.state import Searches
from dibs.search.tree.tables import CHOSEN, FORCE, ONE, Tables

TWO_OPEN = 2 * ONE


@part
def digest(t: Tables, s: Searches, mark: Int, length: Int, queue: NDArray[np.uint32], tail: Int) -> tuple[bool, Int]:
    """Bring the watched groups up to date with the trail from `mark`; returns (consistent, new queue length).

    It goes to the end even after a conflict, so that `undo` finds groups and trail in step.
    """
    consistent = True
    for i in range(mark, length):
        bits = s.lost[unsigned(i)]
        while bits:
            literal, address, chosen = watched(t, s, i, trailing_zeros(bits))
            bits &= bits - BIT
            change = CHOSEN if chosen else -(ONE + address)
            for k in range(t.watch_start[unsigned(literal)], t.watch_start[unsigned(literal + 1)]):
                g = t.watch[unsigned(k)]
                state = s.group[g] + change
                s.group[g] = state
                if state < TWO_OPEN:
                    if state < ONE:
                        consistent = False
                    elif t.act[g] == FORCE:
                        queue[unsigned(tail)] = np.uint32(state - ONE)
                        tail += 1
    return consistent, tail


@part
def enlist(s: Searches, row: Int, first: Int, single: Int, queue: NDArray[np.uint32], tail: Int) -> Int:
    """Queue the one open literal of each domain in `single`; returns the new queue length."""
    while single:
        place = trailing_zeros(single)
        single &= single - BIT
        value = 0
        while not (s.plane[unsigned(first + 2 * value)] >> np.uint64(place)) & BIT:
            value += 1
        queue[unsigned(tail)] = np.uint32((((row << 6) + place) << 6) + value)
        tail += 1
    return tail


@part
def sweep(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> Int:
    """Queue the last value of every undecided domain that has only one; returns how many, or -1 if one has none."""
    planes, rows, values = t.planes, t.rows, t.values
    tail = 0
    for row in range(0, rows, 2):
        first = row * values
        once_a, twice_a, once_b, twice_b = NO_BITS, NO_BITS, NO_BITS, NO_BITS
        for v in range(values):
            a, b = s.plane[unsigned(first + 2 * v)], s.plane[unsigned(first + 2 * v + 1)]
            twice_a |= once_a & a
            twice_b |= once_b & b
            once_a |= a
            once_b |= b
        free_a, free_b = s.plane[unsigned(planes + row)], s.plane[unsigned(planes + row + 1)]
        if (free_a & ~once_a) | (free_b & ~once_b):
            return -1
        tail = enlist(s, row, first, free_a & ~twice_a, queue, tail)
        tail = enlist(s, row + 1, first + 1, free_b & ~twice_b, queue, tail)
    return tail


@part
def sweep_units(t: Tables, s: Searches, queue: NDArray[np.uint32], values: Int) -> Int:
    """Queue the last place of every swept group of these values (a bitset) that has only one.

    Returns how many, or -1 if a group has none.
    """
    free_low, free_high = s.plane[unsigned(t.planes)], s.plane[unsigned(t.planes + 1)]
    tail = 0
    while values:
        value = trailing_zeros(values)
        values &= values - BIT
        plane_low, plane_high = s.plane[unsigned(2 * value)], s.plane[unsigned(2 * value + 1)]
        last_low, last_high, empty = NO_BITS, NO_BITS, NO_BITS
        first, end = np.int64(t.unit_start[unsigned(value)]), np.int64(t.unit_start[unsigned(value + 1)])
        for k in range(end - first):  # free of branches, so that the compiler makes vector code of it
            low, high = plane_low & t.unit_low[unsigned(first + k)], plane_high & t.unit_high[unsigned(first + k)]
            twice = (low & (low - BIT)) | (high & (high - BIT)) | (low if high != NO_BITS else NO_BITS)
            last_low |= low if twice == NO_BITS else NO_BITS
            last_high |= high if twice == NO_BITS else NO_BITS
            empty |= BIT if (low | high) == NO_BITS else NO_BITS
        if empty:
            return -1
        last_low &= free_low
        while last_low:
            queue[unsigned(tail)] = np.uint32((trailing_zeros(last_low) << 6) + value)
            last_low &= last_low - BIT
            tail += 1
        last_high &= free_high
        while last_high:
            queue[unsigned(tail)] = np.uint32(((64 + trailing_zeros(last_high)) << 6) + value)
            last_high &= last_high - BIT
            tail += 1
    return tail


@part
def values_changed(t: Tables, s: Searches, mark: Int, length: Int) -> Int:
    """The values, as a bitset, that some domain has lost on the trail from `mark`."""
    changed = NO_BITS
    for i in range(mark, length):
        word = np.int64(s.trail[unsigned(i)])
        if word < t.planes:
            changed |= BIT << np.uint64(t.plane_value[unsigned(word)])
    return changed


@part
def propagate(
    t: Tables, s: Searches, watching: Flag, queue: NDArray[np.uint32], tail: Int, settled: Int, length: Int
) -> tuple[bool, Int]:
    """Choose the queued addresses and all that follows; returns (consistent, new trail length).

    Nothing follows any more from the trail up to `settled`; 0 for a new state.
    """
    head = 0
    alone = False
    if watching is not None and watching != 0:
        consistent, tail = digest(t, s, settled, length, queue, tail)
        if not consistent:
            return False, length
    while True:
        while head < tail:
            mark = length
            consistent = True
            was_open, length = choose(t, s, queue[unsigned(head)], alone, length)
            head += 1
            if watching is not None and watching != 0:
                consistent, tail = digest(t, s, mark, length, queue, tail)
            if not (was_open and consistent):
                return False, length
        if not t.sweeping:
            return True, length
        head, tail = 0, sweep(t, s, queue)
        alone = True
        if tail == 0 and len(t.unit_low):
            changed = values_changed(t, s, settled, length) if settled else ~NO_BITS >> np.uint64(64 - t.values)
            tail = sweep_units(t, s, queue, changed)
            settled = length
            alone = False
        if tail <= 0:
            return tail == 0, length
