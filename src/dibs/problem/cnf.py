"""Propositional formulas in conjunctive normal form, with or without groups that have bounds; their DIMACS text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import index
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dibs.problem.dimacs import Bound, Clause, Dimacs
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.linear import Unequal, counted, impossible_bounds, repeated
from dibs.problem.structure import Flat, Instance, Structure
from dibs.problem.text import Source, open_text
from dibs.writing import write


class CNF(Instance):
    """Clauses over variables 1..`variables`, as signed numbers. Immutable; equal by content.

    `groups` are (least, most, literals): so many of the signed numbers are true. A formula of python-sat (`CNF`,
    `CNFPlus`) may be given in place of all three. Literal 2 (v - 1) is "v is True", 2 (v - 1) + 1 is "v is False"; a
    solution is a list of signed numbers.
    """

    __slots__ = ("_structure", "clauses", "groups", "variables")
    family: ClassVar[str] = "cnf"

    def __init__(
        self,
        variables: int | Any,
        clauses: Iterable[Iterable[int]] | None = None,
        groups: Iterable[tuple[int, int, Iterable[int]]] = (),
    ) -> None:
        if clauses is None:
            variables, clauses, groups = _of_pysat(variables)
        try:
            self.variables = index(variables)
        except TypeError:
            raise ValueError(f"{variables!r} variables: it must be a whole number") from None
        self.clauses: tuple[Clause, ...] = tuple(
            _clause(clause, f"clause {number}", self.variables) for number, clause in enumerate(clauses, 1)
        )
        self.groups: tuple[Bound, ...] = tuple(
            _bound(group, f"group {number}", self.variables) for number, group in enumerate(groups, 1)
        )
        self._structure: Structure | None = None
        if self.variables < 0:
            raise ValueError(f"{variables} variables")

    @property
    def structure(self) -> Structure:
        """A decision group for each variable; a tautology has no group, an empty clause an empty one."""
        if self._structure is None:
            self._structure = Structure.build(
                2 * self.variables,
                decide=np.arange(2 * self.variables, dtype=np.int64).reshape(-1, 2),
                at_least_one=self._asking(),
                bounded=[(least, most, _numbers(literals)) for least, most, literals in self.groups],
                family="knf" if self.groups else "cnf",
                shape=(self.variables, len(self.clauses) + len(self.groups)),
            )
        return self._structure

    def _asking(self) -> Flat:
        """The literals of all clauses but tautologies, ascending; what is repeated is merged by `Structure.build`."""
        sizes = np.fromiter(map(len, self.clauses), np.int64, len(self.clauses))
        signed = np.fromiter(chain.from_iterable(self.clauses), np.int64, int(sizes.sum()))
        width = max(2 * self.variables, 1)
        key = np.repeat(np.arange(len(sizes)) * width, sizes) + np.where(signed > 0, 2 * signed - 2, -2 * signed - 1)
        key.sort(kind="stable")  # quickest where most of it is in order
        clause = key // width
        both = (key[1:] == key[:-1] + 1) & (key[:-1] % 2 == 0)  # a variable is there with both its signs
        asking = np.ones(len(sizes), bool)
        asking[clause[:-1][both]] = False
        return Flat(sizes[asking], (key % width)[asking[clause]])

    @property
    def given(self) -> NDArray[np.int64]:
        """The literals that are true from the start, ascending."""
        return np.zeros(0, np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CNF):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        return self.variables, self.clauses, self.groups

    def __repr__(self) -> str:
        bounds = f", {len(self.groups)} groups" if self.groups else ""
        return f"<CNF, {self.variables} variables, {len(self.clauses)} clauses{bounds}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return CNF, self._content

    @classmethod
    def parse(cls, text: str, *, limits: InputLimits = DEFAULT) -> Self:
        """A formula from DIMACS text; raises InputError that names line and column.

        Args:
            text: DIMACS text.
            limits: how much of an input is taken.

        Returns:
            The formula.

        Raises:
            InputError: what is wrong, with line and column.

        Examples:
            >>> import dibs
            >>> dibs.solve(dibs.CNF.parse("p cnf 2 2\\n1 2 0\\n-1 0\\n")).solution
            [-1, 2]
        """
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text: CNF.read takes files, CNF(...) clauses")
        return cls.from_lines(text.split("\n"), limits=limits)

    @classmethod
    def read(cls, source: Source, *, limits: InputLimits = DEFAULT) -> Self:
        """A formula from a DIMACS file, plain or packed with gzip or xz; "-" is standard input.

        Args:
            source: a path, plain or packed with gzip or xz, or "-" for standard input.
            limits: how much of an input is taken.

        Returns:
            The formula.
        """
        with open_text(source, limits=limits) as (name, lines):
            return cls.from_lines(lines, name, limits=limits)

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], file: str | None = None, *, first: int = 1, limits: InputLimits = DEFAULT
    ) -> Self:
        """A formula from lines of DIMACS text.

        Args:
            lines: the text.
            file: for messages.
            first: the number of the first line in `file`.
            limits: how much of an input is taken.

        Returns:
            The formula.
        """
        return cls(*Dimacs(file, limits).read(lines, first))

    def write(self, path: str | os.PathLike[str]) -> None:
        """DIMACS text as a file, which is there whole or not at all.

        Args:
            path: of the file.
        """
        write(path, self.format().encode("ascii"))

    def decode(self, literals: NDArray[np.int64]) -> list[int]:
        """A solution from its true literals.

        Args:
            literals: the true ones, ascending.

        Returns:
            A signed number for each variable.
        """
        signed = np.where(literals % 2 == 0, literals // 2 + 1, -(literals // 2) - 1)
        return [int(z) for z in signed]

    def violation(self, solution: Iterable[int]) -> str | None:
        """What is wrong with a solution, found by reading the clauses.

        Args:
            solution: a signed number for each variable.

        Returns:
            A line, or None if nothing is wrong.
        """
        chosen = list(solution)
        if sorted(map(abs, chosen)) != list(range(1, self.variables + 1)):
            return f"the variables 1..{self.variables} do not have one value each"
        true = set(chosen)
        for number, clause in enumerate(self.clauses, 1):
            if true.isdisjoint(clause):
                return f"clause {number} ({' '.join(map(str, clause)) or 'empty'}) is not satisfied"
        for number, (least, most, literals) in enumerate(self.groups, 1):
            count = sum(literal in true for literal in literals)
            if not least <= count <= most:
                return f"group {number} has {count} true literals, not {least} to {most}"
        return None

    def line(self, solution: Iterable[int] | None = None) -> str:
        """One line of text.

        Args:
            solution: if it is to be shown in place of the formula.

        Returns:
            One line of text.
        """
        if solution is None:
            return " ".join(self._lines())
        return " ".join(map(str, solution))

    def format(self, solution: Iterable[int] | None = None) -> str:
        """DIMACS text, with groups as KNF; of a solution its `v` lines, as SAT solvers print them.

        Args:
            solution: if it is to be shown in place of the formula.

        Returns:
            Text of one or more lines.
        """
        if solution is None:
            return "\n".join(self._lines()) + "\n"
        text = " ".join(map(str, [*solution, 0]))
        # A minus must stay with its number, so lines break at blanks only.
        lines = textwrap.wrap(text, 76, break_on_hyphens=False, break_long_words=False)
        return "\n".join(f"v {line}" for line in lines)

    def _lines(self) -> Iterator[str]:
        bounds = [line for group in self.groups for line in _bound_texts(*group)]
        kind = "knf" if self.groups else "cnf"
        yield f"p {kind} {self.variables} {len(self.clauses) + len(bounds)}"
        yield from _clause_texts(self.clauses)
        yield from bounds


def _clause(literals: Iterable[int], what: str, variables: int) -> Clause:
    """Whole numbers of Python or NumPy, as Python's; 1.5 is none."""
    try:
        clause = tuple(map(int, map(index, literals)))
    except TypeError:
        raise ValueError(f"{what}: literals are whole numbers") from None
    for literal in clause:
        if not 0 < abs(literal) <= variables:
            raise ValueError(f"{what}: literal {literal} is out of range 1..{variables}")
    return clause


def _bound(group: Any, what: str, variables: int) -> Bound:
    try:
        least, most, members = group
        least, most = index(least), index(most)
    except (TypeError, ValueError):
        raise ValueError(f"{what}: write (least, most, literals), the first two as whole numbers") from None
    literals = _clause(members, what, variables)
    if (twice := repeated(literals)) is not None:
        raise ValueError(f"{what}: literal {twice} is there twice")
    if impossible := impossible_bounds(least, most, len(literals)):
        raise ValueError(f"{what}: {impossible}")
    return least, min(most, len(literals)), literals


def _of_pysat(formula: Any) -> tuple[int, Iterable[Iterable[int]], list[tuple[int, int, Iterable[int]]]]:
    """Variables, clauses and groups of a formula of python-sat."""
    if not hasattr(formula, "clauses") or not hasattr(formula, "nv"):
        raise TypeError(f"CNF({formula!r}): give variables and clauses, or a formula of python-sat")
    groups: list[tuple[int, int, Iterable[int]]] = []
    clauses = list(formula.clauses)
    for number, (literals, bound, *weights) in enumerate(getattr(formula, "atmosts", []), 1):
        factors = weights[0] if weights else [1] * len(literals)
        try:
            found = counted(zip(factors, literals, strict=True), None, bound)
        except Unequal as error:
            raise ValueError(f"at-most constraint {number}: {error}") from None
        if found.possible:
            groups.append((found.least, found.most, found.literals))
        else:
            clauses.append([])
    return formula.nv, clauses, groups


def _numbers(clause: Clause) -> list[int]:
    """The structure's numbers of signed literals."""
    return [2 * z - 2 if z > 0 else -2 * z - 1 for z in clause]


def _clause_texts(clauses: Iterable[Clause]) -> Iterator[str]:
    return (" ".join(map(str, (*clause, 0))) for clause in clauses)


def _bound_texts(least: int, most: int, literals: Clause) -> Iterator[str]:
    """Lines of KNF, which has at-least constraints only: at most k of n is at least n - k of the negations."""
    if least or most == len(literals):
        yield " ".join(map(str, ("k", least, *literals, 0)))
    if most < len(literals):
        yield " ".join(map(str, ("k", len(literals) - most, *(-z for z in literals), 0)))
