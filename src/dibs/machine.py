"""Machine instructions that Numba has no name for, each with a plain Python stand-in for when Numba is switched off."""

from __future__ import annotations

import operator
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global
from numba.extending import lower_builtin, models, register_model
from numpy.typing import NDArray

Fields = TypeVar("Fields", bound=Any)


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


def view(fields: Fields) -> Fields:
    """A named tuple by its address, its arrays borrowed, for compiled code; without Numba, the tuple itself.

    Only in the function that Python calls, and for parts of it: the address is of its stack.
    """
    return fields


def view_row(fields: Fields, row: int) -> Fields:
    """The same of row `row` of all its arrays, each of one dimension less."""
    found: Fields = fields._make(array[row] for array in fields)
    return found


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


class View(types.Type):
    """The address of a named tuple of spans and numbers.

    By value each call would pass some hundred numbers, and most of the time of compilation would go into that. Once all
    parts are inlined, nothing of it is left: the compiler keeps the fields in registers.
    """

    def __init__(self, of: Any, kinds: tuple[Any, ...]) -> None:
        self.names, self.kinds = of.fields, kinds
        super().__init__(f"View({of.instance_class.__name__}, {', '.join(map(str, kinds))})")


@register_model(View)
class _ViewModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: View) -> None:
        super().__init__(manager, of, manager[types.Tuple(of.kinds)].get_value_type().as_pointer())


def _span(context: Any, builder: Any, of: Span, array: Any, value: Any, row: Any = None) -> Any:
    """An array as a span, or one row of it."""
    view = context.make_array(array)(context, builder, value)
    span = cgutils.create_struct_proxy(of)(context, builder)
    shape = cgutils.unpack_tuple(builder, view.shape, array.ndim)
    span.data = view.data
    if row is not None:
        for size in shape[1:]:
            row = builder.mul(row, size)
        span.data, shape = builder.gep(view.data, [row]), shape[1:]
    span.size = shape[0]
    if of.ndim == 2:
        span.row = shape[1]
    return span._getvalue()


def _viewed(of: Any, fewer: int) -> View:
    """The type of a view of a named tuple whose arrays have `fewer` dimensions in it."""
    arrays = [kind for kind in of.types if isinstance(kind, types.Array)]
    if any(kind.layout != "C" or not 0 < kind.ndim - fewer < 3 for kind in arrays):
        raise TypeError(f"{of} cannot be borrowed")
    return View(
        of, tuple(Span(kind.dtype, kind.ndim - fewer) if isinstance(kind, types.Array) else kind for kind in of.types)
    )


@infer_getattr
class _Field(AttributeTemplate):  # type: ignore[misc]
    key = View

    def generic_resolve(self, of: View, name: str) -> Any:  # type: ignore[override]
        return dict(zip(of.names, of.kinds, strict=True)).get(name)


@lower_getattr_generic(View)
def _field(context: Any, builder: Any, of: View, place: Any, name: str) -> Any:
    return builder.load(cgutils.gep_inbounds(builder, place, 0, of.names.index(name)))


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


@infer_global(borrow)
class _Borrow(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        (array,) = args
        if array.layout != "C" or array.ndim > 2:
            raise TypeError(f"{array} cannot be borrowed")
        return Span(array.dtype, array.ndim)(array)


@infer_global(view)
class _View(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return _viewed(args[0], 0)(*args)


@infer_global(view_row)
class _ViewRow(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return _viewed(args[0], 1)(args[0], types.intp)


@infer_global(trailing_zeros)
@infer_global(ones)
class _OfWord(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _kws: Any) -> Any:
        return types.int64(types.uint64)


@lower_builtin(borrow, types.Array)
def _borrow(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _span(context, builder, signature.return_type, *signature.args, *args)


@lower_builtin(view, types.BaseTuple)
@lower_builtin(view_row, types.BaseTuple, types.Integer)
def _fill(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A view of a tuple, or of one row of all its arrays, on the stack."""
    of, (value, *row) = signature.return_type, args
    place = cgutils.alloca_once(builder, context.get_value_type(of).pointee)
    for i, (kind, array) in enumerate(zip(of.kinds, signature.args[0].types, strict=True)):
        field = builder.extract_value(value, i)
        if isinstance(kind, Span):
            field = _span(context, builder, kind, array, field, *row)
        builder.store(field, cgutils.gep_inbounds(builder, place, 0, i))
    return place


@lower_builtin(trailing_zeros, types.Integer)
def _cttz(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))


@lower_builtin(ones, types.Integer)
def _ctpop(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    return builder.ctpop(args[0])
