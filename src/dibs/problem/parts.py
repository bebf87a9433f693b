"""A problem taken apart: what may be to blame where it has no solution, each with its name for the user.

Written from what each family says, not from the structure that is searched. What goes without saying is no part: that
a cell or a variable has one value, and that a literal and its negation differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dibs.problem.cnf import CNF
from dibs.problem.grid import Grid
from dibs.problem.modelled import Modelled
from dibs.problem.own import Problem
from dibs.problem.structure import Instance
from dibs.problem.symbols import symbol_of
from dibs.problem.words import group_shown, literal_of, shown, words_for

Group = tuple[int, int, tuple[int, ...]]  # least, most, literals of the structure


@dataclass(frozen=True, eq=False)
class Part:
    """Something that was said: a literal that is given, or groups."""

    kind: Literal["given", "constraint"]
    name: str  # for readers
    groups: tuple[Group, ...]  # of a given: exactly its literal
    words: Any = None  # a given, as sessions take it
    finer: tuple[Part, ...] = ()  # what it consists of, where that is worth a closer look
    within: str | None = None  # of one of those: the name of the whole, and `name` is what it adds

    @property
    def literal(self) -> int | None:
        """Of a given."""
        return self.groups[0][2][0] if self.kind == "given" else None

    def holds(self, true: set[int]) -> bool:
        """Whether it is satisfied where these literals are true."""
        return all(least <= len(true.intersection(literals)) <= most for least, most, literals in self.groups)


def names(parts: Iterable[Part]) -> list[str]:
    """The names of parts, those within one whole together: `column 3: 5, 7`."""
    found: dict[tuple[str, int], list[str]] = {}
    for i, part in enumerate(parts):
        if part.within is None:
            found[part.name, i] = []
        else:
            found.setdefault((part.within, -1), []).append(part.name)
    return [f"{name}: {', '.join(values)}" if values else name for (name, _), values in found.items()]


@dataclass(frozen=True)
class Parts:
    """All that was said, and what goes without saying."""

    certain: tuple[Group, ...]
    parts: tuple[Part, ...]


def parts_of(instance: Instance) -> Parts:
    """The parts of a problem, givens first."""
    if not isinstance(instance, Instance):
        raise TypeError(f"{instance!r} is no grid, formula, problem or model")
    givens = [
        Part("given", shown(instance, literal), ((1, 1, (literal,)),), words_for(instance, literal))
        for literal in instance.given.tolist()
    ]
    if isinstance(instance, Grid):
        certain, rest = _grid(instance)
    elif isinstance(instance, CNF):
        certain, rest = _formula(instance)
    elif isinstance(instance, Problem):
        certain, rest = _problem(instance)
    else:
        raise TypeError(f"{instance!r} is no grid, formula, problem or model")
    return Parts(tuple(certain), (*givens, *rest))


def _grid(grid: Grid) -> tuple[list[Group], list[Part]]:
    n = grid.size
    cells: list[Group] = [(1, 1, tuple(range(cell * n, cell * n + n))) for cell in range(n * n)]
    units = []
    for name, members in grid._named_units():
        values = tuple(
            Part("constraint", symbol_of(v + 1, n), ((1, 1, tuple(cell * n + v for cell in members)),), within=name)
            for v in range(n)
        )
        units.append(Part("constraint", name, tuple(value.groups[0] for value in values), finer=values))
    return cells, units


def _formula(formula: CNF) -> tuple[list[Group], list[Part]]:
    certain: list[Group] = [(1, 1, (2 * v, 2 * v + 1)) for v in range(formula.variables)]
    found = []
    for number, clause in enumerate(formula.clauses, 1):
        literals = tuple({literal_of(formula, z) for z in clause})
        if not any(literal ^ 1 in literals for literal in literals):  # a tautology is nobody's fault
            name = f"clause {number}: {' '.join(map(str, clause)) or 'empty'}"
            found.append(Part("constraint", name, ((1, max(1, len(literals)), literals),)))
    for number, (least, most, members) in enumerate(formula.groups, 1):
        literals = tuple(literal_of(formula, z) for z in members)
        name = f"group {number}: {group_shown(formula, least, most, literals)}"
        found.append(Part("constraint", name, ((least, most, literals),)))
    return certain, found


def _problem(problem: Problem) -> tuple[list[Group], list[Part]]:
    certain: list[Group] = [(1, 1, pair) for pair in problem._pairs()]
    choices = set()
    if isinstance(problem, Modelled):
        choices = {tuple(range(v.first, v.first + len(v.values))) for v in problem.variables if v.values}
    found = []
    for what, least, most, literals, role in _said(problem):
        if role is None and (least, most) == (1, 1) and literals in choices:
            certain.append((1, 1, literals))
            choices.discard(literals)  # a second one was said by somebody
        else:
            name = group_shown(problem, least, most, literals, role)
            found.append(Part("constraint", name if what is None else f"{what}: {name}", ((least, most, literals),)))
    return certain, found


def _said(problem: Problem) -> Iterator[tuple[str | None, int, int, tuple[int, ...], str | None]]:
    """All groups, each with where it stands; those of a model have no place."""
    for kind, least, most in (
        ("exactly_one", 1, 1),
        ("at_most_one", 0, 1),
        ("at_least_one", 1, None),
        ("implied", 1, 1),
    ):
        for i, group in enumerate(getattr(problem, kind)):
            yield f"{kind}[{i}]", least, max(1, len(group)) if most is None else most, tuple(group), None
    for i, bounds in enumerate(problem.groups):
        what = None if isinstance(problem, Modelled) else f"groups[{i}]"
        yield what, bounds.least, bounds.most, tuple(bounds.literals), bounds.role
