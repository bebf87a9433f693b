"""The relational denoiser on one core, without a framework: state by state, so that all of it stays in the first cache.

ONNX Runtime goes through memory once for every operation of every round; here a state's hidden vectors (some ten
kilobytes) never leave the cache, and the products run as 4 x 16 tiles in registers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dibs.compiled import entry, inlined, part
from dibs.guide.graph import FEATURES, KINDS, groups_of
from dibs.problem.structure import Structure

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

ROWS, COLUMNS = 4, 16  # of a tile; widths are padded with zeros to whole tiles
EPSILON = np.float32(1e-5)
ZERO, LOWEST = np.float32(0), np.float32(-np.inf)


_VECTOR = ir.VectorType(ir.FloatType(), COLUMNS)


def _spread(builder, number):  # type: ignore[no-untyped-def]
    """A vector with `number` in every place."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), COLUMNS), [0] * COLUMNS)
    return builder.shuffle_vector(one, nothing, everywhere)


def _largest(builder, one, other):  # type: ignore[no-untyped-def]
    """The larger of two vectors, place by place. A comparison and a selection would become slow masked stores."""
    largest = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 2), f"llvm.maxnum.v{COLUMNS}f32"
    )
    return builder.call(largest, [one, other], fastmath=("nnan", "nsz"))


@intrinsic
def _tile(_context, x, w, wide, out, least):  # type: ignore[no-untyped-def]
    """out[4, 16] += x[4, wide] @ w[wide, 16], at addresses; the rows of all three are `wide` floats apart.

    What is below the number `least` becomes `least`.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        x, w, wide, out, least = args
        word = x.type
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{COLUMNS}f32")
        step = builder.mul(wide, ir.Constant(word, 4))

        def row(base, number):  # type: ignore[no-untyped-def]
            return builder.add(base, builder.mul(step, ir.Constant(word, number)))

        xs, outs = [row(x, i) for i in range(ROWS)], [row(out, i) for i in range(ROWS)]
        begin = [_load(builder, address) for address in outs]
        before = builder.block
        loop, after = builder.append_basic_block("tile"), builder.append_basic_block("tiled")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(word)
        sums = [builder.phi(_VECTOR) for _ in range(ROWS)]
        line = _load(builder, builder.add(w, builder.mul(k, step)))
        fresh = []
        for i in range(ROWS):
            at = builder.add(xs[i], builder.mul(k, ir.Constant(word, 4)))
            one = builder.load(builder.inttoptr(at, ir.FloatType().as_pointer()), align=4, typ=ir.FloatType())
            fresh.append(builder.call(fma, [_spread(builder, one), line, sums[i]]))
        following = builder.add(k, ir.Constant(word, 1))
        builder.cbranch(builder.icmp_signed("<", following, wide), loop, after)
        k.add_incoming(ir.Constant(word, 0), before)
        k.add_incoming(following, loop)
        for i in range(ROWS):
            sums[i].add_incoming(begin[i], before)
            sums[i].add_incoming(fresh[i], loop)
        builder.position_at_end(after)
        floor = _spread(builder, least)
        for i in range(ROWS):
            _store(builder, _largest(builder, fresh[i], floor), outs[i])
        return context.get_dummy_value()

    return types.void(x, w, wide, out, types.float32), emit


@inlined
def _product(x, w, wide, out, first, last, least):  # type: ignore[no-untyped-def]
    """out[first:last] += x[first:last] @ w, all with rows of `wide` floats, given by their addresses.

    Whole tiles: rows up to the next multiple of 4 are touched. What is below `least` becomes `least`.
    """
    for i in range(first, last, ROWS):
        for j in range(0, wide, COLUMNS):
            _tile(x + 4 * wide * i, w + 4 * j, wide, out + 4 * (wide * i + j), least)


class Weights(NamedTuple):
    """The weights of `dibs.model.relational.Relational`, transposed for products from the right and padded to tiles."""

    enter: Floats  # [FEATURES, w]
    given: Floats  # [FEATURES, w]
    norm: Floats  # [2, w] scale and shift
    pre: Floats  # [w, w]
    pre_bias: Floats  # [w]
    inner: Floats  # [kinds, w, w]
    inner_bias: Floats  # [kinds, w]
    message: Floats  # [kinds, w, w]
    own: Floats  # [w, w]
    out: Floats  # [w, w]
    out_bias: Floats  # [w]
    last: Floats  # [2, w]
    score: Floats  # [w]

    @classmethod
    def of(cls, tensors: dict[str, Floats], width: int) -> Weights:
        """From the tensors of model.safetensors, by their names in the module; ValueError if they are not its own."""
        _check(tensors, width)
        kinds = range(len(KINDS))
        return cls(
            enter=_padded(tensors["enter.weight"].T, 0, 1),
            given=_padded(tensors["given.weight"].T, 0, 1),
            norm=_padded(np.stack([tensors["norm.weight"], tensors["norm.bias"]]), 0, 1),
            pre=_padded(tensors["pre.weight"].T, 1, 1),
            pre_bias=_padded(tensors["pre.bias"], 1),
            inner=np.stack([_padded(tensors[f"inner.{k}.weight"].T, 1, 1) for k in kinds]),
            inner_bias=np.stack([_padded(tensors[f"inner.{k}.bias"], 1) for k in kinds]),
            message=np.stack([_padded(tensors[f"message.{k}.weight"].T, 1, 1) for k in kinds]),
            own=_padded(tensors["own.weight"].T, 1, 1),
            out=_padded(tensors["out.weight"].T, 1, 1),
            out_bias=_padded(tensors["out.bias"], 1),
            last=_padded(np.stack([tensors["last.weight"], tensors["last.bias"]]), 0, 1),
            score=_padded(tensors["score.weight"][0], 1),
        )


def _check(tensors: dict[str, Floats], width: int) -> None:
    """Exactly the tensors of a module of this width, none missing, none too many."""
    square, line = (width, width), (width,)
    wanted: dict[str, tuple[int, ...]] = {"enter.weight": (width, FEATURES), "given.weight": (width, FEATURES)}
    for name in ("norm", "last"):
        wanted |= {f"{name}.weight": line, f"{name}.bias": line}
    for name in ("pre", "out", *(f"inner.{k}" for k in range(len(KINDS)))):
        wanted |= {f"{name}.weight": square, f"{name}.bias": line}
    for name in ("own", *(f"message.{k}" for k in range(len(KINDS)))):
        wanted[f"{name}.weight"] = square
    wanted |= {"score.weight": (1, width), "score.bias": (1,)}
    found = {name: tensor.shape for name, tensor in tensors.items() if tensor.dtype == np.float32}
    if found != wanted:
        wrong = sorted(name for name in tensors.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        raise ValueError(f"{wrong[0]} is not as in a relational denoiser of width {width}")


def _padded(array: Floats, *axes: int) -> Floats:
    """Zeros after the end of each axis that has a 1, up to whole tiles: they stay 0 through all rounds."""
    extra = [(0, -size % COLUMNS * axis) for size, axis in zip(array.shape, axes, strict=True)]
    return np.ascontiguousarray(np.pad(array, extra), np.float32)


def _load(builder, address):  # type: ignore[no-untyped-def]
    return builder.load(builder.inttoptr(address, _VECTOR.as_pointer()), align=4, typ=_VECTOR)


def _store(builder, value, address):  # type: ignore[no-untyped-def]
    builder.store(value, builder.inttoptr(address, _VECTOR.as_pointer()), align=4)


def _reduced(builder, vector):  # type: ignore[no-untyped-def]
    """The sum of a vector's elements, in any order."""
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), _VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{COLUMNS}f32")
    return builder.call(add, [ir.Constant(ir.FloatType(), 0), vector], fastmath=("reassoc",))


@intrinsic
def _copy(_context, to, of):  # type: ignore[no-untyped-def]
    """to[16] = of[16]; as all here, at addresses."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _store(builder, _load(builder, args[1]), args[0])
        return context.get_dummy_value()

    return types.void(to, of), emit


@intrinsic
def _add(_context, to, of):  # type: ignore[no-untyped-def]
    """to[16] += of[16]."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        _store(builder, builder.fadd(_load(builder, args[0]), _load(builder, args[1])), args[0])
        return context.get_dummy_value()

    return types.void(to, of), emit


@intrinsic
def _sum(_context, of):  # type: ignore[no-untyped-def]
    """The sum of of[16]."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _reduced(builder, _load(builder, args[0]))

    return types.float32(of), emit


@intrinsic
def _squares(_context, of):  # type: ignore[no-untyped-def]
    """The sum of of[16]^2."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        value = _load(builder, args[0])
        return _reduced(builder, builder.fmul(value, value))

    return types.float32(of), emit


@intrinsic
def _scaled(_context, to, of, scale, shift, gain, bias):  # type: ignore[no-untyped-def]
    """to[16] = (of[16] * scale + shift) * gain[16] + bias[16]; scale and shift are numbers."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        to, of, scale, shift, gain, bias = args
        value = builder.fadd(builder.fmul(_load(builder, of), _spread(builder, scale)), _spread(builder, shift))
        _store(builder, builder.fadd(builder.fmul(value, _load(builder, gain)), _load(builder, bias)), to)
        return context.get_dummy_value()

    return types.void(to, of, types.float32, types.float32, gain, bias), emit


@inlined
def _norm(h, gain, bias, z, count, wide, width):  # type: ignore[no-untyped-def]
    """z = layer norm of the rows of h; the padding of h is 0 and stays out of mean and variance."""
    step = 4 * COLUMNS
    for i in range(count):
        row = 4 * i * wide
        total = square = np.float32(0)
        for j in range(0, 4 * wide, step):
            total += _sum(h + row + j)
            square += _squares(h + row + j)
        mean = total / np.float32(width)
        scale = np.float32(1) / np.sqrt(max(square / np.float32(width) - mean * mean, np.float32(0)) + EPSILON)
        for j in range(0, 4 * wide, step):
            _scaled(z + row + j, h + row + j, scale, -mean * scale, gain + j, bias + j)


@inlined
def _fill(x, bias, first, last, wide):  # type: ignore[no-untyped-def]
    """x[first:last] = bias."""
    for row in range(4 * first * wide, 4 * last * wide, 4 * wide):
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _copy(x + row + j, bias + j)


@inlined
def _send(x, edge, at, count, wide, sums):  # type: ignore[no-untyped-def]
    """Add each literal's row of x to its groups."""
    for i in range(count):
        row = x + 4 * i * wide
        for e in range(at[i], at[i + 1]):
            to = sums + np.intp(edge[e])
            for j in range(0, 4 * wide, 4 * COLUMNS):
                _add(to + j, row + j)


@inlined
def _receive(message, edge, at, count, wide, given, x):  # type: ignore[no-untyped-def]
    """Each literal's row of x = `given` and what its groups say."""
    for i in range(count):
        row = 4 * i * wide
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _copy(x + row + j, given + row + j)
        for e in range(at[i], at[i + 1]):
            of = message + np.intp(edge[e])
            for j in range(0, 4 * wide, 4 * COLUMNS):
                _add(x + row + j, of + j)


@part
def _network(open_, true, s, group, begin, kind, wide, literal, size, number, edge, at, first):  # type: ignore[no-untyped-def]
    """The open literals of a state and the groups that have any; the groups of each kind begin at a whole tile.

    Groups with a true literal are left out. Fills `literal`, `size` and `number` of groups (size 0: left out), `edge`
    (where the groups of each literal are, in bytes; from `at` on) and `first` (of each kind). Returns how many literals
    there are.
    """
    size[:] = 0
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
                size[group[e]] = 0
    total = k = 0
    for g in range(len(kind)):
        while kind[g] > k:
            k += 1
            total += -total % ROWS
            first[k] = total
        if size[g] > 0:
            number[g] = total
            total += 1
    while k < 3:
        k += 1
        total += -total % ROWS
        first[k] = total
    edges = 0
    for i in range(count):
        v = literal[i]
        at[i] = edges
        for e in range(begin[v], begin[v + np.uintp(1)]):
            if size[group[e]] > 0:
                edge[edges] = number[group[e]] * np.uintp(4 * wide)
                edges += 1
    at[count] = edges
    return count


@part
def _enter(count, literal, group, begin, kind, size, features, enter, given_, wide, h, given):  # type: ignore[no-untyped-def]
    """The features of each literal (as `dibs.guide.graph` has them), and the two products with them."""
    for i in range(count):
        v = literal[i]
        features[:] = 0
        features[FEATURES - 1] = 1
        for e in range(begin[v], begin[v + np.uintp(1)]):
            g = group[e]
            if size[g] == 0:
                continue
            share = np.float32(1) / np.float32(size[g])
            features[2 * kind[g]] += share
            features[2 * kind[g] + 1] += share * share
        row = np.uintp(i * wide)
        for j in range(np.uintp(wide)):
            h[row + j] = 0
            given[row + j] = 0
        for f in range(FEATURES):
            value = features[f]
            for j in range(np.uintp(wide)):
                h[row + j] += value * enter[f, j]
                given[row + j] += value * given_[f, j]


@entry(fastmath={"contract", "reassoc", "nsz"})
def logits(open_, true, group, begin, kind, weights, width, rounds):  # type: ignore[no-untyped-def]
    """[states, literals] float32, 0 where a literal is not `open_` [states, literals]; `true` are the true ones.

    `group`, `begin`: the groups of each literal (CSR); `kind` of each group, ascending; `width` without padding.
    """
    states, literals = open_.shape
    groups, wide = len(kind), weights.pre.shape[0]
    most = 0
    for s in range(states):
        most = max(most, open_[s].sum())
    most, room = most + ROWS, groups + 4 * ROWS  # rows for the open literals only: in a large grid a tenth of all
    found = np.zeros((states, literals), np.float32)
    literal = np.zeros(literals, np.uintp)
    size = np.zeros(groups, np.uintp)
    number = np.zeros(groups, np.uintp)
    edge, at = np.zeros(len(group), np.uintp), np.zeros(literals + 1, np.intp)
    first = np.zeros(4, np.intp)
    features = np.zeros(FEATURES, np.float32)
    h, given = np.zeros(most * wide, np.float32), np.zeros(most * wide, np.float32)
    z, x = np.zeros(most * wide, np.float32), np.zeros(most * wide, np.float32)
    sums, inside = np.zeros(room * wide, np.float32), np.zeros(room * wide, np.float32)
    message, nothing = np.zeros(room * wide, np.float32), np.zeros(wide, np.float32)
    # Addresses from here on. Numba frees an array after the last line that names it: see the end.
    at_h, at_given, at_z, at_x = h.ctypes.data, given.ctypes.data, z.ctypes.data, x.ctypes.data
    at_sums, at_inside, at_message = sums.ctypes.data, inside.ctypes.data, message.ctypes.data
    at_nothing, at_norm, at_last = nothing.ctypes.data, weights.norm.ctypes.data, weights.last.ctypes.data
    pre, own, out = weights.pre.ctypes.data, weights.own.ctypes.data, weights.out.ctypes.data
    pre_bias, out_bias = weights.pre_bias.ctypes.data, weights.out_bias.ctypes.data
    inner, inner_bias = weights.inner.ctypes.data, weights.inner_bias.ctypes.data
    outer = weights.message.ctypes.data
    for s in range(states):
        count = _network(open_, true, s, group, begin, kind, wide, literal, size, number, edge, at, first)
        _enter(count, literal, group, begin, kind, size, features, weights.enter, weights.given, wide, h, given)
        for _ in range(rounds):
            _norm(at_h, at_norm, at_norm + 4 * wide, at_z, count, wide, width)
            _fill(at_x, pre_bias, 0, count, wide)
            _product(at_z, pre, wide, at_x, 0, count, ZERO)
            _fill(at_sums, at_nothing, 0, first[3], wide)
            _send(at_x, edge, at, count, wide, at_sums)
            for k in range(3):
                a, b = first[k], first[k + 1]
                _fill(at_inside, inner_bias + 4 * k * wide, a, b, wide)
                _product(at_sums, inner + 4 * k * wide * wide, wide, at_inside, a, b, ZERO)
                _fill(at_message, at_nothing, a, b, wide)
                _product(at_inside, outer + 4 * k * wide * wide, wide, at_message, a, b, LOWEST)
            _receive(at_message, edge, at, count, wide, at_given, at_x)
            _product(at_z, own, wide, at_x, 0, count, ZERO)
            for i in range(count):
                for j in range(0, 4 * wide, 4 * COLUMNS):
                    _add(at_h + 4 * i * wide + j, out_bias + j)
            _product(at_x, out, wide, at_h, 0, count, LOWEST)
        _norm(at_h, at_last, at_last + 4 * wide, at_z, count, wide, width)
        for i in range(count):
            score = np.float32(0)
            for j in range(wide):
                score += z[i * wide + j] * weights.score[j]
            found[s, literal[i]] = score
    held = len(h) + len(given) + len(z) + len(x) + len(sums) + len(inside) + len(message) + len(nothing)
    return found if held else found[:0]


class Native:
    """A relational denoiser whose weights have been read: `logits` of states, each of `threads` taking a part."""

    def __init__(self, tensors: dict[str, Floats], width: int, rounds: int, threads: int = 1) -> None:
        self.weights = Weights.of(tensors, width)
        self.width, self.rounds, self.threads = width, rounds, threads
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="guide") if threads > 1 else None

    def logits(self, structure: Structure, open_: Bools, true: Bools | None = None) -> Floats:
        """[n, L] of the states with the open literals `open_` and the true ones `true` [n, L]; 0 elsewhere.

        Grids need no `true`.
        """
        true = np.zeros_like(open_) if true is None else true
        if self.pool is None or len(open_) < self.threads:
            return self._part(structure, open_, true)
        parts = zip(np.array_split(open_, self.threads), np.array_split(true, self.threads), strict=True)
        return np.concatenate(list(self.pool.map(lambda part: self._part(structure, *part), parts)))

    def _part(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        states = np.ascontiguousarray(open_), np.ascontiguousarray(true)
        found: Floats = logits(*states, *groups_of(structure), self.weights, self.width, self.rounds)
        return found
