"""Any instance as a propositional formula over its literals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.clock import in_time, never
from dibs.problem.cnf import CNF
from dibs.problem.structure import Instance, Need, Structure
from dibs.problem.text import InputError

COUNTER = 20_000  # auxiliary variables of a counter, at most
PAIRWISE = 64  # at-most-one groups with more open literals than this get variables of their own: a ladder


class Formula(NamedTuple):
    """Clauses over variables 1..`variables`, and how the instance's literals are written in them."""

    variables: int
    clauses: Sequence[Sequence[int]]
    signed: NDArray[np.int64]  # [literals] the signed variable that a literal is

    def as_cnf(self) -> CNF:
        return CNF(self.variables, self.clauses)

    def true(self, model: Iterable[int]) -> NDArray[np.int64]:
        """The true literals of a model, ascending; a variable that the engine never saw is False."""
        value = np.zeros(self.variables + 1, bool)
        value[[z for z in model if 0 < z <= self.variables]] = True
        return np.flatnonzero(value[np.abs(self.signed)] == (self.signed > 0))

    def literals(self, wanted: NDArray[np.int8]) -> list[int]:
        """Signed variables, each once, for wishes [literals]: 1 true, -1 false, 0 none."""
        chosen = self.signed * wanted
        return [int(z) for z in dict.fromkeys(chosen[chosen != 0].tolist())]


def encode(instance: Instance, written: bool = True, late: Callable[[], bool] = never) -> Formula:
    """A CNF is taken word for word, so that a proof is about the user's file; others are written from their groups.

    Without `written` there are no clauses, for engines that take the groups themselves. Raises Late once `late()`.
    """
    if isinstance(instance, CNF):
        if not instance.groups or not written:
            return Formula(instance.variables, instance.clauses, signed(instance))
        formula = _Writer(instance.variables)
        formula.clauses += map(list, instance.clauses)
        for least, most, literals in instance.groups:
            formula.bound(least, most, list(literals))
        return Formula(formula.variables, formula.clauses, signed(instance))
    structure = instance.structure
    writer = _Writer(structure.literals)
    if written:
        writer.write(structure, instance.given, late)
    return Formula(writer.variables, writer.clauses, signed(instance))


def signed(instance: Instance) -> NDArray[np.int64]:
    """[literals] the signed variable that a literal is."""
    if not isinstance(instance, CNF):
        return np.arange(1, instance.structure.literals + 1)
    variable = np.arange(1, instance.variables + 1)
    return np.stack([variable, -variable], axis=1).ravel()


def cardinality(least: int, most: int, literals: list[int], variables: int) -> tuple[list[list[int]], int]:
    """Clauses that say how many of signed variables are true, and the number of variables with those that they add.

    Whatever follows from the bounds follows by unit propagation from the clauses.
    """
    size = len(literals)
    if least > size or most < 0 or least > most:
        return [[]], variables
    clauses: list[list[int]] = []
    for bound, encode_bound in ((most, "atmost"), (least, "atleast")):
        if bound >= size if encode_bound == "atmost" else bound <= 0:
            continue
        if bound in (0, size):  # none of them, or all of them
            clauses += [[-z] if bound == 0 else [z] for z in literals]
            continue
        # A counter is smallest for few, a network of sorters for many.
        few = min(bound, size - bound) * size <= COUNTER
        card, kinds = _encoder()
        kind = kinds.seqcounter if few else kinds.cardnetwrk
        made = getattr(card, encode_bound)(literals, bound, top_id=variables, encoding=kind)
        clauses += made.clauses
        variables = max(variables, made.nv)
    return clauses, variables


def _encoder() -> Any:
    try:
        from pysat.card import CardEnc, EncType
    except ImportError:
        raise InputError("groups with bounds as clauses need python-sat: pip install 'dibs[sat]'") from None
    return CardEnc, EncType


class _Writer:
    """Literal l is variable l + 1; ladders have the variables after them."""

    def __init__(self, literals: int) -> None:
        self.variables = literals
        self.clauses: list[list[int]] = []

    def write(self, structure: Structure, given: NDArray[np.int64], late: Callable[[], bool]) -> None:
        """The givens, what they exclude at once, and the groups over what is left."""
        from dibs.search.root import settle

        given_only = np.zeros((1, structure.literals), bool)
        given_only[0, given] = True
        [open_], [true], [consistent] = settle(structure, given_only, "eliminate")
        dead = ~(open_ | true) if consistent else ~open_  # givens that exclude each other are both true and not
        self.clauses += [[z + 1] for z in np.flatnonzero(true).tolist()]
        self.clauses += [[-z - 1] for z in np.flatnonzero(dead).tolist()]
        kinds = zip(structure.exclusive.tolist(), (structure.need > Need.NONE).tolist(), strict=True)
        for group, (exclusive, needed) in enumerate(kinds):
            in_time(late)
            members = structure.members(group)
            if structure.bounded and structure.beyond[group]:
                held = int(true[members].sum())
                alive = (members[~dead[members] & ~true[members]] + 1).tolist()
                self.bound(int(structure.least[group]) - held, int(structure.most[group]) - held, alive)
                continue
            if true[members].any():
                continue
            alive = (members[~dead[members]] + 1).tolist()
            if needed:
                self.clauses.append(alive)
            if exclusive:
                self.clauses += self.at_most_one(alive)

    def bound(self, least: int, most: int, literals: list[int]) -> None:
        """At least `least` and at most `most` of the literals; negative bounds and large ones included."""
        clauses, self.variables = cardinality(least, most, literals, self.variables)
        self.clauses += clauses

    def at_most_one(self, literals: list[int]) -> Iterator[list[int]]:
        if len(literals) <= PAIRWISE:
            yield from ([-a, -b] for a, b in combinations(literals, 2))
            return
        # A ladder: step i says that one of the first i + 1 literals is true.
        steps = list(range(self.variables + 1, self.variables + len(literals)))
        self.variables += len(steps)
        yield from ([-low, high] for low, high in pairwise(steps))
        yield from ([-z, step] for z, step in zip(literals, steps, strict=False))
        yield from ([-z, -step] for z, step in zip(literals[1:], steps, strict=True))
