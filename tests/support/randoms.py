"""Random problems of every family: satisfiable, unsatisfiable, with one and with many solutions."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from dibs import CNF, Latin, Not, Problem, Sudoku, generate
from dibs.bench.instances import load
from dibs.problem import Instance


def sudoku(rng: np.random.Generator, box: tuple[int, int], clues: int) -> Sudoku:
    """Clues from a shuffled pattern grid, some of them changed, so that every number of solutions occurs."""
    return Sudoku(_clues(rng, _pattern(rng, box), clues), box)


def latin(rng: np.random.Generator, n: int, clues: int) -> Latin:
    return Latin(_clues(rng, _pattern(rng, (1, n)), clues))


def _pattern(rng: np.random.Generator, box: tuple[int, int]) -> np.ndarray:
    high, wide = box
    n = high * wide
    rows = np.concatenate([rng.permutation(high) + high * band for band in rng.permutation(wide)])
    columns = np.concatenate([rng.permutation(wide) + wide * stack for stack in rng.permutation(high)])
    shift = rows // high + (rows % high) * wide
    return np.asarray(rng.permutation(n)[(shift[:, None] + columns[None, :]) % n] + 1)


def _clues(rng: np.random.Generator, grid: np.ndarray, clues: int) -> np.ndarray:
    n = len(grid)
    values = np.zeros(n * n, np.uint8)
    places = rng.choice(n * n, clues, replace=False)
    values[places] = grid.ravel()[places]
    if rng.random() < 0.4 and clues:
        values[places[0]] = rng.integers(1, n + 1)
    return values


def cnf(rng: np.random.Generator) -> CNF:
    """Clauses of mixed length over few variables; now and then an empty one, a tautology or a repetition."""
    variables = int(rng.integers(1, 9))
    count = int(rng.integers(0, 4 * variables + 3))
    made = []
    for _ in range(count):
        length = int(rng.choice([0, 1, 2, 3, 4], p=[0.005, 0.085, 0.3, 0.45, 0.16]))
        made.append([int(v) * int(rng.choice([-1, 1])) for v in rng.integers(1, variables + 1, length)])
    return CNF(variables, made)


def problem(rng: np.random.Generator) -> Problem:
    """Random groups of every kind over few literals, overlapping at will."""
    literals = int(rng.integers(1, 11))

    def groups(most: int, least_members: int) -> list[list[int]]:
        return [
            rng.choice(literals, int(rng.integers(min(least_members, literals), min(5, literals) + 1)), replace=False)
            .astype(int)
            .tolist()
            for _ in range(int(rng.integers(0, most + 1)))
        ]

    exactly = groups(3, 1 if rng.random() < 0.95 else 0)
    decide = None if rng.random() < 0.7 else [i for i in range(len(exactly)) if rng.random() < 0.5]
    given = rng.choice(literals, int(rng.integers(0, 2)), replace=False).astype(int).tolist()
    return Problem(
        literals,
        exactly_one=exactly,
        at_most_one=groups(3, 2),
        at_least_one=groups(3, 1),
        given=given,
        decide=decide,
    )


def bounded(rng: np.random.Generator, largest: int = 10) -> Problem:
    """Groups with bounds that overlap at will, negations among their literals; now and then empty ones or all of it."""
    literals = int(rng.integers(1, largest + 1))

    def members(most: int) -> list[int | Not]:
        some = rng.choice(literals, int(rng.integers(0, min(most, literals) + 1)), replace=False).tolist()
        both = [some[0], Not(some[0])] if some and rng.random() < 0.1 else some[:1]
        return [*both, *(Not(i) if rng.random() < 0.3 else i for i in some[1:])]

    def bounds(group: list[int | Not]) -> tuple[int, int, list[int | Not]]:
        least = int(rng.integers(0, len(group) + 1)) if rng.random() < 0.7 else 0
        most = int(rng.integers(least, len(group) + 1)) if rng.random() < 0.7 else len(group)
        return least, most, group

    exactly = [g for g in (members(4) for _ in range(int(rng.integers(0, 3)))) if g]
    size = largest if rng.random() < 0.5 else 6
    return Problem(
        literals,
        exactly_one=exactly,
        at_most_one=[members(4) for _ in range(int(rng.integers(0, 2)))],
        at_least_one=[g for g in (members(4) for _ in range(int(rng.integers(0, 3)))) if g],
        groups=[bounds(members(size)) for _ in range(int(rng.integers(1, 5)))],
        given=[] if rng.random() < 0.7 else members(1),
    )


def tight(rng: np.random.Generator) -> Problem:
    """Bounds that leave little: many failures, some solutions."""
    n = int(rng.integers(12, 41))
    groups = []
    for _ in range(int(n * rng.uniform(0.3, 0.9))):
        size = int(rng.integers(3, 10))
        least = int(rng.integers(0, size - 1))
        most = int(rng.integers(max(least, 1), size))
        if rng.random() < 0.5:
            least = most = max(1, size // 2)
        some = rng.choice(n, size, replace=False).tolist()
        groups.append((least, most, [Not(i) if rng.random() < 0.4 else i for i in some]))
    clauses = [rng.choice(n, 3, replace=False).tolist() for _ in range(n // 2)]
    return Problem(n, groups=groups, at_least_one=clauses, exactly_one=[rng.choice(n, 4, replace=False).tolist()])


def wide(rng: np.random.Generator) -> Problem:
    """Groups with bounds of up to 1,000 literals, which overlap and have a few negations; few of them are true.

    Bounds are about a planted solution, or one off it; in half of them all but some literals are given.
    """
    n = int(rng.integers(70, 1001))
    true = rng.random(n) < rng.uniform(0, 6) / n
    groups, special = [], []
    for _ in range(int(rng.integers(1, 5))):
        some = rng.choice(n, int(n ** rng.uniform(0.3, 1.0)), replace=False).tolist()
        few = int(rng.integers(0, 4))
        flipped = rng.random() < 0.2  # "all but a few of these" in place of "a few of these"
        members = [Not(i) if (place < few) != flipped else i for place, i in enumerate(some)]
        count = sum(bool(true[i]) != ((place < few) != flipped) for place, i in enumerate(some))
        least = max(0, count - int(rng.integers(0, 3))) if rng.random() < 0.7 else 0
        most = min(len(some), count + int(rng.integers(0, 3))) if rng.random() < 0.8 else len(some)
        if rng.random() < 0.1:  # one off
            least, most = (least, count - 1) if rng.random() < 0.5 and least < count else (min(count + 1, most), most)
        groups.append((least, max(least, most), members))
        special.append(rng.choice(n, int(rng.integers(1, 5)), replace=False).tolist())
    free = rng.choice(n, int(rng.integers(0, 9)), replace=False)
    given = (
        np.setdiff1d(np.arange(n), free).tolist() if rng.random() < 0.5 else rng.choice(n, 3, replace=False).tolist()
    )
    return Problem(
        n,
        groups=groups,
        at_least_one=[[*some, Not(some[0])] if rng.random() < 0.5 else some for some in special[:2]],
        at_most_one=special[2:],
        given=[i if true[i] else Not(i) for i in given],
    )


def _part(rng: np.random.Generator) -> Problem:
    """A small problem to be joined with others."""
    match int(rng.integers(0, 5)):
        case 0:  # a group that nothing else touches, now and then an empty one
            kind = int(rng.integers(0, 3))
            size = int(rng.integers(1, 5))
            groups: list[list[list[int]]] = [[], [], []]
            groups[kind] = [[] if rng.random() < 0.05 else list(range(size))]
            return Problem(size, exactly_one=groups[0], at_most_one=groups[1], at_least_one=groups[2])
        case 1:  # literals in no group at all
            return Problem(int(rng.integers(1, 3)))
        case 2:  # pigeons, now and then one too many
            holes = int(rng.integers(1, 4))
            homes = np.arange((holes + (rng.random() < 0.2)) * holes).reshape(-1, holes)
            return Problem(homes.size, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())
        case 3:  # a Latin square: rows and columns follow
            n = int(rng.integers(2, 4))
            cells = np.arange(n**3).reshape(n, n, n)
            lines = [*cells.transpose(0, 2, 1).reshape(-1, n), *cells.transpose(1, 2, 0).reshape(-1, n)]
            return Problem(n**3, exactly_one=cells.reshape(-1, n).tolist(), implied=[line.tolist() for line in lines])
    return problem(rng)


def union(rng: np.random.Generator) -> Problem:
    """Problems that have nothing to do with one another, side by side; their literals are shuffled."""
    parts = [_part(rng) for _ in range(int(rng.integers(2, 5)))]
    total = sum(part.literals for part in parts)
    places = rng.permutation(total).tolist()
    groups: dict[str, Any] = {name: [] for name in ("exactly_one", "at_most_one", "at_least_one", "implied")}
    decide: list[int] = []
    given: list[int] = []
    first = 0
    for part in parts:
        decide += [len(groups["exactly_one"]) + i for i in part.decide]
        for name, made in groups.items():
            made += [[places[first + literal] for literal in group] for group in getattr(part, name)]
        given += [places[first + literal] for literal in part.given.tolist()]
        first += part.literals
    return Problem(total, **groups, decide=rng.permutation(decide).astype(int).tolist(), given=given)


def formulas(rng: np.random.Generator) -> CNF:
    """Formulas over variables of their own, side by side, and variables that no clause names."""
    parts = [cnf(rng) for _ in range(int(rng.integers(2, 4)))]
    total = sum(part.variables for part in parts) + int(rng.integers(0, 3))
    names = (rng.permutation(total) + 1).tolist()
    clauses: list[list[int]] = []
    first = 0
    for part in parts:
        clauses += [[names[first + abs(z) - 1] * (1 if z > 0 else -1) for z in clause] for clause in part.clauses]
        first += part.variables
    return CNF(total, [clauses[i] for i in rng.permutation(len(clauses))])


def siblings(rng: np.random.Generator, of: Problem, count: int) -> list[Problem]:
    """`of` and `count` more with its groups and other givens; they share its structure."""
    made = [of]
    for _ in range(count):
        some = rng.choice(of.literals, min(int(rng.integers(0, 4)), of.literals), replace=False)
        other = copy(of)
        other._given = np.sort(some).astype(np.int64)
        other.__dict__["structure"] = of.structure
        made.append(other)
    return made


def apart(seed: int, count: int) -> list[Instance]:
    """`count` problems that fall into parts: disjoint unions, isolated and empty groups, unused literals."""
    rng = np.random.default_rng(seed)
    return [union(rng) if i % 3 else formulas(rng) for i in range(count)]


def mixture(seed: int, count: int) -> list[Instance]:
    """`count` problems, two fifths of them grids that share a structure with others."""
    rng = np.random.default_rng(seed)
    made: list[Instance] = []
    for i in range(count):
        match i % 5:
            case 0:
                made.append(sudoku(rng, (2, 2), int(rng.integers(0, 9))))
            case 1:
                box = (2, 3) if i % 2 else (3, 2)
                made.append(sudoku(rng, box, int(rng.integers(8, 22))))
            case 2:
                n = int(rng.integers(2, 6))
                made.append(latin(rng, n, int(rng.integers(0, n * n))))
            case 3:
                made.append(cnf(rng))
            case _:
                made.append(problem(rng))
    return made


def formula(rng: np.random.Generator, variables: int, ratio: float) -> CNF:
    """Random clauses of three, `ratio` for each variable; at 4.27 about half of the large ones have a solution."""
    rows = [rng.choice(variables, 3, replace=False) + 1 for _ in range(int(ratio * variables))]
    return CNF(variables, [(row * rng.choice([-1, 1], 3)).tolist() for row in rows])


def stubborn(seed: int, count: int) -> list[Instance]:
    """Problems that need search: formulas beyond the threshold, pigeons, hard 9x9 puzzles with one clue more.

    Most of them have no solution.
    """
    rng = np.random.default_rng(seed)
    hard = [puzzle for puzzle in load("hard300", 40) if isinstance(puzzle, Sudoku)]
    made: list[Instance] = []
    for i in range(count):
        match i % 4:
            case 0:
                made.append(formula(rng, int(rng.integers(8, 15)), 5.5))
            case 1:
                holes = int(rng.integers(3, 6))
                pigeons = holes + int(rng.integers(0, 2))
                homes = np.arange(pigeons * holes).reshape(pigeons, holes)
                made.append(Problem(homes.size, exactly_one=homes.tolist(), at_most_one=homes.T.tolist()))
            case _:
                values = hard[i % len(hard)].values.copy()
                while True:
                    cell, digit = int(rng.choice(np.flatnonzero(values == 0))), int(rng.integers(1, 10))
                    row, column = divmod(cell, 9)
                    grid = values.reshape(9, 9)
                    boxed = grid[row // 3 * 3 : row // 3 * 3 + 3, column // 3 * 3 : column // 3 * 3 + 3]
                    if digit not in {*grid[row].tolist(), *grid[:, column].tolist(), *boxed.ravel().tolist()}:
                        break
                values[cell] = digit
                made.append(Sudoku(values))
    return made


def squares(seed: int, count: int, order: int = 21) -> list[Latin]:
    """Latin squares that take failures, and room for walks; every other one has one further value, right or wrong."""
    rng = np.random.default_rng(seed)
    drawn = list(generate.latin(count, order=order, holes=0.42, balanced=True, seed=seed))
    for i in range(1, count, 2):
        values = drawn[i].values.reshape(order, order).copy()
        row, column = rng.choice(np.argwhere(values == 0))
        free = np.setdiff1d(np.arange(1, order + 1), np.union1d(values[row], values[:, column]))
        values[row, column] = rng.choice(free)
        drawn[i] = Latin(values)
    return drawn
