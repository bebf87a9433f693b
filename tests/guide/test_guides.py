"""The guide interface: what a guide is shown, what it may answer, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, Sudoku
from dibs.search.engine import Engine
from guides import Scored

PUZZLE = Sudoku.parse("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..")


def grid(literals: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return literals.reshape(-1, 81, 9)


def test_asks_show_the_state() -> None:
    seen: list[Asks] = []

    def look(asks: Asks) -> NDArray[Any]:
        seen.append(asks)
        return np.zeros(asks.open.shape)

    outcome = dibs.solve(PUZZLE, guide=Scored(look), level="naked")
    assert len(seen) == outcome.asks == outcome.nodes
    for asks in seen:
        assert asks.instances == [PUZZLE]
        true, is_open, candidates = (grid(a) for a in (asks.true, asks.open, asks.candidates))
        assert not (true & is_open).any()
        assert (true.sum(axis=2) <= 1).all()
        assert (true.any(axis=2) ^ is_open.any(axis=2)).all(), "a cell is either decided or has open values"
        assert (candidates.any(axis=2).sum(axis=1) == 1).all(), "one cell is branched on"
        assert not (candidates & ~is_open).any()
        cell = candidates.any(axis=2)
        assert (candidates[cell] == is_open[cell]).all(), "all its open values are candidates"
        assert candidates.sum() >= 2
        given = PUZZLE.values > 0
        assert (true[0].argmax(axis=1) + 1)[given].tolist() == PUZZLE.values[given].tolist()
    assert seen[0].depth.tolist() == [0]


def test_trigger_says_where_a_guide_is_asked() -> None:
    puzzle = Sudoku.parse("1" + "." * 15)  # 72 solutions; nodes with 2 and with more values
    asked: dict[str, list[int]] = {"always": [], "binary": [], "ternary": []}
    for trigger, sizes in asked.items():

        def look(asks: Asks, sizes: list[int] = sizes) -> NDArray[Any]:
            sizes += asks.candidates.sum(axis=1).tolist()
            return np.zeros(asks.open.shape)

        outcome = dibs.solve(puzzle, guide=Scored(look), level="naked", trigger=trigger, count=100)
        assert outcome.asks == len(sizes)
        assert outcome.nodes == dibs.solve(puzzle, level="naked", count=100).nodes
    assert set(asked["binary"]) == {2}
    assert min(asked["ternary"]) == 3
    assert len(asked["binary"]) + len(asked["ternary"]) == len(asked["always"]) == outcome.nodes


def test_the_highest_score_is_tried_first() -> None:
    solution = [9 * cell + int(v) - 1 for cell, v in enumerate(dibs.solve(PUZZLE).solution)]
    scores = np.zeros(729)
    scores[solution] = 1
    best = dibs.solve(PUZZLE, guide=Scored(lambda asks: np.tile(scores, (len(asks), 1))))
    worst = dibs.solve(PUZZLE, guide=Scored(lambda asks: np.tile(-scores, (len(asks), 1))))
    assert best.backtracks == 0
    assert best.nodes < worst.nodes
    assert (best.nodes, best.backtracks) == tuple(getattr(dibs.solve(PUZZLE, order="oracle"), n) for n in NAMES)
    assert best.solution == worst.solution


NAMES = ("nodes", "backtracks")


def test_a_static_guide_is_asked_once() -> None:
    calls = 0

    def count(asks: Asks) -> NDArray[Any]:
        nonlocal calls
        calls += len(asks)
        return np.zeros(asks.open.shape)

    outcome = dibs.solve(PUZZLE, guide=Scored(count, static=True), level="naked")
    assert calls == outcome.asks == 1
    assert dibs.solve(PUZZLE, order="oracle", level="naked").asks == 1


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros(729),
        np.zeros((2, 729)),
        np.zeros((1, 728)),
        np.zeros((1, 729), complex),
        np.array([["x"] * 729]),
        np.array([[None] * 729]),
        [],
        None,
    ],
    ids=lambda a: str(getattr(a, "shape", a)),
)
def test_answers_of_another_shape_or_kind_are_refused(answer: Any) -> None:
    with pytest.raises(ValueError, match="the guide returned"):
        dibs.solve(PUZZLE, guide=Scored(lambda asks: answer))


def test_an_error_in_a_guide_is_the_users_to_see() -> None:
    def fail(asks: Asks) -> NDArray[Any]:
        raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        dibs.solve(PUZZLE, guide=Scored(fail))
    with pytest.raises(RuntimeError, match="no weights"):
        list(dibs.solve_many([PUZZLE] * 5, guide=Scored(fail)))


def test_no_silent_fallback() -> None:
    with pytest.raises(TypeError, match="is not a guide"):
        dibs.solve(PUZZLE, guide=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one or the other"):
        dibs.solve(PUZZLE, guide=dibs.Oracle(), order="oracle")
    engine = Engine([PUZZLE], dibs.Options(), guided=True)
    with pytest.raises(ValueError, match="there is no guide"):
        engine.run()


def test_answering_twice_is_refused() -> None:
    engine = Engine([PUZZLE], dibs.Options(), guided=True)
    asks = engine.advance()
    assert asks
    engine.answer(asks, np.zeros((1, 729)))
    with pytest.raises(ValueError, match="answered already"):
        engine.answer(asks, np.zeros((1, 729)))


def test_oracle_on_many_and_no_solutions() -> None:
    blank = Sudoku.parse("." * 16)
    assert dibs.solve(blank, order="oracle").backtracks == 0
    wrong = Sudoku.parse("1..2" + "..1." + "...." + "2..1")
    assert dibs.solve(wrong, order="oracle").status == dibs.solve(wrong).status
