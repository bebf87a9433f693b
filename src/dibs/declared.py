"""Arrays declared once: name, dtype and shape stand in a named tuple, and whoever needs room for them asks here.

    class Searches(NamedTuple):
        trail: Annotated[NDArray[np.uint32], "rows", "literals+domains"]  # what it is

A dimension is a sum of sizes and numbers. Compiled code sees a plain named tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np

Fields = TypeVar("Fields", bound=Any)


class Declared(NamedTuple):
    """An array as its declaration has it."""

    dtype: Any
    shape: tuple[tuple[str, ...], ...]  # for each dimension the sizes and numbers that it is the sum of


@cache
def declarations(of: Any) -> dict[str, Declared]:
    """The declared arrays of a named tuple, by their names."""
    found = {}
    for name, hint in get_type_hints(of, include_extras=True).items():
        if hasattr(hint, "__metadata__"):
            array, *shape = get_args(hint)
            [dtype] = get_args(get_args(array)[1])  # NDArray[d] is ndarray[..., dtype[d]]
            found[name] = Declared(dtype, tuple(tuple(size.split("+")) for size in shape))
    return found


@cache
def dimensions(of: Any) -> frozenset[tuple[str, ...]]:
    """All dimensions of the declared arrays."""
    return frozenset(one for declared in declarations(of).values() for one in declared.shape)


def shapes(of: Any, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The shape of each declared array; `sizes`: what the names in their dimensions stand for."""
    return _shapes(of, tuple(sizes.items()))


@lru_cache(256)  # this is part of the time of an easy search, and many have the same sizes
def _shapes(of: Any, named: tuple[tuple[str, int], ...]) -> dict[str, tuple[int, ...]]:
    known, sizes = declarations(of), dict(named)
    size = {one: sum(int(n) if n.isdigit() else sizes[n] for n in one) for one in dimensions(of)}
    return {name: tuple([size[one] for one in declared.shape]) for name, declared in known.items()}


def room(of: type[Fields], sizes: dict[str, int], **others: Any) -> Fields:
    """A named tuple whose declared arrays are new and hold anything; `others`: fields that there are already."""
    found: Fields = _made(of, np.empty, sizes, others)
    return found


def zeros(of: type[Fields], sizes: dict[str, int], **others: Any) -> Fields:
    """The same with zeros."""
    found: Fields = _made(of, np.zeros, sizes, others)
    return found


def _made(of: Any, make: Callable[..., Any], sizes: dict[str, int], others: dict[str, Any]) -> Any:
    known = declarations(of)
    made = {name: make(shape, known[name].dtype) for name, shape in shapes(of, sizes).items() if name not in others}
    return of(**made, **others)
