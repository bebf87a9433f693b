"""Timetables, graphs and lines of cars: seeded, with a solution that is hidden in them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dibs
from dibs.generate.cars import CAPACITY, cars, spread
from dibs.generate.colouring import colouring
from dibs.generate.timetable import timetable

Make = Callable[..., dibs.Problem]

SMALL: list[tuple[Make, dict[str, Any]]] = [
    (timetable, {"classes": 6, "teachers": 7, "hours": 8, "fixed": 0.3, "away": 0.5}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9, "fixed": 0.0}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9, "kind": "geometric"}),
    (cars, {"count": 20, "use": 0.8}),
]


def _content(problem: dibs.Problem) -> Any:
    return problem.groups, problem.given.tolist()


@pytest.mark.parametrize(("make", "how"), SMALL)
def test_the_seed_says_which_instance_it_is_and_it_has_a_solution(make: Make, how: dict[str, Any]) -> None:
    assert _content(make(3, **how)) == _content(make(3, **how))
    assert _content(make(3, **how)) != _content(make(4, **how))
    for seed in range(5):
        assert dibs.solve(make(seed, **how)).status is dibs.Status.SAT


def test_flat_graphs_are_flat() -> None:
    """All nodes have as many neighbours, or nearly so; geometric ones do not."""
    spread = {}
    for kind in ("flat", "geometric"):
        edges = [
            one.literals for one in colouring(1, nodes=90, colours=3, degree=8.0, kind=kind).groups if one.most == 1
        ]
        pairs = np.array([one for one in edges if len(one) == 2])[::3] // 3
        degree = np.bincount(pairs.ravel(), minlength=90)
        assert abs(degree.mean() - 8) < 0.2
        spread[kind] = degree.std()
    assert spread["flat"] < 1 < spread["geometric"]


@pytest.mark.parametrize(("most", "window"), CAPACITY)
def test_the_hidden_line_keeps_to_its_workshops_and_uses_them(most: int, window: int) -> None:
    rng = np.random.default_rng(1)
    for use in (0.8, 0.9, 1.0):
        has = spread(200, most, window, use, rng)
        in_windows = np.convolve(has, np.ones(window, int), "valid")
        assert in_windows.max() <= most
        assert abs(has.sum() / (200 * most / window) - use) < 0.1


@pytest.mark.parametrize(
    ("make", "how", "complaint"),
    [
        (timetable, {"classes": 5, "teachers": 4}, "a teacher for each class"),
        (timetable, {"fixed": 1.5}, "fixed = 1.5: a share from 0 to 1"),
        (colouring, {"colours": 2}, "at least 3 colours"),
        (colouring, {"nodes": 30, "colours": 3, "degree": 15}, "degree = 15"),
        (cars, {"use": 0.0}, "use = 0.0"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Make, how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make(0, **how)
