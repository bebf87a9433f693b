"""Vectors and products of small matrices for compiled networks, as LLVM instructions that Numba would not find.

Matrices are given by the addresses of their float32 rows, strides are in bytes, and the products run as tiles of 4 rows
in registers. Widths are whole tiles: whoever calls pads with zeros.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dibs.compiled import inlined

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
def _tile(_context, x, x_row, x_step, w, w_step, steps, out, out_row, least):  # type: ignore[no-untyped-def]
    """out[i, :] += sum over k < `steps` of x[i, k] w[k, :] for 4 rows i; what is below `least` becomes `least`.

    x[i, k] is at x + i x_row + k x_step, w[k] at w + k w_step, out[i] at out + i out_row.
    """

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        x, x_row, x_step, w, w_step, steps, out, out_row, least = args
        word = x.type
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{COLUMNS}f32")

        def row(base, stride, number):  # type: ignore[no-untyped-def]
            return builder.add(base, builder.mul(stride, ir.Constant(word, number)))

        xs, outs = [row(x, x_row, i) for i in range(ROWS)], [row(out, out_row, i) for i in range(ROWS)]
        begin = [_load(builder, address) for address in outs]
        before = builder.block
        loop, after = builder.append_basic_block("tile"), builder.append_basic_block("tiled")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(word)
        sums = [builder.phi(_VECTOR) for _ in range(ROWS)]
        line = _load(builder, builder.add(w, builder.mul(k, w_step)))
        ahead = builder.mul(k, x_step)
        fresh = []
        for i in range(ROWS):
            at = builder.inttoptr(builder.add(xs[i], ahead), ir.FloatType().as_pointer())
            one = builder.load(at, align=4, typ=ir.FloatType())
            fresh.append(builder.call(fma, [_spread(builder, one), line, sums[i]]))
        following = builder.add(k, ir.Constant(word, 1))
        builder.cbranch(builder.icmp_signed("<", following, steps), loop, after)
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

    words = (x, x_row, x_step, w, w_step, steps, out, out_row)
    return types.void(*words, types.float32), emit


@inlined
def product(x, w, wide, out, first, last, least):  # type: ignore[no-untyped-def]
    """out[first:last] += x[first:last] @ w, all with rows of `wide` floats, given by their addresses.

    Whole tiles: rows up to the next multiple of 4 are touched. What is below `least` becomes `least`.
    """
    row = 4 * wide
    for i in range(first, last, ROWS):
        for j in range(0, row, 4 * COLUMNS):
            _tile(x + row * i, row, 4, w + j, row, wide, out + row * i + j, row, least)


@inlined
def crossed(x, y, wide, out, first, last):  # type: ignore[no-untyped-def]
    """out[wide, wide] += x[first:last].T @ y[first:last]: the gradient of a product's weights."""
    row = 4 * wide
    at = first * row
    if last > first:
        for i in range(0, wide, ROWS):
            for j in range(0, row, 4 * COLUMNS):
                _tile(x + at + 4 * i, 4, row, y + at + j, row, last - first, out + row * i + j, row, LOWEST)


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
def _where(_context, to, of):  # type: ignore[no-untyped-def]
    """to[16] = 0 where of[16] is not above 0."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        zero = ir.Constant(_VECTOR, [ir.Constant(ir.FloatType(), 0.0)] * COLUMNS)
        above = builder.fcmp_ordered(">", _load(builder, args[1]), zero)
        _store(builder, builder.select(above, _load(builder, args[0]), zero), args[0])
        return context.get_dummy_value()

    return types.void(to, of), emit


@intrinsic
def _dot(_context, one, other):  # type: ignore[no-untyped-def]
    """The sum of one[16] other[16]."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _reduced(builder, builder.fmul(_load(builder, args[0]), _load(builder, args[1])))

    return types.float32(one, other), emit


@intrinsic
def _sum(_context, of):  # type: ignore[no-untyped-def]
    """The sum of of[16]."""

    def emit(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _reduced(builder, _load(builder, args[0]))

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
def moments(h, wide, width):  # type: ignore[no-untyped-def]
    """Mean of a row and 1 / its deviation; the padding of h is 0 and stays out of both."""
    total = square = np.float32(0)
    for j in range(0, 4 * wide, 4 * COLUMNS):
        total += _sum(h + j)
        square += _dot(h + j, h + j)
    mean = total / np.float32(width)
    scale = np.float32(1) / np.sqrt(max(square / np.float32(width) - mean * mean, np.float32(0)) + EPSILON)
    return mean, scale


@inlined
def norm(h, gain, bias, z, count, wide, width):  # type: ignore[no-untyped-def]
    """z = layer norm of the rows of h."""
    for i in range(count):
        row = 4 * i * wide
        mean, scale = moments(h + row, wide, width)
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _scaled(z + row + j, h + row + j, scale, -mean * scale, gain + j, bias + j)


@inlined
def fill(x, bias, first, last, wide):  # type: ignore[no-untyped-def]
    """x[first:last] = bias."""
    for row in range(4 * first * wide, 4 * last * wide, 4 * wide):
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _copy(x + row + j, bias + j)


@inlined
def shift(x, bias, first, last, wide):  # type: ignore[no-untyped-def]
    """x[first:last] += bias."""
    for row in range(4 * first * wide, 4 * last * wide, 4 * wide):
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _add(x + row + j, bias + j)


@inlined
def total(x, sums, first, last, wide):  # type: ignore[no-untyped-def]
    """sums += the sum of the rows x[first:last]."""
    for row in range(4 * first * wide, 4 * last * wide, 4 * wide):
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _add(sums + j, x + row + j)


@inlined
def copy(to, of, count, wide):  # type: ignore[no-untyped-def]
    """to[:count] = of[:count]."""
    for at in range(0, 4 * count * wide, 4 * COLUMNS):
        _copy(to + at, of + at)


@inlined
def add(to, of, count, wide):  # type: ignore[no-untyped-def]
    """to[:count] += of[:count]."""
    for at in range(0, 4 * count * wide, 4 * COLUMNS):
        _add(to + at, of + at)


@inlined
def where(to, of, first, last, wide):  # type: ignore[no-untyped-def]
    """to[first:last] = 0 where of[first:last], which is after a ReLU, is 0."""
    for at in range(4 * first * wide, 4 * last * wide, 4 * COLUMNS):
        _where(to + at, of + at)


@inlined
def send(x, edge, at, count, wide, sums):  # type: ignore[no-untyped-def]
    """Add each literal's row of x to its groups; `edge` has where they are, in bytes."""
    for i in range(count):
        row = x + 4 * i * wide
        for e in range(at[i], at[i + 1]):
            to = sums + np.intp(edge[e])
            for j in range(0, 4 * wide, 4 * COLUMNS):
                _add(to + j, row + j)


@inlined
def receive(message, edge, at, count, wide, given, x):  # type: ignore[no-untyped-def]
    """Each literal's row of x = `given` and what its groups say."""
    for i in range(count):
        row = 4 * i * wide
        for j in range(0, 4 * wide, 4 * COLUMNS):
            _copy(x + row + j, given + row + j)
        for e in range(at[i], at[i + 1]):
            of = message + np.intp(edge[e])
            for j in range(0, 4 * wide, 4 * COLUMNS):
                _add(x + row + j, of + j)
