"""Machine instructions that Numba has no name for, each with a plain Python stand-in for when Numba is switched off."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, overload, register_model
from numpy.typing import NDArray


def trailing_zeros(word: int) -> int:
    """Position of the lowest set bit; stands in for the machine instruction when Numba is switched off."""
    return (int(word) & -int(word)).bit_length() - 1


def ones(word: int) -> int:
    """Number of set bits; stands in for the machine instruction when Numba is switched off."""
    return int(word).bit_count()


def borrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as a `Span`, for compiled code; when Numba is switched off, the array itself.

    Safe as long as the caller of `advance` holds the arrays, which it does by passing them.
    """
    return array


class Span(types.Type):
    """Numbers in a row that belong to somebody else: an address and a length, with two dimensions the length of a row.

    An array of Numba's has reference counts, which are atomic and cost more than the search itself; and it is seven
    numbers, which every call of every function passes on: compilation takes several times as long.
    Indices are not negative.
    """

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"Span({dtype}, {ndim})")


@register_model(Span)
class _SpanModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: Span) -> None:
        row = [("row", types.intp)] if of.ndim == 2 else []
        super().__init__(manager, of, [("data", types.CPointer(of.dtype)), ("size", types.intp), *row])


@intrinsic
def _borrow(_context: Any, array: Any) -> Any:
    if array.layout != "C" or array.ndim > 2:
        raise TypeError(f"{array} cannot be borrowed")
    of = Span(array.dtype, array.ndim)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        span = cgutils.create_struct_proxy(of)(context, builder)
        span.data = view.data
        shape = cgutils.unpack_tuple(builder, view.shape, of.ndim)
        span.size = shape[0]
        if of.ndim == 2:
            span.row = shape[1]
        return span._getvalue()

    return of(array), emit


def _place(context: Any, builder: Any, of: Span, span: Any, index: Any, at: Any) -> Any:
    """The address of an item."""
    fields = cgutils.create_struct_proxy(of)(context, builder, span)
    if of.ndim == 1:
        return builder.gep(fields.data, [context.cast(builder, at, index, types.intp)])
    i, j = (
        context.cast(builder, one, kind, types.intp)
        for one, kind in zip(cgutils.unpack_tuple(builder, at), index.types, strict=True)
    )
    return builder.gep(fields.data, [builder.add(builder.mul(i, fields.row), j)])


def _indexed(of: Any, index: Any) -> bool:
    """Whether an index fits a span."""
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    return isinstance(of, Span) and len(kinds) == of.ndim and all(isinstance(kind, types.Integer) for kind in kinds)


@infer_global(operator.getitem)
class _Get(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return args[0].dtype(*args) if _indexed(*args) else None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return types.none(args[0], args[1], args[0].dtype) if _indexed(*args[:2]) else None


@infer_global(len)
class _Length(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return types.intp(args[0]) if isinstance(args[0], Span) else None


@lower_builtin(operator.getitem, Span, types.Any)
def _get(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    of, index = signature.args
    return context.unpack_value(builder, of.dtype, _place(context, builder, of, args[0], index, args[1]))


@lower_builtin(operator.setitem, Span, types.Any, types.Any)
def _set(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    of, index, _ = signature.args
    context.pack_value(builder, of.dtype, args[2], _place(context, builder, of, args[0], index, args[1]))
    return context.get_dummy_value()


@lower_builtin(len, Span)
def _length(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).size


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
