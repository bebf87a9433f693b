"""Literals as users say them: r1c3=5 in a grid, 12 or -12 in a formula, names in problems, ("Ann", 2) in models.

`~literal` is the negation of a literal of the structure, where the structure has no literal for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cache
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.problem.cnf import CNF
from dibs.problem.grid import Grid, cell_name
from dibs.problem.modelled import Modelled, Variable
from dibs.problem.own import Not, Problem
from dibs.problem.structure import Instance
from dibs.problem.symbols import Cell, symbol_of

_CELL = re.compile(r"r(\d{1,3})c(\d{1,3})", re.IGNORECASE)
_LITERAL = re.compile(rf"\s*{_CELL.pattern}\s*(!?=)=?\s*(\w|@|\d{{1,3}})\s*", re.IGNORECASE)

LISTED = 6  # literals of a group that are named


def literal_of(instance: Instance, words: Any) -> int:
    """The literal that somebody means; ValueError, in one line, where there is none."""
    if isinstance(words, Not):
        return negation(instance, literal_of(instance, words.literal))
    if isinstance(instance, Grid):
        return _in_grid(instance, words)
    if isinstance(instance, CNF):
        return _in_formula(instance, words)
    if isinstance(instance, Modelled):
        return _in_model(instance, words)
    if isinstance(instance, Problem):
        return instance._plain(words, "literals")
    if isinstance(words, int) and 0 <= words < instance.structure.literals:
        return words
    raise ValueError(f"{words!r} is no number of a literal, 0..{instance.structure.literals - 1}")


def negation(instance: Instance, literal: int) -> int:
    """Of a literal or a negation: a literal of the structure, if it has one for it."""
    if literal < 0:
        return ~literal
    if isinstance(instance, CNF):
        return literal ^ 1
    if isinstance(instance, Problem):
        if literal >= instance.literals:
            return instance.negated[literal - instance.literals]
        return instance._complement.get(literal, ~literal)
    return ~literal


def words_for(instance: Instance, literal: int) -> Any:
    """What `literal_of` takes for it."""
    if isinstance(instance, Grid):
        return shown(instance, literal)
    if isinstance(instance, CNF):
        return -(literal // 2) - 1 if literal % 2 else literal // 2 + 1
    plain = literal if literal >= 0 else ~literal
    if isinstance(instance, Problem):
        if plain >= instance.literals:
            return Not(words_for(instance, instance.negated[plain - instance.literals]))
        variable = instance.variable(plain) if isinstance(instance, Modelled) else None
        if variable is not None:
            named = (variable.name, variable.values[plain - variable.first]) if variable.values else variable.name
        else:
            named = instance.name(plain)
        return named if literal >= 0 else Not(named)
    return literal if literal >= 0 else Not(plain)


def shown(instance: Instance, literal: int) -> str:
    """The same as a text for readers."""
    plain = literal if literal >= 0 else ~literal
    if isinstance(instance, Grid):
        size = instance.size
        cell, value = divmod(plain, size)
        return f"{cell_name(cell, size)}{'=' if literal >= 0 else '!='}{symbol_of(value + 1, size)}"
    if isinstance(instance, Problem):
        positive = literal >= 0
        if plain >= instance.literals:
            plain, positive = instance.negated[plain - instance.literals], not positive
        variable = instance.variable(plain) if isinstance(instance, Modelled) else None
        if variable is not None and variable.values:
            return f"{variable.name} {'=' if positive else '!='} {variable.values[plain - variable.first]}"
        name = instance.name(plain) if variable is None else variable.name
        return f"{'' if positive else 'not '}{name}"
    return str(words_for(instance, literal))


def true_literals(instance: Instance, solution: Any) -> list[int]:
    """The literals of the structure that are true in a solution, from the solution itself; ValueError if it is none."""
    true: list[int] = truth(instance, solution).nonzero()[0].tolist()
    return true


def truth(instance: Instance, solution: Any) -> NDArray[np.bool_]:
    """[literals] the same, as what is true."""
    true = np.zeros(instance.structure.literals, bool)
    try:
        true[_true_literals(instance, solution)] = True
        return true
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ValueError(f"{str(solution)[:40]!r} is no solution of {instance!r}") from None


def _true_literals(instance: Instance, solution: Any) -> list[int] | NDArray[np.int64]:
    if isinstance(instance, Grid):
        values = instance._solution_array(solution)
        if len(values) != instance.shape.cells or values.min() < 1 or values.max() > instance.size:
            raise ValueError(f"{str(solution)[:40]!r} is no solution of {instance!r}: give a value for every cell")
        return _first(instance.shape.cells, instance.size) + values - 1
    if isinstance(instance, CNF):
        if sorted(map(abs, solution)) != list(range(1, instance.variables + 1)):
            raise ValueError(f"a solution of {instance!r} has a signed number for every variable")
        return [literal_of(instance, z) for z in solution]
    if not isinstance(instance, Problem):
        raise ValueError(f"literals of a solution of {instance!r} are not known")
    if isinstance(instance, Modelled):
        for v in instance.variables:
            if v.values and solution[v.name] not in v.values:
                raise ValueError(f"{v.name!r}: {solution[v.name]!r} is none of its values")
        true = {v.first + v.values.index(solution[v.name]) for v in instance.variables if v.values}
        true |= {v.first for v in instance.variables if not v.values and solution[v.name]}
    else:
        true = {instance._plain(name, "solution") for name in solution}
    return sorted(true | {instance.literals + i for i, of in enumerate(instance.negated) if of not in true})


@cache
def _first(cells: int, size: int) -> NDArray[np.int64]:
    """[cells] the literal of the lowest value of each cell."""
    return np.arange(cells) * size


def _in_grid(grid: Grid, words: Any) -> int:
    found = _LITERAL.fullmatch(words) if isinstance(words, str) else None
    if not found:
        raise ValueError(f"{words!r}: write a cell and its value, r1c3=5, or r1c3!=5")
    row, column, sign, symbol = found.groups()
    size, value = grid.size, Cell(symbol.upper(), 1, 1).value
    if not 1 <= value <= size:
        raise ValueError(f"{words!r}: there is no such value, they are 1..{size}")
    literal = _cell(size, int(row), int(column), words) * size + value - 1
    return literal if sign == "=" else ~literal


def _cell(size: int, row: int, column: int, words: str) -> int:
    if not (1 <= row <= size and 1 <= column <= size):
        raise ValueError(f"{words!r}: there is no such cell, rows and columns are 1..{size}")
    return (row - 1) * size + column - 1


def _in_formula(formula: CNF, words: Any) -> int:
    try:
        number = index(words)
    except TypeError:
        number = 0
    if not 0 < abs(number) <= formula.variables:
        known = f"a whole number from 1 to {formula.variables}, or the negative of one"
        raise ValueError(f"{words!r}: a literal is {known}")
    return 2 * number - 2 if number > 0 else -2 * number - 1


def _in_model(model: Modelled, words: Any) -> int:
    if hasattr(words, "positive") and hasattr(words, "number"):  # a literal of the modelling layer
        return model._plain(words.number, "literals") if words.positive else negation(model, words.number)
    variables: dict[Any, Variable] = {variable.name: variable for variable in model.variables}
    try:
        if words in variables and not variables[words].values:
            return variables[words].first
        name, value = words
        return variables[name].first + variables[name].values.index(value)
    except (TypeError, ValueError, KeyError):
        raise ValueError(f"{words!r}: write (name, value) of a choice, or the name of a boolean variable") from None


def listed(name: str, words: Iterable[Any]) -> Iterable[Any]:
    """The same words; ValueError, in one line, where they are one text: each letter of it would be a word."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"{name} = {words!r}: give a list, as in {name}=[{words!r}]")
    return words


def literals_over(instance: Instance, over: Iterable[Any]) -> NDArray[np.bool_]:
    """[literals] those of variables that somebody names; ValueError, in one line, for what is none.

    Of a grid they are cells ("r1c3"), of a formula numbers of variables, of a model variables or their names, of a
    problem literals.
    """
    mask = np.zeros(instance.structure.literals, bool)
    for name in listed("over", over):
        try:
            mask[_of_variable(instance, name)] = True
        except ValueError as error:
            raise ValueError(f"over: {error}") from None
    if isinstance(instance, Problem):
        for i, of in enumerate(instance.negated):
            mask[instance.literals + i] = mask[of]
    return mask


def _of_variable(instance: Instance, name: Any) -> Any:
    """The literals of a variable."""
    if isinstance(instance, Grid):
        found = _CELL.fullmatch(name) if isinstance(name, str) else None
        if not found:
            raise ValueError(f"{name!r} is no cell: write r1c1 to r{instance.size}c{instance.size}")
        first = _cell(instance.size, int(found[1]), int(found[2]), name) * instance.size
        return range(first, first + instance.size)
    if isinstance(instance, CNF):
        literal = _in_formula(instance, name)
        return [literal, literal ^ 1]
    if isinstance(instance, Modelled) and not (hasattr(name, "positive") and not hasattr(name, "name")):
        wanted = getattr(name, "name", name)
        for variable in instance.variables:
            if variable.name == wanted:
                return range(variable.first, variable.first + max(1, len(variable.values)))
        raise ValueError(f"{wanted!r} is no variable of the model")
    literal = literal_of(instance, name.literal if isinstance(name, Not) else name)
    plain = literal if literal >= 0 else ~literal
    if isinstance(instance, Problem) and plain >= instance.literals:
        return instance.negated[plain - instance.literals]
    return plain


def group_shown(instance: Instance, least: int, most: int, literals: Sequence[int], role: str | None = None) -> str:
    """A group for readers: `at most 2 of a, b, not c (shift)`."""
    size = len(literals)
    if least == most:
        how = f"exactly {least} of"
    elif most >= size:
        how = f"at least {least} of"
    elif least == 0:
        how = f"at most {most} of"
    else:
        how = f"{least} to {most} of"
    names = [shown(instance, literal) for literal in literals[:LISTED]]
    more = f", ... ({size} in all)" if size > LISTED else ""
    return f"{how} {', '.join(names) or 'nothing'}{more}" + (f" ({role})" if role else "")


def without_givens(instance: Instance) -> Instance:
    """The same problem with nothing given."""
    if isinstance(instance, Grid):
        return instance._of(instance.shape, np.zeros_like(instance.values))
    if isinstance(instance, CNF):
        return instance
    if isinstance(instance, Problem):
        _ = instance.structure  # the copy has it too
        blank = copy(instance)
        blank._given = np.zeros(0, np.int64)
        return blank
    raise TypeError(f"{instance!r} is no grid, formula, problem or model")


def chosen(instance: Instance, solution: Any) -> list[int]:
    """What a solution says, once for each cell or variable: literals and negations that are all true in it only."""
    true = true_literals(instance, solution)
    if not isinstance(instance, Problem):
        return true
    known = set(true)
    every = list(range(instance.literals))
    if isinstance(instance, Modelled):
        values = {v.first + i for v in instance.variables for i in range(len(v.values))}
        every = [literal for literal in every if literal in known or literal not in values]
    return [literal if literal in known else negation(instance, literal) for literal in every]
