"""Building tables is on the clock, and can be cut short."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from classic import queens
from dibs.clock import Late
from dibs.problem.structure import Structure
from dibs.search.tree import tables as building
from dibs.search.tree.tables import Tables, tables


def fresh(structure: Structure) -> Structure:
    """One whose tables nobody has built."""
    return replace(structure)


def equal(a: Tables, b: Tables) -> bool:
    return all(np.array_equal(np.array(one), np.array(other)) for one, other in zip(a, b, strict=True))


def test_tables_do_not_depend_on_how_often_the_clock_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in (queens(9), dibs.Latin.parse("." * 25), dibs.CNF(4, [[1, 2, -3], [4]])):
        whole = tables(problem.structure, "hidden")
        for step in (1, 17, 100):
            monkeypatch.setattr(building, "STEP", step)
            assert equal(tables(fresh(problem.structure), "hidden"), whole)


def test_building_ends_at_any_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "STEP", 100)
    structure, looks = queens(9).structure, iter(range(10**6))
    tables(fresh(structure), "hidden", lambda: next(looks) < 0)
    many = next(looks)
    assert many > 20
    for last in range(many):
        left, same = iter(range(last)), fresh(structure)
        with pytest.raises(Late):
            tables(same, "hidden", lambda left=left: next(left, None) is None)  # type: ignore[misc]
    assert equal(tables(same, "hidden"), tables(structure, "hidden"))  # nothing is left of what was begun


@pytest.mark.parametrize("order", ["ascending", "oracle"])
def test_no_time_for_tables_is_a_limit(order: str) -> None:
    for outcome in (
        dibs.solve(queens(9), max_seconds=0, order=order),
        *dibs.solve_many([queens(9)] * 3, max_seconds=0, order=order),
    ):
        assert outcome.status is dibs.Status.LIMIT
        assert outcome.nodes == 0


clauses = st.lists(st.lists(st.integers(1, 4).flatmap(lambda v: st.sampled_from([v, -v])), max_size=5), max_size=8)


@given(clauses)
def test_groups_of_a_formula_are_its_clauses_but_for_tautologies(formula: list[list[int]]) -> None:
    structure = dibs.CNF(4, formula).structure
    asking = [clause for clause in formula if not any(-z in clause for z in clause)]
    expected = [sorted({2 * z - 2 if z > 0 else -2 * z - 1 for z in clause}) for clause in asking]
    found = [structure.members(g).tolist() for g in range(structure.groups)]
    assert found == [[2 * v, 2 * v + 1] for v in range(4)] + expected
    assert len(structure.member) == len(list(chain.from_iterable(found)))
