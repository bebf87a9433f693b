"""Linear sums over literals, as groups with bounds: possible where all coefficients are of one size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple


class Unequal(ValueError):
    """Two coefficients of a sum differ: such a sum is no group. `variable` is the one whose coefficient differs."""

    def __init__(self, coefficient: int, usual: int, variable: int) -> None:
        super().__init__(f"coefficient {coefficient} differs from {usual}: all of a sum must be of one size")
        self.variable = variable


class Counted(NamedTuple):
    """At least `least` and at most `most` of the signed variables (from 1, negative: negated) are true."""

    least: int
    most: int
    literals: list[int]

    @property
    def possible(self) -> bool:
        return self.least <= self.most and self.least <= len(self.literals) and self.most >= 0


def impossible_bounds(least: int, most: int | None, size: int) -> str | None:
    """Why bounds on a group of so many literals make no sense, or None. `most` = None: as many as there are."""
    if not isinstance(least, Integral) or not isinstance(most, Integral | None):
        return "bounds are whole numbers, not " + " and ".join(repr(b) for b in (least, most) if b is not None)
    if most is None:
        most = max(least, size) + 1
    if least < 0 or most < least:
        return f"bounds {least} to {most}: they must be 0 <= least <= most"
    if least > size:
        return f"{'exactly' if least == most else 'at least'} {least} of {size} literals cannot hold"
    return None


def repeated(literals: Sequence[int]) -> int | None:
    """The first literal that is there for the second time."""
    if len(set(literals)) == len(literals):
        return None
    places = dict(zip(reversed(literals), range(len(literals), 0, -1), strict=True))  # the first of each, from 1
    return next(z for i, z in enumerate(literals, 1) if places[z] < i)


def counted(terms: Iterable[tuple[int, int]], least: int | None, most: int | None) -> Counted:
    """`least` <= sum of coefficient x signed variable <= `most`, None: no bound on that side; raises Unequal.

    A variable may be there several times, negated or not. Bounds that cannot hold stay as they are: see `possible`.
    """
    of: dict[int, int] = {}
    constant = 0
    for coefficient, literal in terms:
        if literal < 0:  # c (1 - x)
            constant += coefficient
            coefficient = -coefficient
        of[abs(literal)] = of.get(abs(literal), 0) + coefficient
    of = {variable: coefficient for variable, coefficient in of.items() if coefficient}
    size = abs(next(iter(of.values()), 1))
    literals = []
    for variable, coefficient in of.items():
        if abs(coefficient) != size:
            raise Unequal(coefficient, size, variable)
        literals.append(variable if coefficient > 0 else -variable)
        constant += min(coefficient, 0)  # -c x = c (1 - x) - c
    low = 0 if least is None else max(0, -((constant - least) // size))
    high = len(literals) if most is None else min(len(literals), (most - constant) // size)
    return Counted(low, high, literals)
