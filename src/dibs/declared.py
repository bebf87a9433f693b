"""Arrays declared once: name, dtype and shape stand in a named tuple, and whoever needs room for them asks here.

    class Searches(NamedTuple):
        trail: Annotated[NDArray[np.uint32], "rows", "literals+domains"]  # what it is

A dimension is a sum of sizes and numbers. Compiled code sees a plain named tuple.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np

Fields = TypeVar("Fields", bound=Any)


class Declared(NamedTuple):
    """An array as its declaration has it."""

    dtype: Any
    shape: tuple[tuple[str, ...], ...]  # for each dimension the sizes and numbers that it is the sum of


@cache
def declarations(of: type[Any]) -> dict[str, Declared]:
    """The declared arrays of a named tuple, by their names."""
    found = {}
    for name, hint in get_type_hints(of, include_extras=True).items():
        array, *shape = get_args(hint) if hasattr(hint, "__metadata__") else [None]
        if shape:
            [dtype] = get_args(get_args(array)[1])  # NDArray[d] is ndarray[..., dtype[d]]
            found[name] = Declared(dtype, tuple(tuple(size.split("+")) for size in shape))
    return found


def shapes(of: type[Any], sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The shape of each declared array; `sizes`: what the names in their dimensions stand for."""
    return {
        name: tuple(sum(int(size) if size.isdigit() else sizes[size] for size in sum_) for sum_ in declared.shape)
        for name, declared in declarations(of).items()
    }


def room(of: type[Fields], sizes: dict[str, int], **others: Any) -> Fields:
    """A named tuple whose declared arrays are new and hold anything; `others`: fields that there are already."""
    made = {name: np.empty(shape, declarations(of)[name].dtype) for name, shape in shapes(of, sizes).items()}
    found: Fields = of(**{**made, **others})
    return found


def zeros(of: type[Fields], sizes: dict[str, int], **others: Any) -> Fields:
    """The same with zeros."""
    made = {name: np.zeros(shape, declarations(of)[name].dtype) for name, shape in shapes(of, sizes).items()}
    found: Fields = of(**{**made, **others})
    return found
