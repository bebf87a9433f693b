"""Machine instructions that Numba has no name for, each with a plain Python stand-in for when Numba is switched off."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray


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


@intrinsic
def _borrow(_context: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        view.parent = ir.Constant(view.parent.type, None)
        return view._getvalue()

    return array(array), emit


@intrinsic
def _cttz(_context: Any, word: Any) -> Any:
    def emit(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic
def _ctpop(_context: Any, word: Any) -> Any:
    def emit(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), emit


# Numba compares the parameters of an overload and its implementation, annotations included: neither has any.
@overload(trailing_zeros, inline="always")
def _trailing_zeros(word):  # type: ignore[no-untyped-def]
    return lambda word: _cttz(word)  # type: ignore[call-arg]


@overload(borrow, inline="always")
def _borrowed(array):  # type: ignore[no-untyped-def]
    return lambda array: _borrow(array)  # type: ignore[call-arg]


@overload(ones, inline="always")
def _ones(word):  # type: ignore[no-untyped-def]
    return lambda word: _ctpop(word)  # type: ignore[call-arg]
