"""Right: status and number of solutions agree with a SAT solver, whatever the options and however bad the guide."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import dibs
from dibs.problem import Instance
from guides import BAD, Scored
from judge import solutions
from randoms import mixture

MOST = 12  # solutions counted
LEVELS = ("eliminate", "naked", "hidden")
TIES = ("index", "degree", "random")
ORDERS = ("ascending", "lcv", "mcv", "random", "oracle")

PROBLEMS = 10_000  # in all tests of this file together
SHARE = PROBLEMS // 10


@pytest.fixture(scope="module", params=range(10))
def judged(request: pytest.FixtureRequest) -> tuple[list[Instance], list[int]]:
    problems = mixture(seed=request.param, count=SHARE)
    counts = [solutions(problem, MOST) for problem in problems]
    assert {0, 1, 2, MOST} <= set(counts), "the mixture has lost its variety"
    return problems, counts


def check(problems: list[Instance], counts: list[int], **options: Any) -> None:
    outcomes = list(dibs.solve_many(problems, count=MOST, seed=5, **options))
    for problem, count, outcome in zip(problems, counts, outcomes, strict=True):
        assert outcome.status == ("SAT" if count else "UNSAT"), (problem, options)
        assert outcome.solutions == count, (problem, options)
        assert (outcome.solution is not None) == (count > 0)
        if count:
            assert problem.violation(outcome.solution) is None


def test_every_level_tie_and_order(judged: tuple[list[Instance], list[int]]) -> None:
    """Every problem at every level; every tenth with every tie and order, the others with two of them in turn."""
    problems, counts = judged
    turns = list(product(TIES, ORDERS))
    for level in LEVELS:
        for turn, (tie, order) in enumerate(turns):
            some = [i for i in range(SHARE) if i % 10 == 0 or turn in (i % len(turns), (i // 7) % len(turns))]
            check([problems[i] for i in some], [counts[i] for i in some], level=level, tie=tie, order=order)


def test_every_bad_guide(judged: tuple[list[Instance], list[int]]) -> None:
    problems, counts = judged
    turns = list(product(BAD, ("always", "binary", "ternary"), (False, True)))
    for turn, (name, trigger, static) in enumerate(turns):
        some = slice(turn, None, len(turns))
        for level in LEVELS:
            check(problems[some], counts[some], guide=Scored(BAD[name], static), trigger=trigger, level=level)


def test_limits_are_never_called_unsat(judged: tuple[list[Instance], list[int]]) -> None:
    problems, counts = judged
    for outcome, count in zip(dibs.solve_many(problems, level="eliminate", nodes=2), counts, strict=True):
        assert outcome.nodes <= 2
        assert outcome.status == "LIMIT" or outcome.status == ("SAT" if count else "UNSAT")
        assert outcome.solution is None or outcome.status == "SAT"
