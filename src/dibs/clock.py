"""The clock of searches and guides. It stands still while code is compiled, or loaded: that is nobody's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import local
from time import perf_counter
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_here = local()  # of this thread. `still`: seconds that did not count; `end`: when nobody waits any longer


def clock() -> float:
    """Seconds in this thread since some moment."""
    return perf_counter() - getattr(_here, "still", 0.0)


def uncounted(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; the clock stands still while it runs."""

    def run(*args: P.args, **options: P.kwargs) -> R:
        begin = clock()
        try:
            return function(*args, **options)
        finally:
            _here.still = perf_counter() - begin

    return run


@contextmanager
def waiting(seconds: float) -> Iterator[None]:
    """Whoever asks for what is done in here waits for so many seconds, no longer: see `left`."""
    _here.end = clock() + seconds
    try:
        yield
    finally:
        _here.end = inf


def left() -> float:
    """Seconds until what this thread does comes too late for whoever asked for it."""
    end: float = getattr(_here, "end", inf)
    return end - clock()


class Late(Exception):
    """There was no time for what had to be done before a search."""


def never() -> bool:
    """It is never too late, nobody stops the search: what is asked where nothing else is said."""
    return False


def in_time(late: Callable[[], bool]) -> None:
    """Raises Late once `late()` is true."""
    if late():
        raise Late
