"""Random formulas with everything that DIMACS allows, and a check of their proofs."""

from __future__ import annotations

import numpy as np
from dratify import check_proof, parse_dimacs

from dibs import CNF
from randoms import cnf, formula


def odd_formula(seed: int, number: int) -> CNF:
    """Small formulas of every odd kind; one in eight is a random 3-SAT formula that takes some conflicts."""
    rng = np.random.default_rng((seed, number))
    match number % 8:
        case 0:
            return formula(rng, int(rng.integers(12, 31)), float(rng.uniform(3.8, 5.5)))
        case 1:  # no variables, or no clauses
            variables = int(rng.integers(0, 4)) * int(rng.integers(0, 2))
            return CNF(variables, [[]] * int(rng.integers(0, 2)))
        case 2:  # variables that nothing is said about, before, between and behind the others
            some = cnf(rng)
            place = np.sort(rng.choice(3 * some.variables, some.variables, replace=False)) + 1
            moved = [[int(place[abs(z) - 1]) * (1 if z > 0 else -1) for z in clause] for clause in some.clauses]
            return CNF(3 * some.variables, moved)
        case 3:  # units, some of them twice or against each other
            some = cnf(rng)
            units = [[int(z)] for z in rng.integers(1, some.variables + 1, int(rng.integers(1, 5)))]
            return CNF(some.variables, [*some.clauses, *[[z * int(rng.choice([-1, 1, 1]))] for [z] in units]])
        case 4:  # repeated and opposite literals in every clause
            some = cnf(rng)
            doubled = [[*clause, *clause, *(-z for z in clause if rng.random() < 0.1)] for clause in some.clauses]
            return CNF(some.variables, doubled)
    return cnf(rng)


def proves(formula: CNF, proof: str) -> bool:
    """Whether a DRAT proof refutes the formula; the checker is a package that shares no code with any solver."""
    result = check_proof(parse_dimacs(formula.format()), proof)
    return bool(result.ok and result.reached_empty)
