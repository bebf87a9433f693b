"""Sudokus, Latin squares and users' own problems through every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dibs
from dibs.generate import sat
from dibs.search import external as engines
from dibs.search.external.formula import PAIRWISE, encode
from guides import BAD, SURE, Scored, knowing
from judge import solutions
from peers import EVERY, GUIDED, guide_for, installed
from randoms import mixture
from shell import SEARCHED, UNSAT

FAMILIES = (dibs.Sudoku, dibs.Latin, dibs.Problem)


@pytest.fixture(params=EVERY)
def engine(request: pytest.FixtureRequest) -> str:
    return installed(request.param)


def test_a_mixture_of_families_under_bad_guides(engine: str) -> None:
    problems = [problem for problem in mixture(seed=11, count=150) if isinstance(problem, FAMILIES)]
    guides = [None, *(Scored(scores) for scores in [*BAD.values(), *SURE.values(), knowing])]
    found = set()
    for i, problem in enumerate(problems):
        status = "SAT" if solutions(problem, 1) else "UNSAT"
        outcome = engines.solve(problem, engine, guide=guide_for(engine, guides[i % len(guides)]))
        assert outcome.status == status, problem
        assert (outcome.solution is not None) == (status == "SAT") == (outcome.solutions == 1)
        found.add((type(problem), status))
    assert len(found) == 2 * len(FAMILIES)


@pytest.mark.parametrize("scores", [*BAD.values(), *SURE.values()], ids=[*BAD, *SURE])
@pytest.mark.parametrize("engine", GUIDED)
def test_every_bad_guide(engine: str, scores: Any) -> None:
    installed(engine)
    for text in (SEARCHED, UNSAT):
        puzzle = dibs.Sudoku.parse(text)
        outcome = engines.solve(puzzle, engine, guide=Scored(scores))
        assert outcome.status == ("SAT" if text == SEARCHED else "UNSAT")
        assert outcome.solution == dibs.solve(puzzle).solution


@pytest.mark.parametrize("engine", GUIDED)
def test_a_trained_guide_guides_every_engine(engine: str) -> None:
    installed(engine)
    guide = dibs.load_guide("relational")
    squares = [
        dibs.Sudoku.parse(SEARCHED),
        dibs.Latin(np.zeros(49, np.int64)),
        dibs.Sudoku.parse("." * 256),
    ]
    for square in squares:
        outcome = engines.solve(square, engine, guide=guide)
        assert outcome.status == "SAT"
        assert outcome.calls == outcome.asks == 1
        assert outcome.guide_seconds > 0


def test_large_groups_have_a_ladder(engine: str) -> None:
    """The models of an at-most-one group do not depend on how it is written down."""
    n = PAIRWISE + 3
    group = list(range(n))
    assert encode(dibs.Problem(n, at_most_one=[group])).variables == 2 * n - 1
    assert encode(dibs.Problem(n, at_most_one=[group[:PAIRWISE]])).variables == n
    for given in ([0], [n // 2], [n - 1]):
        outcome = engines.solve(dibs.Problem(n, exactly_one=[group], given=given), engine)
        assert outcome.solution == given
    last = dibs.Problem(n + 1, exactly_one=[group], at_least_one=[group[-1:]])
    assert n - 1 in engines.solve(last, engine).solution
    two = dibs.Problem(n, exactly_one=[group], at_least_one=[group[1:2], group[-1:]])
    assert engines.solve(two, engine).status == "UNSAT"
    pigeons = [[p * n + hole for hole in range(n)] for p in range(3)]
    holes = [[p * n + hole for p in range(3)] for hole in range(n)]
    assert engines.solve(dibs.Problem(3 * n, exactly_one=pigeons, at_most_one=holes), engine).status == "SAT"


def test_limits_and_stops_are_never_unsat(engine: str) -> None:
    hard = dibs.Latin(np.zeros(12 * 12, np.int64))
    assert engines.solve(hard, engine, seconds=0).status == "LIMIT"
    assert engines.solve(hard, engine, stopped=lambda: True).status == "LIMIT"
    assert engines.solve(hard, engine, seconds=0, guide=guide_for(engine, Scored(BAD["random"]))).solution is None


def test_stopped_in_the_middle_of_a_search(engine: str) -> None:
    """A formula that takes every engine minutes: it is running when it is stopped."""
    [formula] = sat(1, variables=400, seed=3)
    looked = 0

    def stopped() -> bool:
        nonlocal looked
        looked += 1
        return looked > 3

    outcome = engines.solve(formula, engine, stopped=stopped)
    assert (outcome.status, outcome.solution) == ("LIMIT", None)
    assert looked > 3


def test_own_is_dibs_itself() -> None:
    puzzle = dibs.Sudoku.parse(SEARCHED)
    own, other = engines.solve(puzzle, level="naked"), dibs.solve(puzzle, level="naked")
    assert (own.nodes, own.backtracks, own.solution) == (other.nodes, other.backtracks, other.solution)
