"""A problem with variables: what a `Model` becomes. Its solutions are values of variables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.own import Not, Problem


class Variable(NamedTuple):
    """A choice has a literal for each of its values, from `first` on; a boolean variable has no values."""

    name: Hashable
    values: tuple[Any, ...]
    first: int

    def shown(self, literal: int) -> str:
        """How messages call one of its literals."""
        return f"{self.name!r} == {self.values[literal - self.first]!r}" if self.values else repr(self.name)


class Solution(dict[Any, Any]):
    """Values by the names of variables; a variable or a literal of the model may be asked for as well."""

    def __missing__(self, key: Any) -> Any:
        value_in = getattr(key, "value_in", None)
        if value_in is None:
            raise KeyError(key)
        return value_in(self)


class Modelled(Problem):
    """Groups over the literals of variables."""

    def __init__(self, variables: tuple[Variable, ...], **groups: Any) -> None:
        self.variables = variables
        self._firsts = [variable.first for variable in variables]
        super().__init__(sum(max(1, len(variable.values)) for variable in variables), **groups)

    def name(self, literal: int) -> Any:
        if literal >= self.literals:
            return Not(self.name(self.negated[literal - self.literals]))
        return self.variable(literal).shown(literal)

    def variable(self, literal: int) -> Variable:
        """The variable that a literal is about."""
        return self.variables[bisect_right(self._firsts, literal) - 1]

    def _shown(self, literal: int) -> str:
        name = self.name(literal)
        return f"not {name.literal}" if isinstance(name, Not) else str(name)

    def decode(self, literals: NDArray[np.int64]) -> Solution:
        true = np.zeros(self.literals, bool)
        true[literals[literals < self.literals]] = True
        found = Solution()
        for name, values, first in self.variables:
            if values:
                found[name] = next(
                    (v for v, is_true in zip(values, true[first : first + len(values)], strict=True) if is_true), None
                )
            else:
                found[name] = bool(true[first])
        return found

    def violation(self, solution: Mapping[Any, Any] | Iterable[Any]) -> str | None:
        """From values, whatever the literals were."""
        if not isinstance(solution, Mapping):
            return "a solution has a value for each variable"
        true = []
        for name, values, first in self.variables:
            if name not in solution:
                return f"{name!r} has no value"
            value = solution[name]
            if values and value not in values:
                return f"{name!r}: {value!r} is none of its values"
            if values:
                true.append(first + values.index(value))
            elif value is True:
                true.append(first)
            elif value is not False:
                return f"{name!r}: {value!r} is neither True nor False"
        return super().violation(true)

    def line(self, solution: Any = None) -> str:
        if solution is None:
            return f"{len(self.variables)} variables, {super().line()}"
        return " ".join(f"{name}={value}" for name, value in solution.items())

    def format(self, solution: Any = None) -> str:
        return self.line() if solution is None else "\n".join(f"{name} = {value}" for name, value in solution.items())
