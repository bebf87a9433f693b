"""Literals and groups: the one form that every family compiles to.

A *literal* is one possible choice ("cell r4c7 is 5", "variable 12 is False"), numbered from 0.
A *group* is a set of literals with a kind: exactly one, at most one or at least one of them is true. Groups with other
bounds (at least 2, at most 4 of them) are *bounded* groups.

A `Structure` is what all instances of one shape share (every 9x9 Sudoku has the same literals and groups);
an `Instance` adds the literals that are given. The kernel's tables are built once per structure and level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, wraps
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

Level = Literal["eliminate", "naked", "hidden"]
LEVELS: tuple[Level, ...] = get_args(Level)
Made = TypeVar("Made")

WIDEST = 64  # literals of a group that can be a domain of the tree search: bits of a word

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Flat:
    """Groups one after the other, where they are too many for a list of lists."""

    sizes: NDArray[np.int64]  # [groups]
    member: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)


Groups = Sequence[Ints] | Sequence[Sequence[int]] | Ints | Flat  # of an array of two dimensions, each row is a group


class Need(IntEnum):
    """What a group asks of its literals from below."""

    NONE = 0  # at most one: nobody has to be true
    IMPLIED = 1  # at least one, but it follows from the other groups: used only at level `hidden`
    REQUIRED = 2  # at least one


class Features(NamedTuple):
    """Numbers of a user's own, for guides, by name; what nobody has said is 0."""

    literals: Mapping[str, NDArray[np.float32]]  # [literals] each
    groups: Mapping[str, NDArray[np.float32]]  # [groups] each


NO_FEATURES = Features({}, {})


@dataclass(frozen=True, eq=False)
class Structure:
    """Groups over `literals` literals, in CSR form; instances that share one are searched in one batch.

    The first `decisions` groups are exactly-one groups to branch on. A literal in none of them is decided by itself,
    true or false; so a state that has decided them all has decided every literal.

    `exclusive` and `need` hold for bounded groups too, as far as they go: at most four of them says neither, two or
    three of them say that one is needed. What goes by them alone draws no wrong conclusion, but finds too little: a
    structure that is `bounded` is for searches that look at `least` and `most`.
    """

    literals: int
    start: NDArray[np.int64]  # [groups + 1] where each group's members begin
    member: NDArray[np.int64]  # [start[-1]] literals, ascending within a group
    exclusive: NDArray[np.bool_]  # [groups] at most one member is true
    need: NDArray[np.uint8]  # [groups] `Need`
    decisions: int
    family: str = "problem"  # how guides and messages call it: "sudoku", "latin", "cnf"
    shape: tuple[int, ...] = ()  # family-specific size, e.g. (box rows, box columns)
    bounds: NDArray[np.int32] | None = None  # [groups, 2] least and most true members; None: the kinds say it all
    roles: tuple[str | None, ...] = ()  # what kind of group each is, for messages, plots and guides; () : unnamed
    features: Features = NO_FEATURES  # no search looks at them

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.start) - 1

    @property
    def bounded(self) -> bool:
        """Whether some group has bounds beyond exactly one, at most one and at least one."""
        return self.bounds is not None

    @cached_property
    def least(self) -> NDArray[np.int32]:
        """[groups] at least so many members are true."""
        return (self.need > Need.NONE).astype(np.int32) if self.bounds is None else self.bounds[:, 0]

    @cached_property
    def most(self) -> NDArray[np.int32]:
        """[groups] at most so many members are true: 1, or all where nothing is said."""
        special = np.where(self.exclusive, 1, np.diff(self.start)).astype(np.int32)
        return special if self.bounds is None else self.bounds[:, 1]

    @cached_property
    def beyond(self) -> NDArray[np.bool_]:
        """[groups] whether the group's bounds say more than its kind."""
        least, most = self.need > Need.NONE, np.where(self.exclusive, 1, np.diff(self.start))
        further: NDArray[np.bool_] = (self.least != least) | (self.most != most)
        return further

    @cached_property
    def disjoint(self) -> bool:
        """Whether the groups to decide can be domains of a tree search: no literal in two of them, none too wide."""
        end = self.start[self.decisions]
        sizes = np.diff(self.start[: self.decisions + 1])
        return bool(np.bincount(self.member[:end]).max(initial=0) <= 1 and sizes.max(initial=0) <= WIDEST)

    def members(self, group: int) -> NDArray[np.int64]:
        """The literals of a group.

        Args:
            group: its number.

        Returns:
            [size] literals.
        """
        return self.member[self.start[group] : self.start[group + 1]]

    @cached_property
    def memberships(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The groups of each literal, ascending, as CSR: where they begin [literals + 1], and the groups."""
        group = np.repeat(np.arange(self.groups), np.diff(self.start))
        count = np.bincount(self.member, minlength=self.literals)
        return np.concatenate([[0], np.cumsum(count)]).astype(np.int64), group[by_value(self.member)]

    @classmethod
    def build(
        cls,
        literals: int,
        *,
        decide: Groups,
        exactly_one: Groups = (),
        at_most_one: Groups = (),
        at_least_one: Groups = (),
        implied: Groups = (),
        bounded: Sequence[tuple[int, int, Sequence[int]]] = (),
        roles: Sequence[str | None] = (),
        features: Features = NO_FEATURES,
        family: str = "problem",
        shape: tuple[int, ...] = (),
    ) -> Structure:
        """Lay groups out, decision groups first.

        Args:
            literals: how many there are.
            decide: exactly-one groups that are branched on.
            exactly_one: further exactly-one groups.
            at_most_one: groups with at most one true literal.
            at_least_one: groups with at least one.
            implied: exactly-one groups whose at-least-one half follows from the others (rows, columns and boxes of a
                Sudoku).
            bounded: (least, most, literals) of any kind, each literal once.
            roles: names of the groups, in the order: decide, exactly one, implied, at most one, at least one,
                bounded.
            features: numbers for guides, of literals and of groups; groups in the order of `roles`.
            family: a name for all such problems.
            shape: what tells structures of a family apart.

        Returns:
            The structure.
        """
        parts: list[tuple[Groups, bool, Need]] = [
            (decide, True, Need.REQUIRED),
            (exactly_one, True, Need.REQUIRED),
            (implied, True, Need.IMPLIED),
            (at_most_one, True, Need.NONE),
            (at_least_one, False, Need.REQUIRED),
        ]
        exclusive = np.repeat([e for _, e, _ in parts], [len(g) for g, _, _ in parts]).astype(bool)
        need = np.repeat([n for _, _, n in parts], [len(g) for g, _, _ in parts]).astype(np.uint8)
        start, member = _compress([*(groups for groups, _, _ in parts), [members for _, _, members in bounded]])
        bounds = None
        if bounded:
            least, most = (np.array(side, np.int32) for side in list(zip(*bounded, strict=True))[:2])
            exclusive, need = (
                np.append(exclusive, most <= 1),
                np.append(need, np.where(least > 0, Need.REQUIRED, Need.NONE)),
            )
            kinds = np.stack([need > Need.NONE, np.where(exclusive, 1, np.diff(start))], 1).astype(np.int32)
            bounds = kinds.copy()
            bounds[len(bounds) - len(bounded) :] = np.stack([least, most], 1)
        return cls(
            literals=literals,
            start=start,
            member=member,
            exclusive=exclusive,
            need=need.astype(np.uint8),
            decisions=len(decide),
            family=family,
            shape=shape,
            bounds=None if bounds is None or (bounds == kinds).all() else bounds,
            roles=tuple(roles),
            features=features,
        )


def by_structure(instances: Iterable[Instance]) -> dict[Structure, list[int]]:
    """The places of instances that share a structure, which are searched together."""
    found: dict[Structure, list[int]] = {}
    for place, instance in enumerate(instances):
        found.setdefault(instance.structure, []).append(place)
    return found


def by_value(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the places of numbers from 0 on, by their value and then in their order.

    NumPy has a radix sort for 16 bits only, which is ten times as quick as the others: so it goes by parts of 16 bits.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    high = numbers >> 16
    while high.any():
        order = order[np.argsort(high[order].astype(np.uint16), kind="stable")]
        high = high >> 16
    return order


def _compress(parts: Sequence[Groups]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All groups as CSR (start, member), each group ascending and without repetition.

    Array operations over all groups at once: a CNF has hundreds of thousands of clauses.
    """
    sizes, members = zip(*map(_flatten, parts), strict=True)
    size, member = np.concatenate(sizes), np.concatenate(members)
    group = np.repeat(np.arange(len(size)), size)
    if ((group[1:] == group[:-1]) & (member[1:] <= member[:-1])).any():
        order = np.lexsort((member, group))
        group, member = group[order], member[order]
        fresh = np.ones(len(member), bool)
        fresh[1:] = (group[1:] != group[:-1]) | (member[1:] != member[:-1])
        group, member = group[fresh], member[fresh]
        size = np.bincount(group, minlength=len(size))
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64), member


def _flatten(groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The size of each group and all members in a row."""
    if isinstance(groups, Flat):
        return groups.sizes, groups.member
    if isinstance(groups, np.ndarray) and groups.ndim == 2:
        return np.full(len(groups), groups.shape[1], np.int64), groups.astype(np.int64).ravel()
    sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    return sizes, np.fromiter(chain.from_iterable(groups), np.int64, int(sizes.sum()))


class Instance:
    """One problem to solve: a structure and the literals that are given. Families subclass it.

    `violation` must not use the kernel, nor the structure the kernel was built from: it is the proof of every SAT
    answer.
    """

    __slots__ = ()  # families with millions of instances declare theirs
    family: ClassVar[str] = "problem"

    @property
    def structure(self) -> Structure:
        """What all instances of this shape share."""
        raise NotImplementedError

    @property
    def given(self) -> NDArray[np.int64]:
        """The literals that are true from the start."""
        raise NotImplementedError

    def decode(self, literals: NDArray[np.int64]) -> Any:
        """The family's own form of a solution, from its true literals (ascending).

        Args:
            literals: the true ones, ascending.

        Returns:
            A solution in the family's own form.
        """
        raise NotImplementedError

    def violation(self, solution: Any) -> str | None:
        """What is wrong with a solution, in words, or None. Shares no code with the search.

        Args:
            solution: in the family's own form.

        Returns:
            What is wrong with it in a line; None if nothing is.
        """
        raise NotImplementedError

    # The same for many instances of one structure at once. Families with arrays override these three: they are what is
    # left of the time to solve an easy puzzle.

    @classmethod
    def givens(cls, instances: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(number of the instance, ascending; given literal) for every given of every instance.

        Args:
            instances: of one structure.

        Returns:
            The given literals of each.
        """
        given = [instance.given for instance in instances]
        return np.repeat(np.arange(len(given)), [len(g) for g in given]), np.concatenate(given)

    @classmethod
    def solutions(cls, instances: Sequence[Any], true: Sequence[NDArray[np.int64]]) -> list[Any]:
        """`decode` for many: `true` has the true literals of each.

        Args:
            instances: of one structure.
            true: true literals of each, ascending.

        Returns:
            A solution for each.
        """
        return [i.decode(literals) for i, literals in zip(instances, true, strict=True)]

    @classmethod
    def violations(cls, instances: Sequence[Any], solutions: Sequence[Any]) -> list[str | None]:
        """`violation` for many at once; families with arrays override it.

        Args:
            instances: of one structure.
            solutions: one for each.

        Returns:
            For each what is wrong with it, or None.
        """
        return [i.violation(s) for i, s in zip(instances, solutions, strict=True)]

    def format(self, solution: Any = None) -> str:
        """A readable text of the instance, or of its solution.

        Args:
            solution: if it is to be shown in place of the givens.

        Returns:
            Text of one or more lines.
        """
        raise NotImplementedError

    def line(self, solution: Any = None) -> str:
        """The same on one line, as `--json` prints it.

        Args:
            solution: if it is to be shown in place of the givens.

        Returns:
            One line of text.
        """
        raise NotImplementedError


def per_structure(make: Callable[[Structure], Made]) -> Callable[[Structure], Made]:
    """What `make` makes of a structure is made once, and goes with it: every formula has a structure of its own.

    It must not refer to the structure, which would live as long as that does.
    """
    made: WeakKeyDictionary[Structure, Made] = WeakKeyDictionary()

    @wraps(make)
    def find(structure: Structure) -> Made:
        found = made.get(structure)
        if found is None:
            found = made[structure] = make(structure)
        return found

    return find
