"""A user's own problem, as literals and groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from operator import index
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.linear import impossible_bounds
from dibs.problem.structure import Features, Instance, Structure

Group = Iterable[Any]  # numbers of literals, or their names; `Not` of one is its negation
KINDS = ("exactly_one", "at_most_one", "at_least_one", "implied")
LONGEST, LARGEST = 200, 1e30  # characters of the name of a feature, and its size


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a literal, for any group of a `Problem`: Not("a"), Not(3)."""

    literal: Any


class Bounds(NamedTuple):
    """A group with bounds: at least `least` and at most `most` of its literals are true."""

    least: int
    most: int
    literals: Sequence[Any]
    role: str | None = None  # what kind of group it is, for messages, plots and guides
    implied: bool = False  # exactly one, and that it is not none follows from other groups
    features: Mapping[str, float] | None = None  # numbers for guides, by name


class Problem(Instance):
    """Literals, numbered or named, and groups over them.

        Problem(["a", "b", "c"], exactly_one=[["a", "b"]], at_least_one=[[Not("b"), "c"]], groups=[(0, 2, "abc")])

    `groups` are (least, most, literals), (least, most, literals, role) or `Bounds`. `features` are numbers for guides,
    {"a": {"cost": 3}}: no search looks at them. `implied` are exactly-one groups
    that follow from the others (used for propagation at level `hidden` only). `decide` are the numbers of the
    exactly-one groups to branch on, by default all. A literal in none of them is decided by itself, true or false, so
    that each solution is found exactly once.

    The negation of a literal is one of the structure's literals too, with a number from `literals` on; it is there if
    a group or a given has it.
    """

    family: ClassVar[str] = "problem"

    def __init__(
        self,
        literals: int | np.integer[Any] | Sequence[Hashable],
        *,
        exactly_one: Iterable[Group] = (),
        at_most_one: Iterable[Group] = (),
        at_least_one: Iterable[Group] = (),
        implied: Iterable[Group] = (),
        groups: Iterable[Sequence[Any]] = (),
        given: Group = (),
        decide: Iterable[int] | None = None,
        features: Mapping[Any, Mapping[str, float]] | None = None,
    ) -> None:
        if not isinstance(literals, Integral | Iterable):
            raise ValueError(f"{literals!r} literals: give their number, or a list of their names")
        self.names: list[Any] | None = None if isinstance(literals, Integral) else list(literals)
        self.literals: int = int(literals) if isinstance(literals, Integral) else len(self.names or ())
        if self.literals < 1:
            raise ValueError("a problem needs at least one literal")
        self._number = {name: i for i, name in enumerate(self.names or ())}
        if self.names is not None and len(self._number) != len(self.names):
            twice = next(name for i, name in enumerate(self.names) if self._number[name] != i)
            raise ValueError(f"literals: {twice!r} is named twice")
        self.negated: list[int] = []  # the literal that number `literals` + i negates
        self._complement: dict[int, int] = {}
        self.exactly_one = self._numbered(exactly_one, "exactly_one")
        self.at_most_one = self._numbered(at_most_one, "at_most_one")
        self.at_least_one = self._numbered(at_least_one, "at_least_one")
        self.implied = self._numbered(implied, "implied")
        self.groups = [self._bounds(group, f"groups[{i}]") for i, group in enumerate(groups)]
        self._given = np.array(sorted(set(self._numbers(given, "given"))), np.int64)
        chosen = range(len(self.exactly_one)) if decide is None else decide
        self.decide = [int(i) for i in as_indices(chosen, len(self.exactly_one))]
        self.decide_all = decide is None
        self.features: dict[int, dict[str, float]] = {}  # of some literals
        if not isinstance(features, Mapping | None):
            raise ValueError(f'features: write {{literal: {{"cost": 3}}}}, not {features!r}')
        for literal, numbers in (features or {}).items():
            number = self._plain(literal, "features")
            self.features[number] = checked_features(numbers, f"features of {self._shown(number)}")

    def _numbered(self, groups: Iterable[Group], what: str) -> list[list[int]]:
        return [self._group(group, f"{what}[{i}]") for i, group in enumerate(groups)]

    def _group(self, group: Group, what: str) -> list[int]:
        """The literals of a group, ascending; one that is there twice would be counted twice, or once: refused."""
        if not isinstance(group, Iterable) or (isinstance(group, Hashable) and group in self._number):
            raise ValueError(f"{what}: {group!r} is no list of literals: write [[{group!r}, ...], ...]")
        members = sorted(self._numbers(group, what))
        for one, other in pairwise(members):
            if one == other:
                raise ValueError(f"{what}: {self._shown(one)} is there twice")
        return members

    def _bounds(self, group: Sequence[Any], what: str) -> Bounds:
        if not isinstance(group, Sequence) or isinstance(group, str) or len(group) not in range(3, 7):
            raise ValueError(f"{what}: write (least, most, literals) or (least, most, literals, role)")
        role = group[3] if len(group) > 3 else None
        implied = bool(group[4]) if len(group) > 4 else False
        checked_role(role, what)
        if role is not None:
            what = f"{what} ({role})"
        members = self._group(group[2], what)
        try:
            least, most = index(group[0]), index(group[1])
        except TypeError:
            raise ValueError(f"{what}: bounds are whole numbers, not {group[0]!r} and {group[1]!r}") from None
        if impossible := impossible_bounds(least, most, len(members)):
            raise ValueError(f"{what}: {impossible}")
        if implied and (least, most) != (1, 1):
            raise ValueError(f"{what}: only groups of exactly one may be implied")
        features = checked_features(group[5], what) if len(group) > 5 and group[5] is not None else None
        return Bounds(least, min(most, len(members)), members, role, implied, features)

    def _numbers(self, group: Group, what: str) -> list[int]:
        """The numbers of literals and of negations, in the user's order."""
        if not isinstance(group, Iterable):
            raise ValueError(f"{what}: {group!r} is no list of literals: write [{group!r}, ...]")
        members = list(group)
        if self.names is not None:
            try:
                return [self._number[name] for name in members]  # most problems have no negations
            except (KeyError, TypeError):
                pass
        return [self._negation(name, what) if isinstance(name, Not) else self._plain(name, what) for name in members]

    def _plain(self, name: Any, what: str) -> int:
        if self.names is not None:
            try:
                return self._number[name]
            except (KeyError, TypeError):
                raise ValueError(f"{what}: {name!r} is not the name of a literal") from None
        try:
            number = index(name)
        except TypeError:
            raise ValueError(f"{what}: literals are whole numbers, not {name!r}") from None
        if not 0 <= number < self.literals:
            raise ValueError(f"{what}: literal {number} is out of range 0..{self.literals - 1}")
        return number

    def _negation(self, of: Not, what: str) -> int:
        if isinstance(of.literal, Not):
            [number] = self._numbers([of.literal.literal], what)
            return number
        number = self._plain(of.literal, what)
        if number not in self._complement:
            self._complement[number] = self.literals + len(self.negated)
            self.negated.append(number)
        return self._complement[number]

    @cached_property
    def structure(self) -> Structure:
        """Decision groups, then pairs of a literal and its negation, then the rest."""
        chosen = set(self.decide)
        decide = [Bounds(1, 1, self.exactly_one[i]) for i in self.decide]
        implied = [Bounds(1, 1, group) for group in self.implied]
        others: list[Bounds] = []
        for group in self.groups:
            if group.implied:
                implied.append(group)
            elif group[:2] == (1, 1) and self.decide_all:
                decide.append(group)
            elif group[:2] != (0, len(group.literals)):  # otherwise it says nothing
                others.append(group)
        decide += [Bounds(1, 1, pair) for pair in self._pairs()]
        exactly = [group for i, group in enumerate(self.exactly_one) if i not in chosen]
        unnamed = len(self.at_most_one) + len(self.at_least_one)
        blank = Bounds(0, 0, ())
        laid = [*decide, *[blank] * len(exactly), *implied, *[blank] * unnamed, *others]
        roles = [group.role for group in laid]
        return Structure.build(
            self.literals + len(self.negated),
            decide=[group.literals for group in decide],
            exactly_one=exactly,
            implied=[group.literals for group in implied],
            at_most_one=self.at_most_one,
            at_least_one=self.at_least_one,
            bounded=[(group.least, group.most, group.literals) for group in others],
            roles=roles if any(roles) else (),
            features=Features(
                _columns(self.features, self.literals + len(self.negated)),
                _columns({i: group.features for i, group in enumerate(laid) if group.features}, len(laid)),
            ),
            shape=(self.literals,),
        )

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return ((of, self.literals + i) for i, of in enumerate(self.negated))

    @property
    def given(self) -> NDArray[np.int64]:
        """The literals that are true from the start, ascending."""
        return self._given

    def __repr__(self) -> str:
        return f"<Problem, {self.line()}>"

    def name(self, literal: int) -> Any:
        """What a literal is called.

        Args:
            literal: its number; numbers from `literals` on are negations.

        Returns:
            Its name, or its number where there are no names.
        """
        if literal >= self.literals:
            return Not(self.name(self.negated[literal - self.literals]))
        return literal if self.names is None else self.names[literal]

    def _shown(self, literal: int) -> str:
        """How messages call a literal or a negation."""
        name = self.name(literal)
        return f"not {name.literal!r}" if isinstance(name, Not) and literal >= self.literals else repr(name)

    def decode(self, literals: NDArray[np.int64]) -> Any:
        """The true literals; negations go without saying.

        Args:
            literals: the true ones, ascending.

        Returns:
            Names or numbers of the true literals.
        """
        return [self.name(literal) for literal in literals.tolist() if literal < self.literals]

    def violation(self, solution: Iterable[Any]) -> str | None:
        """What is wrong with a solution, found by counting in every group.

        Args:
            solution: its true literals.

        Returns:
            A line, or None if nothing is wrong.
        """
        try:
            true = {self._plain(literal, "solution") for literal in solution}
        except ValueError as error:
            return str(error)
        true |= {number for of, number in self._pairs() if of not in true}
        missing = set(self._given.tolist()) - true
        if missing:
            return f"{self._shown(min(missing))} is given, but not true"
        for what, groups, least, most in (
            ("exactly_one", self.exactly_one, 1, 1),
            ("at_most_one", self.at_most_one, 0, 1),
            ("at_least_one", self.at_least_one, 1, 2 * self.literals),
            ("implied", self.implied, 1, 1),
        ):
            for i, group in enumerate(groups):
                count = len(true.intersection(group))
                if not least <= count <= most:
                    return f"{what}[{i}] has {count} true literals"
        for i, bounds in enumerate(self.groups):
            count = len(true.intersection(bounds.literals))
            if not bounds.least <= count <= bounds.most:
                role = f" ({bounds.role})" if bounds.role else ""
                return f"groups[{i}]{role} has {count} true literals, not {bounds.least} to {bounds.most}"
        return None

    def line(self, solution: Iterable[Any] | None = None) -> str:
        """One line of text.

        Args:
            solution: if it is to be shown in place of the problem.

        Returns:
            One line of text.
        """
        if solution is not None:
            return " ".join(map(str, solution))
        count = len(self.groups) + sum(len(getattr(self, kind)) for kind in KINDS)
        return f"{self.literals} literals, {count} groups"

    def format(self, solution: Iterable[Any] | None = None) -> str:
        """Text for readers.

        Args:
            solution: if it is to be shown in place of the problem.

        Returns:
            Text of one or more lines.
        """
        return self.line() if solution is None else "\n".join(map(str, solution))


def checked_role(role: Any, what: str) -> str | None:
    """A role, which is a text or none; ValueError says `what` it is of."""
    if not isinstance(role, str | None):
        raise ValueError(f"{what}: the role {role!r} is no text")
    return role


def checked_features(numbers: Any, what: str) -> dict[str, float]:
    """Numbers by name; ValueError says `what` they are of, where they are none."""
    if not isinstance(numbers, Mapping):
        raise ValueError(f'{what}: features are numbers by name, {{"cost": 3}}, not {numbers!r}')
    found = {}
    for name, number in numbers.items():
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST:
            raise ValueError(f"{what}: {name!r} cannot be the name of a feature: it must be a text of 1 to {LONGEST}")
        try:
            found[name] = float(number)
            good = not isinstance(number, str) and abs(found[name]) <= LARGEST
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise ValueError(f"{what}: the feature {name} is {number!r}, which is no number within {LARGEST:g}")
    return found


def _columns(rows: Mapping[int, Mapping[str, float]], count: int) -> dict[str, NDArray[np.float32]]:
    """The numbers of each name [count], 0 where there is none, by name."""
    found = {name: np.zeros(count, np.float32) for name in sorted({name for row in rows.values() for name in row})}
    for i, row in rows.items():
        for name, number in row.items():
            found[name][i] = number
    return found


def as_indices(indices: Iterable[int], groups: int) -> list[int]:
    """`decide`, checked: each group once, in the user's order."""
    chosen = list(dict.fromkeys(indices))
    for number in chosen:
        if not 0 <= number < groups:
            raise ValueError(f"decide: there is no exactly_one[{number}]")
    return chosen
