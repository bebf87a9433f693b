"""Timetables, graphs, lines of cars, rosters, tilings, routes: seeded, with a solution that is hidden in them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dibs
from dibs.generate.cars import cars, spread
from dibs.generate.colouring import colouring
from dibs.generate.families import families
from dibs.generate.roster import roster
from dibs.generate.routes import routes
from dibs.generate.tiling import _turned, tiling
from dibs.generate.timetable import timetable
from dibs.problem.stated import CAPACITY

Make = Callable[..., Any]

SMALL: list[tuple[Make, dict[str, Any]]] = [
    (timetable, {"classes": 6, "teachers": 7, "hours": 8, "fixed": 0.3, "away": 0.5}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9, "fixed": 0.0}),
    (colouring, {"nodes": 40, "colours": 4, "degree": 9, "kind": "geometric"}),
    (cars, {"cars": 20, "use": 0.8}),
    (roster, {"nurses": 5, "days": 9, "fixed": 0.2}),
    (tiling, {"rows": 5, "columns": 6}),
    (tiling, {"rows": 5, "columns": 6, "fixed": 0.4}),
    (routes, {"size": 5, "routes": 3}),
]


def _content(problem: Any) -> Any:
    return problem.clauses if isinstance(problem, dibs.CNF) else (problem.groups, problem.given.tolist())


def test_none_is_left_out() -> None:
    assert {make.__name__ for make, _ in SMALL} == set(families())


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
        (roster, {"days": 6}, "4 nurses and 7 days"),
        (roster, {"fixed": -0.1}, "fixed = -0.1"),
        (tiling, {"rows": 7, "columns": 8}, "a multiple of 5 cells"),
        (tiling, {"fixed": 1.0}, "fixed = 1.0: a share below 1"),
        (routes, {"size": 5, "routes": 9}, "of 3 cells each"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Make, how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make(0, **how)


def test_a_roster_is_covered_and_nobody_works_too_much() -> None:
    """Read from the solution alone: shifts 0 to 2 are work, 3 is off."""
    problem = roster(5, nurses=6, days=14, fixed=0.3)
    true = np.zeros(problem.literals, bool)
    true[dibs.solve(problem).solution] = True
    plan = true.reshape(6, 14, 4)
    assert (plan.sum(axis=2) == 1).all()
    work = plan[:, :, :3].sum(axis=2) > 0
    assert max(work[:, day : day + 7].sum(axis=1).max() for day in range(8)) <= 5
    shift = plan.argmax(axis=2)
    late, night = shift[:, :-1] == 1, shift[:, :-1] == 2
    assert not (late & (shift[:, 1:] == 0)).any()
    assert not (night & (shift[:, 1:] < 2)).any()
    cover = [one for one in problem.groups if one.role == "cover"]
    assert sum(one.least for one in cover) == work.sum(), "as many as are needed, and nobody more than agreed"


def test_a_tiling_covers_every_cell_once_with_all_pieces() -> None:
    problem = tiling(2, rows=5, columns=8)
    cells = [one for one in problem.groups if one.role == "cell"]
    pieces = [one for one in problem.groups if one.role == "piece"]
    assert len(cells) == 40
    assert sum(one.least for one in pieces) == 8
    covered = np.bincount([literal for one in cells for literal in one.literals], minlength=problem.literals)
    assert (covered == 5).all()
    assert len(_turned()) == 63, "the fixed pentominoes"


def test_routes_join_their_ends() -> None:
    size, count = 6, 4
    formula = routes(3, size=size, routes=count)
    true = {v for v in dibs.solve(formula).solution if v > 0}
    route = [next(r for r in range(count) if count * cell + r + 1 in true) for cell in range(size * size)]
    ends = [v for [v] in (clause for clause in formula.clauses if len(clause) == 1) if v <= count * size * size]
    assert len(ends) == 2 * count
    for r in range(count):
        first, last = ((v - 1) // count for v in ends if (v - 1) % count == r)
        reached, todo = {first}, [first]
        while todo:
            at = todo.pop()
            near = [at - size, at + size, *([at - 1] if at % size else []), *([at + 1] if (at + 1) % size else [])]
            new = [n for n in near if 0 <= n < size * size and route[n] == r and n not in reached]
            reached.update(new)
            todo += new
        assert last in reached
