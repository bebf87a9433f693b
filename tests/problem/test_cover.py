"""Exact covers that come as formulas: recognised where a formula is one, never where it is not, and answered alike."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import dibs
from dibs import CNF, generate
from dibs.problem.cover import Cover
from dibs.search.external.formula import encode

Clauses = list[list[int]]


def written(variables: int, groups: list[list[int]]) -> CNF:
    """Groups of which exactly one variable is true, as clauses."""
    return CNF(variables, [*groups, *([-a, -b] for group in groups for a, b in combinations(group, 2))])


def drawn(rng: np.random.Generator) -> tuple[int, list[list[int]]]:
    """Random groups over a few variables."""
    variables = int(rng.integers(1, 9))
    sizes = rng.integers(1, variables + 1, size=int(rng.integers(1, 6)))
    return variables, [sorted((rng.permutation(variables)[:size] + 1).tolist()) for size in sizes]


def models(formula: CNF) -> set[tuple[int, ...]]:
    """All solutions, by trying."""
    every = (tuple(s * v for v, s in enumerate(signs, 1)) for signs in product((1, -1), repeat=formula.variables))
    return {one for one in every if formula.violation(one) is None}


@pytest.mark.parametrize("seed", range(60))
def test_random_covers_have_the_formula_s_solutions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables, groups = drawn(rng)
    alone = [[int(v)] for v in rng.permutation(variables)[: rng.integers(0, 3)] + 1]
    alone = [[-v] if rng.random() < 0.5 else [v] for [v] in alone]
    formula = CNF(variables, [*written(variables, groups).clauses, *alone])
    cover = Cover.of(formula)
    if cover is None:  # nothing is open, or propagation finds a contradiction
        assert len(models(formula)) <= 2 ** (variables - len(set().union(*groups)))
        return
    elsewhere = set(range(1, variables + 1)) - set().union(*groups, *alone)  # these can be anything, and are false
    wanted = {one for one in models(formula) if not elsewhere & set(one)}
    assert set(map(tuple, dibs.solutions(cover))) == wanted
    found = dibs.solve(cover)
    assert (found.status == "SAT") == bool(wanted)
    assert found.solution is None or tuple(found.solution) in wanted


def test_a_square_with_all_its_clauses() -> None:
    """As people write it: no clause is left out for what is given."""
    [square] = generate.latin(1, order=9, holes=0.5, seed=4)
    number = np.arange(1, 9**3 + 1).reshape(9, 9, 9)  # row, column, value
    groups = [side.tolist() for axis in range(3) for side in np.moveaxis(number, axis, 2).reshape(-1, 9)]
    given = [[int(number.reshape(81, 9)[i, v - 1])] for i, v in enumerate(square.values.ravel().tolist()) if v]
    formula = CNF(9**3, [*written(9**3, groups).clauses, *given])
    cover = Cover.of(formula)
    assert cover is not None
    assert cover.structure.literals < 300
    assert formula.violation(dibs.solve(cover).solution) is None
    assert formula.violation(dibs.solve(formula).solution) is None


def test_a_square_as_a_formula_is_searched_as_groups() -> None:
    pytest.importorskip("pysat")
    [square] = generate.latin(1, order=12, holes=0.42, balanced=True, seed=3)
    formula = encode(square).as_cnf()
    assert Cover.of(formula) is not None
    assert "exact cover" in dibs.plan(formula).describe()
    found = dibs.solve(formula)
    assert (found.status, found.search) == ("SAT", "nogoods")
    assert formula.violation(found.solution) is None


@pytest.mark.parametrize(
    "more",
    [
        [[-1, -4]],  # excluded, and in no group together
        [[-1, 4]],  # an implication
        [[-1, -2, -3]],
        [[1, 4]],  # of these both may be true
    ],
)
def test_what_says_more_is_no_cover(more: Clauses) -> None:
    clauses = [list(clause) for clause in written(4, [[1, 2, 3], [3, 4]]).clauses]
    assert Cover.of(CNF(4, clauses)) is not None
    assert Cover.of(CNF(4, clauses + more)) is None
    missing = [clause for clause in clauses if clause != [-1, -2]]
    assert Cover.of(CNF(4, missing)) is None


def test_what_is_no_formula_of_groups() -> None:
    assert Cover.of(CNF(0, [])) is None
    assert Cover.of(CNF(2, [[-1, -2]])) is None
    assert Cover.of(CNF(3, [[1, 2]], [(1, 2, [1, 2, 3])])) is None
    [random] = generate.sat(1, variables=20, seed=1)
    assert Cover.of(random) is None
