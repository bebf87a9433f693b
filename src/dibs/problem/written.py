"""A `Problem` as JSON.

    {"dibs": "problem", "version": 1, "literals": 3, "groups": [[1, 1, [1, 2]], [0, 2, [1, -2, 3], "table"]]}

Literals are numbered from 1, a negative number is a negation; tuples in names and values are written as lists. A file
of a model has its `variables`, from which the literals follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

VERSION = 1
KINDS = ("exactly_one", "at_most_one", "at_least_one", "implied")


def to_json(problem: Any) -> str:
    """One group on each line, so that no line is long."""
    fields: dict[str, Any] = {"dibs": "problem", "version": VERSION, **problem.header()}
    for kind in KINDS:
        fields[kind] = [_signed(problem, group) for group in getattr(problem, kind)]
    fields["groups"] = [_written(problem, group) for group in problem.groups]
    fields["given"] = _signed(problem, problem.given.tolist())
    if not problem.decide_all:
        fields["decide"] = problem.decide
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in fields.items() if value != []]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(part) for part in value) + "\n]"


def plain(value: Any, name: Any) -> Any:
    """A name or a value as JSON has it; one that JSON cannot have raises, naming the variable."""
    if isinstance(value, tuple):
        return [plain(part, name) for part in value]
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if not isinstance(value, str | int | float | bool | None):
        raise ValueError(f"{name!r}: {value!r} cannot be written as JSON; use texts, numbers and tuples of them")
    return value


def _signed(problem: Any, group: Iterable[int]) -> list[int]:
    n = problem.literals
    return [z + 1 if z < n else -problem.negated[z - n] - 1 for z in group]


def _written(problem: Any, group: Any) -> list[Any]:
    written: list[Any] = [group.least, group.most, _signed(problem, group.literals)]
    if group.role or group.implied:
        written.append(group.role)
    return [*written, True] if group.implied else written
