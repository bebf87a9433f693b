"""The examples of the documentation do what they say."""

from __future__ import annotations

import dibs
import engine as by_hand
from colouring import PETERSEN, colouring
from dibs.bench.experiment import load
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


def test_engine_by_hand() -> None:
    assert [o and o.status for o in by_hand.outcomes] == ["SAT"] * 300
    assert by_hand.batches[0] > 100
