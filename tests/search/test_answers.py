"""Right: status and number of solutions agree with a SAT solver, whatever the options and however bad the guide."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import dibs
from dibs.problem import Instance
from guides import BAD, Scored
from judge import solutions
from randoms import apart, mixture
from stores import RESTLESS

MOST = 12  # solutions counted
LEVELS = ("eliminate", "naked", "hidden")
TIES = ("index", "degree", "random")
ORDERS = ("ascending", "lcv", "mcv", "random", "oracle")

PROBLEMS = 10_000  # in all tests of this file together
SHARE = PROBLEMS // 10
APART = SHARE // 5  # of these fall into parts that have nothing to do with one another
Judged = tuple[list[Instance], list[int]]  # problems, and how many solutions each has


@pytest.fixture(scope="module", params=range(10))
def judged(request: pytest.FixtureRequest) -> Judged:
    problems = mixture(seed=request.param, count=SHARE - APART) + apart(seed=request.param, count=APART)
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


def in_turn(judged: Judged, turns: int, every: bool) -> list[Judged]:
    """For each of `turns` sets of options, the problems it is tried on.

    All of them with `--all-options`; otherwise every tenth problem meets all options, and the rest two of them in turn.
    """
    problems, counts = judged
    parts = []
    for turn in range(turns):
        some = [i for i in range(SHARE) if every or i % 10 == 0 or turn in (i % turns, (i // 7) % turns)]
        parts.append(([problems[i] for i in some], [counts[i] for i in some]))
    return parts


def test_every_level_tie_and_order(judged: Judged, pytestconfig: pytest.Config) -> None:
    options = list(product(TIES, ORDERS))
    parts = in_turn(judged, len(options), pytestconfig.getoption("--all-options"))
    for level, (part, (tie, order)) in product(LEVELS, zip(parts, options, strict=True)):
        check(*part, level=level, tie=tie, order=order)


def test_every_bad_guide(judged: Judged, pytestconfig: pytest.Config) -> None:
    options = list(product(BAD, ("always", "binary", "ternary"), (False, True)))
    parts = in_turn(judged, len(options), pytestconfig.getoption("--all-options"))
    for level, (part, (name, trigger, static)) in product(LEVELS, zip(parts, options, strict=True)):
        check(*part, guide=Scored(BAD[name], static), trigger=trigger, level=level)


def test_learning_from_failures(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a guide, and under bad ones that are asked all the time; short runs, so that nogoods meet many."""
    for (module, name), value in RESTLESS.items():
        monkeypatch.setattr(module, name, value)
    options = list(product(LEVELS[1:], (1, 20), [None, *BAD]))
    for turn, (level, unit, name) in enumerate(options):
        problems, counts = judged[0][turn :: len(options)], judged[1][turn :: len(options)]
        guide = None if name is None else Scored(BAD[name])
        how: dict[str, Any] = {"strategy": "nogoods", "level": level, "restart_base": unit, "guide": guide}
        for problem, count, outcome in zip(problems, counts, dibs.solve_many(problems, **how), strict=True):
            assert outcome.status == ("SAT" if count else "UNSAT"), (problem, how)
            assert outcome.solution is None or problem.violation(outcome.solution) is None


def test_limits_are_never_called_unsat(judged: Judged) -> None:
    problems, counts = judged
    for outcome, count in zip(dibs.solve_many(problems, level="eliminate", nodes=2), counts, strict=True):
        assert outcome.nodes <= 2
        assert outcome.status == "LIMIT" or outcome.status == ("SAT" if count else "UNSAT")
        assert outcome.solution is None or outcome.status == "SAT"
