"""Groups with bounds in other engines: as clauses, and as constraints of CP-SAT."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from pysat.solvers import Solver

import dibs
from dibs.search.external.formula import cardinality, encode
from judge import clauses, solutions
from randoms import bounded


@pytest.mark.parametrize("engine", ["cadical195", "glucose4", "cp-sat"])
def test_engines_agree_with_the_definition(engine: str) -> None:
    rng = np.random.default_rng(3)
    statuses = set()
    for _ in range(150):
        problem = bounded(rng)
        outcome = dibs.solve(problem, engine=engine)
        assert outcome.status == ("SAT" if solutions(problem, 1) else "UNSAT"), problem
        statuses.add(outcome.status)
    assert len(statuses) == 2


@pytest.mark.parametrize("large", [False, True])
def test_every_bound_has_its_solutions(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr("dibs.search.external.formula.COUNTER", 0)
    literals = [1, -2, 3, 4]
    for least, most in product(range(-1, 6), repeat=2):
        made, variables = cardinality(least, most, literals, 4)
        assert all(abs(z) <= variables for clause in made for z in clause)
        with Solver("glucose4", bootstrap_with=made) as solver:
            for signs in product((1, -1), repeat=4):
                values = [sign * variable for variable, sign in enumerate(signs, 1)]
                count = sum(z in values for z in literals)
                assert solver.solve(assumptions=values) == (least <= count <= most), (least, most, values)


def test_solutions_are_projected() -> None:
    """An encoding has variables of its own: they are no literals."""
    problem = dibs.Problem([f"x{i}" for i in range(40)], groups=[(17, 17, [f"x{i}" for i in range(40)])])
    formula = encode(problem)
    assert formula.variables > 40
    outcome = dibs.solve(problem, engine="cadical195")
    assert len(outcome.solution) == 17
    assert set(outcome.solution) <= set(problem.names or ())


def test_large_groups() -> None:
    """Two bounds on the same literals that exclude each other are hard for clauses: not here."""
    numbers = range(1000)
    for false, status in ((400, "SAT"), (401, "UNSAT")):
        given = [dibs.Not(i) for i in range(false)]
        problem = dibs.Problem(1000, groups=[(600, 1000, numbers), (0, 300, range(700))], given=given)
        assert dibs.solve(problem, engine="cadical195").status == status
        assert dibs.solve(problem, engine="cp-sat").status == status


def test_the_judge_knows_bounds() -> None:
    """Subsets and totalizers are the same: the judge of other tests is right."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        problem = bounded(rng, 6)
        n, made = clauses(problem)
        counted = 0
        with Solver("glucose4", bootstrap_with=made) as solver:
            for signs in product((True, False), repeat=n):
                true = [i for i, sign in enumerate(signs) if sign]
                right = problem.violation(true) is None
                counted += right
                assert solver.solve(assumptions=[i + 1 if sign else -i - 1 for i, sign in enumerate(signs)]) == right
        assert solutions(problem, 100) == counted
