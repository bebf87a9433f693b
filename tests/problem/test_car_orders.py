"""Car sequencing as groups: a line is found just where there is one, and it is one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dibs
from dibs.problem.stated import CarOrders


def fits(line: list[int], orders: CarOrders) -> bool:
    """Whether no workshop is overrun, by looking at each window."""
    options = [orders.classes[c][1] for c in line]
    return all(
        sum(car[option] for car in options[i : i + window]) <= most
        for option, (most, window) in enumerate(orders.capacity)
        for i in range(len(line))
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_line_is_found_where_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = tuple(
        (int(rng.integers(1, 3)), tuple(rng.integers(0, 2, size=2).tolist())) for _ in range(int(rng.integers(1, 5)))
    )
    orders = CarOrders(((1, 2), (2, 3)), classes)
    cars = [c for c, (count, _) in enumerate(classes) for _ in range(count)]
    found = dibs.solve(orders.posed())
    assert (found.status == "SAT") == any(fits(list(line), orders) for line in set(permutations(cars)))
    if found.solution is not None:
        line = [literal % len(classes) for literal in found.solution if literal < len(classes) * len(cars)]
        assert sorted(line) == cars
        assert fits(line, orders)
