"""The nogood search looked over at every failure, on problems that fall apart."""

from __future__ import annotations

import numpy as np
import pytest

from dibs import CNF, Options, Problem
from dibs.search.nogoods import arrays, loop
from dibs.search.nogoods.search import Search
from dibs.search.outcome import Status
from dibs.search.tree.search import TreeSearch
from selfcheck import Judge, Unsound, check_state, watched
from soak import KINDS, joined, pigeons, random3, soak

HARD = Options(strategy="nogoods", restart_base=16)


def begun(problem: CNF | Problem) -> Search:
    """A search at its root."""
    root = TreeSearch([problem], Options(max_nodes=0))
    root.run()
    [open_], [true] = root.literals(np.arange(1))
    return Search(problem, HARD, open_, true, 0, 0.0)


def advanced(search: Search, conflicts: int) -> Search:
    counts = search.memory.counts
    counts[arrays.MOST] = arrays.NEVER
    loop.advance(search.problem, search.memory, 16, conflicts)
    return search


@pytest.mark.parametrize("kind", KINDS)
def test_every_nogood_follows_and_every_state_is_what_it_says(kind: str) -> None:
    answers, failures, verified = soak(kind, 1000)
    assert failures >= 1000
    assert verified >= failures - sum(answers.values())


@pytest.mark.parametrize("weight", [0.0, 5e-324, np.nan])
def test_a_group_without_weight_is_searched_all_the_same(weight: float) -> None:
    formula = joined(random3(60, seed=4, ratio=3.8), unused=3)
    search = begun(formula)
    search.memory.weight[search.problem.need] = weight
    while search.advance(lambda: False):
        raise AssertionError("there is no guide")
    outcome = search.outcome()
    assert outcome is not None
    assert outcome.status == Status.SAT


def test_weights_never_vanish() -> None:
    """What a failure counts for is at its largest: the next ones scale all weights down, a hundred times over."""
    search = begun(joined(random3(150, seed=2), unused=2))
    smallest = []
    for _ in range(100):
        search.memory.real[0] = arrays.HUGE
        advanced(search, 1)
        smallest.append(search.memory.weight.min())
    assert min(smallest) >= arrays.LEAST


def test_an_answer_of_no_is_verified_as_well() -> None:
    outcome, verified = watched(pigeons(6), conflicts=100_000, restart_base=4)
    assert outcome is not None
    assert outcome.status == Status.UNSAT
    assert verified > 50


def test_a_nogood_that_lacks_a_literal_is_caught() -> None:
    caught = 0
    for seed in range(5):
        search = begun(random3(120, seed))
        judge = Judge(search.problem)
        for _ in range(40):
            advanced(search, 1)
            counts = search.memory.counts
            if counts[arrays.PHASE] != arrays.RUNNING:
                break
            learnt = search.memory.learnt[: counts[arrays.LENGTH]].copy()
            if len(learnt) > 2:
                try:
                    judge.verify(learnt[1:])
                except Unsound:
                    caught += 1
                    break
            judge.verify(learnt)
    assert caught == 5


@pytest.mark.parametrize("array", ["left", "total", "held", "weight", "head"])
def test_a_wrong_state_is_caught(array: str) -> None:
    search = advanced(begun(random3(120, seed=7)), 50)
    check_state(search.problem, search.memory)
    damaged = getattr(search.memory, array)
    damaged[np.flatnonzero(damaged > 0)[0]] = -1
    with pytest.raises(Unsound):
        check_state(search.problem, search.memory)


def test_where_it_returns_does_not_change_what_it_does() -> None:
    """In one go, and failure by failure."""
    at_once, by_one = advanced(begun(random3(130, seed=3)), 3000), begun(random3(130, seed=3))
    while by_one.memory.counts[arrays.PHASE] == arrays.RUNNING and by_one.memory.counts[arrays.CONFLICTS] < 3000:
        advanced(by_one, 1)
    kept = [c for c in range(arrays.COUNTERS) if c != arrays.FULL]
    assert at_once.memory.counts[kept].tolist() == by_one.memory.counts[kept].tolist()
