"""An independent judge of Sudokus: a CNF and CaDiCaL, nothing of dibs."""

from __future__ import annotations

from itertools import combinations

from pysat.solvers import Solver


def _clauses(rows: int, wide: int) -> list[list[int]]:
    n = rows * wide

    def var(r: int, c: int, v: int) -> int:
        return (r * n + c) * n + v + 1

    units = [[(r, c) for c in range(n)] for r in range(n)] + [[(r, c) for r in range(n)] for c in range(n)]
    units += [
        [(top + r, left + c) for r in range(rows) for c in range(wide)]
        for top in range(0, n, rows)
        for left in range(0, n, wide)
    ]
    groups = [[var(r, c, v) for v in range(n)] for r in range(n) for c in range(n)]
    groups += [[var(r, c, v) for r, c in unit] for unit in units for v in range(n)]
    return [clause for group in groups for clause in [group, *([-a, -b] for a, b in combinations(group, 2))]]


class Judge:
    """Counts solutions of puzzles of one size, given as value lists."""

    def __init__(self, rows: int = 3, wide: int = 3) -> None:
        self.n = rows * wide
        self.solver = Solver(name="minisat22", bootstrap_with=_clauses(rows, wide))
        self.switch = self.n**3

    def unique(self, values: list[int]) -> bool:
        given = [i * self.n + v for i, v in enumerate(values) if v]
        if not self.solver.solve(assumptions=given):
            return False
        model = [z for z in self.solver.get_model()[: self.n**3] if z > 0]
        # "Not this solution", under a switch of its own so that later puzzles do not see it.
        self.switch += 1
        self.solver.add_clause([-self.switch, *(-z for z in model)])
        return not self.solver.solve(assumptions=[*given, self.switch])

    def minimal(self, values: list[int]) -> bool:
        """Whether no given can be left out of a puzzle with one solution: each, if denied, leaves another."""
        given = [i * self.n + v for i, v in enumerate(values) if v]
        return all(self.solver.solve(assumptions=[z if z != out else -z for z in given]) for out in given)
