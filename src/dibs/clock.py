"""The clock of searches and guides. It stands still while code is compiled, or loaded: that is nobody's time."""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from time import perf_counter
from typing import Any

_here = local()  # `still`: seconds that did not count in this thread


def clock() -> float:
    """Seconds in this thread since some moment."""
    return perf_counter() - getattr(_here, "still", 0.0)


def uncounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; the clock stands still while it runs."""

    def run(*args: Any, **options: Any) -> Any:
        begin = clock()
        try:
            return function(*args, **options)
        finally:
            _here.still = perf_counter() - begin

    return run


class Late(Exception):
    """There was no time for what had to be done before a search."""


def never() -> bool:
    """It is never too late, nobody stops the search: what is asked where nothing else is said."""
    return False


def in_time(late: Callable[[], bool]) -> None:
    """Raises Late once `late()` is true."""
    if late():
        raise Late
