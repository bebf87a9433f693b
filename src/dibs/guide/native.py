"""The relational denoiser on one core, without a framework: state by state, so that all of it stays in the first cache.

ONNX Runtime goes through memory once for every operation of every round; here a state's hidden vectors (some ten
kilobytes) never leave the cache, and the products run as 4 x 16 tiles in registers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Timer, local

import numpy as np
from numpy.typing import NDArray

from dibs.clock import left
from dibs.compiled import entry, part
from dibs.guide.features import GROUP_KINDS, NO_FEATURES, OwnFeatures
from dibs.guide.graph import NetworkGroups, network_groups
from dibs.guide.tiles import COLUMNS, LOWEST, ROWS, ZERO, copy, fill, norm, product, receive, send, shift
from dibs.guide.weights import Weights, aligned
from dibs.problem.structure import Structure

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

EVERY = 8  # rounds from one look at the log-probabilities to the next
FLOOR = np.float32(-3)  # of a log-probability: what is as unlikely may become ever more so
LONG = 20_000  # literals times rounds of an answer that takes some 20 ms: a longer one may come too late
SLOW = 1e-5  # seconds of one literal in one round, at the most: where that is in time there is no need for an alarm


@part
def _network(  # type: ignore[no-untyped-def]
    open_, true, s, group, begin, kind, least, most, wide, literal, size, held, number, edge, at, first, cell
):
    """The open literals of a state and the groups that have any; the groups of each kind begin at a whole tile.

    Groups that have nothing to say are left out (`dibs.guide.graph`). Fills `literal`, `size`, `held` and `number` of
    groups (size 0: left out), `edge` (where the groups of each literal are, in bytes; from `at` on), `first` (of each
    kind) and `cell` (of each literal, -1 if it is left out). Returns how many literals there are.
    """
    size[:] = 0
    held[:] = 0
    count = 0
    for v in range(open_.shape[1]):
        if open_[s, v]:
            literal[count] = v
            count += 1
            for e in range(begin[v], begin[v + 1]):
                size[group[e]] += np.uintp(1)
    for v in range(open_.shape[1]):
        if true[s, v]:
            for e in range(begin[v], begin[v + 1]):
                held[group[e]] += 1
    for g in range(len(kind)):
        if held[g] >= most[g] or (kind[g] > 0 and held[g] >= least[g] and most[g] - held[g] >= np.intp(size[g])):
            size[g] = 0
    total = k = 0
    for g in range(len(kind)):
        while kind[g] > k:
            k += 1
            total += -total % ROWS
            first[k] = total
        if size[g] > 0:
            number[g] = total
            total += 1
    while k < len(first) - 1:
        k += 1
        total += -total % ROWS
        first[k] = total
    edges = 0
    for i in range(count):
        v = literal[i]
        at[i], cell[i] = edges, -1
        for e in range(begin[v], begin[v + np.uintp(1)]):
            if size[group[e]] > 0:
                edge[edges] = number[group[e]] * np.uintp(4 * wide)
                edges += 1
                if kind[group[e]] == 0:
                    cell[i] = number[group[e]]
    at[count] = edges
    return count


@part
def _enter(  # type: ignore[no-untyped-def]
    count,
    literal,
    group,
    begin,
    kind,
    least,
    most,
    literal_features,
    size,
    held,
    per,
    features,
    enter,
    given_,
    wide,
    h,
    given,
):
    """The features of each literal (as `dibs.guide.graph` has them), and the two products with them."""
    for i in range(count):
        v = literal[i]
        features[:] = 0
        one = len(features) - 1 - literal_features.shape[1]
        features[one] = 1
        for f in range(literal_features.shape[1]):
            features[one + 1 + f] = literal_features[v, f]
        for e in range(begin[v], begin[v + np.uintp(1)]):
            g = group[e]
            if size[g] == 0:
                continue
            share = np.float32(1) / np.float32(size[g])
            features[per * kind[g]] += share
            features[per * kind[g] + 1] += share * share
            if per > 2:
                features[per * kind[g] + 2] += share * max(least[g] - held[g], 0)
                features[per * kind[g] + 3] += share * min(most[g] - held[g], np.intp(size[g]))
        row = np.uintp(i * wide)
        for j in range(np.uintp(wide)):
            h[row + j] = 0
            given[row + j] = 0
        for f in range(len(features)):
            value = features[f]
            for j in range(np.uintp(wide)):
                h[row + j] += value * enter[f, j]
                given[row + j] += value * given_[f, j]


@part
def _say(kind, size, number, group_features, inner_bias, about, wide, said):  # type: ignore[no-untyped-def]
    """The rows `said` of groups: the bias of their kind, and what the user has said of them."""
    for g in range(len(kind)):
        if size[g] == 0:
            continue
        row = np.uintp(number[g] * np.uintp(wide))
        for j in range(np.uintp(wide)):
            said[row + j] = inner_bias[kind[g], j]
        for f in range(group_features.shape[1]):
            value = group_features[g, f]
            for j in range(np.uintp(wide)):
                said[row + j] += value * about[kind[g], f, j]


@part
def scores(z, count, wide, score, bias, out):  # type: ignore[no-untyped-def]
    """The logits `out` [count] from the rows of z after the last layer norm."""
    for i in range(count):
        row, found = np.uintp(i * wide), bias[0]
        for j in range(np.uintp(wide)):
            found += z[row + j] * score[j]
        out[i] = found


@part
def _change(score, count, cell, top, mass, before):  # type: ignore[no-untyped-def]
    """How much the log-probabilities differ at most from `before` [count], which they become; those below FLOOR do not.

    `top` and `mass` are room for a number for each cell.
    """
    for i in range(count):
        if cell[i] >= 0:
            top[cell[i]], mass[cell[i]] = LOWEST, ZERO
    for i in range(count):
        if cell[i] >= 0:
            top[cell[i]] = max(top[cell[i]], score[i])
    for i in range(count):
        if cell[i] >= 0:
            mass[cell[i]] += np.exp(score[i] - top[cell[i]])
    most = ZERO
    for i in range(count):
        if cell[i] >= 0:
            now = max(score[i] - top[cell[i]] - np.log(mass[cell[i]]), FLOOR)
            most = max(most, abs(now - before[i]))
            before[i] = now
    return most


@part
def _cut(room, begin, size):  # type: ignore[no-untyped-def]
    """The next `size` numbers of `room`, and where those after them begin: at a multiple of a tile's width."""
    return room[begin : begin + size], begin + size + -size % COLUMNS


@entry(fastmath={"contract", "reassoc", "nsz"})
def logits(  # type: ignore[no-untyped-def]
    open_,
    true,
    group,
    begin,
    kind,
    least,
    most,
    literal_features,
    group_features,
    weights,
    width,
    rounds,
    settled,
    stop,
    rows,
    whole,
    real,
):
    """[states, literals] float32, 0 where a literal is not `open_` [states, literals]; `true` are the true ones.

    `group` to `group_features`: the `NetworkGroups` of the literals; `width` without padding. Also
    how many rounds each state had: all, or until no log-probability changed by more than `settled` over EVERY rounds.
    Once `stop` [1] is set, which another thread may do, nobody wants the answer: what there is returns.
    `rows`: of the open literals of a state, at most, and of a tile. `whole` and `real`: room, as `_Room` has it.
    """
    states, literals = open_.shape
    groups, wide, kinds = len(kind), weights.pre.shape[0], len(weights.inner)
    per = (len(weights.enter) - 1 - literal_features.shape[1]) // kinds
    room = groups + (kinds + 1) * ROWS
    found, used = np.zeros((states, literals), np.float32), np.zeros(states, np.int64)
    natural = whole.view(np.uintp)
    literal, i = _cut(natural, 0, literals)
    size, i = _cut(natural, i, groups)
    number, i = _cut(natural, i, groups)
    edge, i = _cut(natural, i, len(group))
    held, i = _cut(whole, i, groups)
    at, i = _cut(whole, i, literals + 1)
    first, i = _cut(whole, i, kinds + 1)
    cell, i = _cut(whole, i, rows)
    score, f = _cut(real, 0, rows)
    before, f = _cut(real, f, rows)
    top, f = _cut(real, f, room)
    mass, f = _cut(real, f, room)
    features, f = _cut(real, f, len(weights.enter))
    nothing, f = _cut(real, f, wide)
    h, f = _cut(real, f, rows * wide)
    given, f = _cut(real, f, rows * wide)
    z, f = _cut(real, f, rows * wide)
    x, f = _cut(real, f, rows * wide)
    sums, f = _cut(real, f, room * wide)
    inside, f = _cut(real, f, room * wide)
    message, f = _cut(real, f, room * wide)
    featured = group_features.shape[1] > 0
    said, f = _cut(real, f, room * wide if featured else 0)
    first[0] = 0
    nothing[:] = 0
    # Addresses from here on.
    at_h, at_given, at_z, at_x = h.ctypes.data, given.ctypes.data, z.ctypes.data, x.ctypes.data
    at_sums, at_inside, at_message = sums.ctypes.data, inside.ctypes.data, message.ctypes.data
    at_said, at_nothing, at_norm, at_last = (
        said.ctypes.data,
        nothing.ctypes.data,
        weights.norm.ctypes.data,
        weights.last.ctypes.data,
    )
    pre, own, out = weights.pre.ctypes.data, weights.own.ctypes.data, weights.out.ctypes.data
    pre_bias, out_bias = weights.pre_bias.ctypes.data, weights.out_bias.ctypes.data
    inner, inner_bias = weights.inner.ctypes.data, weights.inner_bias.ctypes.data
    outer = weights.message.ctypes.data
    for s in range(states):
        count = _network(
            open_, true, s, group, begin, kind, least, most, wide, literal, size, held, number, edge, at, first, cell
        )
        _enter(
            count, literal, group, begin, kind, least, most, literal_features, size, held, per, features, weights.enter,
            weights.given, wide, h, given,
        )  # fmt: skip
        if featured:
            _say(kind, size, number, group_features, weights.inner_bias, weights.about, wide, said)
        before[:count] = 0
        for turn in range(1, rounds + 1):
            norm(at_h, at_norm, at_norm + 4 * wide, at_z, count, wide, width)
            fill(at_x, pre_bias, 0, count, wide)
            product(at_z, pre, wide, at_x, 0, count, ZERO)
            fill(at_sums, at_nothing, 0, first[kinds], wide)
            send(at_x, edge, at, count, wide, at_sums)
            for k in range(kinds):
                a, b = first[k], first[k + 1]
                if featured:
                    copy(at_inside + 4 * a * wide, at_said + 4 * a * wide, b - a, wide)
                else:
                    fill(at_inside, inner_bias + 4 * k * wide, a, b, wide)
                product(at_sums, inner + 4 * k * wide * wide, wide, at_inside, a, b, ZERO)
                fill(at_message, at_nothing, a, b, wide)
                product(at_inside, outer + 4 * k * wide * wide, wide, at_message, a, b, LOWEST)
            receive(at_message, edge, at, count, wide, at_given, at_x)
            product(at_z, own, wide, at_x, 0, count, ZERO)
            shift(at_h, out_bias, 0, count, wide)
            product(at_x, out, wide, at_h, 0, count, LOWEST)
            used[s] = turn
            if turn == rounds or stop[0] or (settled > 0 and turn % EVERY == 0):
                norm(at_h, at_last, at_last + 4 * wide, at_z, count, wide, width)
                scores(z, count, wide, weights.score, weights.score_bias, score)
                if turn == rounds or stop[0]:
                    break
                if _change(score, count, cell, top, mass, before) <= settled and turn > EVERY:
                    break
        for i in range(count):
            found[s, literal[i]] = score[i]
    return found, used


class _Room(local):
    """Memory that is kept for the answers of one thread: if each had its own, the system would give it page by page."""

    def __init__(self) -> None:
        self.whole = np.zeros(0, np.intp)
        self.real = np.zeros(0, np.float32)

    def of(self, whole: int, real: int) -> tuple[NDArray[np.intp], Floats]:
        """Room for so many whole and so many real numbers, whatever is in it."""
        if len(self.whole) < whole:
            self.whole = np.zeros(whole, np.intp)
        if len(self.real) < real:
            self.real = aligned(np.zeros(real, np.float32))
        return self.whole, self.real


class Native:
    """A relational denoiser whose weights have been read: `logits` of states, each of `threads` taking a part.

    With `settled` above 0 a state has fewer than `rounds` where its log-probabilities change by no more than that.
    """

    def __init__(
        self,
        tensors: dict[str, Floats],
        width: int,
        rounds: int,
        threads: int = 1,
        *,
        settled: float = 0.0,
        kinds: tuple[str, ...] = GROUP_KINDS,
        own: OwnFeatures = NO_FEATURES,
    ) -> None:
        self.weights = Weights.of(tensors, width, len(kinds), *map(len, own))
        self.kinds, self.own = kinds, own
        self.width, self.rounds, self.threads, self.settled = width, rounds, threads, np.float32(settled)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="guide") if threads > 1 else None
        self.room = _Room()

    def logits(self, structure: Structure, open_: Bools, true: Bools | None = None) -> Floats:
        """[n, L] of the states with the open literals `open_` and the true ones `true` [n, L]; 0 elsewhere.

        Grids need no `true`.
        """
        return self.run(structure, open_, true)[0]

    def run(self, structure: Structure, open_: Bools, true: Bools | None = None) -> tuple[Floats, Ints]:
        """The logits, and the rounds [n] that each state had."""
        true = np.zeros_like(open_) if true is None else true
        seconds = left()
        work = np.count_nonzero(open_) * self.rounds
        if work < LONG or work * SLOW < seconds:
            return self._run(structure, open_, true, np.zeros(1, bool))
        while True:
            stop = np.array([seconds <= 0])
            alarm = Timer(max(seconds, 0), stop.__setitem__, (0, True))
            alarm.start()
            try:
                found = self._run(structure, open_, true, stop)
            finally:
                alarm.cancel()
            if not stop[0] or (seconds := left()) <= 0:  # the clock may have stood still
                return found

    def _run(self, structure: Structure, open_: Bools, true: Bools, stop: Bools) -> tuple[Floats, Ints]:
        if self.pool is None or len(open_) < self.threads:
            return self._part(structure, open_, true, stop)
        parts = zip(np.array_split(open_, self.threads), np.array_split(true, self.threads), strict=True)
        found = list(self.pool.map(lambda part: self._part(structure, *part, stop), parts))
        return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])

    def _part(self, structure: Structure, open_: Bools, true: Bools, stop: Bools) -> tuple[Floats, Ints]:
        states = np.ascontiguousarray(open_), np.ascontiguousarray(true)
        groups = network_groups(structure, self.kinds, self.own)
        # Rows for the open literals only: in a large grid they are a tenth of all.
        rows = int(np.count_nonzero(open_, axis=1).max(initial=0)) + ROWS
        room = self.room.of(*_needed(groups, self.weights, rows))
        found: tuple[Floats, Ints] = logits(
            *states, *groups, self.weights, self.width, self.rounds, self.settled, stop, rows, *room
        )
        return found


def _needed(groups: NetworkGroups, weights: Weights, rows: int) -> tuple[int, int]:
    """How many whole and real numbers `logits` wants room for, each array of them a multiple of a tile's width."""
    wide, kinds = len(weights.pre), len(weights.inner)
    count, literals = len(groups.kind), len(groups.begin) - 1
    room = count + (kinds + 1) * ROWS
    whole = 2 * literals + 3 * count + len(groups.group) + kinds + rows + 8 * COLUMNS + 2
    real = 2 * rows + 2 * room + len(weights.enter) + wide + (4 * rows + 4 * room) * wide + 14 * COLUMNS
    return whole, real
