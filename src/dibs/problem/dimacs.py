"""Reading DIMACS text: CNF, and KNF, which has groups with bounds besides."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dibs.problem.limits import InputLimits
from dibs.problem.linear import counted, impossible_bounds, repeated
from dibs.problem.text import InputError

Clause = tuple[int, ...]
Bound = tuple[int, int, Clause]  # at least, at most, of these

MOST = 2**31 - 1  # variables or clauses
SHOWN = 40  # characters of a token that messages show

_NUMBER = re.compile(r"[+-]?[0-9]+")  # what `int` takes besides, as digits of other scripts, is no DIMACS


class Dimacs:
    """One reading of a DIMACS text; knows where it is, for the errors.

    It reads what common solvers read: comments anywhere, also behind a clause; clauses over several lines or several on
    one; `%` as an end; in KNF `k 3 1 2 -4 5 0`, at least three of these. It refuses what could be a damaged file: more
    or fewer clauses than the header says, variables beyond it, a last clause without its 0.
    """

    def __init__(self, file: str | None, limits: InputLimits) -> None:
        self.file = file
        self.limits = limits
        self.number = 0
        self.header: tuple[int, int, int] | None = None  # variables, clauses, its line
        self.knf = False
        self.clauses: list[Clause] = []
        self.groups: list[Bound] = []
        self.open: list[int] = []  # the clause that waits for its 0
        self.least: int | None = None  # of the group that waits for its 0; -1: its number is still to come
        self.opened = (0, "", 0)  # the line where it began: number, text, and which token
        self.ended = False

    def error(self, message: str, column: int | None = None, line: int | None = None) -> InputError:
        return InputError(message, self.file, line or self.number or 1, column)

    def read(self, lines: Iterable[str], first: int) -> tuple[int, list[Clause], list[Bound]]:
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
        found = re.fullmatch(r"\s*p\s+(?:cnf|(knf))\s+([0-9]+)\s+([0-9]+)\s*", line)
        if not found:
            raise self.error("the header must be 'p cnf VARIABLES CLAUSES'", column)
        self.knf = found[1] is not None
        for number, place in ((found[2], found.start(2)), (found[3], found.start(3))):
            if len(number) > len(str(MOST)) or int(number) > MOST:
                shown = number[:SHOWN]
                raise self.error(f"{shown} is more than {MOST}, the most that solvers count to", place + 1)
        if int(found[2]) > self.limits.max_variables:
            raise self.error(self.limits.excess("max_variables", "variables"), found.start(2) + 1)
        self.header = int(found[2]), int(found[3]), self.number

    def read_clauses(self, line: str) -> None:
        variables = self.header[0] if self.header else -1
        for position, token in enumerate(line.split()):
            if token[0] == "%":  # how the files of the SATLIB collection end
                self.ended = True
            if token[0] in "%c":  # a comment
                return
            if variables < 0:
                raise self.error("a clause before the header 'p cnf VARIABLES CLAUSES'", _column(line, position))
            if token == "k" and self.knf and not self.open and self.least is None:
                self.least = -1
                self.opened = self.number, line, position
                continue
            if not _NUMBER.fullmatch(token):
                raise self.error(f"'{token[:SHOWN]}' is not a whole number", _column(line, position))
            literal = int(token[:SHOWN])  # longer ones are out of range either way
            if self.least == -1:
                if literal < 0:
                    raise self.error(f"at least {literal}: a bound is 0 or more", _column(line, position))
                self.least = literal
            elif literal == 0:
                self.close(line, position)
            elif -variables <= literal <= variables:
                if not self.open and self.least is None:
                    self.opened = self.number, line, position
                self.open.append(literal)
                if len(self.open) > self.limits.max_clause:
                    raise self.error(self.limits.excess("max_clause", "literals in a clause"), _column(line, position))
            else:
                message = f"literal {literal} is out of range: the header says {variables} variables"
                raise self.error(message, _column(line, position))

    def close(self, line: str, position: int) -> None:
        """A 0 was read: a clause, or a group with a bound, is complete."""
        if self.least is None:
            self.clauses.append(tuple(self.open))
        else:
            number, text, first = self.opened
            if (twice := repeated(self.open)) is not None:
                raise self.error(f"literal {twice} is there twice", _column(text, first), number)
            if impossible := impossible_bounds(self.least, self.least + len(self.open) + 1, len(self.open)):
                raise self.error(impossible, _column(text, first), number)
            found = counted(((1, z) for z in self.open), self.least, None)
            if found.possible:
                self.groups.append((found.least, found.most, tuple(found.literals)))
            else:  # a literal and its negation are one of two
                self.clauses.append(())
        self.open, self.least = [], None

    def finish(self) -> tuple[int, list[Clause], list[Bound]]:
        if not self.header:
            raise self.error("no header 'p cnf VARIABLES CLAUSES'", 1)
        variables, clauses, line = self.header
        if self.open or self.least is not None:
            number, text, position = self.opened
            raise self.error("the last clause has no 0 at its end", _column(text, position), number)
        there = len(self.clauses) + len(self.groups)
        if there != clauses:
            raise self.error(f"header says {clauses} clauses, file has {there}", 1, line)
        return variables, self.clauses, self.groups


def _column(line: str, position: int) -> int:
    """Where the token with that number begins."""
    return [found.start() for found in re.finditer(r"\S+", line)][position] + 1
