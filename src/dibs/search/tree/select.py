"""Which domain is branched on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.machine import ones, trailing_zeros
from dibs.search.tree.chance import scramble
from dibs.search.tree.planes import BIT, LOW, NO_BITS, Flag, Int, first_word, is_open, unsigned
from dibs.search.tree.state import ARITY, BY_CHANCE, BY_DEGREE, BY_IMPACT, BY_INDEX, FIRST, NODES, SEED, Rules, Searches
from dibs.search.tree.tables import CHOSEN, SHIFT, Tables

DECIDES = 6  # options in the balance of `impact` that a domain decided at once counts for


@part
def fewest(t: Tables, s: Searches, row: Int) -> tuple[Int, Int]:
    """Of 64 domains: the least number of open literals of an undecided one, and the bitset of those that have it."""
    planes, values = t.planes, t.values
    first = first_word(row, values)
    free = s.plane[unsigned(planes + row)]
    if not free:
        return 65, NO_BITS
    one, two, three = NO_BITS, NO_BITS, NO_BITS
    for v in range(values):
        word = s.plane[unsigned(first + 2 * v)]
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
    c0, c1, c2, c3, c4, c5, c6 = NO_BITS, NO_BITS, NO_BITS, NO_BITS, NO_BITS, NO_BITS, NO_BITS
    for v in range(values):
        carry = s.plane[unsigned(first + 2 * v)]
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
    one, two, three = NO_BITS, NO_BITS, NO_BITS
    for v in range(t.values):
        word = s.plane[unsigned(first + 2 * v)]
        three |= two & word
        two |= one & word
        one |= word
    return two & ~three & s.plane[unsigned(t.planes + row)]


@part
def impact(t: Tables, s: Searches, domain: Int, value: Int, bits: NDArray[np.uint64]) -> Int:
    """How far a choice reaches: the options that it takes from other domains, and those that it decides by that.

    `bits` [rows] are the domains with two open literals.
    """
    literal = np.int64(t.base[unsigned(domain)]) + value
    taken = np.int64(0)
    for k in range(t.mate_start[unsigned(literal)], t.mate_start[unsigned(literal + 1)]):
        word = t.mate_word[unsigned(k)]
        hit = s.plane[word] & t.mate_mask[unsigned(k)]
        taken += ones(hit) + DECIDES * ones(hit & bits[unsigned(np.int64(t.plane_first[word]) >> 6)])
    return taken


@part
def impacts(t: Tables, s: Searches, domain: Int, bits: NDArray[np.uint64]) -> Int:
    """How far all choices at a domain reach together."""
    word = first_word(domain >> 6, t.values)
    total = np.int64(0)
    for value in range(t.values):
        if (s.plane[unsigned(word + 2 * value)] >> (np.uint64(domain) & LOW)) & BIT:
            total += impact(t, s, domain, value, bits)
    return total


@part
def first_undecided(t: Tables, s: Searches) -> Int:
    """The undecided domain of the lowest number; -1 when all are decided."""
    for row in range(t.rows):
        if s.plane[unsigned(t.planes + row)]:
            return (row << 6) + trailing_zeros(s.plane[unsigned(t.planes + row)])
    return -1


@part
def weight(t: Tables, s: Searches, literal: Int, base: float) -> float:
    """The sum of base^-k over the watched groups of a literal that are not satisfied, with k open members.

    With base 2 it is Jeroslow and Wang's.
    """
    found = 0.0
    for k in range(t.watch_start[unsigned(literal)], t.watch_start[unsigned(literal + 1)]):
        state = s.group[t.watch[unsigned(k)]]
        if state < CHOSEN:
            found += base ** -np.float64(state >> SHIFT)
    return found


@part
def in_clause(t: Tables, s: Searches, tie: Int) -> Int:
    """A variable of the open clause with the fewest open literals; -1 when all clauses are satisfied.

    Ties: the first such clause and its first variable; or of all their variables the one that is in the most open
    clauses (degree), by chance (random), or that weighs most in short ones (impact: Jeroslow and Wang's sum).
    """
    least, best = np.int64(1 << 30), np.int64(-1)
    for c in range(len(t.clause)):
        size = s.group[t.clause[unsigned(c)]] >> SHIFT
        if size < least:  # a satisfied clause has a huge one
            least, best = size, np.int64(c)
    if least >= CHOSEN >> SHIFT:
        s.counts[ARITY] = 0
        return -1
    s.counts[ARITY] = least
    found, found_rank = np.int64(-1), -1.0
    for c in range(best, len(t.clause)):
        g = np.int64(t.clause[unsigned(c)])
        if s.group[unsigned(g)] >> SHIFT != least:
            continue
        for k in range(t.member_start[unsigned(g)], t.member_start[unsigned(g + 1)]):
            address = np.int64(t.member[unsigned(k)])
            domain = address >> 6
            if not is_open(t, s, address):
                continue
            if tie == BY_INDEX:
                return domain
            literal, last = np.int64(t.base[unsigned(domain)]), np.int64(t.base[unsigned(domain + 1)])
            rank = 0.0
            if tie == BY_DEGREE:
                for w in range(t.watch_start[unsigned(literal)], t.watch_start[unsigned(last)]):
                    rank += s.group[t.watch[unsigned(w)]] < CHOSEN
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
    if tie == BY_IMPACT:
        for row in range(rows):
            bits[unsigned(row)] = pairs(t, s, row)
    for row in range(rows):
        size, among = fewest(t, s, row)
        if size != least:
            continue
        while among:
            domain = (row << 6) + trailing_zeros(among)
            among &= among - BIT
            if tie == BY_DEGREE:
                rank = np.int64(0)
                for k in range(t.peer_start[unsigned(domain)], t.peer_start[unsigned(domain + 1)]):
                    rank += ones(s.plane[unsigned(planes + t.peer_word[unsigned(k)])] & t.peer_mask[unsigned(k)])
            elif tie == BY_CHANCE:
                rank = scramble(s.counts[SEED], s.counts[NODES], domain)
            else:
                rank = impacts(t, s, domain, bits)
            if rank > best_rank:
                best, best_rank = domain, rank
    return best
