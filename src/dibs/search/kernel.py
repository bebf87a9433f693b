"""The search itself: choose, propagate, undo, select, arrange, advance. Pure functions on arrays, compiled by Numba.

One row of `Searches` is one search. `advance` runs rows until each is finished, at its limit, out of its slice of
work, or waiting for a ranking; a row can be put aside at any of these points and taken up again later, in any order,
and its counters come out the same. Nothing is allocated per node and nothing is recursive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.search.machine import borrow, ones, trailing_zeros, view, view_row
from dibs.search.state import (
    AGAIN,
    ALWAYS,
    ARITY,
    ARRANGE,
    ASCENDING,
    ASKS,
    BACKTRACKS,
    BEGUN,
    BINARY,
    BY_CHANCE,
    BY_DEGREE,
    BY_INDEX,
    BY_REACH,
    BY_SCORE,
    CONFIDENT,
    DEPTH,
    ENTER,
    ENTERED,
    EVENT,
    FAILED,
    FIRST,
    GIVEN,
    HOPELESS,
    JW,
    LCV,
    LIMIT,
    LOGGED,
    MCV,
    MOST,
    NEVER,
    NO_SLOT,
    NODES,
    PHASE,
    RANKED,
    RESTARTS,
    RUN,
    RUN_END,
    SAT,
    SEED,
    SHUFFLED,
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
from dibs.search.tables import CHOSEN, FORCE, ONE, SHIFT, Tables

Int = Any  # a machine integer, signed or not as Numba infers it

# `watching` and `rich`, of `Tables` and `Rules`: None or a number. They are arguments, because what stands under
# `if watching is not None` is then not even looked at by Numba where it is None: each form has only its own code.
Flag = int | None

_at = np.uintp  # an index known not to be negative: spares the wrap-around check of a signed one
_BIT = np.uint64(1)
_LOW = np.uint64(63)
_NONE = np.uint64(0)
_TWO = 2 * ONE
_HUGE = 1e30  # no score counts for more

CAUTION = 6.0  # `confident`: how much more the probability of a choice counts than its reach
STAKE = 100.0  # `confident`, formulas: open variables with which the complement counts as much as the choice
DOUBT = 0.5  # `confident`, formulas: how much it counts to be unsure, as long as mistakes cost little: that tells most
LEAST_WEIGHT = 0.02  # `confident`, formulas: of a literal that is in no open clause
DECIDES = 6  # options in the balance of `reach` that a domain decided at once counts for
HOPEFUL = 0.5  # where the solution is below with less than this probability, MRV selects and kept rankings must do
LESSON = 1.0  # what a choice loses in every ranking (a log-probability) when a run that ended on it is cut
LEAST_CHANCE = 1e-6  # no guide is surer than that of what is not the case


@part
def first_word(row: Int, values: Int) -> Int:
    """The plane word of value 0 for these 64 domains; the other values follow at every second word."""
    return (row >> 1) * 2 * values + (row & 1)


@part
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
    literal = np.int64(t.base[_at(domain)]) + value
    for k in range(t.mate_start[_at(literal)], t.mate_start[_at(literal + 1)]):
        word = t.mate_word[_at(k)]
        hit = s.plane[word] & t.mate_mask[_at(k)]
        s.plane[word] ^= hit
        s.trail[_at(length)] = word
        s.lost[_at(length)] = hit
        length += hit != _NONE
    return True, length


@part
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


@part
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


@part
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


@part
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


@part
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


@part
def values_changed(t: Tables, s: Searches, mark: Int, length: Int) -> Int:
    """The values, as a bitset, that some domain has lost on the trail from `mark`."""
    changed = _NONE
    for i in range(mark, length):
        word = np.int64(s.trail[_at(i)])
        if word < t.planes:
            changed |= _BIT << np.uint64(t.plane_value[_at(word)])
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
    if watching is not None:
        consistent, tail = digest(t, s, settled, length, queue, tail)
        if not consistent:
            return False, length
    while True:
        while head < tail:
            mark = length
            consistent = True
            was_open, length = choose(t, s, queue[_at(head)], alone, length)
            head += 1
            if watching is not None:
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


@part
def undo(t: Tables, s: Searches, watching: Flag, length: Int, mark: Int) -> None:
    """Take back everything on the trail above `mark`."""
    if watching is not None:
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


@part
def scramble(seed: Int, node: Int, item: Int) -> Int:
    """A well-mixed 63-bit number: `random` choices depend on seed, node and item, not on how searches interleave."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)
    for step in (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(31))) * step + np.uint64(item)
        x ^= x >> np.uint64(29)
    return np.int64((x * np.uint64(0xD6E8FEB86659FD93)) >> _BIT)


@part
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


@part
def pairs(t: Tables, s: Searches, row: Int) -> Int:
    """Of 64 domains: the bitset of undecided ones with exactly two open literals."""
    first = first_word(row, t.values)
    one, two, three = _NONE, _NONE, _NONE
    for v in range(t.values):
        word = s.plane[_at(first + 2 * v)]
        three |= two & word
        two |= one & word
        one |= word
    return two & ~three & s.plane[_at(t.planes + row)]


@part
def reach(t: Tables, s: Searches, domain: Int, value: Int, bits: NDArray[np.uint64]) -> Int:
    """How far a choice reaches: the options that it takes from other domains, and those that it decides by that.

    `bits` [rows] are the domains with two open literals.
    """
    literal = np.int64(t.base[_at(domain)]) + value
    taken = np.int64(0)
    for k in range(t.mate_start[_at(literal)], t.mate_start[_at(literal + 1)]):
        word = t.mate_word[_at(k)]
        hit = s.plane[word] & t.mate_mask[_at(k)]
        taken += ones(hit) + DECIDES * ones(hit & bits[_at(np.int64(t.plane_first[word]) >> 6)])
    return taken


@part
def reaches(t: Tables, s: Searches, domain: Int, bits: NDArray[np.uint64]) -> Int:
    """How far all choices at a domain reach together."""
    word = first_word(domain >> 6, t.values)
    total = np.int64(0)
    for value in range(t.values):
        if (s.plane[_at(word + 2 * value)] >> (np.uint64(domain) & _LOW)) & _BIT:
            total += reach(t, s, domain, value, bits)
    return total


@part
def is_open(t: Tables, s: Searches, address: Int) -> bool:
    """Whether a literal is open, or true."""
    word = first_word(address >> 12, t.values) + 2 * (address & 63)
    return bool((s.plane[_at(word)] >> (np.uint64(address >> 6) & _LOW)) & _BIT)


@part
def first_undecided(t: Tables, s: Searches) -> Int:
    """The undecided domain of the lowest number; -1 when all are decided."""
    for row in range(t.rows):
        if s.plane[_at(t.planes + row)]:
            return (row << 6) + trailing_zeros(s.plane[_at(t.planes + row)])
    return -1


@part
def weight(t: Tables, s: Searches, literal: Int, base: float) -> float:
    """The sum of base^-k over the watched groups of a literal that are not satisfied, with k open members.

    With base 2 it is Jeroslow and Wang's.
    """
    found = 0.0
    for k in range(t.watch_start[_at(literal)], t.watch_start[_at(literal + 1)]):
        state = s.group[t.watch[_at(k)]]
        if state < CHOSEN:
            found += base ** -np.float64(state >> SHIFT)
    return found


@part
def in_clause(t: Tables, s: Searches, tie: Int) -> Int:
    """A variable of the open clause with the fewest open literals; -1 when all clauses are satisfied.

    Ties: the first such clause and its first variable; or of all their variables the one that is in the most open
    clauses (degree), by chance (random), or that weighs most in short ones (reach: Jeroslow and Wang's sum).
    """
    least, best = np.int64(1 << 30), np.int64(-1)
    for c in range(len(t.clause)):
        size = s.group[t.clause[_at(c)]] >> SHIFT
        if size < least:  # a satisfied clause has a huge one
            least, best = size, np.int64(c)
    if least >= CHOSEN >> SHIFT:
        s.counts[ARITY] = 0
        return -1
    s.counts[ARITY] = least
    found, found_rank = np.int64(-1), -1.0
    for c in range(best, len(t.clause)):
        g = np.int64(t.clause[_at(c)])
        if s.group[_at(g)] >> SHIFT != least:
            continue
        for k in range(t.member_start[_at(g)], t.member_start[_at(g + 1)]):
            address = np.int64(t.member[_at(k)])
            domain = address >> 6
            if not is_open(t, s, address):
                continue
            if tie == BY_INDEX:
                return domain
            literal, last = np.int64(t.base[_at(domain)]), np.int64(t.base[_at(domain + 1)])
            rank = 0.0
            if tie == BY_DEGREE:
                for w in range(t.watch_start[_at(literal)], t.watch_start[_at(last)]):
                    rank += s.group[t.watch[_at(w)]] < CHOSEN
            elif tie == BY_CHANCE:
                rank = float(scramble(s.counts[SEED], s.counts[NODES], domain))
            else:
                for own in range(literal, last):
                    rank += weight(t, s, own, 2.0)
            if rank > found_rank:
                found, found_rank = domain, rank
    return found


@part
def select(t: Tables, s: Searches, watching: Flag, rules: Rules, bits: NDArray[np.uint64]) -> Int:
    """The undecided domain with the fewest open literals (MRV), ties by `rules.tie`; -1: there is none.

    Where every variable has two values and there are clauses, a variable of the smallest open clause. Selection
    `first` takes the lowest number. `bits` [rows] is scratch.
    """
    planes, rows, tie = t.planes, t.rows, rules.tie
    if rules.select == FIRST:
        return first_undecided(t, s)
    if watching is not None and len(t.clause) > 0:
        domain = in_clause(t, s, tie)
        return domain if domain >= 0 else first_undecided(t, s)
    surely = 2 if t.forcing else 0  # no undecided domain can have fewer
    least, best = 65, -1
    for row in range(rows):
        size, among = fewest(t, s, row)
        if size < least:
            least, best = size, (row << 6) + trailing_zeros(among)
            if least == surely:
                break
    if tie == BY_INDEX or best < 0:
        return best
    best_rank = np.int64(-1)
    if tie == BY_REACH:
        for row in range(rows):
            bits[_at(row)] = pairs(t, s, row)
    for row in range(rows):
        size, among = fewest(t, s, row)
        if size != least:
            continue
        while among:
            domain = (row << 6) + trailing_zeros(among)
            among &= among - _BIT
            if tie == BY_DEGREE:
                rank = np.int64(0)
                for k in range(t.peer_start[_at(domain)], t.peer_start[_at(domain + 1)]):
                    rank += ones(s.plane[_at(planes + t.peer_word[_at(k)])] & t.peer_mask[_at(k)])
            elif tie == BY_CHANCE:
                rank = scramble(s.counts[SEED], s.counts[NODES], domain)
            else:
                rank = reaches(t, s, domain, bits)
            if rank > best_rank:
                best, best_rank = domain, rank
    return best


@part
def arrange(
    t: Tables, s: Searches, watching: Flag, domain: Int, order: Int, slot: Int, first: Int, keys: NDArray[np.float64]
) -> Int:
    """Write the open literals of `domain` to `order[first:]`, best first; returns where they end.

    Equal keys stay in ascending order. BY_SCORE goes by the ranking in `slot`.
    """
    end = first
    for value in range(t.values):  # those that the domain does not have are not open
        address = (domain << 6) + value
        if not is_open(t, s, address):
            continue
        literal = np.int64(t.base[_at(domain)]) + value
        key = 0.0
        if order in (LCV, MCV):  # how many options the choice takes from undecided peers
            for k in range(t.mate_start[_at(literal)], t.mate_start[_at(literal + 1)]):
                key -= ones(s.plane[t.mate_word[_at(k)]] & t.mate_mask[_at(k)])
            if order == MCV:
                key = -key
        elif order == SHUFFLED:
            key = float(scramble(s.counts[SEED], s.counts[NODES], literal + (1 << 32)))
        elif order == BY_SCORE:
            key = score_of(s, slot, literal)
        elif order == JW:
            key = weight(t, s, literal, 2.0) if watching is not None else 0.0
        spot = end
        if order != ASCENDING:
            while spot > first and keys[spot - 1] < key:
                keys[spot] = keys[spot - 1]
                s.order[spot] = s.order[spot - 1]
                spot -= 1
            keys[spot] = key
        s.order[_at(spot)] = np.uint32(address)
        end += 1
    return end


@part
def start(t: Tables, s: Searches, rich: Flag, rules: Rules, queue: NDArray[np.uint32]) -> Int:
    """Lay out a fresh state and queue the givens, which stand in `order[:counts[GIVEN]]`; returns the queue length."""
    for i in range(len(t.plane)):
        s.plane[_at(i)] = t.plane[_at(i)]
    for i in range(len(t.group)):
        s.group[_at(i)] = t.group[_at(i)]
    if t.hopeless:
        s.counts[PHASE] = UNSAT
        return -1
    if rich is not None:
        for i in range(len(s.lesson)):
            s.lesson[_at(i)] = 0
        s.counts[SLOT] = NO_SLOT
        begin(s, rules)
    tail = 0
    for i in range(s.counts[GIVEN]):
        queue[tail] = s.order[i]
        tail += 1
    for i in range(len(t.unit)):
        queue[tail] = t.unit[_at(i)]
        tail += 1
    return tail


@part
def note(s: Searches, rich: Flag, kind: Int, what: Int) -> None:
    """Log an event, where events are wanted."""
    if rich is not None and len(s.log):
        s.log[s.counts[LOGGED]] = (kind << EVENT) | what
        s.counts[LOGGED] += 1


@part
def score_of(s: Searches, slot: Int, literal: Int) -> float:
    """What a ranking says of a literal, less what cut runs have taught.

    NaN counts as the worst possible score, and infinity as a very large one.
    """
    key = float(s.score[_at(slot), _at(literal)])
    key = -_HUGE if np.isnan(key) else min(max(key, -_HUGE), _HUGE)
    return key - float(s.lesson[_at(literal)])


@part
def first_choice(t: Tables, s: Searches, slot: Int, domain: Int) -> tuple[float, Int]:
    """(share, value) of the literal of a domain that a ranking puts first: softmax of its scores over what is open."""
    best, top, total = np.int64(0), -np.inf, 0.0
    for value in range(t.values):
        if is_open(t, s, (domain << 6) + value):
            score = score_of(s, slot, np.int64(t.base[_at(domain)]) + value)
            if score > top:
                total = total * np.exp(top - score) + 1.0
                best, top = np.int64(value), score
            else:
                total += np.exp(score - top)
    return 1.0 / max(total, 1.0), best


@part
def here(s: Searches, top: Int) -> float:
    """The probability that the solution is below a node, by the rankings so far and what has been refuted."""
    mass = np.exp(s.frame_mass[top])
    total = mass + s.frame_rest[top]
    return float(mass / total) if total > 0 else 0.0


@part
def pick(
    t: Tables, s: Searches, watching: Flag, rules: Rules, slot: Int, fallback: Int, bits: NDArray[np.uint64]
) -> tuple[Int, float]:
    """(domain to branch on, share of its first value) by the ranking in `slot`; `fallback` is what MRV takes.

    `confident`: the choice that is sure and reaches far. Where the solution is probably elsewhere, MRV it is: a subtree
    without a solution has to be searched to its end, and few values end it soonest. So it is for a domain with one
    value or none (level `eliminate`). In a formula a choice reaches far if the clauses that it makes shorter are many
    and short. The more is open the more a mistake costs: so much the more it counts to be sure, and to have a
    complement that reaches far, too, by which a mistake is soon refuted. With little open it is the other way round:
    what the guide is unsure of settles most. Formulas have many solutions: there is none that is elsewhere. `bits`
    [rows] is scratch.
    """
    size, _ = fewest(t, s, fallback >> 6)
    clauses = watching is not None and len(t.clause) > 0
    elsewhere = not clauses and here(s, s.counts[TOP] - 1) < HOPEFUL
    if rules.select != CONFIDENT or size < 2 or elsewhere:
        return fallback, first_choice(t, s, slot, fallback)[0]
    stakes = 0.0
    for row in range(t.rows):
        bits[_at(row)] = pairs(t, s, row)
        stakes += ones(s.plane[_at(t.planes + row)]) / STAKE
    stakes *= stakes
    best, best_share, best_rank = fallback, -1.0, -1.0
    for row in range(t.rows):
        among = s.plane[_at(t.planes + row)]
        while among:
            domain = (row << 6) + trailing_zeros(among)
            among &= among - _BIT
            share, value = first_choice(t, s, slot, domain)
            if clauses:
                rank = share ** (stakes - DOUBT)
                for literal in range(np.int64(t.base[_at(domain)]), np.int64(t.base[_at(domain + 1)])):
                    far = LEAST_WEIGHT + weight(t, s, literal, 4.0)  # what is left of its clauses once it is false
                    rank *= far**stakes if literal == np.int64(t.base[_at(domain)]) + value else far
            else:
                rank = share**CAUTION * (1.0 + reach(t, s, domain, value, bits))
            if rank > best_rank:
                best, best_share, best_rank = domain, share, rank
    return best, best_share


@part
def asking(t: Tables, s: Searches, watching: Flag, rules: Rules, domain: Int) -> bool:
    """Whether the guide is asked about a node that would branch on `domain` without it."""
    if rules.trigger == NEVER:
        return False
    size = np.int64(0)
    if watching is not None and len(t.clause) > 0 and rules.select != FIRST:
        size = s.counts[ARITY]  # of the clause
    else:
        first = first_word(domain >> 6, t.values)
        for v in range(t.values):
            size += np.int64((s.plane[_at(first + 2 * v)] >> (np.uint64(domain) & _LOW)) & _BIT)
    return bool(size >= 2 and (rules.trigger == ALWAYS or (size == 2) == (rules.trigger == BINARY)))


@part
def kept(s: Searches, rules: Rules, top: Int) -> tuple[Int, bool]:
    """(slot of the nearest ranking above a node or NO_SLOT, whether it may be used without asking anew).

    It may not once a first choice on the way down from it has failed. At the root it is the ranking of an earlier run.
    """
    if top == 0:
        return (0, True) if s.counts[RANKED] else (NO_SLOT, False)
    if rules.keep > 1:
        return NO_SLOT, False
    begin = np.int64(s.frame_end[top - 2]) if top > 1 else np.int64(0)
    trust = s.frame_trust[top - 1] and s.frame_next[top - 1] == begin + 1
    for above in range(top - 1, -1, -1):
        slot = np.int64(s.frame_slot[above])
        if slot != NO_SLOT and s.slot_ask[slot] == s.frame_ask[above]:
            return slot, trust
        trust = False  # there was a newer ranking, whose slot is lost
    return NO_SLOT, False


@part
def weigh(s: Searches, top: Int) -> None:
    """The probability of the path to a new node, and of all that is still to be tried above it."""
    if top == 0:
        s.frame_mass[0] = 0.0
        s.frame_rest[0] = 0.0
        return
    above = s.frame_mass[top - 1]
    at, end = np.int64(s.frame_next[top - 1]), np.int64(s.frame_end[top - 1])
    s.frame_mass[top] = above + np.log(s.chance[at - 1])
    left = 0.0
    for i in range(at, end):
        left += s.chance[i]
    s.frame_rest[top] = s.frame_rest[top - 1] + np.exp(above) * left


@part
def free_slot(s: Searches, top: Int) -> Int:
    """Where a ranking of the node goes: above those of its ancestors, or in place of the last one.

    The first slot is for the root, if there are others.
    """
    last = np.int64(len(s.slot_ask) - 1)
    fresh = np.int64(0)
    for above in range(top):
        slot = np.int64(s.frame_slot[above])
        if slot != NO_SLOT and slot >= fresh:
            fresh = slot + 1
    if top > 0 and fresh == 0:
        fresh = np.int64(1)
    return last if fresh > last else fresh


@part
def consult(t: Tables, s: Searches, watching: Flag, rules: Rules, top: Int, bits: NDArray[np.uint64]) -> None:
    """Find a ranking for the node just opened: one that is kept, or the guide's answer (phase WAIT), or none."""
    counts = s.counts
    domain = np.int64(s.frame_domain[top])
    weigh(s, top)
    s.frame_slot[top] = NO_SLOT
    s.frame_trust[top] = False
    if counts[HOPELESS]:
        if top >= counts[HOPELESS]:
            return  # no order of values can help here
        counts[HOPELESS] = 0
    if rules.static:
        if asking(t, s, watching, rules, domain):
            if counts[RANKED]:
                s.frame_slot[top] = 0
                s.frame_domain[top] = pick(t, s, watching, rules, 0, domain, bits)[0]
            elif counts[ASKS] < rules.asks:
                counts[RANKED] = 1
                ask(s, 0, top)
        return
    slot, trusted = kept(s, rules, top)
    if slot != NO_SLOT:
        best, share = pick(t, s, watching, rules, slot, domain, bits)
        s.frame_slot[top] = slot
        s.frame_ask[top] = s.slot_ask[slot]
        if trusted and (top == 0 or share >= rules.keep):
            s.frame_domain[top] = best
            s.frame_trust[top] = True
            return
    # Where there is a ranking and the solution is probably elsewhere, another one would be wasted.
    hopeful = slot == NO_SLOT or here(s, top) >= HOPEFUL
    if hopeful and counts[ASKS] < rules.asks and asking(t, s, watching, rules, domain):
        if top == 0 and len(s.slot_ask) > 1:
            counts[RANKED] = 1
        ask(s, free_slot(s, top), top)
    elif slot != NO_SLOT:
        s.frame_domain[top] = best


@part
def ask(s: Searches, slot: Int, top: Int) -> None:
    """Wait for the guide's ranking of the innermost node; it goes to `slot`."""
    s.counts[ASKS] += 1
    s.counts[SLOT] = slot
    s.counts[PHASE] = WAIT
    s.frame_slot[top] = slot
    s.frame_ask[top] = s.counts[ASKS]
    s.slot_ask[slot] = s.counts[ASKS]
    s.frame_trust[top] = True


@part
def luby(i: Int) -> Int:
    """1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: the i-th, from 1."""
    size = np.int64(1)
    while size < i + 1:
        size *= 2
    while size - 1 != i:
        i -= size // 2 - 1
        size = np.int64(1)
        while size < i + 1:
            size *= 2
    return size // 2


@part
def begin(s: Searches, rules: Rules) -> None:
    """Begin a run: its budget."""
    counts = s.counts
    counts[RUN] += 1
    if rules.strategy == RESTARTS:
        counts[RUN_END] = counts[NODES] + rules.unit * luby(counts[RUN])
    note(s, rules.rich, BEGUN, counts[RUN])


@part
def learn(t: Tables, s: Searches) -> None:
    """What a run that was cut teaches: the choices that it ended on are less likely than rankings say."""
    for top in range(s.counts[TOP]):
        address = np.int64(s.order[s.frame_next[top] - 1])
        literal = np.int64(t.base[_at(address >> 6)]) + (address & 63)
        s.lesson[_at(literal)] += np.float32(LESSON)


@part
def again(t: Tables, s: Searches, watching: Flag, rules: Rules) -> Int:
    """Go back to the root for another run; returns the queue length, 0.

    What the last run refuted at the root stays out: those values are killed for good.
    """
    counts = s.counts
    counts[PHASE] = ENTER
    learn(t, s)
    mark = np.int64(s.frame_mark[0])
    if counts[TOP]:
        undo(t, s, watching, counts[TRAIL], mark)
        counts[TRAIL] = mark
    length = mark
    if counts[TOP]:
        for i in range(np.int64(s.frame_next[0]) - 1):
            address = np.int64(s.order[i])
            word = first_word(address >> 12, t.values) + 2 * (address & 63)
            bit = _BIT << (np.uint64(address >> 6) & _LOW)
            s.plane[_at(word)] ^= bit
            s.trail[_at(length)] = np.uint32(word)
            s.lost[_at(length)] = bit
            length += 1
    counts[TRAIL] = length
    counts[TOP] = 0
    begin(s, rules)
    return 0


@part
def enter(t: Tables, s: Searches, watching: Flag, rich: Flag, rules: Rules, bits: NDArray[np.uint64]) -> None:
    """On a consistent state: note a solution, or open a node at what is selected."""
    counts = s.counts
    domain = select(t, s, watching, rules, bits)
    if domain < 0:
        if counts[SOLUTIONS] < len(s.answer):
            for i in range(len(s.value)):
                s.answer[counts[SOLUTIONS], i] = s.value[_at(i)]
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
