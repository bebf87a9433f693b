"""Problems of a user's own under policy auto: plain search first, the nogood search for what that leaves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import dibs
from classic import pigeons, queens
from dibs import Problem, Status
from dibs.search.outcome import Outcome
from dibs.search.plan import Request
from dibs.search.policies import OWN_TREE as EASY
from dibs.search.solver import Solver
from judge import solutions
from randoms import mixture


@pytest.mark.parametrize(("n", "search"), [(8, "tree"), (64, "tree"), (65, "nogoods"), (100, "nogoods")])
def test_groups_that_are_too_wide_for_domains_are_for_the_nogood_search(n: int, search: str) -> None:
    outcome = dibs.solve(queens(n), max_nodes=20_000)
    assert (outcome.status, outcome.search) == (Status.SAT, search)


def test_overlapping_groups_to_decide_are_for_the_nogood_search() -> None:
    cover = Problem(4, exactly_one=[[0, 1], [1, 2], [2, 3]])
    assert not cover.structure.disjoint
    assert dibs.plan(cover).search == "nogoods"
    assert dibs.plan(cover).easy is None
    assert dibs.plan(queens(8)).easy == EASY


def test_what_plain_search_leaves_is_for_the_nogood_search() -> None:
    outcome = dibs.solve(pigeons(8))
    assert (outcome.status, outcome.search) == (Status.UNSAT, "nogoods")
    assert [part.search for part in outcome.parts] == ["tree", "nogoods"]
    assert outcome.parts[0].nodes == EASY
    assert outcome.nodes == sum(part.nodes for part in outcome.parts)


def test_limits_are_on_both_together() -> None:
    for limit in (0, 1, EASY - 1, EASY, EASY + 1, EASY + 50):
        outcome = dibs.solve(pigeons(12), max_nodes=limit)
        assert (outcome.status, outcome.nodes) == (Status.LIMIT, limit)
    assert dibs.solve(pigeons(12), max_seconds=0).status is Status.LIMIT


def test_every_split_gives_the_same_answer() -> None:
    """However little the plain search may do, down to nothing at all."""
    for problem in mixture(5, 300):
        if problem.structure.family != "problem" or problem.structure.bounded:
            continue
        wanted = Status.SAT if solutions(problem, 1) else Status.UNSAT
        for easy in (0, 1, 3):
            plan = replace(Request("auto").plan(problem.structure), easy=easy)
            [outcome] = Solver(lambda structure, plan=plan: plan).run([problem])  # type: ignore[misc]
            assert isinstance(outcome, Outcome)
            assert outcome.status is wanted


def test_plans_say_so() -> None:
    words = [dibs.plan(problem).describe() for problem in (queens(8), queens(70))]
    assert words[0].startswith("plain tree search for 1,000 nodes, then nogood search")
    assert "groups to decide overlap, or have more than 64 literals" in words[1]
    assert all(a != b for a, b in pairwise(words))
