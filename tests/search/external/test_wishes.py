"""What an engine takes from a guide: the state it is asked about, and the phases or hints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks
from dibs.generate import latin, sat
from dibs.search.external.formula import encode
from dibs.search.external.search import EngineSearch
from dibs.search.external.wishes import wishes
from dibs.search.tree.search import TreeSearch
from guides import Scored, knowing
from oddities import odd_formula
from peers import GUIDED, installed
from randoms import mixture

HARD = next(sat(1, variables=120, satisfiable=True, distinct=True, seed=0))


class Recorder:
    """A guide that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asks] = []

    def rank(self, asks: Asks) -> NDArray[Any]:
        self.asked.append(asks)
        return knowing(asks)


@pytest.fixture(params=GUIDED)
def engine(request: pytest.FixtureRequest) -> str:
    return installed(request.param)


def test_the_root_is_the_state_that_dibs_itself_asks_about() -> None:
    installed("cadical195")
    compared = 0
    for problem in [*mixture(seed=3, count=200), *(odd_formula(3, n) for n in range(0, 160, 8))]:
        own = TreeSearch([problem], dibs.Options(level="hidden", select="confident"), guided=True)
        asks = own.advance()
        root = EngineSearch([problem], dibs.Options(), "cadical195", guided=True).advance()
        if asks is None:  # decided, or no order can matter
            [outcome] = own.outcomes()
            assert outcome is not None
            assert root is None or outcome.backtracks == 0
            continue
        assert root is not None
        assert np.array_equal(root.open, asks.open)
        assert np.array_equal(root.true, asks.true)
        compared += 1
    assert compared > 80


def test_a_guide_that_knows(engine: str) -> None:
    """One ask, about the root; and where all phases or hints are right there is no conflict."""
    plain = dibs.solve(HARD, engine=engine)
    assert plain.backtracks > 0
    guide = Recorder()
    outcome = dibs.solve(HARD, engine=engine, guide=guide)
    assert (outcome.status, outcome.backtracks, outcome.asks) == ("SAT", 0, 1)
    [asks] = guide.asked
    assert asks.selecting
    assert asks.depth.tolist() == [0]
    assert np.array_equal(asks.candidates, asks.open)
    assert asks.instances == [HARD]


def aiming(square: str, order: int) -> Scored:
    """A guide that has one Latin square in mind, as a line."""
    values = np.array([int(value, 36) for value in square])
    scores = np.where(values[:, None] == np.arange(1, order + 1), 0.0, -5.0)
    return Scored(lambda _: scores.reshape(1, -1))


def test_of_many_solutions_the_one_that_the_guide_has_in_mind(engine: str) -> None:
    """So phases and hints reach the engine, each for its own literal. CP-SAT may leave a hint's way."""
    met = []
    for square in latin(4, order=12, holes=0.6, seed=3):
        wanted = {dibs.solve(square, order="random", seed=seed).solution for seed in range(3)}
        assert len(wanted) == 3
        for solution in wanted:
            outcome = dibs.solve(square, engine=engine, guide=aiming(solution, 12))
            met.append(outcome.solution == solution)
    assert sum(met) >= (len(met) / 2 if engine == "cp-sat" else len(met))


def test_wishes() -> None:
    problem = dibs.Problem(6, exactly_one=[[0, 1, 2], [3, 4]])
    everything = np.ones(6, bool)

    def wished(*scores: float) -> list[int]:
        return [int(wish) for wish in wishes(problem.structure, everything, np.array(scores))]

    nan, inf = np.nan, np.inf
    assert wished(0, 0, 0, 0, 0, 0) == [0, 0, 0, 0, 0, 0]
    assert wished(-1, -2, -3, -2, -1, 4) == [1, -1, -1, -1, 1, 1]
    assert wished(-1, -1, -3, -2, -2, -4) == [1, -1, -1, 0, 0, -1]
    assert wished(nan, nan, -9, inf, -inf, nan) == [-1, -1, 1, 1, -1, -1]
    assert wished(inf, inf, -inf, -inf, -inf, inf) == [1, -1, -1, 0, 0, 1]
    assert wished(-inf, -inf, -inf, -inf, -inf, -inf) == [0, 0, 0, 0, 0, 0]
    some = np.array([True, False, True, True, False, False])  # only what is open gets a wish
    assert wishes(problem.structure, some, np.array([-3.0, 0, -2, 1, 2, 3])).tolist() == [-1, 0, 1, 0, 0, 0]
    assert encode(problem).literals(np.array([1, -1, -1, 0, 0, 1], np.int8)) == [1, -2, -3, 6]
    assert encode(dibs.CNF(2, [])).literals(np.array([1, -1, -1, 1], np.int8)) == [1, -2]


def test_asks_are_answered_once() -> None:
    installed("cadical195")
    search = EngineSearch([HARD], dibs.Options(), "cadical195", guided=True)
    asks = search.advance()
    assert asks is not None
    search.answer(asks, knowing(asks))
    with pytest.raises(ValueError, match="these asks were answered already"):
        search.answer(asks, knowing(asks))


class Failing:
    def rank(self, asks: Asks) -> NDArray[Any]:
        raise ZeroDivisionError("in the guide")


def test_what_is_wrong_with_a_guide_is_said(engine: str) -> None:
    with pytest.raises(ZeroDivisionError, match="in the guide"):
        dibs.solve(HARD, engine=engine, guide=Failing())
    with pytest.raises(ValueError, match=r"shape \(1, 3\); asked were real numbers of shape \(1, 240\)"):
        dibs.solve(HARD, engine=engine, guide=Scored(lambda asks: np.zeros((1, 3))))
    with pytest.raises(TypeError, match=r"int is not a guide: it has no method rank\(asks\)"):
        dibs.solve(HARD, engine=engine, guide=3)  # type: ignore[arg-type]
