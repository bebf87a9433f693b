"""A structure at one propagation level, laid out for the kernel.

The kernel never sees a Sudoku or a clause: only these arrays. What a level means is decided here, once:

    level       decision groups             required groups     implied groups
    eliminate   noticed when selected       fail when empty     not watched
    naked       forced at one, fail empty   the same            not watched
    hidden      forced at one, fail empty   the same            the same

What is forced is found in one of two ways. Where every forcing group is in one plane (below) of at most two words, as
in a 9x9 Sudoku, a few passes of ANDs and ORs over all domains and groups find it (`sweep`). Otherwise groups are
*watched*: every killed literal is taken out of the groups it is in.

Inside the kernel the decision groups cut the literals into disjoint *domains* of at most 64 values. A literal's
*address* is 64 * domain + value. Which literals are open is kept by value: a *plane* for each value has a bit for each
domain, so one AND takes a value from a whole neighbourhood, and nine ANDs and ORs find every cell with one value left.

A structure's decision group that overlaps an earlier one or has more than 64 members is watched instead of branched
on, and a literal left without a domain gets one of its own, {literal, its complement}; so every structure fits, and
each solution is still found exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.clock import in_time, never
from dibs.compiled import entry
from dibs.machine import trailing_zeros
from dibs.problem.structure import Level, Need, Structure

# A watched group's state is one number: (open members, plus CHOSEN for each true one) << SHIFT | sum of open addresses.
# One subtraction kills a literal; with one member open the low bits *are* that literal; a satisfied group is far away.
SHIFT = 36
ONE = 1 << SHIFT
CHOSEN = 1 << (SHIFT + 13)
MOST_MEMBERS = (1 << 13) - 1
DOMAIN = 64
STEP = 1_000_000  # pairs of literals between two looks at the clock: some milliseconds

IGNORE, CHECK, FORCE = 0, 1, 2  # what happens when a group runs out of open members


class Tables(NamedTuple):
    """Read-only arrays of one structure at one level: L literals, D domains, G watched groups."""

    rows: int  # R: domains go by 64, R is even
    values: int  # the most literals of a domain
    planes: int  # P = R * values
    forcing: bool  # a domain with one value left takes it
    watching: int | None  # 1 if there are watched groups, else None, which is compiled apart (or 0: planes.py)
    sweeping: bool  # there are none, and what is forced is found by passes over all domains
    hopeless: bool  # some group is empty from the start
    base: NDArray[np.uint32]  # [D+1] the first literal of each domain (literals are numbered domain by domain)
    plane: NDArray[np.uint64]  # [P+R] every literal open (`plane_bit` says where), then R words: undecided domains
    plane_value: NDArray[np.uint32]  # [P] the value of each plane word
    plane_first: NDArray[np.uint32]  # [P] the domain of its bit 0
    mate_start: NDArray[np.uint32]  # [L+1] what choosing a literal kills in other domains: (plane word, mask) pairs
    mate_word: NDArray[np.uint32]
    mate_mask: NDArray[np.uint64]
    watch_start: NDArray[np.uint32]  # [L+1] watched groups of a literal, its own domain among them if there are any
    watch: NDArray[np.uint32]
    group: NDArray[np.int64]  # [G] group states with every literal open
    act: NDArray[np.uint8]  # [G] IGNORE, CHECK or FORCE
    unit_start: NDArray[np.uint32]  # [values+1] swept groups: all members have the same value, D <= 128
    unit_low: NDArray[np.uint64]  # their members among domains 0..63
    unit_high: NDArray[np.uint64]  # and 64..127
    peer_start: NDArray[np.uint32]  # [D+1] domains that can take a literal from each: (word, mask) pairs
    peer_word: NDArray[np.uint32]
    peer_mask: NDArray[np.uint64]
    member_start: NDArray[np.uint32]  # [G+1] the members of watched groups
    member: NDArray[np.uint32]  # addresses, in the structure's order
    clause: NDArray[np.uint32]  # [C] the watched groups that are clauses: at least one, in a structure of two values
    unit: NDArray[np.uint32]  # addresses that a one-member group forces before any choice
    address: NDArray[np.uint32]  # [structure's literals] where each of its literals went
    outer: NDArray[np.int64]  # [L] the structure's literal, or -1 for a complement


# Every formula has a structure of its own: what belongs to one goes with it.
_known: WeakKeyDictionary[Structure, dict[Level, Tables]] = WeakKeyDictionary()


def tables(structure: Structure, level: Level, late: Callable[[], bool] = never) -> Tables:
    """The kernel's view of `structure` at `level`, built once. Raises `Late` once `late()` is true."""
    if structure.bounded:
        raise ValueError("the tree search has no groups with bounds: they are for strategy nogoods, or another engine")
    found = _known.setdefault(structure, {})
    if level not in found:
        found[level] = _build(structure, level, late)
    return found[level]


def copied(structure: Structure, level: Level, of: Tables) -> Structure:
    """Another structure with the same groups, whose tables at `level` are these."""
    found = replace(structure)
    _known[found] = {level: of}
    return found


def _build(s: Structure, level: Level, late: Callable[[], bool]) -> Tables:
    sizes = np.diff(s.start)
    owner = np.repeat(np.arange(s.groups), sizes)
    branch, outer, base = _domains(s, sizes)
    in_time(late)
    domain = np.repeat(np.arange(len(base) - 1), np.diff(base))
    address_of = domain * DOMAIN + np.arange(len(outer)) - base[domain]  # [L] by the kernel's numbering
    inner = np.full(s.literals, -1, np.int64)
    inner[outer[outer >= 0]] = np.flatnonzero(outer >= 0)

    act = np.where(s.need == Need.REQUIRED, CHECK if level == "eliminate" else FORCE, IGNORE).astype(np.uint8)
    if level == "hidden":
        act[s.need == Need.IMPLIED] = FORCE
    act[branch] = IGNORE
    forcing = level != "eliminate"
    address = address_of[inner[s.member]]
    domains, values = len(base) - 1, int(np.diff(base).max(initial=0))
    clauses = (act != IGNORE) & ~s.exclusive & (values == 2)  # looked at one by one when a variable is chosen
    swept = np.zeros(s.groups, bool)
    if forcing and not clauses.any():
        swept = _swept(act, address, owner, sizes, domains)
    watched = (act != IGNORE) & ~swept
    if forcing and watched.any():  # literals are looked at one by one: domains are groups like others
        act[branch] = FORCE
        watched |= branch
    in_time(late)
    watch_start, watch, group = _watches(s, watched, inner, address, owner, sizes, len(outer))
    lone = watched & (sizes == 1) & (act == FORCE)

    rows = -(-domains // 128) * 2
    turned = plane_bit(address_of, values)
    home, spot = domain[inner[s.member]], turned[inner[s.member]]
    inside = s.exclusive[owner]
    in_time(late)
    start, group_of = _csr(inner[s.member[inside]], owner[inside], len(outer))
    begin = s.start.copy()  # the structure's own may be read-only by now, for which Numba would compile once more
    mate_start, mate_word, mate_mask = _packed(
        _Lists(start, group_of, domain, begin, home, spot), (values + 1) * rows, late
    )
    row, column = _pairs(home[inside], owner[inside], s.groups)
    in_time(late)
    start, group_of = _csr(row, column, domains)
    own = np.arange(domains)
    peer_start, peer_word, peer_mask = _packed(_Lists(start, group_of, own, begin, home, home), max(rows, 1), late)
    unit_start, unit_low, unit_high = _units(swept, address, owner, values)
    return Tables(
        rows=rows,
        values=values,
        planes=rows * values,
        forcing=forcing,
        watching=1 if watched.any() else None,
        sweeping=forcing and not watched.any(),
        hopeless=bool((watched & (sizes == 0)).any()),
        base=base.astype(np.uint32),
        plane=_words(np.concatenate([turned, values * rows * 64 + np.arange(domains)]), (values + 1) * rows),
        plane_value=np.tile(np.repeat(np.arange(values), 2), rows // 2).astype(np.uint32),
        plane_first=(np.repeat(np.arange(rows // 2) * 128, 2 * values) + np.arange(rows * values) % 2 * 64).astype(
            np.uint32
        ),
        mate_start=mate_start,
        mate_word=mate_word,
        mate_mask=mate_mask,
        watch_start=watch_start,
        watch=watch,
        group=group,
        act=act[watched],
        unit_start=unit_start,
        unit_low=unit_low,
        unit_high=unit_high,
        peer_start=peer_start,
        peer_word=peer_word,
        peer_mask=peer_mask,
        member_start=np.concatenate([[0], np.cumsum(sizes[watched])]).astype(np.uint32),
        member=address[watched[owner]].astype(np.uint32),
        clause=(np.cumsum(watched) - 1)[clauses].astype(np.uint32),
        unit=address[s.start[:-1][lone]].astype(np.uint32),
        address=address_of[inner].astype(np.uint32),
        outer=outer,
    )


def _swept(
    act: NDArray[np.uint8], address: NDArray[np.int64], owner: NDArray[np.int64], sizes: NDArray[np.int64], domains: int
) -> NDArray[np.bool_]:
    """[groups] whether all forcing groups can be swept: each in one plane, and a plane of two words. All or none."""
    forced = act != IGNORE
    value = address % DOMAIN
    low = np.full(len(act), DOMAIN)
    high = np.full(len(act), -1)
    np.minimum.at(low, owner, value)
    np.maximum.at(high, owner, value)
    fits = domains <= 2 * 64 and bool((low == high)[forced].all())
    return forced if fits else np.zeros(len(act), bool)


def _units(
    swept: NDArray[np.bool_], address: NDArray[np.int64], owner: NDArray[np.int64], values: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]:
    """The swept groups by value: where those of each value begin, and their members as two words."""
    inside = swept[owner]
    domain, value, group = address[inside] // DOMAIN, address[inside] % DOMAIN, owner[inside]
    key, where = np.unique(value * len(swept) + group, return_inverse=True)
    words = np.zeros((2, len(key)), np.uint64)
    np.bitwise_or.at(words, (domain // 64, where), np.uint64(1) << (domain % 64).astype(np.uint64))
    start = np.searchsorted(key, np.arange(values + 1) * len(swept))
    return start.astype(np.uint32), words[0], words[1]


def plane_bit(address: NDArray[np.integer[Any]], values: int) -> NDArray[np.int64]:
    """Where a literal stands in the planes. Words go by 128 domains, then by value, then by half: one cache line after
    the other for a pass over all values of the same domains, and two halves that the processor can work on at once."""
    domain, value = address.astype(np.int64) // DOMAIN, address.astype(np.int64) % DOMAIN
    word = domain // 128 * 2 * values + 2 * value + domain // 64 % 2
    return word * 64 + domain % 64


def _watches(
    s: Structure,
    watched: NDArray[np.bool_],
    inner: NDArray[np.int64],
    address: NDArray[np.int64],
    owner: NDArray[np.int64],
    sizes: NDArray[np.int64],
    literals: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    """The watched groups of each literal as CSR, and the state of each watched group with every literal open."""
    total = np.bincount(owner, weights=address, minlength=s.groups)
    if sizes[watched].max(initial=0) > MOST_MEMBERS or total[watched].max(initial=0) >= ONE:
        raise ValueError(
            f"a group of {sizes[watched].max()} literals is too large: at most {MOST_MEMBERS} members, "
            f"and on {s.literals} literals their numbers must add up to less than {ONE}"
        )
    number = np.cumsum(watched) - 1
    seen = watched[owner]
    start, watch = _csr(inner[s.member[seen]], number[owner[seen]], literals)
    return start, watch, (sizes[watched] << SHIFT) + total[watched].astype(np.int64)


def _domains(s: Structure, sizes: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Which groups become domains [groups], the structure's literals in domain order [L], where domains begin [D+1]."""
    branch = np.zeros(s.groups, bool)
    members = s.member[: s.start[s.decisions]]
    if s.disjoint:
        branch[: s.decisions] = True  # the usual case: cells or variables, disjoint already
    else:
        taken = np.zeros(s.literals, bool)
        for g in range(s.decisions):
            own = s.members(g)
            if len(own) <= DOMAIN and not taken[own].any():
                branch[g] = True
                taken[own] = True
        members = s.member[np.repeat(branch, sizes)]
    lonely = np.flatnonzero(np.bincount(members, minlength=s.literals) == 0)
    pairs = np.stack([lonely, np.full_like(lonely, -1)], axis=1).ravel()
    width = np.concatenate([sizes[branch], np.full(len(lonely), 2)])
    return branch, np.concatenate([members, pairs]), np.concatenate([[0], np.cumsum(width)]).astype(np.int64)


def _csr(row: NDArray[np.int64], column: NDArray[np.int64], rows: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """`column` is ascending, at least for each row."""
    order = np.argsort(row, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return start.astype(np.uint32), column[order].astype(np.uint32)


def _pairs(left: NDArray[np.int64], right: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (left, right), once each; `right` is below `size`."""
    keys = np.sort(left * size + right)  # `np.unique` takes ten times as long
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return keys // max(size, 1), keys % max(size, 1)


class _Lists(NamedTuple):
    """What `_packed` lays out: rows with groups, groups with members."""

    row_start: NDArray[np.uint32]  # [rows+1] the groups of each row
    row_group: NDArray[np.uint32]
    row_domain: NDArray[np.int64]  # [rows]
    start: NDArray[np.int64]  # [groups+1] the members of each group
    home: NDArray[np.int64]  # the domain of each
    bit: NDArray[np.int64]  # and its bit in the result


def _packed(
    lists: _Lists, words: int, late: Callable[[], bool]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]:
    """For each row the members of its groups in other domains, as a sparse bitset: (word, mask) pairs, words ascending.

    `words`: how many words the bits are in.
    """
    rows = len(lists.row_domain)
    members = np.concatenate([[0], np.cumsum(np.diff(lists.start)[lists.row_group])])[lists.row_start]  # before each
    steps = np.arange(0, members[-1] + 1, STEP)
    cuts = [*np.unique(np.searchsorted(members, steps, "right") - 1).tolist(), rows]
    ends = np.zeros(rows + 1, np.uint32)
    found = np.empty(0, np.uint32), np.empty(0, np.uint64)
    mask, touched = np.zeros(words, np.uint64), np.zeros(words // 64 + 1, np.uint64)
    for filling in (False, True):  # first how many there are: half of the time of a large table is new memory
        for first, last in pairwise(cuts):
            in_time(late)
            _pack(lists, first, last, filling, mask, touched, ends, *found)
        if not filling:
            found = np.empty(ends[-1], np.uint32), np.empty(ends[-1], np.uint64)
    return ends, *found


@entry()
def _pack(
    lists: _Lists,
    first: int,
    last: int,
    filling: bool,
    mask: NDArray[np.uint64],
    touched: NDArray[np.uint64],
    ends: NDArray[np.uint32],
    found_word: NDArray[np.uint32],
    found_mask: NDArray[np.uint64],
) -> None:
    """The pairs of the rows from `first` to `last`, or only where they end. `mask`, `touched` are scratch, and 0.

    Compiled, because a 36x36 Sudoku has six million pairs of literals that exclude each other, and sorting them takes
    seconds. `touched` has a bit for each word of `mask` that is not 0: nothing is sorted.
    """
    row_start, row_group, row_domain, start, home, bit = lists
    total = np.int64(ends[first])
    for row in range(first, last):
        low, high = len(mask), -1
        for k in range(row_start[row], row_start[row + 1]):
            group = row_group[k]
            for i in range(start[group], start[group + 1]):
                if home[i] != row_domain[row]:
                    word = bit[i] >> 6
                    mask[word] |= np.uint64(1) << np.uint64(bit[i] & 63)
                    touched[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
                    low, high = min(low, word), max(high, word)
        for far in range(low >> 6, (high >> 6) + 1):
            bits = touched[far]
            touched[far] = 0
            while bits:
                word = (far << 6) + trailing_zeros(bits)
                bits &= bits - np.uint64(1)
                if filling:
                    found_word[total] = word
                    found_mask[total] = mask[word]
                mask[word] = 0
                total += 1
        ends[row + 1] = total


def _words(bits: NDArray[np.int64], words: int) -> NDArray[np.uint64]:
    """A bitset of that many words with these bits set."""
    flags = np.zeros(words * 64, np.uint8)
    flags[bits] = 1
    return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64)
