"""The variables that somebody names, as literals of the structure: what solutions are to differ in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.problem.cnf import CNF
from dibs.problem.grid import Grid
from dibs.problem.modelled import Modelled
from dibs.problem.own import Not, Problem
from dibs.problem.structure import Instance

_CELL = re.compile(r"r(\d{1,3})c(\d{1,3})", re.IGNORECASE)


def literals_over(instance: Instance, over: Iterable[Any]) -> NDArray[np.bool_]:
    """[literals] those of the named variables; ValueError, in one line, names what is none.

    Of a grid they are cells ("r1c3"), of a formula numbers of variables, of a model variables or their names, of a
    problem literals.
    """
    if isinstance(over, str):
        raise ValueError(f"over = {over!r}: give a list of names")
    mask = np.zeros(instance.structure.literals, bool)
    for name in over:
        mask[_literals(instance, name)] = True
    if isinstance(instance, Problem):
        for i, of in enumerate(instance.negated):
            mask[instance.literals + i] = mask[of]
    return mask


def _literals(instance: Instance, name: Any) -> Any:
    if isinstance(instance, Grid):
        found = _CELL.fullmatch(name) if isinstance(name, str) else None
        row, column = (int(found[1]), int(found[2])) if found else (0, 0)
        n = instance.size
        if not (1 <= row <= n and 1 <= column <= n):
            raise ValueError(f"over: {name!r} is no cell: write r1c1 to r{n}c{n}")
        first = ((row - 1) * n + column - 1) * n
        return range(first, first + n)
    if isinstance(instance, CNF):
        try:
            number = abs(index(name))
        except TypeError:
            number = 0
        if not 1 <= number <= instance.variables:
            raise ValueError(f"over: {name!r} is no variable: they are 1..{instance.variables}")
        return [2 * number - 2, 2 * number - 1]
    if isinstance(instance, Modelled):
        return _of_model(instance, name)
    if isinstance(instance, Problem):
        return instance._plain(name.literal if isinstance(name, Not) else name, "over")
    raise TypeError(f"over: nothing is known about the names of {instance!r}")


def _of_model(model: Modelled, name: Any) -> Any:
    """A variable, its name, or a literal of the model."""
    if hasattr(name, "positive") and not hasattr(name, "name"):
        return model._plain(name.number, "over")
    wanted = getattr(name, "name", name)
    for variable in model.variables:
        if variable.name == wanted:
            return range(variable.first, variable.first + max(1, len(variable.values)))
    raise ValueError(f"over: {wanted!r} is no variable of the model")
