"""What a page types or pastes, read: a Sudoku with its conflicts and pencil marks, or a small formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from dibs.contradiction import why
from dibs.dtypes import Bools
from dibs.problem import CNF, InputError, Instance, Sudoku
from dibs.problem.grid import both_are, cell_name, repetitions
from dibs.problem.shape import Box
from dibs.problem.sudoku import check_box
from dibs.problem.symbols import symbol_of
from dibs.search.outcome import Status
from dibs.search.root import roots
from dibs.web import limits
from dibs.wording import plural


def instance_of(family: str, text: str, box: Box | None = None) -> Sudoku | CNF:
    """A puzzle that can be searched, within the limits of a page; InputError says what is wrong with the text."""
    if family == "cnf":
        return _formula(text)
    return _small(Sudoku.parse(text, _box(box)))


def read(family: str, text: str, box: Box | None = None) -> dict[str, Any]:
    """What the page shows of a text; equal givens in a unit are shown, not refused."""
    if family == "cnf":
        return _read_formula(_formula(text))
    grid = grid_of(text, box)
    clashes = conflicts(grid)
    values = grid.values.tolist()
    open_ = candidates(grid)
    givens = sum(value > 0 for value in values)
    n = grid.size
    words = f"{n}x{n}, {plural(givens, 'given')}"
    stuck = [cell for cell, left in enumerate(open_) if not values[cell] and not left]
    if clashes:
        words += f"; {clashes[0]['words']}"
    elif stuck:
        words += f"; {cell_name(stuck[0], n)} has no candidate left: there is no solution"
    return {
        "ok": True,
        "family": "sudoku",
        "size": n,
        "box": list(grid.box),
        "line": grid.line(),
        "values": values,
        "symbols": [symbol_of(value, n) for value in range(1, n + 1)],
        "conflicts": clashes,
        "stuck": bool(stuck) and not clashes,
        "candidates": open_,
        "givens": givens,
        "words": words,
    }


def grid_of(text: str, box: Box | None = None) -> Sudoku:
    """A grid in which equal givens may meet."""
    return _small(Sudoku.parse(text, _box(box), repeats=True))


def contradiction(grid: Sudoku) -> dict[str, Any]:
    """Givens that contradict each other, none of them too many, and by what they do."""
    found = why(grid, max_seconds=limits.WHY_SECONDS)
    if found.status is Status.SAT:
        return {"status": "SAT", "cells": [], "words": "there is a solution"}
    if found.status is Status.LIMIT:
        return {"status": "LIMIT", "cells": [], "words": "no answer in time"}
    cells = [part.literal // grid.size for part in found.parts if part.literal is not None]
    what = f"{plural(len(cells), 'given')} cannot be together"
    needed = "without any one of them there is a solution" if found.minimal else "perhaps not all of them are needed"
    return {
        "status": "UNSAT",
        "cells": cells,
        "constraints": list(found.constraints),
        "minimal": found.minimal,
        "words": f"{what}; {needed}",
    }


def conflicts(grid: Sudoku) -> list[dict[str, Any]]:
    """Each pair of equal givens in a unit, once: rows before columns before boxes."""
    of, values = grid.shape, grid.values
    return [
        {"cells": [first, cell], "value": int(values[cell]), "words": both_are(of, values, first, cell)}
        for first, cell in dict.fromkeys((first, cell) for first, cell, _ in repetitions(of, values))
    ]


def candidates(grid: Sudoku) -> list[list[int]]:
    """The values that no given excludes, for each cell; none for a given."""
    left = root(grid)[0].reshape(-1, grid.size)
    return [(np.flatnonzero(row) + 1).tolist() for row in left]


def root(instance: Sudoku | CNF) -> tuple[Bools, Bools]:
    """The literals that are open and true before any decision, [L] each: elimination, or unit propagation."""
    found = roots([instance], "naked" if isinstance(instance, CNF) else "eliminate")
    return found.open[0], found.true[0]


def shown(instance: Sudoku | CNF, open_: Bools, true: Bools) -> dict[str, Any]:
    """A state with literals [L] as the page draws it: values as `read` has them, and what is still possible."""
    width = 2 if isinstance(instance, CNF) else instance.size
    known, possible = true.reshape(-1, width), open_.reshape(-1, width)
    values = np.where(known.any(axis=1), known.argmax(axis=1) + 1, 0)
    return {
        "values": values.tolist(),
        "candidates": [(np.flatnonzero(row) + 1).tolist() for row in possible],
    }


def place(instance: Instance, domain: int) -> str:
    """How messages call a domain: r4c7, z12."""
    return cell_name(domain, instance.size) if isinstance(instance, Sudoku) else f"z{domain + 1}"


def symbol(instance: Instance, value: int) -> str:
    """How the value with this index in its domain is written: 5, true."""
    if isinstance(instance, Sudoku):
        return symbol_of(value + 1, instance.size)
    return "true" if value == 0 else "false"


def _box(box: Box | None) -> Box | None:
    if box is None:
        return None
    try:
        return check_box(box)
    except ValueError as error:
        raise InputError(str(error)) from None


def _small(grid: Sudoku) -> Sudoku:
    if grid.size > limits.LARGEST:
        n = limits.LARGEST
        raise InputError(f"{grid.size}x{grid.size} is too large for the page, which shows up to {n}x{n}")
    return grid


def _formula(text: str) -> CNF:
    formula = CNF.parse(text)
    if formula.variables > limits.VARIABLES or len(formula.clauses) > limits.CLAUSES:
        raise InputError(
            f"{formula.variables} variables and {len(formula.clauses)} clauses are too many for the page, "
            f"which shows up to {limits.VARIABLES} and {limits.CLAUSES:,}"
        )
    if not formula.variables:
        raise InputError("a formula without variables has nothing to show")
    return formula


def _read_formula(formula: CNF) -> dict[str, Any]:
    return {
        "ok": True,
        "family": "cnf",
        "variables": formula.variables,
        "clauses": [list(clause) for clause in formula.clauses],
        "line": formula.format(),
        "words": f"{formula.variables} variables, {plural(len(formula.clauses), 'clause')}",
    }
