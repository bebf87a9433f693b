"""Two judges that share no code with the search: a SAT solver for answers, a plain Python search for counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import comb
from typing import Any

from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

from dibs import CNF, Latin, Problem, Sudoku
from dibs.problem import Instance


def clauses(instance: Instance) -> tuple[int, list[list[int]]]:
    """(variables to count solutions over, clauses) of any family, written down from its definition."""
    if isinstance(instance, CNF):
        return instance.variables, [list(clause) for clause in instance.clauses]
    if isinstance(instance, Problem):
        return instance.literals, list(_problem(instance))
    assert isinstance(instance, Sudoku | Latin)
    n = instance.size
    box = instance.box if isinstance(instance, Sudoku) else None
    return n**3, list(_grid(instance.values.tolist(), n, box))


def solutions(instance: Instance, most: int) -> int:
    """How many solutions there are, up to `most`."""
    variables, formula = clauses(instance)
    found = 0
    with Solver("glucose4", bootstrap_with=formula) as solver:
        while found < most and solver.solve():
            found += 1
            model = set(solver.get_model() or [])
            solver.add_clause([-v if v in model else v for v in range(1, variables + 1)])
    return found


def sets(instance: Instance, most: int, over: Iterable[int] | None = None) -> set[frozenset[int]]:
    """The true variables of up to `most` solutions, each once; `over`: only these variables count."""
    variables, formula = clauses(instance)
    counted = list(range(1, variables + 1) if over is None else over)
    found: set[frozenset[int]] = set()
    with Solver("glucose4", bootstrap_with=formula) as solver:
        while len(found) < most and solver.solve():
            model = set(solver.get_model() or [])
            found.add(frozenset(v for v in counted if v in model))
            solver.add_clause([-v if v in model else v for v in counted])
    return found


def as_set(instance: Instance, solution: Any) -> frozenset[int]:
    """A solution of dibs as `sets` has it."""
    if isinstance(instance, CNF):
        return frozenset(z for z in solution if z > 0)
    if isinstance(instance, Problem):
        return frozenset(z + 1 for z in solution)
    assert isinstance(instance, Sudoku | Latin)
    return frozenset(i * instance.size + v for i, v in enumerate(solution.array.ravel().tolist()))


def _exactly_one(literals: list[int]) -> Iterator[list[int]]:
    yield literals
    yield from _at_most_one(literals)


def _at_most_one(literals: list[int]) -> Iterator[list[int]]:
    yield from ([-a, -b] for a, b in combinations(literals, 2))


def _problem(problem: Problem) -> Iterator[list[int]]:
    def named(group: Iterable[int]) -> list[int]:
        n = problem.literals
        return [z + 1 if z < n else -problem.negated[z - n] - 1 for z in group]

    for group in [*problem.exactly_one, *problem.implied]:
        yield from _exactly_one(named(group))
    for group in problem.at_most_one:
        yield from _at_most_one(named(group))
    yield from (named(group) for group in problem.at_least_one)
    yield from ([z] for z in named(problem.given.tolist()))
    top = problem.literals
    for bounds in problem.groups:
        made = _between(bounds.least, bounds.most, named(bounds.literals), top)
        top = max([top, *(abs(z) for clause in made for z in clause)])
        yield from made


def _between(least: int, most: int, literals: list[int], top: int) -> list[list[int]]:
    """Subset by subset where they are few, otherwise by totalizers."""
    size = len(literals)
    if comb(size, most + 1) + comb(size, size - least + 1) < 1000:
        few = [[-z for z in some] for some in combinations(literals, most + 1)]
        return few + [list(some) for some in combinations(literals, size - least + 1)]
    made = CardEnc.atmost(literals, most, top_id=top, encoding=EncType.totalizer).clauses if most < size else []
    top = max([top, *(abs(z) for clause in made for z in clause)])
    return [*made, *CardEnc.atleast(literals, least, top_id=top, encoding=EncType.totalizer).clauses]


def units(n: int, box: tuple[int, int] | None) -> list[list[int]]:
    """The cells of each row, column and box."""
    rows = [[r * n + c for c in range(n)] for r in range(n)]
    columns = [[r * n + c for r in range(n)] for c in range(n)]
    boxes = []
    if box:
        high, wide = box
        for r in range(0, n, high):
            for c in range(0, n, wide):
                boxes.append([(r + i) * n + c + j for i in range(high) for j in range(wide)])
    return rows + columns + boxes


def _grid(values: list[int], n: int, box: tuple[int, int] | None) -> Iterator[list[int]]:
    for cell in range(n * n):
        yield from _exactly_one([cell * n + v + 1 for v in range(n)])
    for unit in units(n, box):
        for v in range(n):
            yield from _at_most_one([cell * n + v + 1 for cell in unit])
    yield from ([cell * n + value] for cell, value in enumerate(values) if value)


class Judge:
    """One incremental solver for many puzzles of one size, given as lists of values."""

    def __init__(self, rows: int = 3, wide: int = 3) -> None:
        self.n = rows * wide
        blank = _grid([0] * self.n**2, self.n, (rows, wide))
        self.solver = Solver(name="minisat22", bootstrap_with=list(blank))
        self.switch = self.n**3

    def _given(self, values: list[int]) -> list[int]:
        return [cell * self.n + value for cell, value in enumerate(values) if value]

    def unique(self, values: list[int]) -> bool:
        if not self.solver.solve(assumptions=self._given(values)):
            return False
        model = [z for z in self.solver.get_model()[: self.n**3] if z > 0]
        # "Not this solution", under a switch of its own so that later puzzles do not see it.
        self.switch += 1
        self.solver.add_clause([-self.switch, *(-z for z in model)])
        return not self.solver.solve(assumptions=[*self._given(values), self.switch])

    def minimal(self, values: list[int]) -> bool:
        """Whether no given can be left out of a puzzle with one solution: each, if denied, leaves another."""
        given = self._given(values)
        return all(self.solver.solve(assumptions=[z if z != out else -z for z in given]) for out in given)


class PlainSearch:
    """The definitions of node, backtrack, level, tie and order on sets of digits, recursive and slow.

    Written from the text of the paper's section on baselines, for grids only.
    """

    def __init__(self, puzzle: Sudoku | Latin, level: str, tie: str, order: str) -> None:
        self.n, self.level, self.tie, self.order = puzzle.size, level, tie, order
        self.units = units(puzzle.size, puzzle.box if isinstance(puzzle, Sudoku) else None)
        self.peers = [
            sorted({c for unit in self.units if cell in unit for c in unit} - {cell}) for cell in range(self.n**2)
        ]
        self.nodes = self.backtracks = 0
        self.solution: dict[int, int] | None = None
        domains = [set(range(1, self.n + 1)) for _ in range(self.n**2)]
        state = self._assign({}, domains, [(c, v) for c, v in enumerate(puzzle.values.tolist()) if v])
        self.solved = state is not None and self._expand(*state)

    def _assign(
        self, done: dict[int, int], domains: list[set[int]], todo: list[tuple[int, int]]
    ) -> tuple[dict[int, int], list[set[int]]] | None:
        done, domains, todo = dict(done), [set(d) for d in domains], list(todo)
        while True:
            for cell, value in todo:
                if value not in domains[cell]:
                    return None
                done[cell] = value
                domains[cell] = {value}
                for peer in self.peers[cell]:
                    domains[peer].discard(value)
            if self.level == "eliminate":
                bad = any(len(domains[c]) == 0 for c in done)
                return None if bad else (done, domains)
            if not all(domains):
                return None
            todo = [(c, min(d)) for c, d in enumerate(domains) if len(d) == 1 and c not in done]
            if self.level == "hidden":
                for unit in self.units:
                    for value in range(1, self.n + 1):
                        places = [c for c in unit if value in domains[c]]
                        if not places:
                            return None
                        if len(places) == 1 and places[0] not in done:
                            todo.append((places[0], value))
            if not todo:
                return done, domains

    def _expand(self, done: dict[int, int], domains: list[set[int]]) -> bool:
        free = [c for c in range(self.n**2) if c not in done]
        if not free:
            self.solution = done
            return True
        self.nodes += 1

        def urgency(cell: int) -> tuple[int, int, int]:
            near = [domains[peer] for peer in self.peers[cell] if peer not in done]
            rank = len(near) if self.tie == "degree" else 0
            if self.tie == "impact":  # an option that is taken counts 1, and 6 more where only one is left then
                rank = sum(1 + 6 * (len(other) == 2) for value in domains[cell] for other in near if value in other)
            return len(domains[cell]), -rank, cell

        cell = min(free, key=urgency)

        def taken(value: int) -> int:
            return sum(value in domains[peer] for peer in self.peers[cell] if peer not in done)

        values = sorted(domains[cell])
        if self.order in ("lcv", "mcv"):
            values.sort(key=lambda v: taken(v) if self.order == "lcv" else -taken(v))
        for value in values:
            state = self._assign(done, domains, [(cell, value)])
            if state is not None and self._expand(*state):
                return True
            self.backtracks += 1
        return False
