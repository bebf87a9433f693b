"""A few thousand of the triples of `make agreement`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import agreement
from dibs import CNF, Outcome
from dibs.problem import Instance
from dibs.solving import solve_together
from judge import solutions


@pytest.mark.parametrize("number", range(24))
def test_answers_are_right_whatever_the_options_and_the_guide(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "WAYS", 8)
    found = agreement.piece(7, number)
    assert found.words == []
    assert (found.wrong, found.exceptions) == (0, 0)
    assert found.triples + found.refused > 400
    assert found.limits < 0.5 * found.triples


def test_pieces_are_a_function_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "WAYS", 2)
    heard: list[int] = []
    found = agreement.run(200, 5, lambda now: heard.append(now.pieces))
    assert found.triples >= 200
    assert heard == list(range(1, found.pieces + 1))
    again = agreement.Tally()
    for number in range(found.pieces):
        again.add(agreement.piece(5, number))
    assert again == found


@pytest.mark.parametrize("lie", [lambda total: int(not total), lambda total: total + 1], ids=["status", "count"])
def test_wrong_answers_would_be_noticed(lie: Callable[[int], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """If the judge lies, all is wrong that shows it."""
    monkeypatch.setattr(agreement, "WAYS", 8)
    monkeypatch.setattr(agreement, "solutions", lambda problem, most: lie(solutions(problem, most)))
    found = agreement.piece(3, 0)
    assert found.wrong > 0.1 * found.triples
    assert len(found.words) == agreement.SHOWN


def test_an_exception_is_counted_and_the_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(problems: list[Instance], **how: Any) -> list[Outcome]:
        if any(isinstance(problem, CNF) for problem in problems):
            raise RuntimeError("broken")
        return solve_together(problems, **how)

    monkeypatch.setattr(agreement, "WAYS", 4)
    monkeypatch.setattr(agreement, "solve_together", broken)
    found = agreement.piece(3, 0)
    assert found.wrong == 0
    assert 0 < found.exceptions < 0.5 * found.triples
    assert "RuntimeError: broken" in found.words[0]
