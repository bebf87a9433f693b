"""Random k-SAT."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from dibs.generate.sudokus import check_count
from dibs.problem.cnf import CNF

ATTEMPTS = 1_000  # formulas drawn for one satisfiable formula


def threshold_clauses(variables: int) -> int:
    """Clauses at which about half of all random 3-SAT formulas are satisfiable (Crawford and Auton's fit)."""
    return round(4.258 * variables + 58.26 * float(variables ** (-2 / 3)))


def sat(
    count: int,
    *,
    variables: int,
    clauses: int | None = None,
    k: int = 3,
    satisfiable: bool = False,
    distinct: bool = False,
    seed: int = 0,
) -> Iterator[CNF]:
    """`count` random formulas: each clause has `k` distinct variables with random signs.

    `distinct`: no clause twice, as in the paper's sets, where with few variables every second one would be.

    `clauses`: by default, for k = 3, the number at which about half of the formulas are satisfiable.
    `satisfiable`: keep satisfiable formulas only, as found by search. Formula i depends on the seed, i and the options.
    """
    check_count(count)
    if k < 1 or variables < k:
        raise ValueError(f"{variables} variables, k = {k}: a clause needs k >= 1 distinct variables")
    if clauses is None:
        if k != 3:
            raise ValueError(f"k = {k}: the number of clauses has a default for k = 3 only")
        clauses = threshold_clauses(variables)
    if clauses < 0:
        raise ValueError(f"clauses = {clauses}: it must be 0 or more")
    if distinct and clauses > comb(variables, k) * 2**k:
        raise ValueError(f"{clauses} clauses: on {variables} variables there are {comb(variables, k) * 2**k}, k = {k}")
    return _formulas(count, variables, clauses, k, satisfiable, distinct, seed)


def _formulas(
    count: int, variables: int, clauses: int, k: int, satisfiable: bool, distinct: bool, seed: int
) -> Iterator[CNF]:
    for i in range(count):
        rng = np.random.default_rng(np.random.SeedSequence((seed, i)))
        for _ in range(ATTEMPTS):
            formula = _distinct(variables, clauses, k, rng) if distinct else _draw(variables, clauses, k, rng)
            if not satisfiable or _has_solution(formula):
                yield formula
                break
        else:
            raise ValueError(
                f"{variables} variables, {clauses} clauses, k = {k}: none of {ATTEMPTS} formulas was satisfiable; "
                "ask for fewer clauses"
            )


def _draw(variables: int, clauses: int, k: int, rng: np.random.Generator) -> CNF:
    chosen = np.zeros((clauses, k), np.int64)
    wrong = np.arange(clauses)
    if 2 * k > variables:  # repetitions would be the rule
        chosen[:] = rng.permuted(np.tile(np.arange(variables), (clauses, 1)), axis=1)[:, :k]
        wrong = wrong[:0]
    while len(wrong):
        chosen[wrong] = rng.integers(variables, size=(len(wrong), k))
        ordered = np.sort(chosen[wrong], axis=1)
        wrong = wrong[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    return CNF(variables, ((chosen + 1) * rng.choice([-1, 1], (clauses, k))).tolist())


def _distinct(variables: int, clauses: int, k: int, rng: np.random.Generator) -> CNF:
    """As `_draw`, but clauses that are there already are drawn again."""
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    while len(found) < clauses:
        for clause in _draw(variables, clauses - len(found), k, rng).clauses:
            found.setdefault(tuple(sorted(clause)), clause)
    return CNF(variables, found.values())


def _has_solution(formula: CNF) -> bool:
    from dibs.search.engine import Engine
    from dibs.search.options import Options

    engine = Engine([formula], Options(level="naked", tie="reach", order="jw"))
    engine.run()
    return bool(engine.counters[0, 3])
