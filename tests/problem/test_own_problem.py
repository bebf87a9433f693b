"""A user's own literals and groups: names, solutions, checking."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from dibs.problem import Not, Problem
from dibs.problem.structure import Need

COUNT = 5
GROUPS = st.lists(st.lists(st.integers(0, COUNT - 1), max_size=3, unique=True), max_size=2)


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


@given(
    GROUPS,
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sets(st.integers(-COUNT, COUNT - 1))), max_size=3),
)
def test_bounds_and_negations_are_checked(exactly: list[list[int]], bounded: list[tuple[int, int, set[int]]]) -> None:
    """Number -1 - i stands for the negation of literal i."""
    groups = [(least, least + more, members) for least, more, members in bounded if least <= len(members)]
    problem = Problem(
        COUNT,
        exactly_one=exactly,
        groups=[(least, most, [Not(-1 - i) if i < 0 else i for i in members]) for least, most, members in groups],
    )
    for true in subsets(COUNT):
        counts = [sum((i in true) if i >= 0 else (-1 - i not in true) for i in members) for _, _, members in groups]
        right = all(least <= count <= most for count, (least, most, _) in zip(counts, groups, strict=True))
        assert (problem.violation(true) is None) == (
            right and all(len(set(group) & set(true)) == 1 for group in exactly)
        )


def test_structure_of_bounds() -> None:
    problem = Problem(
        4,
        exactly_one=[[0, 1]],
        groups=[(0, 2, [0, 1, 2], "table"), (1, 1, [2, 3], "seat"), (0, 1, [0, 3]), (1, 2, [Not(0), 1]), (0, 9, [1])],
    )
    s = problem.structure
    groups = {tuple(s.members(g)): (s.least[g], s.most[g], s.roles[g]) for g in range(s.groups)}
    assert groups == {
        (0, 1): (1, 1, None),
        (2, 3): (1, 1, "seat"),
        (0, 4): (1, 1, None),  # the negation of literal 0
        (0, 3): (0, 1, None),
        (1, 4): (1, 2, None),
        (0, 1, 2): (0, 2, "table"),
    }
    assert s.bounded
    assert s.decisions == 3
    plain = Problem(4, exactly_one=[[0, 1]], groups=[(0, 1, [0, 1]), (0, 2, [0, 1]), (1, 3, range(3))]).structure
    assert not plain.bounded
    assert plain.least.tolist() == [1, 0, 1]
    assert plain.most.tolist() == [1, 1, 3]


@given(st.lists(st.lists(st.integers(-COUNT, COUNT - 1), unique=True, max_size=3), max_size=4))
def test_negations_in_special_groups_are_searched(clauses: list[list[int]]) -> None:
    problem = Problem(COUNT, at_least_one=[[Not(-1 - i) if i < 0 else i for i in clause] for clause in clauses])
    expected = [list(true) for true in subsets(COUNT) if problem.violation(true) is None]
    outcome = dibs.solve(problem, count=1000)
    assert outcome.solutions == len(expected)
    assert outcome.solution is None or outcome.solution in expected


def test_a_negation_is_no_name() -> None:
    problem = Problem(["a", ("a",)], at_least_one=[[Not("a")]], given=[Not(Not(("a",)))])
    assert dibs.solve(problem).solution == [("a",)]
    assert problem.violation(["a", ("a",)]) == "at_least_one[0] has 0 true literals"
    denied = Problem(["a"], given=[Not("a")])
    assert dibs.solve(denied).solution == []
    assert denied.violation(["a"]) == "not 'a' is given, but not true"


def test_empty_groups_are_allowed() -> None:
    problem = Problem(1, exactly_one=[[]], at_least_one=[[]])
    assert dibs.solve(problem).status == "UNSAT"
    assert problem.violation([0]) == "exactly_one[0] has 0 true literals"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"literals": 0}, "a problem needs at least one literal"),
        ({"literals": []}, "a problem needs at least one literal"),
        ({"literals": 1.5}, "^1.5 literals: give their number, or a list of their names"),
        ({"literals": 3, "given": 1}, r"^given: 1 is no list of literals: write \[1, \.\.\.\]"),
        ({"literals": 3, "features": [1]}, "^features: write "),
        ({"literals": ["a", "a"]}, "literals: 'a' is named twice"),
        ({"literals": 3, "exactly_one": [[0], [1, 3]]}, r"exactly_one\[1\]: literal 3 is out of range 0\.\.2"),
        ({"literals": 3, "at_most_one": [[-1]]}, r"at_most_one\[0\]: literal -1 is out of range"),
        ({"literals": 3, "given": [7]}, "given: literal 7 is out of range"),
        ({"literals": 3, "given": [0.5]}, "given: literals are whole numbers"),
        ({"literals": ["a"], "at_least_one": [["b"]]}, r"at_least_one\[0\]: 'b' is not the name of a literal"),
        ({"literals": 2, "exactly_one": [[0, 1]], "decide": [1]}, r"decide: there is no exactly_one\[1\]"),
        ({"literals": ["a", "b"], "exactly_one": ["a", "b"]}, r"^exactly_one\[0\]: 'a' is no list of literals"),
        ({"literals": [(0, 1), (0, 2)], "exactly_one": [(0, 1), (0, 2)]}, r"^exactly_one\[0\]: \(0, 1\) is no list"),
        ({"literals": 2, "exactly_one": [0, 1]}, r"^exactly_one\[0\]: 0 is no list of literals"),
        ({"literals": ["a", "b"], "at_most_one": [["a", "b", "a"]]}, r"^at_most_one\[0\]: 'a' is there twice"),
        ({"literals": 2, "at_least_one": [[Not(1), 0, Not(1)]]}, r"^at_least_one\[0\]: not 1 is there twice"),
        ({"literals": ["a"], "at_least_one": [[Not("b")]]}, r"^at_least_one\[0\]: 'b' is not the name of a literal"),
        ({"literals": 4, "groups": [(0, 1, [0]), (5, 5, range(4))]}, r"^groups\[1\]: exactly 5 of 4 literals cannot"),
        (
            {"literals": 4, "groups": [(3, 5, [0, 1], "table")]},
            r"^groups\[0\] \(table\): at least 3 of 2 literals cannot",
        ),
        ({"literals": 4, "groups": [(2, 1, [0, 1])]}, r"^groups\[0\]: bounds 2 to 1: they must be 0 <= least <= most"),
        ({"literals": 4, "groups": [(-1, 1, [0, 1])]}, r"^groups\[0\]: bounds -1 to 1"),
        ({"literals": 4, "groups": [(0, 1.5, [0, 1])]}, r"^groups\[0\]: bounds are whole numbers, not 0 and 1.5"),
        ({"literals": 4, "groups": [(0, [0, 1])]}, r"^groups\[0\]: write \(least, most, literals\)"),
        ({"literals": 4, "groups": [(0, 1, [0, 1], 7)]}, r"^groups\[0\]: the role 7 is no text"),
    ],
)
def test_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Problem(**arguments)


def test_a_number_of_numpy_is_a_number() -> None:
    problem = Problem(np.int64(3), exactly_one=[np.arange(3)])
    assert (problem.literals, problem.names) == (3, None)
    assert dibs.count_solutions(problem) == 3
