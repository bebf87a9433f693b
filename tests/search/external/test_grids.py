"""Sudokus, Latin squares and users' own problems through every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dibs
from classic import queens
from dibs.clock import Late
from dibs.generate import sat
from dibs.problem.structure import Instance
from dibs.search.external.formula import PAIRWISE, Formula, encode
from dibs.search.plan import Request
from dibs.search.solver import Solver
from guides import BAD, SURE, Scored, knowing
from judge import solutions
from peers import EVERY, GUIDED, guide_for, installed
from randoms import mixture
from shell import SEARCHED, UNSAT

# Singles leave most of it open.
OPEN = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
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
        outcome = dibs.solve(problem, engine=engine, guide=guide_for(engine, guides[i % len(guides)]))
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
        outcome = dibs.solve(puzzle, engine=engine, guide=Scored(scores))
        assert outcome.status == ("SAT" if text == SEARCHED else "UNSAT")
        assert outcome.solution == dibs.solve(puzzle).solution


@pytest.mark.parametrize("engine", GUIDED)
def test_a_trained_guide_guides_every_engine(engine: str) -> None:
    installed(engine)
    guide = dibs.load_guide("relational")
    squares = [
        dibs.Sudoku.parse(OPEN),
        dibs.Latin(np.zeros(49, np.int64)),
        dibs.Sudoku.parse("." * 256),
    ]
    for square in squares:
        outcome = dibs.solve(square, engine=engine, guide=guide)
        assert outcome.status == "SAT"
        assert outcome.calls == outcome.asks == 1
        assert outcome.guide_seconds > 0
    decided = dibs.solve(dibs.Sudoku.parse(SEARCHED), engine=engine, guide=guide)
    assert (decided.status, decided.asks, decided.calls) == ("SAT", 0, 0), "nothing is open at its root"


def test_large_groups_have_a_ladder(engine: str) -> None:
    """The models of an at-most-one group do not depend on how it is written down."""
    n = PAIRWISE + 3
    group = list(range(n))
    assert encode(dibs.Problem(n, at_most_one=[group])).variables == 2 * n - 1
    assert encode(dibs.Problem(n, at_most_one=[group[:PAIRWISE]])).variables == n
    for given in ([0], [n // 2], [n - 1]):
        outcome = dibs.solve(dibs.Problem(n, exactly_one=[group], given=given), engine=engine)
        assert outcome.solution == given
    last = dibs.Problem(n + 1, exactly_one=[group], at_least_one=[group[-1:]])
    assert n - 1 in dibs.solve(last, engine=engine).solution
    two = dibs.Problem(n, exactly_one=[group], at_least_one=[group[1:2], group[-1:]])
    assert dibs.solve(two, engine=engine).status == "UNSAT"
    pigeons = [[p * n + hole for hole in range(n)] for p in range(3)]
    holes = [[p * n + hole for p in range(3)] for hole in range(n)]
    assert dibs.solve(dibs.Problem(3 * n, exactly_one=pigeons, at_most_one=holes), engine=engine).status == "SAT"


def test_limits_and_stops_are_never_unsat(engine: str) -> None:
    hard = dibs.Latin(np.zeros(12 * 12, np.int64))
    assert dibs.solve(hard, engine=engine, seconds=0).status == "LIMIT"
    assert Solver.of(Request(engine=engine)).run([hard], stopped=lambda: True) == [None]
    assert dibs.solve(hard, engine=engine, seconds=0, guide=guide_for(engine, Scored(BAD["random"]))).solution is None


def test_stopped_in_the_middle_of_a_search(engine: str) -> None:
    """A formula that takes every engine minutes: it is running when it is stopped."""
    [formula] = sat(1, variables=400, seed=3)
    looked = 0

    def stopped() -> bool:
        nonlocal looked
        looked += 1
        return looked > 3

    assert Solver.of(Request(engine=engine)).run([formula], stopped=stopped) == [None]
    assert looked > 3


def test_own_is_dibs_itself() -> None:
    puzzle = dibs.Sudoku.parse(SEARCHED)
    own, other = dibs.solve(puzzle, engine="own", level="naked"), dibs.solve(puzzle, level="naked")
    assert (own.nodes, own.backtracks, own.solution) == (other.nodes, other.backtracks, other.solution)


def test_an_outcome_names_its_engine(engine: str) -> None:
    puzzle = dibs.Sudoku.parse(SEARCHED)
    outcome = dibs.solve(puzzle, engine=engine)
    assert (outcome.search, outcome.parts) == (engine, ())
    if engine in GUIDED:
        assert dibs.solve(puzzle, engine=engine, guide=Scored(knowing)).search == f"{engine} + guide"


def test_many_at_once(engine: str) -> None:
    """A batch of a shape, each with the guide's answer about itself; decided at the root, it is not asked."""
    puzzles = [problem for problem in mixture(seed=5, count=100) if isinstance(problem, dibs.Sudoku)]
    guide = guide_for(engine, Scored(knowing))
    together = list(dibs.solve_many(puzzles, engine=engine, guide=guide, workers=2))
    alone = [dibs.solve(puzzle, engine=engine, guide=guide) for puzzle in puzzles]
    for key in ("status", "asks", "calls", "solutions", "search"):
        assert [getattr(one, key) for one in together] == [getattr(one, key) for one in alone]
    assert {one.asks for one in alone} == ({0, 1} if guide else {0})


def test_writing_the_formula_is_on_the_clock(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that ends while groups are written: LIMIT, and the engine has no search."""

    def slow(instance: Instance, written: bool, late: Callable[[], bool]) -> Formula:
        while not late():
            pass
        return encode(instance, written, late)

    monkeypatch.setattr("dibs.search.external.search.encode", slow)
    outcome = dibs.solve(queens(8), engine=engine, max_seconds=0.02)
    assert (outcome.status, outcome.nodes) == ("LIMIT", 0)
    with pytest.raises(Late):
        encode(queens(8), late=lambda: True)
