"""The search itself: choose, propagate, undo, select, arrange, advance. Pure functions on arrays, compiled by Numba.

One row of `Searches` is one search. `advance` runs rows until each is finished, at its limit, out of its slice of
work, or waiting for a ranking; a row can be put aside at any of these points and taken up again later, in any order,
and its counters come out the same. Nothing is allocated per node and nothing is recursive.

All jitted functions that call each other live in this file: Numba's cache does not notice a change in another file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dibs.search.machine import borrow, ones, trailing_zeros
from dibs.search.state import (
    ARRANGE,
    ASKS,
    BACKTRACKS,
    BY_SCORE,
    DEPTH,
    ENTER,
    GIVEN,
    LIMIT,
    NODES,
    PHASE,
    RANKED,
    SAT,
    SEED,
    SOLUTIONS,
    START,
    TOP,
    TRAIL,
    TRY,
    UNSAT,
    WAIT,
    WORK,
    Rules,
    Searches,
)
from dibs.search.tables import CHOSEN, FORCE, ONE, Tables

Int = Any  # a machine integer, signed or not as Numba infers it

# A call would pass every array of the state by value, on the stack: the parts are inlined into `advance` instead.
_part = njit(forceinline=True, error_model="numpy")

_at = np.uintp  # an index known not to be negative: spares the wrap-around check of a signed one
_BIT = np.uint64(1)
_LOW = np.uint64(63)
_NONE = np.uint64(0)
_TWO = 2 * ONE


@_part
def row_of(s: Searches, r: Int) -> Searches:
    """One search as views of one dimension less."""
    return Searches(
        borrow(s.plane[r]), borrow(s.group[r]), borrow(s.value[r]), borrow(s.trail[r]), borrow(s.lost[r]),
        borrow(s.frame_domain[r]), borrow(s.frame_mark[r]), borrow(s.frame_next[r]), borrow(s.frame_end[r]),
        borrow(s.frame_found[r]), borrow(s.order[r]), borrow(s.score[r]), borrow(s.answer[r]), borrow(s.counts[r]),
    )  # fmt: skip


@_part
def borrowed(t: Tables) -> Tables:
    return Tables(
        t.rows, t.values, t.planes, t.forcing, t.watching, t.sweeping, t.hopeless,
        borrow(t.base), borrow(t.plane), borrow(t.plane_value), borrow(t.plane_first), borrow(t.mate_start),
        borrow(t.mate_word), borrow(t.mate_mask), borrow(t.watch_start), borrow(t.watch), borrow(t.group),
        borrow(t.act), borrow(t.unit_start), borrow(t.unit_low), borrow(t.unit_high),
        borrow(t.peer_start), borrow(t.peer_word), borrow(t.peer_mask),
        borrow(t.unit), borrow(t.address), borrow(t.outer),
    )  # fmt: skip


@_part
def first_word(row: Int, values: Int) -> Int:
    """The plane word of value 0 for these 64 domains; the other values follow at every second word."""
    return (row >> 1) * 2 * values + (row & 1)


@_part
def choose(t: Tables, s: Searches, address: Int, alone: bool, length: Int) -> tuple[bool, Int]:
    """Make a literal true and kill its mates in the planes; returns (it was open, new trail length).

    `alone`: its domain is known to have no other open literal. Nothing here branches on what is killed: such branches
    are mispredicted every other time, and cost more than the work they save.
    """
    planes, values = t.planes, t.values
    domain, value = np.int64(address) >> 6, np.int64(address) & 63
    bit = _BIT << (np.uint64(domain) & _LOW)
    first = first_word(domain >> 6, values)
    own = _at(first + 2 * value)
    undecided = _at(planes + (domain >> 6))
    if not s.plane[own] & bit:
        return False, length
    if not s.plane[undecided] & bit:
        return True, length
    s.plane[undecided] ^= bit
    s.value[_at(domain)] = np.uint8(value)
    s.trail[_at(length)] = np.uint32(undecided)
    s.lost[_at(length)] = bit
    length += 1
    if not alone:
        for v in range(values):
            word = _at(first + 2 * v)
            hit = s.plane[word] & bit if word != own else _NONE
            s.plane[word] ^= hit
            s.trail[_at(length)] = np.uint32(word)
            s.lost[_at(length)] = hit
            length += hit != _NONE
    literal = _at(np.int64(t.base[_at(domain)]) + value)
    for k in range(t.mate_start[literal], t.mate_start[literal + _at(1)]):
        word = t.mate_word[_at(k)]
        hit = s.plane[word] & t.mate_mask[_at(k)]
        s.plane[word] ^= hit
        s.trail[_at(length)] = word
        s.lost[_at(length)] = hit
        length += hit != _NONE
    return True, length


@_part
def watched(t: Tables, s: Searches, i: Int, bit: Int) -> tuple[Int, Int, Any]:
    """(literal, address, chosen or killed) of one bit of trail entry `i`."""
    planes = t.planes
    word = np.int64(s.trail[_at(i)])
    if word >= planes:
        domain = ((word - planes) << 6) + bit
        value = np.int64(s.value[_at(domain)])
    else:
        domain = np.int64(t.plane_first[_at(word)]) + bit
        value = np.int64(t.plane_value[_at(word)])
    return np.int64(t.base[_at(domain)]) + value, (domain << 6) + value, word >= planes


@_part
def digest(t: Tables, s: Searches, mark: Int, length: Int, queue: NDArray[np.uint32], tail: Int) -> tuple[bool, Int]:
    """Bring the watched groups up to date with the trail from `mark`; returns (consistent, new queue length).

    It goes to the end even after a conflict, so that `undo` finds groups and trail in step.
    """
    consistent = True
    for i in range(mark, length):
        bits = s.lost[_at(i)]
        while bits:
            literal, address, chosen = watched(t, s, i, trailing_zeros(bits))
            bits &= bits - _BIT
            change = CHOSEN if chosen else -(ONE + address)
            for k in range(t.watch_start[_at(literal)], t.watch_start[_at(literal + 1)]):
                g = t.watch[_at(k)]
                state = s.group[g] + change
                s.group[g] = state
                if state < _TWO:
                    if state < ONE:
                        consistent = False
                    elif t.act[g] == FORCE:
                        queue[_at(tail)] = np.uint32(state - ONE)
                        tail += 1
    return consistent, tail


@_part
def enlist(s: Searches, row: Int, first: Int, single: Int, queue: NDArray[np.uint32], tail: Int) -> Int:
    """Queue the one open literal of each domain in `single`; returns the new queue length."""
    while single:
        place = trailing_zeros(single)
        single &= single - _BIT
        value = 0
        while not (s.plane[_at(first + 2 * value)] >> np.uint64(place)) & _BIT:
            value += 1
        queue[_at(tail)] = np.uint32((((row << 6) + place) << 6) + value)
        tail += 1
    return tail


@_part
def sweep(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> Int:
    """Queue the last value of every undecided domain that has only one; returns how many, or -1 if one has none."""
    planes, rows, values = t.planes, t.rows, t.values
    tail = 0
    for row in range(0, rows, 2):
        first = row * values
        once_a, twice_a, once_b, twice_b = _NONE, _NONE, _NONE, _NONE
        for v in range(values):
            a, b = s.plane[_at(first + 2 * v)], s.plane[_at(first + 2 * v + 1)]
            twice_a |= once_a & a
            twice_b |= once_b & b
            once_a |= a
            once_b |= b
        free_a, free_b = s.plane[_at(planes + row)], s.plane[_at(planes + row + 1)]
        if (free_a & ~once_a) | (free_b & ~once_b):
            return -1
        tail = enlist(s, row, first, free_a & ~twice_a, queue, tail)
        tail = enlist(s, row + 1, first + 1, free_b & ~twice_b, queue, tail)
    return tail


@_part
def sweep_units(t: Tables, s: Searches, queue: NDArray[np.uint32], values: Int) -> Int:
    """Queue the last place of every swept group of these values (a bitset) that has only one.

    Returns how many, or -1 if a group has none.
    """
    free_low, free_high = s.plane[_at(t.planes)], s.plane[_at(t.planes + 1)]
    tail = 0
    while values:
        value = trailing_zeros(values)
        values &= values - _BIT
        plane_low, plane_high = s.plane[_at(2 * value)], s.plane[_at(2 * value + 1)]
        last_low, last_high, empty = _NONE, _NONE, _NONE
        first, end = np.int64(t.unit_start[_at(value)]), np.int64(t.unit_start[_at(value + 1)])
        for k in range(end - first):  # free of branches, so that the compiler makes vector code of it
            low, high = plane_low & t.unit_low[_at(first + k)], plane_high & t.unit_high[_at(first + k)]
            twice = (low & (low - _BIT)) | (high & (high - _BIT)) | (low if high != _NONE else _NONE)
            last_low |= low if twice == _NONE else _NONE
            last_high |= high if twice == _NONE else _NONE
            empty |= _BIT if (low | high) == _NONE else _NONE
        if empty:
            return -1
        last_low &= free_low
        while last_low:
            queue[_at(tail)] = np.uint32((trailing_zeros(last_low) << 6) + value)
            last_low &= last_low - _BIT
            tail += 1
        last_high &= free_high
        while last_high:
            queue[_at(tail)] = np.uint32(((64 + trailing_zeros(last_high)) << 6) + value)
            last_high &= last_high - _BIT
            tail += 1
    return tail


@_part
def values_changed(t: Tables, s: Searches, mark: Int, length: Int) -> Int:
    """The values, as a bitset, that some domain has lost on the trail from `mark`."""
    changed = _NONE
    for i in range(mark, length):
        word = np.int64(s.trail[_at(i)])
        if word < t.planes:
            changed |= _BIT << np.uint64(t.plane_value[_at(word)])
    return changed


@_part
def propagate(t: Tables, s: Searches, queue: NDArray[np.uint32], tail: Int, length: Int) -> tuple[bool, Int]:
    """Choose the queued addresses and all that follows; returns (consistent, new trail length).

    The state must be settled up to `length`, or new (`length` 0).
    """
    head = 0
    alone = False
    settled = length
    while True:
        while head < tail:
            mark = length
            was_open, length = choose(t, s, queue[_at(head)], alone, length)
            head += 1
            consistent = True
            if len(t.watching) > 0:
                consistent, tail = digest(t, s, mark, length, queue, tail)
            if not (was_open and consistent):
                return False, length
        if not t.sweeping:
            return True, length
        head, tail = 0, sweep(t, s, queue)
        alone = True
        if tail == 0 and len(t.unit_low):
            changed = values_changed(t, s, settled, length) if settled else ~_NONE >> np.uint64(64 - t.values)
            tail = sweep_units(t, s, queue, changed)
            settled = length
            alone = False
        if tail <= 0:
            return tail == 0, length


@_part
def undo(t: Tables, s: Searches, length: Int, mark: Int) -> None:
    """Take back everything on the trail above `mark`."""
    if len(t.watching) > 0:
        for i in range(mark, length):
            bits = s.lost[_at(i)]
            while bits:
                literal, address, chosen = watched(t, s, i, trailing_zeros(bits))
                bits &= bits - _BIT
                change = -CHOSEN if chosen else ONE + address
                for k in range(t.watch_start[_at(literal)], t.watch_start[_at(literal + 1)]):
                    s.group[t.watch[_at(k)]] += change
    for i in range(mark, length):
        s.plane[s.trail[_at(i)]] ^= s.lost[_at(i)]


@_part
def scramble(seed: Int, node: Int, item: Int) -> Int:
    """A well-mixed 63-bit number: `random` choices depend on seed, node and item, not on how searches interleave."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)
    for step in (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(31))) * step + np.uint64(item)
        x ^= x >> np.uint64(29)
    return np.int64((x * np.uint64(0xD6E8FEB86659FD93)) >> _BIT)


@_part
def fewest(t: Tables, s: Searches, row: Int) -> tuple[Int, Int]:
    """Of 64 domains: the least number of open literals of an undecided one, and the bitset of those that have it."""
    planes, values = t.planes, t.values
    first = first_word(row, values)
    free = s.plane[_at(planes + row)]
    if not free:
        return 65, _NONE
    one, two, three = _NONE, _NONE, _NONE
    for v in range(values):
        word = s.plane[_at(first + 2 * v)]
        three |= two & word
        two |= one & word
        one |= word
    if free & ~three:
        if free & ~one:
            return 0, free & ~one
        if free & ~two:
            return 1, free & ~two
        return 2, free & ~three
    # Rare: all have three or more. Count in 64 columns at once, in binary: c0 is the ones digit of each column.
    c0, c1, c2, c3, c4, c5, c6 = _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE
    for v in range(values):
        carry = s.plane[_at(first + 2 * v)]
        c0, carry = c0 ^ carry, c0 & carry
        c1, carry = c1 ^ carry, c1 & carry
        c2, carry = c2 ^ carry, c2 & carry
        c3, carry = c3 ^ carry, c3 & carry
        c4, carry = c4 ^ carry, c4 & carry
        c5, carry = c5 ^ carry, c5 & carry
        c6 ^= carry
    size = 0
    for digit in (c6, c5, c4, c3, c2, c1, c0):
        size *= 2
        if free & ~digit:
            free &= ~digit
        else:
            size += 1
    return size, free


@_part
def select(t: Tables, s: Searches, tie: Int) -> Int:
    """The undecided domain with the fewest open literals (MRV), ties by `tie`; -1 when all are decided."""
    planes, rows = t.planes, t.rows
    surely = 2 if t.forcing else 0  # no undecided domain can have fewer
    least, best = 65, -1
    for row in range(rows):
        size, among = fewest(t, s, row)
        if size < least:
            least, best = size, (row << 6) + trailing_zeros(among)
            if least == surely:
                break
    if tie == 0 or best < 0:
        return best
    best_rank = np.int64(-1)
    for row in range(rows):
        size, among = fewest(t, s, row)
        if size != least:
            continue
        while among:
            domain = (row << 6) + trailing_zeros(among)
            among &= among - _BIT
            if tie == 1:
                rank = np.int64(0)
                for k in range(t.peer_start[_at(domain)], t.peer_start[_at(domain + 1)]):
                    rank += ones(s.plane[_at(planes + t.peer_word[_at(k)])] & t.peer_mask[_at(k)])
            else:
                rank = scramble(s.counts[SEED], s.counts[NODES], domain)
            if rank > best_rank:
                best, best_rank = domain, rank
    return best


@_part
def arrange(t: Tables, s: Searches, domain: Int, order: Int, first: Int, keys: NDArray[np.float64]) -> Int:
    """Write the open literals of `domain` to `order[first:]`, best first; returns where they end.

    Equal keys stay in ascending order. NaN counts as the worst possible score.
    """
    values = t.values
    word = first_word(domain >> 6, values)
    bit = _BIT << (np.uint64(domain) & _LOW)
    base = np.int64(t.base[_at(domain)])
    end = first
    for value in range(values):
        if not s.plane[_at(word + 2 * value)] & bit:
            continue
        key = 0.0
        if order == 1 or order == 2:  # lcv, mcv: how many options the choice takes from undecided peers
            for k in range(t.mate_start[_at(base + value)], t.mate_start[_at(base + value + 1)]):
                key -= ones(s.plane[t.mate_word[_at(k)]] & t.mate_mask[_at(k)])
            if order == 2:
                key = -key
        elif order == 3:
            key = float(scramble(s.counts[SEED], s.counts[NODES], base + value + (1 << 32)))
        elif order == BY_SCORE:
            key = float(s.score[_at(base + value)])
            if np.isnan(key):
                key = -np.inf
        spot = end
        if order:
            while spot > first and keys[spot - 1] < key:
                keys[spot] = keys[spot - 1]
                s.order[spot] = s.order[spot - 1]
                spot -= 1
            keys[spot] = key
        s.order[_at(spot)] = np.uint32((domain << 6) + value)
        end += 1
    return end


@_part
def start(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> Int:
    """Lay out a fresh state and queue the givens, which stand in `order[:counts[GIVEN]]`; returns the queue length."""
    s.plane[:] = t.plane
    s.group[:] = t.group
    if t.hopeless:
        s.counts[PHASE] = UNSAT
        return -1
    tail = 0
    for i in range(s.counts[GIVEN]):
        queue[tail] = s.order[i]
        tail += 1
    for address in t.unit:
        queue[tail] = address
        tail += 1
    return tail


@_part
def asking(t: Tables, s: Searches, domain: Int, rules: Rules) -> bool:
    """Whether the guide, rather than the fixed order, ranks the values of this node."""
    if rules.trigger == 0:
        return False
    values = t.values
    first = first_word(domain >> 6, values)
    size = np.int64(0)
    for v in range(values):
        size += np.int64((s.plane[_at(first + 2 * v)] >> (np.uint64(domain) & _LOW)) & _BIT)
    return bool(size >= 2 and (rules.trigger == 1 or (size == 2) == (rules.trigger == 2)))


@_part
def enter(t: Tables, s: Searches, rules: Rules) -> None:
    """On a consistent state: note a solution, or open a node at the selected domain."""
    counts = s.counts
    domain = select(t, s, rules.tie)
    if domain < 0:
        if counts[SOLUTIONS] < len(s.answer):
            s.answer[counts[SOLUTIONS]] = s.value
        counts[SOLUTIONS] += 1
        counts[PHASE] = SAT if counts[SOLUTIONS] >= rules.wanted or counts[TOP] == 0 else TRY
        return
    if counts[NODES] >= rules.nodes:
        counts[PHASE] = LIMIT
        return
    counts[NODES] += 1
    top = counts[TOP]
    s.frame_domain[top] = domain
    s.frame_mark[top] = counts[TRAIL]
    counts[TOP] = top + 1
    counts[DEPTH] = max(counts[DEPTH], top + 1)
    counts[PHASE] = ARRANGE
    if not (rules.keep and counts[RANKED]) and asking(t, s, domain, rules):
        counts[ASKS] += 1
        counts[PHASE] = WAIT


@_part
def lay_out(t: Tables, s: Searches, rules: Rules, keys: NDArray[np.float64]) -> None:
    """Put the values of the innermost node in order."""
    top = s.counts[TOP] - 1
    domain = np.int64(s.frame_domain[top])
    first = np.int64(s.frame_end[top - 1]) if top else np.int64(0)
    end = arrange(t, s, domain, BY_SCORE if asking(t, s, domain, rules) else rules.order, first, keys)
    s.frame_next[top] = first
    s.frame_end[top] = end
    s.counts[PHASE] = TRY


@_part
def next_value(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> Int:
    """Take back the last value of the innermost node and queue the next one; returns the queue length, 1.

    When there is none the node is done, and with it the value that led to it: then it returns -1.
    """
    counts = s.counts
    top = counts[TOP] - 1
    undo(t, s, counts[TRAIL], s.frame_mark[top])
    counts[TRAIL] = s.frame_mark[top]
    if s.frame_next[top] == s.frame_end[top]:
        counts[TOP] = top
        if top == 0:
            counts[PHASE] = SAT if counts[SOLUTIONS] else UNSAT
        elif s.frame_found[top - 1] == counts[SOLUTIONS]:
            counts[BACKTRACKS] += 1
        return -1
    queue[0] = s.order[s.frame_next[top]]
    s.frame_next[top] += np.uint32(1)
    s.frame_found[top] = counts[SOLUTIONS]
    return 1


@_part
def advance_one(
    t: Tables, s: Searches, rules: Rules, budget: Int, queue: NDArray[np.uint32], keys: NDArray[np.float64]
) -> None:
    """Run one search until it is done, at its node limit, waiting for a ranking, or has done `budget` work."""
    counts = s.counts
    stop = counts[WORK] + budget
    while counts[PHASE] < SAT and counts[PHASE] != WAIT and counts[WORK] < stop:
        phase = counts[PHASE]
        if phase == ENTER:
            enter(t, s, rules)
        elif phase == ARRANGE:
            lay_out(t, s, rules, keys)
        else:
            tail = start(t, s, queue) if phase == START else next_value(t, s, queue)
            if tail < 0:
                continue
            consistent, length = propagate(t, s, queue, tail, counts[TRAIL])
            counts[WORK] += length - counts[TRAIL] + 1
            counts[TRAIL] = length
            if consistent:
                counts[PHASE] = ENTER
            elif phase == START:
                counts[PHASE] = UNSAT
            else:
                counts[BACKTRACKS] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def advance(
    t: Tables,
    s: Searches,
    rows: NDArray[np.int64],
    rules: Rules,
    budget: Int,
    queue: NDArray[np.uint32],
    keys: NDArray[np.float64],
) -> None:
    """`advance_one` for each of `rows`; `queue` [G + 2L] and `keys` [L] are scratch."""
    table = borrowed(t)
    for r in rows:
        advance_one(table, row_of(s, r), rules, budget, borrow(queue), borrow(keys))
