"""The search itself: choose, propagate, undo, select, arrange, advance. Pure functions on arrays, compiled by Numba.

One row of `Searches` is one search. `advance` runs rows until each is finished, at its limit, out of its slice of
work, or waiting for a ranking; a row can be put aside at any of these points and taken up again later, in any order,
and its counters come out the same. Nothing is allocated per node and nothing is recursive.

All jitted functions that call each other live in this file: Numba's cache does not notice a change in another file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from dibs.search.tables import CHOSEN, FORCE, ONE, Tables

# A call would pass every array of the state by value, on the stack: the parts are inlined into `advance` instead.
_part = njit(forceinline=True, error_model="numpy")

# Phases of a search: `count[row, PHASE]`.
START, ENTER, WAIT, ARRANGE, TRY, SAT, UNSAT, LIMIT = range(8)

# Columns of `Searches.count`.
PHASE = 0  # one of the phases above
NODES = 1  # entries into branching on a consistent, incomplete state
BACKTRACKS = 2  # tried values that failed, at once or after their subtree
ASKS = 3  # rankings asked of the guide
DEPTH = 4  # the most decisions that ever stood at once
SOLUTIONS = 5  # solutions found so far
WORK = 6  # literals chosen or killed so far
SEED = 7  # drives `random` ties and orders
TOP = 8  # open frames
TRAIL = 9  # literals on the trail
GIVEN = 10  # how many literals stand in `order` before the start
RANKED = 11  # the scores at hand may be used
COUNTERS = 12

TIES = {"index": 0, "degree": 1, "random": 2}
ORDERS = {"ascending": 0, "lcv": 1, "mcv": 2, "random": 3}
BY_SCORE = 4
TRIGGERS = {"never": 0, "always": 1, "binary": 2, "ternary": 3}

DECIDED = np.uint16(65535)  # `Searches.size` of a domain with a chosen literal

_TRUE = np.uint32(1 << 31)  # marks a chosen address on the trail; unmarked ones were killed
_ADDRESS = np.uint32((1 << 31) - 1)
_BIT = np.uint64(1)
_LOW = np.uint64(63)
_TWO = 2 * ONE


class Searches(NamedTuple):
    """The states of N searches over the same tables (L, D, G as there).

    A domain's word in `open` holds its open literals, or its chosen one alone once it is decided.
    """

    open: NDArray[np.uint64]  # [N, D]
    size: NDArray[np.uint16]  # [N, D] open literals of each domain, or DECIDED
    before: NDArray[np.uint64]  # [N, D] a decided domain's word just before
    free: NDArray[np.uint64]  # [N, ceil(D/64)] bit set: domain not decided
    group: NDArray[np.int64]  # [N, G] watched groups, see tables.py
    trail: NDArray[np.uint32]  # [N, L] addresses chosen, and killed in other domains, in order
    frame_domain: NDArray[np.uint32]  # [N, D+1] the domain each open node branches on
    frame_mark: NDArray[np.uint32]  # [N, D+1] trail length when the node was entered
    frame_next: NDArray[np.uint32]  # [N, D+1] position in `order` of the value to try next
    frame_end: NDArray[np.uint32]  # [N, D+1] where its values end (and the next node's begin)
    frame_found: NDArray[np.int64]  # [N, D+1] solutions known when its current value was tried
    order: NDArray[np.uint32]  # [N, L] addresses: the values of all open nodes, in the order they are tried
    score: NDArray[np.float32]  # [N, L] the guide's last answer ([N, 0] without a guide)
    answer: NDArray[np.uint64]  # [N, A, D] the first A solutions: one bit in each word
    count: NDArray[np.int64]  # [N, COUNTERS]


class Rules(NamedTuple):
    """The options of a search as the kernel reads them."""

    tie: int  # TIES
    order: int  # ORDERS, where no guide ranks
    trigger: int  # TRIGGERS: where the guide ranks
    keep: int  # 1: the first ranking serves the whole search
    nodes: int  # most nodes
    wanted: int  # stop at this many solutions


def searches(t: Tables, rows: int, scored: bool, answers: int = 1) -> Searches:
    """Room for `rows` searches and the first `answers` solutions of each; `count[:, PHASE] = START`."""
    literals, domains, free, groups = len(t.outer), len(t.full), len(t.free), len(t.group)

    def room(columns: int, kind: type) -> NDArray[Any]:
        return np.zeros((rows, columns), kind)

    u4, u8, i8 = np.uint32, np.uint64, np.int64
    return Searches(
        room(domains, u8), room(domains, np.uint16), room(domains, u8), room(free, u8), room(groups, i8),
        room(literals, u4), room(domains + 1, u4), room(domains + 1, u4), room(domains + 1, u4),
        room(domains + 1, u4), room(domains + 1, i8), room(literals, u4),
        room(literals if scored else 0, np.float32), np.zeros((rows, answers, domains), u8), room(COUNTERS, i8),
    )  # fmt: skip


def trailing_zeros(word: int) -> int:
    """Position of the lowest set bit; stands in for the machine instruction when Numba is switched off."""
    return (int(word) & -int(word)).bit_length() - 1


def ones(word: int) -> int:
    """Number of set bits; stands in for the machine instruction when Numba is switched off."""
    return int(word).bit_count()


def borrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same array without reference counting: Numba's counts are atomic and cost more than the search itself.

    Safe as long as the caller of `advance` holds the arrays, which it does by passing them.
    """
    return array


@intrinsic  # type: ignore[untyped-decorator]
def _borrow(_context: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()

    return array(array), emit


@intrinsic  # type: ignore[untyped-decorator]
def _cttz(_context: Any, word: Any) -> Any:
    def emit(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic  # type: ignore[untyped-decorator]
def _ctpop(_context: Any, word: Any) -> Any:
    def emit(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), emit


# Numba compares the parameters of an overload and its implementation, annotations included: neither has any.
@overload(trailing_zeros, inline="always")
def _trailing_zeros(word):  # type: ignore[no-untyped-def]
    return lambda word: _cttz(word)


@overload(borrow, inline="always")
def _borrowed(array):  # type: ignore[no-untyped-def]
    return lambda array: _borrow(array)


@overload(ones, inline="always")
def _ones(word):  # type: ignore[no-untyped-def]
    return lambda word: _ctpop(word)


@_part
def row_of(s: Searches, r: int) -> Searches:
    """One search as views of one dimension less."""
    return Searches(
        borrow(s.open[r]), borrow(s.size[r]), borrow(s.before[r]), borrow(s.free[r]), borrow(s.group[r]),
        borrow(s.trail[r]), borrow(s.frame_domain[r]), borrow(s.frame_mark[r]), borrow(s.frame_next[r]),
        borrow(s.frame_end[r]), borrow(s.frame_found[r]), borrow(s.order[r]), borrow(s.score[r]),
        borrow(s.answer[r]), borrow(s.count[r]),
    )  # fmt: skip


@_part
def borrowed(t: Tables) -> Tables:
    return Tables(
        borrow(t.base), borrow(t.full), borrow(t.mate_start), borrow(t.mate), borrow(t.watch_start), borrow(t.watch),
        borrow(t.group), borrow(t.act), borrow(t.peer_start), borrow(t.peer_word), borrow(t.peer_mask),
        borrow(t.free), borrow(t.unit), borrow(t.hopeless), borrow(t.address), borrow(t.outer),
    )  # fmt: skip


@_part
def discount(t: Tables, s: Searches, literal: int, address: int, queue: NDArray[np.uint32], tail: int) -> int:
    """Take a killed literal out of its watched groups; returns the new queue length, negative after a conflict."""
    failed = False
    for j in range(t.watch_start[literal], t.watch_start[literal + 1]):
        g = t.watch[j]
        state = s.group[g] - (ONE + address)
        s.group[g] = state
        if state < _TWO:
            if state < ONE:
                failed = True
            elif t.act[g] == FORCE:
                queue[tail] = np.uint32(state - ONE)
                tail += 1
    return -1 if failed else tail


@_part
def propagate(t: Tables, s: Searches, queue: NDArray[np.uint32], tail: int, length: int) -> tuple[bool, int]:
    """Choose the queued addresses and all that follows; returns (consistent, new trail length).

    After a conflict the trail still matches the state exactly, so `undo` restores it.
    """
    act = t.act[len(t.group)]
    watching = len(t.watch) > 0
    head = 0
    while head < tail:
        address = queue[head]
        head += 1
        domain = address >> 6
        bit = _BIT << (np.uint64(address) & _LOW)
        word = s.open[domain]
        if not word & bit:
            return False, length
        if s.size[domain] == DECIDED:
            continue
        s.open[domain] = bit
        s.before[domain] = word
        s.size[domain] = DECIDED
        s.free[domain >> 6] ^= _BIT << (np.uint64(domain) & _LOW)
        s.trail[length] = address | _TRUE
        length += 1
        base = np.int64(t.base[domain])
        literal = base + np.int64(address & np.uint32(63))
        consistent = True
        if watching:
            for k in range(t.watch_start[literal], t.watch_start[literal + 1]):
                s.group[t.watch[k]] += CHOSEN
            word ^= bit
            while word:
                place = trailing_zeros(word)
                word &= word - _BIT
                grown = discount(t, s, base + place, (np.int64(domain) << 6) + place, queue, tail)
                consistent &= grown >= 0
                tail = max(tail, grown)
        for k in range(t.mate_start[literal], t.mate_start[literal + 1]):
            mate = t.mate[k]
            other = mate >> 6
            bit = _BIT << (np.uint64(mate) & _LOW)
            word = s.open[other]
            if not word & bit:
                continue
            word ^= bit
            s.open[other] = word
            s.trail[length] = mate
            length += 1
            size = s.size[other] - np.uint16(1)
            s.size[other] = size
            if watching:
                dead = np.int64(t.base[other]) + np.int64(mate & np.uint32(63))
                grown = discount(t, s, dead, np.int64(mate), queue, tail)
                consistent &= grown >= 0
                tail = max(tail, grown)
            if size <= 1 and act == FORCE:
                if size == 0:
                    return False, length
                queue[tail] = np.uint32((other << 6) + trailing_zeros(word))
                tail += 1
            if not consistent:
                return False, length
        if not consistent:
            return False, length
    return True, length


@_part
def undo(t: Tables, s: Searches, length: int, mark: int) -> None:
    """Take back everything on the trail above `mark`."""
    watching = len(t.watch) > 0
    for i in range(length - 1, mark - 1, -1):
        entry = s.trail[i]
        address = np.int64(entry & _ADDRESS)
        domain = address >> 6
        base = np.int64(t.base[domain])
        if entry & _TRUE:
            word = s.before[domain]
            if watching:
                literal = base + (address & 63)
                for k in range(t.watch_start[literal], t.watch_start[literal + 1]):
                    s.group[t.watch[k]] -= CHOSEN
                killed = word ^ s.open[domain]
                while killed:
                    place = trailing_zeros(killed)
                    killed &= killed - _BIT
                    for k in range(t.watch_start[base + place], t.watch_start[base + place + 1]):
                        s.group[t.watch[k]] += ONE + (domain << 6) + place
            s.open[domain] = word
            s.size[domain] = np.uint16(ones(word))
            s.free[domain >> 6] |= _BIT << (np.uint64(domain) & _LOW)
        else:
            s.open[domain] |= _BIT << (np.uint64(address) & _LOW)
            s.size[domain] += np.uint16(1)
            if watching:
                literal = base + (address & 63)
                for k in range(t.watch_start[literal], t.watch_start[literal + 1]):
                    s.group[t.watch[k]] += ONE + address


@_part
def scramble(seed: int, node: int, item: int) -> int:
    """A well-mixed 63-bit number: `random` choices depend on seed, node and item only, not on how searches interleave."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)
    for step in (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(31))) * step + np.uint64(item)
        x ^= x >> np.uint64(29)
    return np.int64((x * np.uint64(0xD6E8FEB86659FD93)) >> _BIT)


@_part
def select(t: Tables, s: Searches, tie: int) -> int:
    """The undecided domain with the fewest open literals (MRV), ties by `tie`; -1 when all are decided."""
    domains = len(t.full)
    least = DECIDED
    for d in range(domains):
        least = min(least, s.size[d])
    if least == DECIDED:
        return -1
    best, best_rank = -1, np.int64(-1)
    for d in range(domains):
        if s.size[d] != least:
            continue
        if tie == 0:
            return d
        if tie == 1:
            rank = np.int64(0)
            for k in range(t.peer_start[d], t.peer_start[d + 1]):
                rank += ones(s.free[t.peer_word[k]] & t.peer_mask[k])
        else:
            rank = scramble(s.count[SEED], s.count[NODES], d)
        if rank > best_rank:
            best, best_rank = d, rank
    return best


@_part
def arrange(t: Tables, s: Searches, domain: int, order: int, first: int, keys: NDArray[np.float64]) -> int:
    """Write the open literals of `domain` to `order[first:]`, best first; returns where they end.

    Equal keys stay in ascending order. NaN counts as the worst possible score.
    """
    end = first
    word = s.open[domain]
    while word:
        place = trailing_zeros(word)
        word &= word - _BIT
        literal = np.int64(t.base[domain]) + place
        key = 0.0
        if order == 1 or order == 2:  # lcv, mcv: how many options the choice takes from undecided peers
            for k in range(t.mate_start[literal], t.mate_start[literal + 1]):
                mate = t.mate[k]
                key -= float((s.open[mate >> 6] >> (np.uint64(mate) & _LOW)) & _BIT)
            if order == 2:
                key = -key
        elif order == 3:
            key = float(scramble(s.count[SEED], s.count[NODES], literal + (1 << 32)))
        elif order == BY_SCORE:
            key = float(s.score[literal])
            if np.isnan(key):
                key = -np.inf
        spot = end
        while spot > first and keys[spot - 1] < key:
            keys[spot] = keys[spot - 1]
            s.order[spot] = s.order[spot - 1]
            spot -= 1
        keys[spot] = key
        s.order[spot] = np.uint32((domain << 6) + place)
        end += 1
    return end


@_part
def start(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> bool:
    """Lay out a fresh state and propagate the givens, which stand in `order[:count[GIVEN]]`."""
    s.open[:] = t.full
    s.free[:] = t.free
    s.group[:] = t.group
    for d in range(len(t.full)):
        s.size[d] = np.uint16(t.base[d + 1] - t.base[d])
    tail = 0
    for i in range(s.count[GIVEN]):
        queue[tail] = s.order[i]
        tail += 1
    for address in t.unit:
        queue[tail] = address
        tail += 1
    if t.hopeless[0]:
        return False
    if t.act[len(t.group)] == FORCE:
        for d in range(len(t.full)):
            if s.size[d] == 0:
                return False
    consistent, s.count[TRAIL] = propagate(t, s, queue, tail, 0)
    s.count[WORK] += s.count[TRAIL]
    return consistent


@_part
def wants_ranking(size: int, rules: Rules) -> bool:
    if rules.trigger == 0 or size < 2:
        return False
    return rules.trigger == 1 or (size == 2) == (rules.trigger == 2)


@_part
def advance_one(
    t: Tables, s: Searches, rules: Rules, budget: int, queue: NDArray[np.uint32], keys: NDArray[np.float64]
) -> None:
    """Run one search until it is done, at its node limit, waiting for a ranking, or has done `budget` work."""
    count = s.count
    stop = count[WORK] + budget
    while count[PHASE] < SAT and count[WORK] < stop:
        if count[PHASE] == START:
            count[PHASE] = ENTER if start(t, s, queue) else UNSAT
        elif count[PHASE] == ENTER:
            enter(t, s, rules)
            if count[PHASE] == WAIT:
                return
        elif count[PHASE] == ARRANGE:
            top = count[TOP] - 1
            domain = s.frame_domain[top]
            first = s.frame_end[top - 1] if top else np.uint32(0)
            ranked = wants_ranking(s.size[domain], rules)
            end = arrange(t, s, domain, BY_SCORE if ranked else rules.order, first, keys)
            s.frame_next[top] = first
            s.frame_end[top] = end
            count[PHASE] = TRY
        elif count[PHASE] == TRY:
            attempt(t, s, queue)
        else:
            return


@_part
def enter(t: Tables, s: Searches, rules: Rules) -> None:
    """On a consistent state: note a solution, or open a node at the selected group."""
    count = s.count
    domain = select(t, s, rules.tie)
    if domain < 0:
        if count[SOLUTIONS] < len(s.answer):
            s.answer[count[SOLUTIONS]] = s.open
        count[SOLUTIONS] += 1
        count[PHASE] = SAT if count[SOLUTIONS] >= rules.wanted or count[TOP] == 0 else TRY
        return
    if count[NODES] >= rules.nodes:
        count[PHASE] = LIMIT
        return
    count[NODES] += 1
    top = count[TOP]
    s.frame_domain[top] = domain
    s.frame_mark[top] = count[TRAIL]
    count[TOP] = top + 1
    count[DEPTH] = max(count[DEPTH], top + 1)
    count[PHASE] = ARRANGE
    if wants_ranking(s.size[domain], rules) and not (rules.keep and count[RANKED]):
        count[ASKS] += 1
        count[PHASE] = WAIT


@_part
def attempt(t: Tables, s: Searches, queue: NDArray[np.uint32]) -> None:
    """Try the next value of the innermost node; when there is none, its own value in the node above has failed."""
    count = s.count
    top = count[TOP] - 1
    undo(t, s, count[TRAIL], s.frame_mark[top])
    count[TRAIL] = s.frame_mark[top]
    if s.frame_next[top] == s.frame_end[top]:
        count[TOP] = top
        if top == 0:
            count[PHASE] = SAT if count[SOLUTIONS] else UNSAT
        elif s.frame_found[top - 1] == count[SOLUTIONS]:
            count[BACKTRACKS] += 1
        return
    queue[0] = s.order[s.frame_next[top]]
    s.frame_next[top] += np.uint32(1)
    s.frame_found[top] = count[SOLUTIONS]
    consistent, length = propagate(t, s, queue, 1, count[TRAIL])
    count[WORK] += length - count[TRAIL] + 1
    count[TRAIL] = length
    if consistent:
        count[PHASE] = ENTER
    else:
        count[BACKTRACKS] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def advance(
    t: Tables,
    s: Searches,
    rows: NDArray[np.int64],
    rules: Rules,
    budget: int,
    queue: NDArray[np.uint32],
    keys: NDArray[np.float64],
) -> None:
    """`advance_one` for each of `rows`; `queue` [G + 2L] and `keys` [L] are scratch."""
    table = borrowed(t)
    for r in rows:
        advance_one(table, row_of(s, r), rules, budget, borrow(queue), borrow(keys))
