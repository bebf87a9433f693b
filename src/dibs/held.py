"""Named tuples of arrays by their addresses, from one call of compiled code to the next.

Numba looks up the type of each array in each call and unwraps it: with some seventy of them, which are no longer in the
cache where calls are easy, that takes longer than many a call. `hold` writes down once where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar, get_args, get_type_hints

import numba
import numpy as np
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin
from numba.np.numpy_support import from_dtype
from numpy.typing import NDArray

from dibs.machine import Span, View

Fields = TypeVar("Fields", bound=Any)


def hold(fields: Fields) -> Any:
    """int64 [words] what compiled code needs of a named tuple of arrays; without Numba, the tuple itself.

    Good as long as the caller keeps the tuple, and with it the arrays.
    """
    if numba.config.DISABLE_JIT:
        return fields
    words: list[int] = []
    for (name, (dtype, dimensions)), array in zip(_declared(type(fields)).items(), fields, strict=True):
        if array.dtype != dtype or array.ndim != dimensions or not (array.flags.c_contiguous and array.flags.writeable):
            raise TypeError(f"{name}: {array.dtype} {array.shape} is not as declared")
        words += array.ctypes.data, *array.shape
    return np.array(words)


def places(of: type[Fields]) -> Callable[[NDArray[np.int64]], Fields]:
    """A function for compiled code: the view of a named tuple `of` that is held."""

    def find(words: Any) -> Any:
        return words

    kinds = tuple(Span(from_dtype(np.dtype(dtype)), dimensions) for dtype, dimensions in _declared(of).values())
    view = View(SimpleNamespace(fields=of._fields, instance_class=of), kinds)

    class _Find(AbstractTemplate):  # type: ignore[misc]
        key = find

        def generic(self, args: Any, _kws: Any) -> Any:
            return view(*args)

    infer_global(find, types.Function(_Find))
    lower_builtin(find, types.Array)(_address)
    return find


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    words = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(words.data, context.get_value_type(signature.return_type))


@cache
def _declared(of: Any) -> dict[str, tuple[Any, int]]:
    """The dtype of each array and how many dimensions it has: as many as `Annotated` says, or one."""
    found = {}
    for name, hint in get_type_hints(of, include_extras=True).items():
        array, *shape = get_args(hint) if hasattr(hint, "__metadata__") else (hint, "")
        [dtype] = get_args(get_args(array)[1])  # NDArray[d] is ndarray[..., dtype[d]]
        found[name] = dtype, len(shape)
    return found
