"""Search on formulas: the rows of the paper's Table 3, against a slow search written from their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dibs
from dibs import CNF
from dibs.generate.formulas import sat, threshold_clauses
from randoms import cnf

Assignment = dict[int, bool]


class Plain:
    """Depth first with unit propagation; `nodes`, `backtracks` and `tries` as they are defined."""

    def __init__(self, problem: CNF, select: str, order: str) -> None:
        self.problem, self.select, self.order = problem, select, order
        self.nodes = self.backtracks = self.tries = 0
        self.model: Assignment | None = None
        root = self.propagated({})
        self.solved = root is not None and self.search(root)

    def open_clauses(self, known: Assignment) -> list[list[int]]:
        """The open literals of every clause that is not satisfied, each once and ascending by variable."""
        found = []
        for clause in self.problem.clauses:
            literals = sorted(set(clause), key=lambda z: (abs(z), z < 0))
            if any(-z in literals for z in literals) or any(known.get(abs(z)) == (z > 0) for z in literals):
                continue
            found.append([z for z in literals if abs(z) not in known])
        return found

    def propagated(self, known: Assignment) -> Assignment | None:
        while True:
            clauses = self.open_clauses(known)
            if [] in clauses:
                return None
            units = [clause[0] for clause in clauses if len(clause) == 1]
            if not units:
                return known
            known = known | {abs(units[0]): units[0] > 0}

    def search(self, known: Assignment) -> bool:
        free = [v for v in range(1, self.problem.variables + 1) if v not in known]
        if not free:
            self.model = known
            return True
        self.nodes += 1
        clauses = self.open_clauses(known)
        variable = free[0]
        if self.select == "mrv" and clauses:
            variable = abs(min(clauses, key=len)[0])
        values = [True, False]
        if self.order == "jw":
            weight = {
                value: sum(2.0 ** -len(c) for c in clauses if (variable if value else -variable) in c)
                for value in values
            }
            values.sort(key=lambda value: -weight[value])
        for value in values:
            self.tries += 1
            after = self.propagated(known | {variable: value})
            if after is not None and self.search(after):
                return True
            self.backtracks += 1
        return False


def formulas(count: int) -> list[CNF]:
    rng = np.random.default_rng(5)
    odd = [cnf(rng) for _ in range(count)]
    return [*odd, *sat(count, variables=8, seed=1), *sat(count // 2, variables=14, clauses=55, seed=2)]


@pytest.mark.parametrize(("select", "order"), list(product(("first", "mrv"), ("ascending", "jw"))))
def test_counts_are_those_of_a_plain_search(select: str, order: str) -> None:
    several = 0
    for problem in formulas(24):
        plain = Plain(problem, select, order)
        found = dibs.solve(problem, level="naked", select=select, order=order)
        assert (found.status == "SAT") == plain.solved
        assert (found.nodes, found.backtracks, found.tries) == (plain.nodes, plain.backtracks, plain.tries), problem
        several += found.nodes > 3
    assert several > 10


@pytest.mark.parametrize("tie", ["degree", "impact", "random"])
@pytest.mark.parametrize("level", ["eliminate", "naked", "hidden"])
def test_other_ties_give_the_same_answers(tie: str, level: str) -> None:
    for problem in formulas(20):
        status = dibs.solve(problem, level="naked", select="first").status
        for order in ("jw", "random", "mcv"):
            assert dibs.solve(problem, level=level, tie=tie, order=order).status == status


def test_values_tried_are_those_that_failed_and_the_way_to_the_solution() -> None:
    for problem in sat(50, variables=20, seed=3):
        found = dibs.solve(problem, level="naked", order="jw")
        assert found.tries >= found.backtracks
        if found.status == "UNSAT":
            assert found.tries == found.backtracks == 2 * found.nodes


def test_a_guide_is_asked_where_the_clause_has_two_literals() -> None:
    """Trigger `binary` is about the clause that MRV takes, not about the variable, which always has two values."""

    class Noting:
        def __init__(self) -> None:
            self.sizes: list[int] = []

        def rank(self, asks: dibs.Asks) -> np.ndarray:
            [problem], [true], [open_] = asks.instances, asks.true, asks.open
            assert isinstance(problem, CNF)
            left = []
            for clause in problem.clauses:
                literals = [2 * z - 2 if z > 0 else -2 * z - 1 for z in clause]
                if not true[literals].any():
                    left.append(int(open_[literals].sum()))
            self.sizes.append(min(left))
            return np.zeros(asks.open.shape)

    for trigger, fits in (("binary", {2}), ("ternary", {3}), ("always", {2, 3})):
        guide = Noting()
        for problem in sat(20, variables=15, satisfiable=True, seed=6):
            dibs.solve(problem, level="naked", guide=guide, trigger=trigger)
        assert set(guide.sizes) == fits


def test_distinct_clauses() -> None:
    for problem in sat(20, variables=5, distinct=True, seed=1):
        assert len(problem.clauses) == len({tuple(sorted(c)) for c in problem.clauses}) == threshold_clauses(5) == 41
    assert any(len({tuple(sorted(c)) for c in p.clauses}) < 41 for p in sat(5, variables=5, seed=1))
    with pytest.raises(ValueError, match="on 3 variables there are 8"):
        sat(1, variables=3, clauses=9, distinct=True)
