"""A user's own problem, as literals and groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance, Structure, as_literals

Group = Iterable[Any]  # numbers of literals, or their names


class Problem(Instance):
    """Literals, numbered or named, and groups over them.

        Problem(["a", "b", "c"], exactly_one=[["a", "b"]], at_least_one=[["b", "c"]])

    `implied` are exactly-one groups that follow from the others (used for propagation at level `hidden` only).
    `decide` are the numbers of the exactly-one groups to branch on, by default all. A literal in none of them is
    decided by itself, true or false, so that each solution is found exactly once.
    """

    family: ClassVar[str] = "problem"

    def __init__(
        self,
        literals: int | Sequence[Hashable],
        *,
        exactly_one: Iterable[Group] = (),
        at_most_one: Iterable[Group] = (),
        at_least_one: Iterable[Group] = (),
        implied: Iterable[Group] = (),
        given: Group = (),
        decide: Iterable[int] | None = None,
    ) -> None:
        self.names: list[Any] | None = None if isinstance(literals, int) else list(literals)
        self.literals: int = literals if isinstance(literals, int) else len(literals)
        if self.literals < 1:
            raise ValueError("a problem needs at least one literal")
        self._number = {name: i for i, name in enumerate(self.names or ())}
        if self.names is not None and len(self._number) != len(self.names):
            twice = next(name for i, name in enumerate(self.names) if self._number[name] != i)
            raise ValueError(f"literals: {twice!r} is named twice")
        self.exactly_one = self._numbered(exactly_one, "exactly_one")
        self.at_most_one = self._numbered(at_most_one, "at_most_one")
        self.at_least_one = self._numbered(at_least_one, "at_least_one")
        self.implied = self._numbered(implied, "implied")
        self._given = np.array(self._numbers(given, "given"), np.int64)
        chosen = range(len(self.exactly_one)) if decide is None else decide
        self.decide = [int(i) for i in as_indices(chosen, len(self.exactly_one))]

    def _numbered(self, groups: Iterable[Group], what: str) -> list[list[int]]:
        return [self._numbers(group, f"{what}[{i}]") for i, group in enumerate(groups)]

    def _numbers(self, group: Group, what: str) -> list[int]:
        """The literals of a group, ascending, each once."""
        members = list(group)
        if self.names is not None:
            for name in members:
                if name not in self._number:
                    raise ValueError(f"{what}: {name!r} is not the name of a literal")
            members = [self._number[name] for name in members]
        return [int(i) for i in np.unique(as_literals(members, self.literals, what))]

    @cached_property
    def structure(self) -> Structure:
        chosen = set(self.decide)
        return Structure.build(
            self.literals,
            decide=[self.exactly_one[i] for i in self.decide],
            exactly_one=[group for i, group in enumerate(self.exactly_one) if i not in chosen],
            implied=self.implied,
            at_most_one=self.at_most_one,
            at_least_one=self.at_least_one,
            shape=(self.literals,),
        )

    @property
    def given(self) -> NDArray[np.int64]:
        return self._given

    def __repr__(self) -> str:
        return f"<Problem, {self.line()}>"

    def name(self, literal: int) -> Any:
        return literal if self.names is None else self.names[literal]

    def decode(self, literals: NDArray[np.int64]) -> list[Any]:
        return [self.name(literal) for literal in literals.tolist()]

    def violation(self, solution: Iterable[Any]) -> str | None:
        try:
            true = set(self._numbers(solution, "solution"))
        except ValueError as error:
            return str(error)
        missing = set(self._given.tolist()) - true
        if missing:
            return f"{self.name(min(missing))!r} is given, but not true"
        for what, groups, least, most in (
            ("exactly_one", self.exactly_one, 1, 1),
            ("at_most_one", self.at_most_one, 0, 1),
            ("at_least_one", self.at_least_one, 1, self.literals),
            ("implied", self.implied, 1, 1),
        ):
            for i, group in enumerate(groups):
                count = len(true.intersection(group))
                if not least <= count <= most:
                    return f"{what}[{i}] has {count} true literals"
        return None

    def line(self, solution: Iterable[Any] | None = None) -> str:
        if solution is not None:
            return " ".join(map(str, solution))
        parts = (self.exactly_one, self.at_most_one, self.at_least_one, self.implied)
        return f"{self.literals} literals, {sum(map(len, parts))} groups"

    def format(self, solution: Iterable[Any] | None = None) -> str:
        return self.line() if solution is None else "\n".join(map(str, solution))


def as_indices(indices: Iterable[int], groups: int) -> list[int]:
    """`decide`, checked: each group once, in the user's order."""
    chosen = list(dict.fromkeys(indices))
    for index in chosen:
        if not 0 <= index < groups:
            raise ValueError(f"decide: there is no exactly_one[{index}]")
    return chosen
