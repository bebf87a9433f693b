"""What an engine takes from a guide: the states it is asked about, the phases, the decisions and their budgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, engines
from dibs.engines.advisor import Advisor, settle
from dibs.engines.formula import encode
from dibs.generate.formulas import sat
from dibs.search.engine import Engine
from guides import Scored, knowing
from oddities import odd_formula
from randoms import mixture

HARD = next(sat(1, variables=60, satisfiable=True, seed=5))


class Recorder:
    """A guide that keeps what it was asked."""

    def __init__(self, scores: Any = knowing, static: bool = False) -> None:
        self.scores, self.static = scores, static
        self.asked: list[Asks] = []

    def rank(self, asks: Asks) -> NDArray[Any]:
        self.asked.append(asks)
        return np.asarray(self.scores(asks))


def test_the_root_is_the_state_that_dibs_itself_asks_about() -> None:
    compared = 0
    for problem in [*mixture(seed=3, count=200), *(odd_formula(3, n) for n in range(0, 160, 8))]:
        engine = Engine([problem], dibs.Options(level="hidden", select="confident"), guided=True)
        asks = engine.advance()
        root = settle(problem.structure, problem.given)
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


@pytest.mark.parametrize("engine", ["glucose4", "cadical195"])
def test_phases_of_a_guide_that_knows(engine: str) -> None:
    """One ask, about the root; and where all phases are right there is no conflict."""
    plain = engines.solve(HARD, engine)
    assert plain.backtracks > 0
    guide = Recorder()
    outcome = engines.solve(HARD, engine, guide=guide)
    assert (outcome.status, outcome.backtracks, outcome.asks) == ("SAT", 0, 1)
    [asks] = guide.asked
    assert asks.selecting
    assert asks.depth.tolist() == [0]
    assert np.array_equal(asks.candidates, asks.open)
    assert asks.instances == [HARD]


def test_wishes() -> None:
    problem = dibs.Problem(6, exactly_one=[[0, 1, 2], [3, 4]])
    advisor = Advisor(Scored(lambda asks: np.zeros(asks.open.shape)), problem)
    everything = np.ones(6, bool)

    def wishes(*scores: float) -> list[int]:
        given = Scored(lambda asks: np.array([scores]))
        asked = Advisor(given, problem).ask(everything, ~everything, 0)
        return [int(wish) for wish in advisor.wishes(everything, asked)]

    nan, inf = np.nan, np.inf
    assert wishes(0, 0, 0, 0, 0, 0) == [0, 0, 0, 0, 0, 0]
    assert wishes(-1, -2, -3, -2, -1, 4) == [1, -1, -1, -1, 1, 1]
    assert wishes(-1, -1, -3, -2, -2, -4) == [1, -1, -1, 0, 0, -1]
    assert wishes(nan, nan, -9, inf, -inf, nan) == [-1, -1, 1, 1, -1, -1]
    assert wishes(-inf, -inf, -inf, -inf, -inf, -inf) == [0, 0, 0, 0, 0, 0]
    assert encode(problem).literals(np.array([1, -1, -1, 0, 0, 1], np.int8)) == [1, -2, -3, 6]
    assert encode(dibs.CNF(2, [])).literals(np.array([1, -1, -1, 1], np.int8)) == [1, -2]


def test_the_surest_choice() -> None:
    problem = dibs.Problem(6, exactly_one=[[0, 1, 2], [3, 4]])
    advisor = Advisor(Scored(lambda asks: asks.open), problem)
    open_ = np.ones(6, bool)
    choice = advisor.surest(open_, np.log([0.1, 0.2, 0.7, 0.4, 0.6, 1]))
    assert choice is not None
    assert (choice.literal, choice.value) == (2, True)
    assert choice.share == pytest.approx(0.7)
    choice = advisor.surest(open_, np.array([0.0, 0, 0, 0, 0, -5]))
    assert choice is not None
    assert (choice.literal, choice.value) == (5, False)
    assert choice.share == pytest.approx(1 / (1 + np.exp(-5)))
    open_[[2, 5]] = False
    choice = advisor.surest(open_, np.log([0.1, 0.3, 0.6, 0.4, 0.6, 1]))
    assert choice is not None
    assert choice.literal == 1
    assert choice.share == pytest.approx(0.75)  # of what is left
    assert advisor.surest(open_, np.full(6, -np.inf)) is None
    assert advisor.surest(np.zeros(6, bool), np.zeros(6)) is None


def test_decisions_of_a_guide_that_knows() -> None:
    guide = Recorder()
    outcome = engines.solve(HARD, "cadical195", guide=guide, advice="decisions", depth=1000, asks=1000)
    assert (outcome.status, outcome.backtracks) == ("SAT", 0)
    assert outcome.asks == outcome.nodes == len(guide.asked)
    assert [asks.depth[0] for asks in guide.asked] == list(range(outcome.asks))
    counts = [int(asks.open.sum()) for asks in guide.asked]
    assert counts == sorted(counts, reverse=True)
    literals = np.flatnonzero(guide.asked[-1].true[0])
    assert set(HARD.decode(literals)) <= set(outcome.solution)


@pytest.mark.parametrize("scores", [knowing, lambda asks: -3.0 * (np.arange(asks.open.shape[1]) % 3 > 0)[None]])
def test_states_are_what_unit_propagation_makes_of_the_decisions(scores: Any) -> None:
    """Whatever CaDiCaL learned meanwhile: a state is closed under the formula's own propagation."""
    guide = Recorder(scores)
    engines.solve(HARD, "cadical195", guide=guide, advice="decisions", sure=0.0, asks=200)
    assert len(guide.asked) > 3
    for asks in guide.asked:
        true, open_ = asks.true[0], asks.open[0]
        assert not (true & open_).any()
        assert (true[0::2] + true[1::2] + open_[0::2] == 1).all()
        assert np.array_equal(open_[0::2], open_[1::2])
        again = settle(HARD.structure, np.flatnonzero(true))
        assert again is not None
        assert np.array_equal(again[1], true)


def test_budgets() -> None:
    def asked(scores: Any = knowing, static: bool = False, **options: Any) -> list[int]:
        guide = Recorder(scores, static)
        outcome = engines.solve(HARD, "cadical195", guide=guide, advice="decisions", **options)
        assert outcome.status == "SAT"
        assert outcome.asks == len(guide.asked)
        return [int(asks.depth[0]) for asks in guide.asked]

    assert asked(asks=0) == []
    assert asked(asks=3) == [0, 1, 2]
    assert max(asked(depth=4)) == 3
    assert asked(keep=0.9) == [0]
    assert asked(static=True) == [0]
    unsure = asked(lambda asks: np.where(knowing(asks) < 0, -0.1, 0.0), sure=0.9, asks=1000)
    assert set(unsure) == {0}  # nobody asks below a state where it was unsure
    assert set(asked(lambda asks: np.full(asks.open.shape, -np.inf), asks=1000)) == {0}
    assert engines.solve(HARD, "glucose4", guide=Scored(knowing), asks=0).asks == 0


class Failing:
    def rank(self, asks: Asks) -> NDArray[Any]:
        raise ZeroDivisionError("in the guide")


@pytest.mark.parametrize("advice", ["phases", "decisions"])
def test_what_is_wrong_with_a_guide_is_said(advice: str) -> None:
    with pytest.raises(ZeroDivisionError, match="in the guide"):
        engines.solve(HARD, "cadical195", guide=Failing(), advice=advice)
    with pytest.raises(ValueError, match=r"shape \(1, 3\); asked were real numbers of shape \(1, 120\)"):
        engines.solve(HARD, "cadical195", guide=Scored(lambda asks: np.zeros((1, 3))), advice=advice)
    with pytest.raises(TypeError, match=r"int is not a guide: it has no method rank\(asks\)"):
        engines.solve(HARD, "cadical195", guide=3, advice=advice)  # type: ignore[arg-type]
