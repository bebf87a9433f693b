"""The clock stands still for what is nobody's time."""

from __future__ import annotations

from threading import Thread
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from dibs.clock import _here, clock, uncounted
from dibs.compiled import entry


def wait(seconds: float) -> float:
    """Busy for so long, by the wall."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass
    return seconds


def test_what_is_uncounted_takes_no_time() -> None:
    inner = uncounted(wait)
    outer = uncounted(lambda: wait(0.02) + inner(0.02))
    begin, wall = clock(), perf_counter()
    assert outer() == pytest.approx(0.04)
    with pytest.raises(ZeroDivisionError):
        uncounted(lambda: wait(0.02) / 0)()
    took, all_of_it = clock() - begin, perf_counter() - wall
    assert 0 <= took <= all_of_it - 0.06
    begin = clock()
    wait(0.02)
    assert clock() - begin >= 0.02


def test_threads_have_clocks_of_their_own() -> None:
    begin = clock()
    thread = Thread(target=uncounted(wait), args=(0.02,))
    thread.start()
    thread.join()
    assert clock() - begin >= 0.02


def test_compilation_is_uncounted() -> None:
    @entry()
    def double(values: Any) -> Any:
        return values + values

    if not hasattr(double, "overloads"):
        pytest.skip("Numba is switched off")
    before = getattr(_here, "still", 0.0)
    assert double(np.arange(3)).tolist() == [0, 2, 4]
    compiled = _here.still
    assert compiled > before
    double(np.arange(3))
    assert _here.still == compiled
