"""Random k-SAT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from math import comb

import numpy as np

from dibs.generate.sudokus import check_count
from dibs.problem import InputError
from dibs.problem.cnf import CNF

ATTEMPTS = 10_000  # formulas drawn for one satisfiable formula
LEARNING = 100  # variables above which Glucose is quicker than our search
SMALL = 12  # variables up to which looking at all assignments is quicker than a search
_SIGNS = np.array([-1, 1])


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
    """Random formulas: each clause has k distinct variables with random signs. Formula i depends on the seed, i and the
    options.

    Args:
        count: how many.
        variables: of a formula.
        clauses: of a formula; by default, for k = 3, the number at which about half of the formulas are satisfiable.
        k: variables of a clause.
        satisfiable: keep satisfiable formulas only, as found by search.
        distinct: no clause twice, as in the paper's sets, where with few variables every second one would be.
        seed: the same seed, the same instances.

    Returns:
        An iterator of formulas.
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
            drawn = _distinct(variables, clauses, k, rng) if distinct else _draw(variables, clauses, k, rng)
            if satisfiable and variables <= SMALL and not _some_assignment(variables, drawn):
                continue
            formula = CNF(variables, drawn)
            if not satisfiable or variables <= SMALL or _has_solution(formula):
                yield formula
                break
        else:
            raise ValueError(
                f"{variables} variables, {clauses} clauses, k = {k}: none of {ATTEMPTS} formulas was satisfiable; "
                "ask for fewer clauses"
            )


def _draw(variables: int, clauses: int, k: int, rng: np.random.Generator) -> list[list[int]]:
    chosen = np.zeros((clauses, k), np.int64)
    wrong = np.arange(clauses)
    if 2 * k > variables:  # repetitions would be the rule
        chosen[:] = rng.permuted(np.arange(variables)[None].repeat(clauses, axis=0), axis=1)[:, :k]
        wrong = wrong[:0]
    while len(wrong):
        chosen[wrong] = rng.integers(variables, size=(len(wrong), k))
        ordered = np.sort(chosen[wrong], axis=1)
        wrong = wrong[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    found: list[list[int]] = ((chosen + 1) * _SIGNS[rng.integers(2, size=(clauses, k))]).tolist()
    return found


def _distinct(variables: int, clauses: int, k: int, rng: np.random.Generator) -> list[list[int]]:
    """As `_draw`, but clauses that are there already are drawn again."""
    found: dict[tuple[int, ...], list[int]] = {}
    while len(found) < clauses:
        for clause in _draw(variables, clauses - len(found), k, rng):
            found.setdefault(tuple(sorted(clause)), clause)
    return list(found.values())


def _has_solution(formula: CNF) -> bool:
    """By clause learning where it pays and python-sat is installed; which of the two cannot matter."""
    from dibs.search.options import Options
    from dibs.search.tree.search import TreeSearch
    from dibs.solving import solve

    if formula.variables > LEARNING:
        with suppress(InputError):
            return solve(formula, engine="glucose4").solution is not None
    engine = TreeSearch([formula], Options(level="naked", tie="impact", order="jw"))
    engine.run()
    return bool(engine.counters.solutions[0])


def _some_assignment(variables: int, clauses: Sequence[Sequence[int]]) -> bool:
    """The same for few variables: a set of assignments is a number with 2^n bits, those that satisfy a literal too."""
    true = _assignments(variables)
    left = true[0]
    for clause in clauses:
        satisfied = 0
        for literal in clause:
            satisfied |= true[literal]
        left &= satisfied
        if not left:
            return False
    return True


@cache
def _assignments(variables: int) -> dict[int, int]:
    """Those that satisfy each literal, and for 0 all of them. Assignment i makes v true if i has the bit v - 1."""
    every = (1 << (1 << variables)) - 1
    false = {-v: every // ((1 << (1 << (v - 1))) + 1) for v in range(1, variables + 1)}
    return {0: every} | false | {-literal: every ^ some for literal, some in false.items()}
