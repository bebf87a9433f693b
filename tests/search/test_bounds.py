"""Groups with bounds in the nogood search: right answers, nogoods that follow, and nothing changed without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Not, Problem
from dibs.search.nogoods.layout import completed, ordered, reduced
from dibs.search.root import roots
from dibs.search.tree.tables import tables
from guides import BAD, Scored
from judge import solutions
from randoms import bounded, tight
from selfcheck import watched


def solved(problem: dibs.Instance, **options: Any) -> dibs.Outcome:
    return dibs.solve(problem, strategy="nogoods", **options)


@pytest.mark.parametrize("seed", range(4))
def test_status_agrees_with_a_solver(seed: int) -> None:
    rng = np.random.default_rng((6, seed))
    failures = 0
    for i in range(250):
        problem = tight(rng) if i % 2 else bounded(rng, 10 if i % 4 else 60)
        outcome = solved(
            problem, level=("naked", "hidden")[i % 3 == 0], order=("random", "ascending")[i % 5 == 0], seed=i
        )
        assert outcome.status == ("SAT" if solutions(problem, 1) else "UNSAT"), (i, problem)
        failures += outcome.backtracks
    assert failures > 500


@pytest.mark.parametrize("name", BAD)
def test_bad_guides_change_nothing(name: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(25):
        problem = tight(rng)
        outcome = solved(problem, guide=Scored(BAD[name]))
        assert outcome.status == ("SAT" if solutions(problem, 1) else "UNSAT")


def test_an_oracle_knows_solutions_with_bounds() -> None:
    rng = np.random.default_rng(8)
    wrong = 0
    for problem in (bounded(rng) for _ in range(60)):
        found = solved(problem, order="oracle")
        assert found.status == ("SAT" if solutions(problem, 1) else "UNSAT")
        wrong += found.backtracks if found.status == "SAT" else 0
    assert not wrong


def test_every_nogood_follows() -> None:
    rng = np.random.default_rng(8)
    verified = 0
    for i in range(120):
        problem = tight(rng) if i % 3 else bounded(rng, 30)
        outcome, nogoods = watched(problem, conflicts=20_000, restart_base=1 if i % 2 else 20, every=1)
        assert outcome is not None
        assert outcome.status == ("SAT" if solutions(problem, 1) else "UNSAT")
        verified += nogoods
    assert verified > 300


@pytest.mark.parametrize("size", [65, 300, 1000])
def test_large_groups(size: int) -> None:
    """So many pairs, one of each: half of all literals, no more and no less."""
    pairs = [(i, i + size // 2) for i in range(size // 2)]
    numbers = range(size // 2 * 2)
    half = size // 2
    for count, status in ((half, "SAT"), (half + 1, "UNSAT")):
        given = [] if status == "SAT" else range(half + 1)
        problem = Problem(
            len(numbers), groups=[(count, count, numbers), *((0, 1, pair) for pair in pairs)], given=given
        )
        assert solved(problem).status == status


def test_literals_in_no_group() -> None:
    problem = Problem(5, groups=[(2, 2, [1, 2, Not(3)])])
    outcome = solved(problem)
    assert outcome.status == "SAT"
    assert problem.violation(outcome.solution) is None
    assert solved(Problem(3)).status == "SAT"


def test_the_tree_search_refuses_bounds() -> None:
    problem = Problem(4, groups=[(2, 2, range(4))])
    with pytest.raises(ValueError, match="the tree search has no groups with bounds"):
        tables(problem.structure, "hidden")
    assert dibs.plan(problem).search == "nogoods"
    assert "nogoods because there are groups with bounds" in dibs.plan(problem).describe()
    assert [dibs.solve(problem, policy=policy).status for policy in (None, "auto", "guided", "plain")] == ["SAT"] * 4
    ways: list[dict[str, Any]] = [{"strategy": "dfs"}, {"tie": "degree"}, {"level": "eliminate"}]
    for options in ways:
        with pytest.raises(ValueError, match="groups with bounds"):
            dibs.solve(problem, **options)


def test_roots_follow_bounds() -> None:
    """Three of four, one false: the others are true; two of them are all that the next group may have."""
    problem = Problem(6, groups=[(3, 3, [0, 1, 2, 3]), (0, 2, [1, 2, 4]), (2, 3, [3, 4, 5])], given=[Not(0)])
    root = roots([problem])
    assert root.consistent.tolist() == [True]
    assert np.flatnonzero(root.true[0]).tolist() == [1, 2, 3, 5, 6]
    assert not root.open.any()
    for groups, given in (([(2, 2, [0, 1, 2])], [0, 1, 2]), ([(2, 3, [0, 1, 2])], [Not(0), Not(1)])):
        assert not roots([Problem(3, groups=groups, given=given)]).consistent[0]


def test_what_is_left_of_a_bound_may_be_special() -> None:
    """At most two of four, one of them true: at most one of the rest, as quick as any at-most-one group."""
    problem = Problem(5, groups=[(0, 2, [0, 1, 2, 3]), (2, 5, [0, 1, 2, 3, 4]), (2, 3, [1, 2, 3, 4])], given=[0])
    root = roots([problem])
    left, literals = reduced(problem.structure, root.open[0], root.true[0], "hidden")
    assert literals.tolist() == [1, 2, 3, 4]
    assert left.exclusive.tolist() == [True, False]
    assert left.need.tolist() == [False, True]
    assert left.choices.tolist() == [1]
    assert left.least.tolist() == [2]
    assert left.most.tolist() == [3]


def test_literals_get_complements_where_groups_have_bounds() -> None:
    problem = Problem(3, groups=[(0, 2, [0, 1, 2])])
    left, _ = reduced(problem.structure, np.ones(3, bool), np.zeros(3, bool), "hidden")
    whole = completed(left)
    assert not len(whole.choices)  # nobody branches on them
    assert whole.pair.tolist() == [3, 4, 5, 0, 1, 2]
    assert (whole.need & whole.exclusive).tolist() == [True] * 3
    assert whole.group_member.tolist() == [0, 3, 1, 4, 2, 5, 0, 1, 2]
    in_order = ordered(whole)  # if the second is true, then the first; if the third, then the second
    assert in_order.group_member.tolist() == [0, 3, 1, 4, 2, 5, 0, 4, 1, 5, 0, 1, 2]
    assert in_order.exclusive.tolist() == [True] * 3 + [False] * 2
    assert in_order.need.all()
    assert not len(in_order.choices)


def test_literals_of_other_groups_have_no_order() -> None:
    problem = Problem(4, groups=[(0, 2, [0, 1, 2, Not(3)]), (0, 1, [0, 1])])
    root = roots([problem])
    whole = completed(reduced(problem.structure, root.open[0], root.true[0], "hidden")[0])
    assert len(ordered(whole).need) == len(whole.need) + 1  # 0 and 1 alone can change places


@pytest.mark.parametrize("overlap", [100, 300])
def test_large_groups_are_refuted_by_counting(overlap: int) -> None:
    """At least half of some, at most a quarter of others, and what they share decides it."""
    first, second = range(400), range(400 - overlap, 1000 - overlap)
    most = overlap // 2
    for least, status in ((400 - overlap + most, "SAT"), (400 - overlap + most + 1, "UNSAT")):
        problem = Problem(1000, groups=[(least, 400, first), (0, most, second)])
        outcome = solved(problem, max_nodes=20_000)
        assert outcome.status == status


def test_what_a_group_needs_is_taken_at_once() -> None:
    """The first choice excludes one of four: the other three are needed, and no further choice is made."""
    problem = Problem(5, exactly_one=[[0, 4]], at_most_one=[[0, 1]], groups=[(3, 4, [0, 1, 2, 3])])
    outcome = solved(problem)
    assert (outcome.solution, outcome.nodes) == ([0, 2, 3], 1)
