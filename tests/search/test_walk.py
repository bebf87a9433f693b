"""The local search on lines: what it keeps, what it counts, and that it changes no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import dibs
from dibs import CNF, Options, Problem
from dibs.generate import latin, sudoku
from dibs.machine import borrow
from dibs.problem import Instance
from dibs.search.nogoods import arrays, swaps, walk
from dibs.search.nogoods.lines import Lines, lines
from dibs.search.nogoods.search import Search
from dibs.search.nogoods.walk import Walk
from dibs.search.nogoods.walker import Walker
from dibs.search.root import roots

HOW: dict[str, Any] = {"strategy": "nogoods"}


def begun(problem: Instance) -> Search:
    [open_], [true], _ = roots([problem])
    return Search(problem, Options(**HOW), open_, true, 0, 0.0)


def walked(problem: Instance, seed: int) -> tuple[Search, Lines, Walk]:
    """A walk at its beginning."""
    search = begun(problem)
    count = len(search.open)
    found = lines(search.problem, np.ones(count, bool))
    assert found is not None
    rng = np.random.default_rng(seed)
    return search, found, walk.begin(found, rng.gumbel(size=count), rng)


def pending(w: Walk) -> int:
    """How many values are tabu by the moves to come that end it."""
    count = 0
    for end in np.flatnonzero(w.ends):
        at = w.ends[end]
        while at:
            count, at = count + 1, w.tabu[at + 1]
    return count


def check(search: Search, t: Lines, w: Walk) -> None:
    """Every line is a matching, and all counts are what the values say."""
    cells = np.concatenate([first + np.arange(size) for first, size in zip(t.first, t.size, strict=False)])
    assert sorted(w.value[cells]) == cells.tolist()
    assert (w.holder[w.value[cells]] == cells).all()
    assert (t.line[w.value[cells]] == t.line[cells]).all()
    assert (t.first[t.line[cells]] + w.local[cells] == w.value[cells]).all()
    literal = t.literal[t.row[cells] + w.value[cells]]
    group = t.group[t.row[cells] + w.value[cells]]
    assert ((group >= t.closed) == (literal < 0)).all()
    count = np.bincount(group, minlength=len(w.held))
    assert (count == w.held).all()
    clashes = (literal < 0).sum() + (count * (count - 1) // 2).sum()
    assert w.counts[walk.CLASHES] == clashes >= w.counts[walk.LEAST]
    tabu = 0
    for c in cells:
        places = cells[t.line[cells] == t.line[c]]
        held = t.group[t.row[c] + places]
        cost = np.minimum((held >= t.closed) + count[held], walk.HIGHEST)
        assert w.own[c] == cost[places == w.value[c]]
        cost += walk.TABU * (w.cost[t.row[c] + places] >= walk.TABU)
        assert (w.cost[t.row[c] + places] == cost).all()
        assert (w.paid[t.row[places] + c] == cost + walk.TABU * (places == w.value[c])).all()
        tabu += int((cost >= walk.TABU).sum())
    assert tabu == pending(w)
    bad = w.bad[: w.counts[walk.BAD]]
    assert sorted(bad) == np.flatnonzero(w.own > 1).tolist()
    assert (w.where[bad] == 1 + np.arange(len(bad))).all()


def grids() -> list[Instance]:
    return [
        *latin(3, order=9, holes=0.6, seed=1),
        *latin(2, order=20, holes=0.42, seed=2),
        *latin(2, order=30, holes=0.7, seed=3),
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_walk_keeps_its_lines_and_its_counts(number: int) -> None:
    search, t, w = walked(grids()[number], number)
    check(search, t, w)
    for i in range(12):
        walk.advance(t, w, 1 + 5000 * (number % 3) * i)
        check(search, t, w)


def test_groups_with_many_true_literals() -> None:
    """Every row takes its values in the same order at first, so that some columns have a value very often."""
    [square] = latin(1, order=40, holes=0.9, seed=3)
    search = begun(square)
    t = lines(search.problem, np.ones(len(search.open), bool))
    assert t is not None
    w = walk.begin(t, -np.arange(len(search.open), dtype=float), np.random.default_rng(0))
    assert w.held.max() > 2 * walk.HIGHEST
    for _ in range(8):
        check(search, t, w)
        walk.advance(t, w, 10_000_000)
    assert w.counts[walk.LEAST] == 0


@pytest.mark.parametrize("width", [1, 2, 8])
def test_swaps_as_vectors(width: int) -> None:
    """What is compiled says what the stand-ins say."""
    rng = np.random.default_rng(width)
    width *= swaps.LANES
    cost, own = rng.integers(0, 16, width).astype(np.uint8), rng.integers(1, 16, width).astype(np.uint8)
    paid, local = rng.integers(0, 80, width).astype(np.uint8), rng.permutation(width).astype(np.uint8)
    for first in range(0, width, swaps.LANES):
        for bits in (swaps.ALL, swaps.REAL):
            one = cost, 0, local, paid, first, own, first, width, bits
            expected = swaps.least(*one)
            assert _least(*one) == expected
            for wanted in (expected, expected + 1):
                assert _same(wanted, *one) == swaps.same(wanted, *one)


@njit
def _least(cost, row, local, paid, place, own, first, width, bits):  # type: ignore[no-untyped-def]
    return swaps.least(borrow(cost), row, borrow(local), borrow(paid), place, borrow(own), first, width, bits)


@njit
def _same(wanted, cost, row, local, paid, place, own, first, width, bits):  # type: ignore[no-untyped-def]
    return swaps.same(wanted, borrow(cost), row, borrow(local), borrow(paid), place, borrow(own), first, width, bits)


def test_a_walk_that_ends_is_at_a_solution() -> None:
    ended = 0
    for seed, square in enumerate(latin(6, order=12, holes=0.6, seed=4)):
        search, t, w = walked(square, seed)
        walk.advance(t, w, 30_000_000)
        if w.counts[walk.LEAST] == 0:
            ended += 1
            true, p = walk.literals(t, w), search.problem
            owner = np.repeat(np.arange(len(p.need)), np.diff(p.group_start))
            assert (np.bincount(owner, np.isin(p.group_member, true), len(p.need)) == 1).all()
    assert ended >= 5


def test_the_same_walk_however_it_is_cut() -> None:
    [square] = latin(1, order=20, holes=0.42, seed=2)
    _, t, at_once = walked(square, 1)
    _, _, cut = walked(square, 1)
    walk.advance(t, at_once, 2_000_000)
    while cut.counts[walk.LOOKS] < at_once.counts[walk.LOOKS]:
        walk.advance(t, cut, 1)
    assert all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(at_once, cut, strict=True))


def test_a_walk_back_at_its_best_state() -> None:
    [square] = latin(1, order=33, holes=0.37, seed=2)
    search, t, w = walked(square, 1)
    rewinds = 0
    for _ in range(100_000):
        walk.advance(t, w, 1)
        if w.counts[walk.REWINDS] > rewinds:
            rewinds = int(w.counts[walk.REWINDS])
            assert (w.value == w.best).all()
            assert not pending(w)
            check(search, t, w)
        if rewinds == 3 or w.counts[walk.LEAST] == 0:
            break
    assert rewinds


def test_problems_without_lines() -> None:
    for problem in (
        *sudoku(1, box=(3, 3), kept=0.4, seed=3),
        CNF(3, [[1, 2], [-1, 3], [2, 3]]),
        Problem(5, exactly_one=[[0, 1, 2]], at_least_one=[[2, 3, 4]], at_most_one=[[0, 4]]),
    ):
        search = begun(problem)
        assert lines(search.problem, np.ones(len(search.open), bool)) is None
        assert dibs.solve(problem, **HOW).status == "SAT"


def test_a_walk_that_has_solved_ends_the_search() -> None:
    [square] = latin(1, order=20, holes=0.42, seed=2)
    search = begun(square)
    walker = Walker(search.problem, np.ones(len(search.open), bool), (3,))
    while not walker.solved:
        walker.advance(search.memory.score, 10_000_000)
    walker.hand_over(search.memory)
    assert not search.advance(lambda: False)
    outcome = search.outcome()
    assert outcome is not None
    assert (outcome.status, outcome.backtracks) == ("SAT", 0)


def test_a_walk_of_another_problem_changes_no_answer() -> None:
    """Phases are only tried first: here they are of no solution at all."""
    rng = np.random.default_rng(5)
    for square in latin(5, order=15, holes=0.45, seed=6):
        search = begun(square)
        search.memory.best[:] = rng.random(len(search.open)) < 0.3
        search.memory.counts[arrays.FURTHEST] = arrays.NEVER
        assert not search.advance(lambda: False)
        outcome = search.outcome()
        assert outcome is not None
        assert outcome.status == "SAT"
