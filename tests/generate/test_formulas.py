"""Random k-SAT: the shape of the clauses, their number, and satisfiability judged by another solver."""

from __future__ import annotations

import sys

import pytest
from pysat.solvers import Solver

from dibs.generate import formulas, sat


def test_clauses_have_distinct_variables_and_both_signs() -> None:
    (formula,) = sat(1, variables=30, clauses=400, k=4)
    assert len(formula.clauses) == 400
    assert all(len({abs(z) for z in clause}) == 4 for clause in formula.clauses)
    positive = sum(z > 0 for clause in formula.clauses for z in clause)
    assert 700 < positive < 900
    assert {abs(z) for clause in formula.clauses for z in clause} == set(range(1, 31))


@pytest.mark.parametrize(("variables", "clauses"), [(5, 41), (7, 46), (9, 52), (50, 217)])
def test_default_number_of_clauses(variables: int, clauses: int) -> None:
    (formula,) = sat(1, variables=variables)
    assert len(formula.clauses) == clauses


def _solvable(clauses: tuple[tuple[int, ...], ...]) -> bool:
    with Solver(name="minisat22", bootstrap_with=[list(clause) for clause in clauses]) as solver:
        return bool(solver.solve())


def test_satisfiable_keeps_satisfiable_ones_only() -> None:
    drawn = list(sat(60, variables=9, seed=1))
    assert 5 < sum(_solvable(formula.clauses) for formula in drawn) < 55
    kept = list(sat(60, variables=9, satisfiable=True, seed=1))
    assert all(_solvable(formula.clauses) for formula in kept)
    # What was satisfiable at once is kept as it is.
    assert all(a == b for a, b in zip(drawn, kept, strict=True) if _solvable(a.clauses))


@pytest.mark.parametrize(("variables", "k"), [(3, 3), (4, 2), (5, 3), (12, 3), (13, 3)])
def test_few_variables_are_judged_without_a_search(variables: int, k: int) -> None:
    """Both sides of the size up to which all assignments are looked at."""
    clauses = round((4.3 if k == 3 else 1.3) * variables)
    drawn, kept = (
        list(sat(80, variables=variables, clauses=clauses, k=k, seed=5, satisfiable=only)) for only in (False, True)
    )
    judged = [_solvable(formula.clauses) for formula in drawn]
    assert {*judged} == {True, False}
    assert [a == b for a, b in zip(drawn, kept, strict=True)] == judged
    assert all(_solvable(formula.clauses) for formula in kept)


def test_same_seed_same_formulas() -> None:
    first = list(sat(5, variables=20, seed=3))
    assert list(sat(5, variables=20, seed=3)) == first
    assert list(sat(2, variables=20, seed=3)) == first[:2]
    assert next(iter(sat(1, variables=20, seed=4))) != first[0]


def test_no_clauses() -> None:
    (formula,) = sat(1, variables=3, clauses=0, satisfiable=True)
    assert formula.clauses == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variables": 2}, "distinct variables"),
        ({"variables": 9, "k": 0}, "distinct variables"),
        ({"variables": 9, "k": 4}, "k = 3 only"),
        ({"variables": 9, "clauses": -1}, "0 or more"),
    ],
)
def test_sat_errors(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sat(1, **options)  # type: ignore[arg-type]


def test_hopeless_wish_ends() -> None:
    with pytest.raises(ValueError, match="ask for fewer clauses"):
        list(sat(1, variables=3, clauses=300, satisfiable=True))


@pytest.mark.parametrize("engine", ["glucose4", "none"])
def test_the_formulas_do_not_depend_on_who_finds_the_solutions(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [formula.clauses for formula in sat(10, variables=40, satisfiable=True, seed=4)]
    monkeypatch.setattr(formulas, "LEARNING", 0)
    if engine == "none":  # python-sat is an extra
        monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    assert [formula.clauses for formula in sat(10, variables=40, satisfiable=True, seed=4)] == ours
