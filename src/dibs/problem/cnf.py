"""Propositional formulas in conjunctive normal form, and the DIMACS text for them."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import index
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.structure import Flat, Instance, Structure
from dibs.problem.text import InputError, Source, open_text
from dibs.writing import write

Clause = tuple[int, ...]

MOST = 2**31 - 1  # variables or clauses
SHOWN = 40  # characters of a token that messages show

_NUMBER = re.compile(r"[+-]?[0-9]+")  # what `int` takes besides, as digits of other scripts, is no DIMACS


class CNF(Instance):
    """Clauses over variables 1..`variables`, as signed numbers. Immutable; equal by content.

    Literal 2 (v - 1) is "v is True", 2 (v - 1) + 1 is "v is False"; a solution is a list of signed numbers.
    """

    __slots__ = ("_structure", "clauses", "variables")
    family: ClassVar[str] = "cnf"

    def __init__(self, variables: int, clauses: Iterable[Iterable[int]]) -> None:
        try:
            self.variables = index(variables)
        except TypeError:
            raise ValueError(f"{variables!r} variables: it must be a whole number") from None
        self.clauses: tuple[Clause, ...] = tuple(
            _clause(clause, number, self.variables) for number, clause in enumerate(clauses, 1)
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
                family="cnf",
                shape=(self.variables, len(self.clauses)),
            )
        return self._structure

    def _asking(self) -> Flat:
        """The literals of all clauses but tautologies, ascending; what is repeated is merged by `Structure.build`."""
        sizes = np.fromiter(map(len, self.clauses), np.int64, len(self.clauses))
        signed = np.fromiter(chain.from_iterable(self.clauses), np.int64, int(sizes.sum()))
        width = max(2 * self.variables, 1)
        key = np.repeat(np.arange(len(sizes)) * width, sizes) + np.where(signed > 0, 2 * signed - 2, -2 * signed - 1)
        key.sort()
        clause = key // width
        both = (key[1:] == key[:-1] + 1) & (key[:-1] % 2 == 0)  # a variable is there with both its signs
        asking = np.ones(len(sizes), bool)
        asking[clause[:-1][both]] = False
        return Flat(sizes[asking], (key % width)[asking[clause]])

    @property
    def given(self) -> NDArray[np.int64]:
        return np.zeros(0, np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CNF):
            return NotImplemented
        return self.variables == other.variables and self.clauses == other.clauses

    def __hash__(self) -> int:
        return hash((self.variables, self.clauses))

    def __repr__(self) -> str:
        return f"<CNF, {self.variables} variables, {len(self.clauses)} clauses>"

    def __reduce__(self) -> tuple[Any, ...]:
        return CNF, (self.variables, self.clauses)

    @classmethod
    def parse(cls, text: str, *, limits: InputLimits = DEFAULT) -> Self:
        """A formula from DIMACS text; raises InputError that names line and column."""
        return cls.from_lines(text.split("\n"), limits=limits)

    @classmethod
    def read(cls, source: Source, *, limits: InputLimits = DEFAULT) -> Self:
        """A formula from a DIMACS file, plain or packed with gzip or xz; "-" is standard input."""
        with open_text(source, limits=limits) as (name, lines):
            return cls.from_lines(lines, name, limits=limits)

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], file: str | None = None, *, first: int = 1, limits: InputLimits = DEFAULT
    ) -> Self:
        """A formula from lines of DIMACS text, the first of which has the number `first` in `file`."""
        return cls(*_Dimacs(file, limits).read(lines, first))

    def write(self, path: str | os.PathLike[str]) -> None:
        """DIMACS text as a file, which is there whole or not at all."""
        write(path, self.format().encode("ascii"))

    def decode(self, literals: NDArray[np.int64]) -> list[int]:
        signed = np.where(literals % 2 == 0, literals // 2 + 1, -(literals // 2) - 1)
        return [int(z) for z in signed]

    def violation(self, solution: Iterable[int]) -> str | None:
        chosen = list(solution)
        if sorted(map(abs, chosen)) != list(range(1, self.variables + 1)):
            return f"the variables 1..{self.variables} do not have one value each"
        true = set(chosen)
        for number, clause in enumerate(self.clauses, 1):
            if true.isdisjoint(clause):
                return f"clause {number} ({' '.join(map(str, clause)) or 'empty'}) is not satisfied"
        return None

    def line(self, solution: Iterable[int] | None = None) -> str:
        if solution is None:
            return f"p cnf {self.variables} {len(self.clauses)} " + " ".join(_clause_texts(self.clauses))
        return " ".join(map(str, solution))

    def format(self, solution: Iterable[int] | None = None) -> str:
        """DIMACS text; of a solution its `v` lines, as SAT solvers print them."""
        if solution is None:
            return "\n".join([f"p cnf {self.variables} {len(self.clauses)}", *_clause_texts(self.clauses)]) + "\n"
        text = " ".join(map(str, [*solution, 0]))
        # A minus must stay with its number, so lines break at blanks only.
        lines = textwrap.wrap(text, 76, break_on_hyphens=False, break_long_words=False)
        return "\n".join(f"v {line}" for line in lines)


def _clause(literals: Iterable[int], number: int, variables: int) -> Clause:
    """Whole numbers of Python or NumPy, as Python's; 1.5 is none."""
    try:
        clause = tuple(map(int, map(index, literals)))
    except TypeError:
        raise ValueError(f"clause {number}: literals are whole numbers") from None
    for literal in clause:
        if not 0 < abs(literal) <= variables:
            raise ValueError(f"clause {number}: literal {literal} is out of range 1..{variables}")
    return clause


def _clause_texts(clauses: Iterable[Clause]) -> Iterator[str]:
    return (" ".join(map(str, (*clause, 0))) for clause in clauses)


class _Dimacs:
    """One reading of a DIMACS text; knows where it is, for the errors.

    It reads what common solvers read: comments anywhere, also behind a clause; clauses over several lines or several on
    one; `%` as an end. It refuses what could be a damaged file: more or fewer clauses than the header says, variables
    beyond it, a last clause without its 0.
    """

    def __init__(self, file: str | None, limits: InputLimits) -> None:
        self.file = file
        self.limits = limits
        self.number = 0
        self.header: tuple[int, int, int] | None = None  # variables, clauses, its line
        self.clauses: list[Clause] = []
        self.open: list[int] = []  # the clause that waits for its 0
        self.opened = (0, "", 0)  # the line where it began: number, text, and which token
        self.ended = False

    def error(self, message: str, column: int | None = None, line: int | None = None) -> InputError:
        return InputError(message, self.file, line or self.number or 1, column)

    def read(self, lines: Iterable[str], first: int) -> tuple[int, list[Clause]]:
        for self.number, line in enumerate(lines, first):
            text = line.lstrip()
            if not text or text[0] == "c":
                continue
            if text[0] == "p":
                self.read_header(line)
            else:
                self.read_clauses(line)
            if self.ended:
                break
        return self.finish()

    def read_header(self, line: str) -> None:
        column = len(line) - len(line.lstrip()) + 1
        if self.header:
            raise self.error("a second header 'p cnf'", column)
        found = re.fullmatch(r"\s*p\s+cnf\s+([0-9]+)\s+([0-9]+)\s*", line)
        if not found:
            raise self.error("the header must be 'p cnf VARIABLES CLAUSES'", column)
        for number, place in ((found[1], found.start(1)), (found[2], found.start(2))):
            if len(number) > len(str(MOST)) or int(number) > MOST:
                shown = number[:SHOWN]
                raise self.error(f"{shown} is more than {MOST}, the most that solvers count to", place + 1)
        if int(found[1]) > self.limits.max_variables:
            raise self.error(self.limits.excess("max_variables", "variables"), found.start(1) + 1)
        self.header = int(found[1]), int(found[2]), self.number

    def read_clauses(self, line: str) -> None:
        variables = self.header[0] if self.header else -1
        for position, token in enumerate(line.split()):
            if token[0] == "%":  # how the files of the SATLIB collection end
                self.ended = True
            if token[0] in "%c":  # a comment
                return
            if variables < 0:
                raise self.error("a clause before the header 'p cnf VARIABLES CLAUSES'", _column(line, position))
            if not _NUMBER.fullmatch(token):
                raise self.error(f"'{token[:SHOWN]}' is not a whole number", _column(line, position))
            literal = int(token[:SHOWN])  # longer ones are out of range either way
            if literal == 0:
                self.clauses.append(tuple(self.open))
                self.open = []
            elif -variables <= literal <= variables:
                if not self.open:
                    self.opened = self.number, line, position
                self.open.append(literal)
                if len(self.open) > self.limits.max_clause:
                    raise self.error(self.limits.excess("max_clause", "literals in a clause"), _column(line, position))
            else:
                message = f"literal {literal} is out of range: the header says {variables} variables"
                raise self.error(message, _column(line, position))

    def finish(self) -> tuple[int, list[Clause]]:
        if not self.header:
            raise self.error("no header 'p cnf VARIABLES CLAUSES'", 1)
        variables, clauses, line = self.header
        if self.open:
            number, text, position = self.opened
            raise self.error("the last clause has no 0 at its end", _column(text, position), number)
        if len(self.clauses) != clauses:
            raise self.error(f"header says {clauses} clauses, file has {len(self.clauses)}", 1, line)
        return variables, self.clauses


def _column(line: str, position: int) -> int:
    """Where the token with that number begins."""
    return [found.start() for found in re.finditer(r"\S+", line)][position] + 1
