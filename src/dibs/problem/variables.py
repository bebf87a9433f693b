"""The variables of a `Model`, and the literals that they make."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from dibs.problem.modelled import Solution


class Literal:
    """Something that is true or false in a solution: a boolean variable, `choice == value`, or `~` of one."""

    __slots__ = ("model", "number", "positive")

    def __init__(self, model: Any, number: int, positive: bool = True) -> None:
        self.model, self.number, self.positive = model, number, positive

    def __invert__(self) -> Literal:
        return Literal(self.model, self.number, not self.positive)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is true or false in a solution only; to say that it holds, use m.require")

    def __repr__(self) -> str:
        return f"{'' if self.positive else '~'}{self.model._shown(self.number)}"

    def value_in(self, solution: Solution) -> bool:
        """Whether it is true there."""
        variable = self.model._variable(self.number)
        wanted = variable.values[self.number - variable.first] if variable.values else True
        return bool((solution[variable.name] == wanted) == self.positive)


class Boolean(Literal):
    """A variable that is true or false."""

    __slots__ = ("name",)

    def __init__(self, model: Any, number: int, name: Hashable) -> None:
        super().__init__(model, number)
        self.name = name


class Choice:
    """A variable with exactly one of its values; `==` and `!=` with a value make literals."""

    __slots__ = ("first", "model", "name", "numbers", "values")

    def __init__(self, model: Any, first: int, name: Hashable, values: tuple[Any, ...]) -> None:
        self.model, self.first, self.name, self.values = model, first, name, values
        self.numbers = {value: first + i for i, value in enumerate(values)}

    def __eq__(self, value: object) -> Literal:  # type: ignore[override]
        if isinstance(value, Choice):
            raise TypeError(f"{self.name!r} == {value.name!r}: compare a choice with one of its values")
        if not isinstance(value, Hashable) or value not in self.numbers:
            raise ValueError(f"{self.name!r}: {value!r} is none of its values")
        return Literal(self.model, self.numbers[value])

    def __ne__(self, value: object) -> Literal:  # type: ignore[override]
        return ~(self == value)

    def __hash__(self) -> int:
        return id(self)

    def value_in(self, solution: Solution) -> Any:
        return solution[self.name]

    def __repr__(self) -> str:
        return f"<choice {self.name!r} of {len(self.values)}>"
