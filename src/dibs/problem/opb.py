"""Reading OPB, the text of pseudo-Boolean problems, as far as each of its sums has coefficients of one size."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dibs.problem.cnf import CNF
from dibs.problem.dimacs import SHOWN, Bound
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.linear import Unequal, counted, repeated
from dibs.problem.text import InputError

_TOKEN = re.compile(r"[+-]\s*[0-9]+|[0-9]+|~\s*x[0-9]+|x[0-9]+|>=|<=|=|;|\S+")
_WHOLE = re.compile(r"([+-]?)\s*([0-9]{1,18})")
_HEADER = re.compile(r"#variable=\s*([0-9]{1,10})(?:\s+#constraint=\s*([0-9]{1,10}))?")
_VARIABLE = re.compile(r"(~?)\s*x([1-9][0-9]{0,9})")
RELATIONS = (">=", "<=", "=")


def read_opb(lines: Iterable[str], file: str | None = None, *, first: int = 1, limits: InputLimits = DEFAULT) -> CNF:
    """A formula with groups; variable x3 is number 3. InputError names the line that cannot be taken."""
    return _Opb(file, limits).read(lines, first)


class _Opb:
    """One reading; knows where it is, for the errors. A constraint may go over several lines."""

    def __init__(self, file: str | None, limits: InputLimits) -> None:
        self.file, self.limits = file, limits
        self.number = 0
        self.variables = 0
        self.header: tuple[int, int | None, int] | None = None  # variables, constraints, its line
        self.groups: list[Bound] = []
        self.terms: list[tuple[int, int]] = []  # of the constraint that is being read
        self.coefficient: int | None = None  # that waits for its variable
        self.relation: str | None = None
        self.right: int | None = None

    def error(self, message: str) -> InputError:
        return InputError(message, self.file, self.number or 1)

    def read(self, lines: Iterable[str], first: int) -> CNF:
        for self.number, line in enumerate(lines, first):
            if line.lstrip().startswith("*"):
                if (found := _HEADER.search(line)) and self.header is None:
                    self.seen(int(found[1]))
                    self.header = self.variables, int(found[2]) if found[2] else None, self.number
                continue
            if re.match(r"\s*(min|max|soft)\s*:", line):
                raise self.error("an objective: dibs decides whether there is a solution, it does not optimise")
            for found in _TOKEN.finditer(line):
                self.take(found.group())
        if self.terms or self.coefficient is not None or self.relation:
            raise self.error("the last constraint has no ; at its end")
        if self.header and self.header[1] not in (None, len(self.groups)):
            _, constraints, self.number = self.header
            raise self.error(f"header says {constraints} constraints, file has {len(self.groups)}")
        return CNF(self.variables, (), self.groups)

    def seen(self, variable: int) -> None:
        if variable > self.limits.max_variables:
            raise self.error(self.limits.excess("max_variables", "variables"))
        if self.header and variable > self.header[0]:
            raise self.error(f"x{variable} is out of range: the header says {self.header[0]} variables")
        self.variables = max(self.variables, variable)

    def take(self, token: str) -> None:
        if token == ";":
            self.close()
        elif self.right is not None:
            raise self.error(f"'{token[:SHOWN]}' where a ; is expected")
        elif token in RELATIONS:
            if self.relation or self.coefficient is not None:
                raise self.error(f"'{token}' where a number or a variable is expected")
            self.relation = token
        elif found := _WHOLE.fullmatch(token):
            if self.coefficient is not None:
                raise self.error(f"'{token[:SHOWN]}' where a variable is expected")
            value = int(found[1] + found[2])
            if self.relation:
                self.right = value
            else:
                self.coefficient = value
        elif (found := _VARIABLE.fullmatch(token)) and not self.relation:
            if self.coefficient is None:
                raise self.error(f"'{token[:SHOWN]}' has no coefficient: products of variables are not taken")
            self.seen(int(found[2]))
            self.terms.append((self.coefficient, int(found[1].replace("~", "-") + found[2])))
            self.coefficient = None
            if len(self.terms) > self.limits.max_clause:
                raise self.error(self.limits.excess("max_clause", "terms in a constraint"))
        else:
            raise self.error(f"'{token[:SHOWN]}' is no part of a linear constraint such as +1 x1 -1 ~x2 >= 1 ;")

    def close(self) -> None:
        """A ; was read: a constraint is complete."""
        if self.right is None or self.relation is None:
            raise self.error("a constraint needs >=, <= or = and a whole number before its ;")
        if (twice := repeated([literal for _, literal in self.terms])) is not None:
            raise self.error(f"{'~' * (twice < 0)}x{abs(twice)} is there twice in one constraint")
        least = self.right if self.relation != "<=" else None
        most = self.right if self.relation != ">=" else None
        try:
            found = counted(self.terms, least, most)
        except Unequal as error:
            raise self.error(f"x{error.variable}: {error}") from None
        if not found.possible:
            raise self.error("this constraint cannot hold, whatever its variables are")
        self.groups.append((found.least, found.most, tuple(found.literals)))
        self.terms, self.relation, self.right = [], None, None
