"""What an engine takes from a guide: the state it is asked about, and the phases or hints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, engines
from dibs.engines.advisor import Advisor, settle
from dibs.engines.formula import encode
from dibs.generate import latin, sat
from dibs.search.engine import Engine
from guides import Scored, knowing
from oddities import odd_formula
from randoms import mixture

HARD = next(sat(1, variables=60, satisfiable=True, seed=5))


class Recorder:
    """A guide that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asks] = []

    def rank(self, asks: Asks) -> NDArray[Any]:
        self.asked.append(asks)
        return knowing(asks)


@pytest.fixture(params=["glucose4", "cadical195", "cp-sat"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "cp-sat":
        pytest.importorskip("ortools")
    return str(request.param)


def test_the_root_is_the_state_that_dibs_itself_asks_about() -> None:
    compared = 0
    for problem in [*mixture(seed=3, count=200), *(odd_formula(3, n) for n in range(0, 160, 8))]:
        engine = Engine([problem], dibs.Options(level="hidden", select="confident"), guided=True)
        asks = engine.advance()
        root = settle(problem)
        if asks is None:  # decided, or no order can matter
            [outcome] = engine.outcomes()
            assert outcome is not None
            assert root is None or not root[0].any() or outcome.backtracks == 0
            continue
        assert root is not None
        assert np.array_equal(root[0], asks.open[0])
        assert np.array_equal(root[1], asks.true[0])
        compared += 1
    assert compared > 80


def test_a_guide_that_knows(engine: str) -> None:
    """One ask, about the root; and where all phases or hints are right there is no conflict."""
    plain = engines.solve(HARD, engine)
    assert plain.backtracks > 0 or engine == "cp-sat"  # which needs no search here
    guide = Recorder()
    outcome = engines.solve(HARD, engine, guide=guide)
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
            outcome = engines.solve(square, engine, guide=aiming(solution, 12))
            met.append(outcome.solution == solution)
    assert sum(met) >= (len(met) / 2 if engine == "cp-sat" else len(met))


def test_wishes() -> None:
    problem = dibs.Problem(6, exactly_one=[[0, 1, 2], [3, 4]])
    advisor = Advisor(Scored(lambda asks: np.zeros(asks.open.shape)), problem)
    everything = np.ones(6, bool)

    def wishes(*scores: float) -> list[int]:
        given = Scored(lambda asks: np.array([scores]))
        asked = Advisor(given, problem).ask(everything, ~everything)
        return [int(wish) for wish in advisor.wishes(everything, asked)]

    nan, inf = np.nan, np.inf
    assert wishes(0, 0, 0, 0, 0, 0) == [0, 0, 0, 0, 0, 0]
    assert wishes(-1, -2, -3, -2, -1, 4) == [1, -1, -1, -1, 1, 1]
    assert wishes(-1, -1, -3, -2, -2, -4) == [1, -1, -1, 0, 0, -1]
    assert wishes(nan, nan, -9, inf, -inf, nan) == [-1, -1, 1, 1, -1, -1]
    assert wishes(inf, inf, -inf, -inf, -inf, inf) == [1, -1, -1, 0, 0, 1]
    assert wishes(-inf, -inf, -inf, -inf, -inf, -inf) == [0, 0, 0, 0, 0, 0]
    some = np.array([True, False, True, True, False, False])  # only what is open gets a wish
    assert advisor.wishes(some, np.array([-3.0, 0, -2, 1, 2, 3])).tolist() == [-1, 0, 1, 0, 0, 0]
    assert encode(problem).literals(np.array([1, -1, -1, 0, 0, 1], np.int8)) == [1, -2, -3, 6]
    assert encode(dibs.CNF(2, [])).literals(np.array([1, -1, -1, 1], np.int8)) == [1, -2]


class Failing:
    def rank(self, asks: Asks) -> NDArray[Any]:
        raise ZeroDivisionError("in the guide")


def test_what_is_wrong_with_a_guide_is_said(engine: str) -> None:
    with pytest.raises(ZeroDivisionError, match="in the guide"):
        engines.solve(HARD, engine, guide=Failing())
    with pytest.raises(ValueError, match=r"shape \(1, 3\); asked were real numbers of shape \(1, 120\)"):
        engines.solve(HARD, engine, guide=Scored(lambda asks: np.zeros((1, 3))))
    with pytest.raises(TypeError, match=r"int is not a guide: it has no method rank\(asks\)"):
        engines.solve(HARD, engine, guide=3)  # type: ignore[arg-type]
