"""The examples of the documentation do what they say."""

from __future__ import annotations

import pytest

import dibs
import engine as by_hand
from colouring import PETERSEN, colouring
from dibs.bench.instances import load
from guide import Rarest
from queens import queens


def test_queens() -> None:
    assert [dibs.count_solutions(queens(n)) for n in range(1, 9)] == [1, 0, 0, 2, 10, 4, 40, 92]
    outcome = dibs.solve(queens(20), tie="degree")
    assert outcome.status == "SAT"
    assert len(outcome.solution) == 20


def test_colouring() -> None:
    """The chromatic polynomial of the Petersen graph says 0, 0, 120 and 12,960."""
    counts = [dibs.count_solutions(colouring(PETERSEN, list("abcd"[:n])), limit=20_000) for n in (1, 2, 3, 4)]
    assert counts == [0, 0, 120, 12960]


def test_guide() -> None:
    puzzles = load("hard300", 20)
    guided = list(dibs.solve_many(puzzles, guide=Rarest()))
    assert [o.solution for o in guided] == [o.solution for o in dibs.solve_many(puzzles)]
    assert all(o.asks == o.nodes for o in guided)


def test_torch_guide() -> None:
    pytest.importorskip("torch")
    from torch_guide import guide

    puzzles = load("hard300", 10)
    guided = list(dibs.solve_many(puzzles, guide=guide, trigger="binary"))
    assert [o.solution for o in guided] == [o.solution for o in dibs.solve_many(puzzles)]
    assert all(0 < o.calls == o.asks for o in guided)
    assert dibs.solve(puzzles[0], guide=dibs.DiBS(guide.denoiser, steps=2)).solution == guided[0].solution


def test_engine_by_hand() -> None:
    assert [o and o.status for o in by_hand.outcomes] == ["SAT"] * 300
    assert by_hand.batches[0] > 100
