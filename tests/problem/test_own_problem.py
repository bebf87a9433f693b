"""A user's own literals and groups: names, solutions, checking."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from dibs.problem import Problem
from dibs.problem.structure import Need

COUNT = 5
GROUPS = st.lists(st.lists(st.integers(0, COUNT - 1), max_size=3), max_size=2)


def subsets(count: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(count + 1) for chosen in combinations(range(count), size)]


@given(GROUPS, GROUPS, GROUPS, st.lists(st.integers(0, COUNT - 1), max_size=1), st.booleans())
def test_each_solution_is_found_exactly_once(
    exactly: list[list[int]], most: list[list[int]], least: list[list[int]], fixed: list[int], first_only: bool
) -> None:
    decide = [0] if first_only and exactly else None
    problem = Problem(COUNT, exactly_one=exactly, at_most_one=most, at_least_one=least, given=fixed, decide=decide)
    expected = [list(true) for true in subsets(COUNT) if problem.violation(true) is None]
    outcome = dibs.solve(problem, count=1000)
    assert outcome.solutions == len(expected)
    assert (outcome.solution in expected) if expected else (outcome.solution is None)


@given(GROUPS, GROUPS, GROUPS)
def test_violation_is_what_the_groups_say(
    exactly: list[list[int]], most: list[list[int]], least: list[list[int]]
) -> None:
    problem = Problem(COUNT, exactly_one=exactly, at_most_one=most, at_least_one=least)
    for true in subsets(COUNT):
        right = (
            all(len(set(group) & set(true)) == 1 for group in exactly)
            and all(len(set(group) & set(true)) <= 1 for group in most)
            and all(len(set(group) & set(true)) >= 1 for group in least)
        )
        assert (problem.violation(true) is None) == right


def test_names() -> None:
    problem = Problem(["a", "b", ("c", 3)], exactly_one=[["b", "a"]], at_most_one=[["b", ("c", 3)]], given=["b"])
    assert problem.given.tolist() == [1]
    assert dibs.count_solutions(problem) == 1  # ("c", 3) is in no exactly-one group: it is decided by itself
    assert problem.decode(np.array([1])) == ["b"]
    assert problem.decode(np.array([0, 2])) == ["a", ("c", 3)]
    assert problem.violation(["b"]) is None
    assert problem.violation(["a"]) == "'b' is given, but not true"
    assert problem.violation(["b", ("c", 3)]) == "at_most_one[0] has 2 true literals"
    assert problem.violation(["z"]) == "solution: 'z' is not the name of a literal"
    assert problem.line(["b"]) == "b"
    assert problem.format(["a", "b"]) == "a\nb"
    assert repr(problem) == "<Problem, 3 literals, 2 groups>"


def test_implied_groups_are_checked_too() -> None:
    problem = Problem(2, implied=[[0, 1]])
    assert problem.violation([0]) is None
    assert problem.violation([]) == "implied[0] has 0 true literals"
    assert problem.structure.need.tolist() == [Need.IMPLIED]


def test_empty_groups_are_allowed() -> None:
    problem = Problem(1, exactly_one=[[]], at_least_one=[[]])
    assert dibs.solve(problem).status == "UNSAT"
    assert problem.violation([0]) == "exactly_one[0] has 0 true literals"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"literals": 0}, "a problem needs at least one literal"),
        ({"literals": []}, "a problem needs at least one literal"),
        ({"literals": ["a", "a"]}, "literals: 'a' is named twice"),
        ({"literals": 3, "exactly_one": [[0], [1, 3]]}, r"exactly_one\[1\]: literal 3 is out of range 0\.\.2"),
        ({"literals": 3, "at_most_one": [[-1]]}, r"at_most_one\[0\]: literal -1 is out of range"),
        ({"literals": 3, "given": [7]}, "given: literal 7 is out of range"),
        ({"literals": 3, "given": [0.5]}, "given: literals are whole numbers"),
        ({"literals": ["a"], "at_least_one": [["b"]]}, r"at_least_one\[0\]: 'b' is not the name of a literal"),
        ({"literals": 2, "exactly_one": [[0, 1]], "decide": [1]}, r"decide: there is no exactly_one\[1\]"),
    ],
)
def test_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Problem(**arguments)
