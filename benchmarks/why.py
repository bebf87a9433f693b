"""`dibs.why` on contradictory problems: a contradiction, minimal, by another solver; and how long it takes.

    python benchmarks/why.py [--count 500] [--seed 0] [--smallest]

9x9 Sudokus with a wrong given, Latin squares, random formulas, groups with bounds, and rosters of about 1,000 groups.
Glucose is given the parts that are named: all of them have no solution, all but any one of them have one. Formulas
for it are written down from names and values of grids, and from the groups of other problems.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import chain, combinations
from time import process_time

import numpy as np
from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

import dibs
from dibs import CNF, Latin, Model, Not, Problem, Sudoku, Why, generate
from dibs.problem import Instance
from dibs.problem.grid import Grid
from dibs.problem.parts import Part, parts_of

Clauses = list[list[int]]


def clauses_of(part: Part, grid: Grid | None, top: int) -> Clauses:
    """A part in clauses; literal l is variable l + 1, and variables above `top` are new."""
    if grid is not None and part.kind == "constraint":
        return _unit(grid, part.within or part.name, [part.name] if part.within else None)
    found: Clauses = []
    for least, most, literals in part.groups:
        found += _between(least, most, [z + 1 for z in literals], top)
        top = max([top, *(abs(z) for z in chain.from_iterable(found))])
    return found


def _unit(grid: Grid, name: str, values: list[str] | None) -> Clauses:
    """Rows, columns and boxes by name, so many values of each."""
    n, number = grid.size, int(name.split()[1]) - 1
    row, column = np.divmod(np.arange(n * n), n)
    unit = {"row": row, "column": column}
    if grid.shape.box:
        high, wide = grid.shape.box
        unit["box"] = row // high * (n // wide) + column // wide
    cells = np.flatnonzero(unit[name.split()[0]] == number)
    symbols = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ@"
    wanted = range(1, n + 1) if values is None else [symbols.index(value) for value in values]
    found: Clauses = []
    for value in wanted:
        literals = (cells * n + value).tolist()
        found += [literals, *([-a, -b] for a, b in combinations(literals, 2))]
    return found


def _between(least: int, most: int, literals: list[int], top: int) -> Clauses:
    if least > len(literals):
        return [[]]
    found: Clauses = []
    for kind, bound in (("atleast", least), ("atmost", most)):
        if (kind == "atleast" and bound > 0) or (kind == "atmost" and bound < len(literals)):
            made = getattr(CardEnc, kind)(literals, bound, top_id=top, encoding=EncType.totalizer)
            found += made.clauses
            top = max(top, made.nv)
    return found


def certain(instance: Instance) -> Clauses:
    """Cells and variables have one value."""
    found: Clauses = []
    for _, _, literals in parts_of(instance).certain:
        found += [[z + 1 for z in literals], *([-a - 1, -b - 1] for a, b in combinations(literals, 2))]
    return found


def wrong(found: Why) -> str | None:
    """What Glucose says against an explanation; None: nothing."""
    grid = found.problem if isinstance(found.problem, Grid) else None
    base, top = certain(found.problem), found.problem.structure.literals
    with Solver("glucose4", bootstrap_with=base) as solver:
        selectors = []
        for part in found.parts:
            made = clauses_of(part, grid, top)
            top = max([top, *(abs(z) for z in chain.from_iterable(made))]) + 1
            selectors.append(top)
            for clause in made:
                solver.add_clause([-top, *clause])
        if solver.solve(assumptions=selectors):
            return "the parts have a solution"
        for i, part in enumerate(found.parts):
            if not solver.solve(assumptions=selectors[:i] + selectors[i + 1 :]):
                return f"{part.name} is not needed"
    return None


def sudoku(rng: np.random.Generator, box: tuple[int, int] = (3, 3), kept: float = 0.45) -> Sudoku:
    """A part of a full grid, with one value changed."""
    [full] = generate.sudoku(1, box=box, kept=1.0, seed=int(rng.integers(2**40)), workers=1)
    values, n = full.values.copy(), full.size
    values[rng.random(n * n) > kept] = 0
    cell = int(rng.integers(n * n))
    values[cell] = int(full.values[cell]) % n + 1
    return Sudoku(values, box)


def latin(rng: np.random.Generator) -> Latin:
    n = int(rng.integers(6, 13))
    [square] = generate.latin(1, order=n, holes=0.5, seed=int(rng.integers(2**40)))
    values = square.values.copy()
    cell = int(rng.choice(np.flatnonzero(values)))
    values[cell] = values[cell] % n + 1
    return Latin(values)


def formula(rng: np.random.Generator) -> CNF:
    variables = int(rng.integers(15, 60))
    rows = [rng.choice(variables, 3, replace=False) + 1 for _ in range(6 * variables)]
    return CNF(variables, [(row * rng.choice([-1, 1], 3)).tolist() for row in rows])


def bounds(rng: np.random.Generator) -> Problem:
    n = int(rng.integers(12, 30))
    groups = []
    for _ in range(2 * n):
        size = int(rng.integers(3, 8))
        least = int(rng.integers(0, size - 1))
        some = rng.choice(n, size, replace=False).tolist()
        most = int(rng.integers(max(least, 1), size))
        groups.append((least, most, [Not(i) if rng.random() < 0.4 else i for i in some]))
    return Problem(n, groups=groups, given=rng.choice(n, 2, replace=False).tolist())


def roster(rng: np.random.Generator, people: int = 40, days: int = 14) -> Model:
    """Who works when: about 1,000 groups, and more wishes for one day than it can bear."""
    m = Model()
    every = [(p, d) for p in range(people) for d in range(days)]
    shift = {(p, d): m.choice(f"p{p} day {d}", ["early", "late", "night", "off"]) for p, d in every}
    for d in range(days):
        for name in ("early", "late", "night"):
            m.between(people // 8, people // 3, [shift[p, d] == name for p in range(people)], role=f"{name}, day {d}")
    for p in range(people):
        for d in range(days - 1):
            m.forbid(shift[p, d] == "night", shift[p, d + 1] == "early")
        for week in range(0, days, 7):
            m.at_least(2, [shift[p, d] == "off" for d in range(week, week + 7)], role=f"rest of {p}")
            m.at_most(3, [shift[p, d] == "night" for d in range(week, week + 7)], role=f"nights of {p}")
    day = int(rng.integers(days))
    for p in rng.choice(people, people - people // 3, replace=False).tolist():
        m.require(shift[p, day] == "off")
    return m


KINDS: dict[str, Callable[[np.random.Generator], Instance]] = {
    "sudoku": sudoku,
    "latin": latin,
    "formula": formula,
    "bounds": bounds,
    "roster": lambda rng: roster(rng).problem(),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smallest", action="store_true")
    said = parser.parse_args()
    rng = np.random.default_rng(said.seed)
    took: defaultdict[str, list[float]] = defaultdict(list)
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    proved: defaultdict[str, int] = defaultdict(int)
    dibs.why(Sudoku(np.full(16, 1)))  # compiled
    count = tried = 0
    while count < said.count:
        name = list(KINDS)[tried % 50 // 11]
        tried += 1
        made = KINDS[name](rng)
        begin = process_time()
        found = dibs.why(made, smallest=said.smallest, max_seconds=20 if said.smallest else None)
        seconds = process_time() - begin
        if found.status != "UNSAT":
            continue
        count += 1
        fault = wrong(found) if found.minimal else "not minimal"
        if fault:
            print(f"{name} {tried}: {fault}: {found}")
            return 1
        took[name].append(seconds)
        sizes[name].append(len(found.parts))
        proved[name] += found.smallest is True
        if count % 50 == 0:
            print(f"{count} explained and confirmed", file=sys.stderr, flush=True)
    print("kind      count  CPU seconds p50    p95    max   parts p50  max  proved smallest")
    for name, times in took.items():
        p50, p95, most = np.percentile(times, [50, 95, 100])
        row = f"{name:8} {len(times):6} {p50:14.3f} {p95:7.3f} {most:6.3f}"
        print(f"{row} {np.median(sizes[name]):9.0f} {max(sizes[name]):5} {proved[name] if said.smallest else '':>9}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
