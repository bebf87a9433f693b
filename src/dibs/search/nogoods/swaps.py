"""All swaps of a cell at once: vectors of bytes, as LLVM instructions that Numba would not find.

The values of a line are looked up by LLVM's variable permutations, one instruction where the processor has one. Each
function has a plain stand-in for when Numba is switched off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin
from numpy.typing import NDArray

LANES = 32  # a line has a multiple of so many cells
WIDEST = 256  # cells of a line: places in it are bytes
BIAS = 31  # of what a swap adds: it is never negative
REAL = 63  # without the bits above
ALL = 255

Bytes = NDArray[np.uint8]

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, LANES)


def added(
    cost: Bytes, row: int, local: Bytes, paid: Bytes, place: int, own: Bytes, first: int, width: int, bits: int
) -> Bytes:
    """[LANES] what the swaps with the cells from `first` on add, and BIAS; of these only `bits`.

    `cost` from `row` on has what each of the `width` places of its line costs a cell, `paid` from `place` on what its
    own place costs these cells, `local` their places in the line, and `own` what these cost them.
    """
    of = slice(first, first + LANES)
    found: Bytes = cost[row : row + width][local[of]] + paid[place : place + LANES] - own[of] + np.uint8(BIAS)
    return found & np.uint8(bits)


def least(*swaps: Any) -> Any:
    """The least of what `added` says of these swaps."""
    return np.int64(added(*swaps).min())


def same(wanted: int, *swaps: Any) -> Any:
    """A bit for each of the swaps that `added` is asked about where it says what is wanted."""
    found = added(*swaps) == wanted
    return np.packbits(found, bitorder="little").view(np.uint32).astype(np.uint64)[0]


def _all(number: int) -> Any:
    return ir.Constant(_VECTOR, [number] * LANES)


def _spread(builder: Any, word: Any) -> Any:
    """A vector with this number in every place."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, builder.trunc(word, _BYTE), ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _load(context: Any, builder: Any, kind: Any, span: Any, at: Any) -> Any:
    data = cgutils.create_struct_proxy(kind)(context, builder, span).data
    return builder.load(builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer()), align=1, typ=_VECTOR)


def _permuted(builder: Any, table: Any, index: Any) -> Any:
    """The numbers of `table` at `index`, written so that LLVM sees a permutation."""
    found = ir.Constant(_VECTOR, ir.Undefined)
    for k in range(LANES):
        at = ir.Constant(ir.IntType(32), k)
        found = builder.insert_element(found, builder.extract_element(table, builder.extract_element(index, at)), at)
    return found


def _added(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The values of `added`. A line of more than LANES cells is looked up part by part."""
    cost, row, local, paid, place, own, first, width, bits = args
    index = _load(context, builder, kinds[2], local, first)
    before = builder.block
    loop, after = builder.append_basic_block("part"), builder.append_basic_block("parted")
    builder.branch(loop)
    builder.position_at_end(loop)
    part, left, found = builder.phi(_WORD), builder.phi(_VECTOR), builder.phi(_VECTOR)
    table = _load(context, builder, kinds[0], cost, builder.add(row, part))
    here = _permuted(builder, table, builder.and_(left, _all(LANES - 1)))
    fresh = builder.select(builder.icmp_unsigned("<", left, _all(LANES)), here, found)
    following = builder.add(part, ir.Constant(_WORD, LANES))
    part.add_incoming(ir.Constant(_WORD, 0), before)
    part.add_incoming(following, loop)
    left.add_incoming(index, before)
    left.add_incoming(builder.sub(left, _all(LANES)), loop)
    found.add_incoming(_all(0), before)
    found.add_incoming(fresh, loop)
    builder.cbranch(builder.icmp_signed("<", following, width), loop, after)
    builder.position_at_end(after)
    total = builder.add(fresh, _load(context, builder, kinds[3], paid, place))
    total = builder.sub(total, _load(context, builder, kinds[5], own, first))
    return builder.and_(builder.add(total, _all(BIAS)), _spread(builder, bits))


def _signature(result: Any, args: Any) -> Any:
    return result(*(types.int64 if isinstance(kind, types.Integer) else kind for kind in args))


@infer_global(least)
class _Least(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return _signature(types.int64, args)


@infer_global(same)
class _Same(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return _signature(types.uint64, args)


@lower_builtin(least, *[types.Any] * 9)
def _emit_least(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = ir.FunctionType(_BYTE, [_VECTOR])
    smallest = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.umin.v{LANES}i8")
    return builder.zext(builder.call(smallest, [_added(context, builder, signature.args, args)]), _WORD)


@lower_builtin(same, *[types.Any] * 10)
def _emit_same(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    found = _added(context, builder, signature.args[1:], args[1:])
    equal = builder.icmp_unsigned("==", found, _spread(builder, args[0]))
    return builder.zext(builder.bitcast(equal, ir.IntType(LANES)), _WORD)
