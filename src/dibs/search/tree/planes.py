"""Bits: open literals as planes, one for each value. Choose, undo, and the states of watched groups.

One row of `Searches` is one search. Nothing is allocated per node and nothing is recursive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dibs.compiled import part
from dibs.machine import trailing_zeros
from dibs.search.tree.state import Searches
from dibs.search.tree.tables import CHOSEN, ONE, Tables

Int = Any  # a machine integer, signed or not as Numba infers it
# `watching` and `rich`, of `Tables` and `Rules`: None or a number. They are arguments, because what stands under
# `if watching is not None` is then not even looked at by Numba where it is None: each form has only its own code. The
# rich form is one for both, where `watching` is 0 or 1.
Flag = int | None
unsigned = np.uintp  # an index known not to be negative: spares the wrap-around check of a signed one
BIT = np.uint64(1)
LOW = np.uint64(63)
NO_BITS = np.uint64(0)


@part
def first_word(row: Int, values: Int) -> Int:
    """The plane word of value 0 for these 64 domains; the other values follow at every second word."""
    return (row >> 1) * 2 * values + (row & 1)


@part
def is_open(t: Tables, s: Searches, address: Int) -> bool:
    """Whether a literal is open, or true."""
    word = first_word(address >> 12, t.values) + 2 * (address & 63)
    return bool((s.plane[unsigned(word)] >> (np.uint64(address >> 6) & LOW)) & BIT)


@part
def watched(t: Tables, s: Searches, i: Int, bit: Int) -> tuple[Int, Int, Any]:
    """(literal, address, chosen or killed) of one bit of trail entry `i`."""
    planes = t.planes
    word = np.int64(s.trail[unsigned(i)])
    if word >= planes:
        domain = ((word - planes) << 6) + bit
        value = np.int64(s.value[unsigned(domain)])
    else:
        domain = np.int64(t.plane_first[unsigned(word)]) + bit
        value = np.int64(t.plane_value[unsigned(word)])
    return np.int64(t.base[unsigned(domain)]) + value, (domain << 6) + value, word >= planes


@part
def choose(t: Tables, s: Searches, address: Int, alone: bool, length: Int) -> tuple[bool, Int]:
    """Make a literal true and kill its mates in the planes; returns (it was open, new trail length).

    `alone`: its domain is known to have no other open literal. Nothing here branches on what is killed: such branches
    are mispredicted every other time, and cost more than the work they save.
    """
    planes, values = t.planes, t.values
    domain, value = np.int64(address) >> 6, np.int64(address) & 63
    bit = BIT << (np.uint64(domain) & LOW)
    first = first_word(domain >> 6, values)
    own = unsigned(first + 2 * value)
    undecided = unsigned(planes + (domain >> 6))
    if not s.plane[own] & bit:
        return False, length
    if not s.plane[undecided] & bit:
        return True, length
    s.plane[undecided] ^= bit
    s.value[unsigned(domain)] = np.uint8(value)
    s.trail[unsigned(length)] = np.uint32(undecided)
    s.lost[unsigned(length)] = bit
    length += 1
    if not alone:
        for v in range(values):
            word = unsigned(first + 2 * v)
            hit = s.plane[word] & bit if word != own else NO_BITS
            s.plane[word] ^= hit
            s.trail[unsigned(length)] = np.uint32(word)
            s.lost[unsigned(length)] = hit
            length += hit != NO_BITS
    literal = np.int64(t.base[unsigned(domain)]) + value
    for k in range(t.mate_start[unsigned(literal)], t.mate_start[unsigned(literal + 1)]):
        word = t.mate_word[unsigned(k)]
        hit = s.plane[word] & t.mate_mask[unsigned(k)]
        s.plane[word] ^= hit
        s.trail[unsigned(length)] = word
        s.lost[unsigned(length)] = hit
        length += hit != NO_BITS
    return True, length


@part
def undo(t: Tables, s: Searches, watching: Flag, length: Int, mark: Int) -> None:
    """Take back everything on the trail above `mark`."""
    if watching is not None and watching != 0:
        for i in range(mark, length):
            bits = s.lost[unsigned(i)]
            while bits:
                literal, address, chosen = watched(t, s, i, trailing_zeros(bits))
                bits &= bits - BIT
                change = -CHOSEN if chosen else ONE + address
                for k in range(t.watch_start[unsigned(literal)], t.watch_start[unsigned(literal + 1)]):
                    s.group[t.watch[unsigned(k)]] += change
    for i in range(mark, length):
        s.plane[s.trail[unsigned(i)]] ^= s.lost[unsigned(i)]
