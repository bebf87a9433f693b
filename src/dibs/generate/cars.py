"""Car sequencing: a line of cars of several classes, whose options few workshops can build in.

The workshop of an option takes at most p of any q cars that follow one another. A line is hidden in the instance: each
option of it is as dense as its workshop allows, but for places that are skipped at random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.problem.own import Bounds, Problem

SEVERAL, FILES = "lines", "line-"
CAPACITY = ((1, 2), (2, 3), (1, 3), (2, 5), (1, 5))  # p of q for each option, as in CSPLib's problem 001


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
        A problem. Its literals are (place in the line, class of the car there).
    """
    if cars < 10 or not 0 < use <= 1:
        raise ValueError(f"cars = {cars}, use = {use}: at least 10 cars, and a share up to 1")
    rng = np.random.default_rng((seed, cars))
    line = np.stack([spread(cars, most, window, use, rng) for most, window in CAPACITY], axis=1)
    classes, demand = np.unique(line, axis=0, return_counts=True)
    order = rng.permutation(len(classes))
    return sequenced(classes[order], demand[order], CAPACITY)


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


def sequenced(classes: NDArray[np.bool_], demand: NDArray[np.int64], capacity: tuple[tuple[int, int], ...]) -> Problem:
    """A line of cars as a problem: `classes` [n, options] which options a class has, `demand` [n] how many cars.

    What follows for the beginning of the line, as the rest of it can take only so many, is said too.
    """
    number, total = len(classes), int(demand.sum())
    groups = [Bounds(1, 1, range(number * i, number * (i + 1)), "place") for i in range(total)]
    groups += [Bounds(int(d), int(d), range(k, number * total, number), "demand") for k, d in enumerate(demand)]
    for option, (most, window) in enumerate(capacity):
        having = np.flatnonzero(classes[:, option])
        each = (number * np.arange(total)[:, None] + having).ravel()  # the literals of a place follow one another
        wanted, role = int(demand[having].sum()), f"{most} of {window}"
        for first in range(total - window + 1):
            groups.append(Bounds(0, most, each[first * len(having) : (first + window) * len(having)].tolist(), role))
        for blocks in range(1, total // window + 1):
            if wanted > blocks * most:
                early = each[: (total - blocks * window) * len(having)]
                groups.append(Bounds(wanted - blocks * most, len(early), early.tolist(), "early"))
    return Problem(number * total, groups=groups)


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.cars:family` learns: lines of all lengths, from easy to hard."""
    rng = np.random.default_rng((seed, 1))
    return cars(seed, cars=int(rng.integers(20, 71)), use=float(rng.uniform(0.85, 0.97)))
