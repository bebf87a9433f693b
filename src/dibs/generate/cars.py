"""Car sequencing: a line of cars of several classes, whose options few workshops can build in.

The workshop of an option takes at most p of any q cars that follow one another. A line is hidden in the instance: each
option of it is as dense as its workshop allows, but for places that are skipped at random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.problem.own import Problem
from dibs.problem.stated import CAPACITY, CarOrders

SEVERAL, FILES = "lines", "line-"


def cars(seed: int, *, cars: int = 60, use: float = 0.95) -> Problem:
    """Lines of cars to be sequenced (CSPLib 001), as problems in JSON.

    Each has a solution. Files and seeds are as for timetables.

    For example:
      dibs generate cars 20 --cars 60 --use 0.9 --output lines

    Args:
        seed: which instance.
        cars: cars of a line
        use: cars with an option, of all that its workshop could take

    Returns:
        A problem. Its literals are (place in the line, class of the car there), then (option, place that lacks it).
    """
    if cars < 10 or not 0 < use <= 1:
        raise ValueError(f"cars = {cars}, use = {use}: at least 10 cars, and a share up to 1")
    rng = np.random.default_rng((seed, cars))
    line = np.stack([spread(cars, most, window, use, rng) for most, window in CAPACITY], axis=1)
    classes, demand = np.unique(line, axis=0, return_counts=True)
    order = rng.permutation(len(classes))
    rows = zip(demand[order].tolist(), classes[order].astype(int).tolist(), strict=True)
    return CarOrders(CAPACITY, tuple((count, tuple(options)) for count, options in rows)).posed()


def spread(count: int, most: int, window: int, use: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """[count] which cars have an option: blocks of `window` places with `most` in them, drifting by random gaps."""
    has = np.zeros(count, bool)
    full = -(-count * most // window)
    gaps = np.zeros(full, np.int64)
    spare = round((1 - use) * count)
    np.add.at(gaps, rng.integers(full, size=spare), 1)
    start = int(rng.integers(window - most + 1))
    at = start
    for i in range(full):
        at += gaps[i]
        place = at + i // most * window + i % most
        if place < count:
            has[place] = True
    return has


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.cars:family` learns: lines of all lengths, from easy to hard."""
    rng = np.random.default_rng((seed, 1))
    return cars(seed, cars=int(rng.integers(20, 71)), use=float(rng.uniform(0.85, 0.97)))
