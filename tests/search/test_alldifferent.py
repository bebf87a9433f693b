"""All-different filtering against all perfect matchings, and against all solutions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Latin, Options, Problem
from dibs.generate import latin
from dibs.search.nogoods import arrays
from dibs.search.nogoods.alldifferent import in_matchings, unmatched
from dibs.search.nogoods.search import Search
from dibs.search.root import roots
from selfcheck import Judge, Unsound, watched

HOW: dict[str, Any] = {"strategy": "nogoods"}


def begun(problem: Latin | Problem) -> Search | None:
    """A search at its root; None where propagation decides it."""
    [open_], [true], [consistent] = roots([problem])
    if not consistent or not open_.any():
        return None
    return Search(problem, Options(**HOW), open_, true, 0, 0.0)


@pytest.mark.parametrize("seed", range(300))
def test_what_is_kept_is_in_a_perfect_matching(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    edge = rng.random((size, size)) < rng.uniform(0.2, 0.9)
    wanted = np.zeros((size, size), bool)
    for order in permutations(range(size)):
        if edge[np.arange(size), order].all():
            wanted[np.arange(size), order] = True
    left, right = edge.nonzero()
    start = np.concatenate([[0], np.cumsum(edge.sum(axis=1))]).astype(np.int32)
    kept = np.zeros(len(left), bool)
    assert in_matchings(start, right.astype(np.int32), kept) == wanted.any()
    if wanted.any():
        assert kept.tolist() == wanted[left, right].tolist()


def test_nothing_is_excluded_that_a_solution_has() -> None:
    """Small squares, of which all solutions are known."""
    excluded = 0
    for seed in range(60):
        [square] = latin(1, order=7, holes=0.6, seed=seed)
        search = begun(square)
        if search is None:
            continue
        out = unmatched(search.problem, np.ones(len(search.open), bool))
        assert out is not None
        excluded += len(out)
        for literal in search.open[out].tolist():
            values = square.values.copy()
            values[literal // 7] = literal % 7 + 1
            assert dibs.solve(Latin(values), policy="plain").status == "UNSAT"
    assert excluded > 20


def test_groups_in_any_order() -> None:
    """Kinds are told by the order of groups. Where that is mixed, nothing is said that is wrong."""
    rng = np.random.default_rng(4)
    grid = np.arange(64).reshape(4, 4, 4)
    groups = [*grid.reshape(-1, 4), *grid.transpose(0, 2, 1).reshape(-1, 4), *grid.transpose(1, 2, 0).reshape(-1, 4)]
    said = 0
    for mixed in range(200):
        order = rng.permutation(48) if mixed % 2 else np.arange(48)
        kept = rng.random(64) < 0.7
        some = [groups[i][kept[groups[i]]].tolist() for i in order]
        number = np.cumsum(kept) - 1
        if not all(some):
            continue
        problem = Problem(int(kept.sum()), exactly_one=[number[one].tolist() for one in some])
        search = begun(problem)
        if search is None:
            continue
        out = unmatched(search.problem, np.ones(len(search.open), bool))
        if out is None:
            assert dibs.solve(problem, policy="plain").status == "UNSAT"
            continue
        said += len(out)
        for literal in search.open[out].tolist():
            true = Problem(int(kept.sum()), exactly_one=[*(number[one].tolist() for one in some), [literal]])
            assert dibs.solve(true, policy="plain").status == "UNSAT"
    assert said


def test_problems_of_another_form_are_left_as_they_are() -> None:
    problem = Problem(5, exactly_one=[[0, 1, 2]], at_least_one=[[2, 3, 4]], at_most_one=[[0, 4]])
    search = begun(problem)
    assert search is not None
    out = unmatched(search.problem, np.ones(len(search.open), bool))
    assert out is not None
    assert not len(out)


def test_a_search_excludes_at_its_root_and_goes_on() -> None:
    for seed in range(40):
        [square] = latin(1, order=9, holes=0.6, seed=seed)
        search = begun(square)
        if search is None:
            continue
        search.filter()
        state = search.memory.state
        out = unmatched(search.problem, state == arrays.OPEN)
        assert out is not None
        assert not len(out)  # until nothing more follows
        assert search.memory.counts[arrays.LEVEL] == 0
        assert not search.advance(lambda: False)
        outcome = search.outcome()
        assert outcome is not None
        assert outcome.status == "SAT"


def test_a_search_that_was_filtered_is_verified_like_any_other() -> None:
    filtered = 0
    for seed in range(12):
        [square] = latin(1, order=12, holes=0.5, seed=seed)
        outcome, _ = watched(square, conflicts=10_000, restart_base=4, seed=seed, filters=True)
        assert outcome is not None
        assert outcome.status == "SAT"
        search = begun(square)
        if search is not None:
            search.filter()
            filtered += len(search.excluded)
    assert filtered


def test_what_is_excluded_without_a_reason_is_caught() -> None:
    [square] = latin(1, order=12, holes=0.5, seed=1)
    search = begun(square)
    assert search is not None
    judge = Judge(search.problem)
    true = np.flatnonzero(np.isin(search.open, np.flatnonzero(_solution(square))))
    with pytest.raises(Unsound):
        judge.exclude([int(true[0])])


def _solution(square: Latin) -> Any:
    """[literals] of a solution."""
    values = np.array(Latin.parse(dibs.solve(square, policy="plain").solution).values).ravel()
    return np.eye(square.size, dtype=bool)[values - 1].ravel()
