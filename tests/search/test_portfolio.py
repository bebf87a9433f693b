"""Several nogood searches on one instance: the answer is that of one."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

import dibs
from dibs import Options
from dibs.generate import latin, sat
from dibs.search.contract import as_guide
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.portfolio import side_by_side
from guides import Scored, seeded
from randoms import stubborn

HOW: dict[str, Any] = {"strategy": "nogoods"}


def test_answers_are_those_of_one_search() -> None:
    for problem in stubborn(seed=7, count=15):
        known = dibs.solve(problem, **HOW)
        found = side_by_side(problem, Options(**HOW), None, workers=2)
        assert found is not None
        assert found.status == known.status
        if found.status == "SAT":
            assert problem.violation(found.solution) is None


def test_variants_are_other_searches() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    counts = set()
    for variant in range(3):
        one = NogoodSearch([square], Options(**HOW), guided=True, variant=variant)
        one.run(Scored(seeded))
        [found] = one.outcomes()
        assert found is not None
        assert found.status == "SAT"
        counts.add((found.nodes, found.backtracks))
    assert len(counts) == 3


def test_variants_differ_without_a_guide() -> None:
    """In a formula nobody walks either: two of the same search would be one too many."""
    [formula] = sat(1, variables=100, clauses=470, seed=2)
    counts = set()
    for variant in range(3):
        one = NogoodSearch([formula], Options(**HOW), variant=variant)
        one.run()
        [found] = one.outcomes()
        assert found is not None
        counts.add((found.nodes, found.backtracks))
    assert len(counts) == 3


def test_limits_and_stops() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    found = side_by_side(square, Options(**HOW, max_nodes=3), None, workers=2)
    assert found is not None
    assert found.status == "LIMIT"
    over = Event()
    over.set()
    assert side_by_side(square, Options(**HOW), None, workers=2, stopped=over.is_set) is None
    with pytest.raises(ValueError, match="workers = 0"):
        side_by_side(square, Options(**HOW), None, workers=0)


def test_what_a_guide_raises_is_raised() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)

    def broken(asks: Any) -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        side_by_side(square, Options(**HOW), as_guide(Scored(broken)), workers=2)


def test_workers_of_solve() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    assert dibs.solve(square, policy="auto", workers=2).status == "SAT"
    assert dibs.solve(dibs.Sudoku.parse("." * 16), workers=2).status == "SAT"
    with pytest.raises(ValueError, match="workers = 0"):
        dibs.solve(square, workers=0)
