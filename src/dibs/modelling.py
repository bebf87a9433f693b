"""A small modelling layer over groups: variables with names, and what is said about them.

m = dibs.Model()
seat = {guest: m.choice(guest, [1, 2, 3]) for guest in guests}
for table in (1, 2, 3):
    m.at_most(4, [seat[guest] == table for guest in guests], role="table")
m.forbid(seat["Ann"] == 1)
outcome = m.solve()
outcome[seat["Bob"]]
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from dibs.problem.linear import Unequal, counted, impossible_bounds, repeated
from dibs.problem.modelled import Modelled, Variable
from dibs.problem.own import Bounds, Not, checked_features, checked_role
from dibs.problem.stored import save_problem
from dibs.problem.variables import Boolean, Choice, Literal
from dibs.questions import Solutions, solutions
from dibs.search.outcome import Outcome
from dibs.solving import solve

__all__ = ["Model"]

Numbers = Mapping[str, float]  # features, by name


class Model:
    """Variables and what is said about them; `problem` makes literals and groups of it.

    `role` names a kind of group, for messages, plots and guides; `features` are numbers of a group for guides.
    """

    def __init__(self) -> None:
        self._variables: dict[Hashable, Variable] = {}
        self._owner: list[Hashable] = []  # the name of the variable of each literal
        self._choices: list[Bounds] = []
        self._groups: list[Bounds] = []
        self._given: list[Any] = []
        self._features: dict[int, dict[str, float]] = {}  # of some literals

    # Variables

    def choice(self, name: Hashable, values: Iterable[Any]) -> Choice:
        """A variable that has exactly one of several values.

        Args:
            name: of the variable, anything that can be hashed.
            values: at least one, no two equal.

        Returns:
            The variable; `choice == value` is a literal.

        Examples:
            >>> import dibs
            >>> m = dibs.Model()
            >>> seat = m.choice("Ann", ["left", "right"])
            >>> m.forbid(seat == "left")
            >>> m.solve()[seat]
            'right'
        """
        if not isinstance(values, Iterable):
            raise TypeError(f"{name!r}: {values!r} is no list of values")
        listed = tuple(values)
        if not listed:
            raise ValueError(f"{name!r}: a choice needs at least one value")
        seen = set()
        for value in listed:
            if not isinstance(value, Hashable) or isinstance(value, Choice | Literal):
                raise ValueError(f"{name!r}: {value!r} cannot be a value")
            if value in seen:
                raise ValueError(f"{name!r}: the value {value!r} is there twice")
            seen.add(value)
        first = self._add(name, listed)
        self._choices.append(Bounds(1, 1, range(first, first + len(listed))))
        return Choice(self, first, name, listed)

    def boolean(self, name: Hashable) -> Boolean:
        """A variable that is true or false.

        Args:
            name: of the variable.

        Returns:
            The variable, which is a literal itself; `~` negates it.
        """
        return Boolean(self, self._add(name, ()), name)

    def _add(self, name: Hashable, values: tuple[Any, ...]) -> int:
        if not isinstance(name, Hashable):
            raise TypeError(f"{name!r} cannot be a name: it can change")
        if name in self._variables:
            raise ValueError(f"{name!r}: there is a variable of this name already")
        first = len(self._owner)
        self._variables[name] = Variable(name, values, first)
        self._owner += [name] * max(1, len(values))
        return first

    def _variable(self, literal: int) -> Variable:
        return self._variables[self._owner[literal]]

    def _shown(self, literal: int) -> str:
        return self._variable(literal).shown(literal)

    # What is said about them

    def at_most(
        self, most: int, literals: Iterable[Literal], role: str | None = None, features: Numbers | None = None
    ) -> None:
        """At most so many are true.

        Args:
            most: how many.
            literals: which.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        self.between(0, most, literals, role, features)

    def at_least(
        self, least: int, literals: Iterable[Literal], role: str | None = None, features: Numbers | None = None
    ) -> None:
        """At least so many are true.

        Args:
            least: how many.
            literals: which.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        self._say(least, None, literals, role, features)

    def exactly(
        self, count: int, literals: Iterable[Literal], role: str | None = None, features: Numbers | None = None
    ) -> None:
        """Exactly so many are true.

        Args:
            count: how many.
            literals: which.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        self.between(count, count, literals, role, features)

    def between(
        self,
        least: int,
        most: int,
        literals: Iterable[Literal],
        role: str | None = None,
        features: Numbers | None = None,
    ) -> None:
        """At least `least` and at most `most` of the literals are true.

        Args:
            least: at least so many are true.
            most: at most so many.
            literals: which.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        if most is None:
            raise ValueError("most = None: say how many, or at_least")
        self._say(least, most, literals, role, features)

    def _say(
        self, least: int, most: int | None, literals: Iterable[Literal], role: str | None, features: Numbers | None
    ) -> None:
        """A group, checked here and now, so that the line at fault is the one that raises."""
        members = [self._own(literal) for literal in _listed(literals)]
        seen: set[Any] = set()
        for member in members:
            if member in seen:
                raise ValueError(f"{self._said(member)} is twice in a group" + (f" ({role})" if role else ""))
            seen.add(member)
        if impossible := impossible_bounds(least, most, len(members)):
            about = ", ".join(dict.fromkeys(repr(self._owner[_number(member)]) for member in members[:3]))
            more = ", ..." if len(members) > 3 else ""
            where = "; ".join(filter(None, [role, f"about {about}{more}" if about else ""]))
            raise ValueError(impossible + (f" ({where})" if where else ""))
        numbers = None if features is None else checked_features(features, role or "a group")
        whole = len(members) if most is None else most
        self._groups.append(Bounds(least, whole, members, checked_role(role, "a group"), features=numbers))

    def linear(
        self,
        terms: Iterable[tuple[int, Literal]],
        *,
        least: int | None = None,
        most: int | None = None,
        role: str | None = None,
        features: Numbers | None = None,
    ) -> None:
        """`least` <= sum of coefficient x literal <= `most`; all coefficients are of one size, some may be negative.

        Args:
            terms: (coefficient, literal) pairs; coefficients are of one size.
            least: of the sum.
            most: of the sum.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        signed = []
        for term in _listed(terms):
            if not isinstance(term, Sequence) or len(term) != 2:
                raise TypeError(f"{term!r} is no term: write (coefficient, literal)")
            coefficient, number = term[0], self._own(term[1])
            if not isinstance(coefficient, Integral):
                raise ValueError(f"{self._said(number)}: the coefficient {coefficient!r} is no whole number")
            signed.append((int(coefficient), (term[1].number + 1) * (1 if term[1].positive else -1)))
        if wrong := next((bound for bound in (least, most) if not isinstance(bound, Integral | None)), None):
            raise ValueError(f"bounds are whole numbers, not {wrong!r}")
        try:
            found = counted(signed, least, most)
        except Unequal as error:
            raise ValueError(f"{self._shown(error.variable - 1)}: {error}") from None
        literals = [Literal(self, abs(z) - 1, z > 0) for z in found.literals]
        self.between(found.least, found.most, literals, role, features)

    def all_different(
        self, choices: Iterable[Choice], role: str | None = None, features: Numbers | None = None
    ) -> None:
        """No two of the choices have the same value.

        Args:
            choices: which.
            role: the name of this kind of group.
            features: numbers for guides, by name.
        """
        listed = _listed(choices)
        places: dict[Any, list[int]] = {}
        for choice in listed:
            if not isinstance(choice, Choice):
                raise TypeError(f"{choice!r} is no choice")
            self._own(choice == choice.values[0])
            for value, number in choice.numbers.items():
                places.setdefault(value, []).append(number)
        if twice := repeated([choice.first + 1 for choice in listed]):
            raise ValueError(f"{self._owner[twice - 1]!r} is there twice: it cannot differ from itself")
        if len(places) < len(listed):
            names = ", ".join(repr(choice.name) for choice in listed[:3])
            raise ValueError(f"{names}, ...: {len(listed)} choices cannot differ, they have {len(places)} values")
        every = len(places) == len(listed)  # then each value is taken: that follows, and it helps propagation
        numbers = None if features is None else checked_features(features, role or "a group")
        role = checked_role(role, "a group")
        self._groups += [Bounds(int(every), 1, members, role, every, numbers) for members in places.values()]

    def implies(self, premise: Literal | Sequence[Literal], conclusion: Literal) -> None:
        """If the premise holds, or all of them, so does the conclusion.

        Args:
            premise: a literal, or several that are all true.
            conclusion: a literal.
        """
        premises = _listed([premise] if isinstance(premise, Literal | Choice) else premise)
        either = {self._own(literal): literal for literal in [*map(self._not, premises), conclusion]}
        self.at_least(1, either.values())

    def require(self, literal: Literal) -> None:
        """The literal is true.

        Args:
            literal: which.
        """
        self._given.append(self._own(literal))

    def forbid(self, *literals: Literal) -> None:
        """The literal is false; of several, not all are true together.

        Args:
            *literals: which.
        """
        if len(literals) == 1:
            self.require(self._not(literals[0]))
        elif not literals:
            raise ValueError("forbid: which literals?")
        else:
            self.at_most(len(literals) - 1, literals)

    def _own(self, literal: Literal) -> Any:
        """A literal of this model as `Problem` takes it."""
        if isinstance(literal, Choice):
            raise TypeError(f"{literal.name!r} is a choice, not a literal: write m[...] == value")
        if not isinstance(literal, Literal):
            raise TypeError(f"{literal!r} is no literal: write choice == value, a boolean variable, or ~ of one")
        if literal.model is not self:
            raise ValueError(f"{literal!r} is of another model")
        return literal.number if literal.positive else Not(literal.number)

    def _not(self, literal: Literal) -> Literal:
        self._own(literal)
        return ~literal

    def _said(self, member: Any) -> str:
        """How messages call what `_own` returns."""
        return repr(Literal(self, _number(member), not isinstance(member, Not)))

    def feature(self, literal: Literal, **numbers: float) -> None:
        """Numbers that guides may go by, such as a cost; no search looks at them, and what is not said is 0.

        Args:
            literal: which.
            **numbers: by name.

        Examples:
            >>> import dibs
            >>> m = dibs.Model()
            >>> seat = m.choice("Ann", ["left", "right"])
            >>> m.feature(seat == "left", wish=2)
            >>> m.problem().structure.features.literals["wish"].tolist()
            [2.0, 0.0]
        """
        if isinstance(number := self._own(literal), Not):
            raise ValueError(f"{literal!r} is a negation: it has no features")
        self._features.setdefault(number, {}).update(checked_features(numbers, repr(literal)))

    # What can be done with it

    def problem(self) -> Modelled:
        """All that was said so far, as literals and groups.

        Returns:
            A `Problem`.
        """
        if not self._variables:
            raise ValueError("a model needs at least one variable")
        return Modelled(
            tuple(self._variables.values()),
            groups=[*self._choices, *self._groups],
            given=self._given,
            features=self._features,
        )

    def solve(self, **options: Any) -> Outcome:
        """`dibs.solve`; `outcome[variable]` is its value.

        Args:
            **options: as for `dibs.solve`.

        Returns:
            An `Outcome`; `outcome[variable]` is its value.
        """
        return solve(self.problem(), **options)

    def solutions(self, limit: int | None = None, **options: Any) -> Solutions:
        """`dibs.solutions`: every solution once, as they are found; `over`: some of the variables, or their names.

        Args:
            limit: at most so many.
            **options: as for `dibs.solutions`.

        Returns:
            A stream of solutions, {name: value}.
        """
        return solutions(self.problem(), limit, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """A file that `dibs solve` and `dibs.read_problem` take, there whole or not at all.

        Args:
            path: of a JSON file for `dibs solve`.
        """
        save_problem(self.problem(), path)


def _listed(several: Any) -> list[Any]:
    """What a user hands in as a list; one literal in its place is named."""
    if isinstance(several, Literal | Choice) or not isinstance(several, Iterable):
        raise TypeError(f"{several!r} is no list: write [{several!r}, ...]")
    return list(several)


def _number(member: Any) -> int:
    return int(member.literal if isinstance(member, Not) else member)
