"""Searches whose stores hardly hold anything, and that ask, dive and walk all the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dibs.search.nogoods import arrays, dives
from dibs.search.nogoods import search as learner

RESTLESS: dict[tuple[Any, str], float] = {  # asks, dives and walks from the first failures on, also in small problems
    (dives, "DIVE"): 2,
    (dives, "EVERY"): 2,
    (dives, "CHECK"): 1,
    (dives, "FAILURES"): 4,
    (dives, "START"): 0.0,
    (dives, "WALK_START"): 0.0,
    (dives, "LEAST"): 50,
    (dives, "LITERALS"): 1,
}
SMALL: dict[tuple[Any, str], float] = {  # and stores that must grow or be tidied at once
    **RESTLESS,
    (arrays, "ARENA"): 4,
    (arrays, "MANY"): 2,
    (arrays, "FIRST_ROOM"): 3,
    (learner, "SLICE"): 2,
}


@contextmanager
def patched(values: dict[tuple[Any, str], float]) -> Iterator[None]:
    """Constants of modules as they are here, until the end of the block."""
    before = {(module, name): getattr(module, name) for module, name in values}
    for (module, name), value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)
