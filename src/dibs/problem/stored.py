"""A `Problem` as a JSON file, and back.

    {"dibs": "problem", "version": 1, "literals": 3, "groups": [[1, 1, [1, 2]], [0, 2, [1, -2, 3], "table"]]}

Literals are numbered from 1, a negative number is a negation; tuples in names and values are written as lists. A file
of a model has its `variables`, from which the literals follow, and that each has one of its values. Numbers for guides
are rows of `features`, [literal, {name: number}], and the sixth entry of a group.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.linear import repeated
from dibs.problem.modelled import Modelled, Variable
from dibs.problem.own import KINDS, Bounds, Not, Problem, checked_features
from dibs.problem.text import InputError, Source, check_keys, open_text
from dibs.writing import write

VERSION = 1
KEYS = ("dibs", "version", "literals", "names", "variables", *KINDS, "groups", "given", "decide", "features")


def read_problem(source: Source, *, limits: InputLimits = DEFAULT) -> Problem:
    """A problem from a JSON file that `save_problem` wrote.

    Args:
        source: a path, plain or packed; "-" is standard input.
        limits: how much of an input is taken.

    Returns:
        The problem.
    """
    with open_text(source, limits=limits) as (name, lines):
        return from_json("".join(lines), name, limits)


def save_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write a JSON file that `read_problem` and `dibs solve` take; it is there whole or not at all.

    Args:
        problem: what is kept.
        path: of the file.
    """
    write(path, to_json(problem).encode("utf-8"))


def to_json(problem: Problem) -> str:
    """One group on each line, so that no line is long."""
    fields: dict[str, Any] = {"dibs": "problem", "version": VERSION}
    if isinstance(problem, Modelled):
        fields["variables"] = [
            {"name": _plain(v.name, v.name), **({"values": [_plain(x, v.name) for x in v.values]} if v.values else {})}
            for v in problem.variables
        ]
    elif problem.names is None:
        fields["literals"] = problem.literals
    else:
        fields["names"] = [_plain(name, name) for name in problem.names]
    for kind in KINDS:
        fields[kind] = [_signed(problem, group) for group in getattr(problem, kind)]
    fields["groups"] = [_written(problem, group) for group in problem.groups]
    fields["given"] = _signed(problem, problem.given.tolist())
    if not problem.decide_all:
        fields["decide"] = problem.decide
    fields["features"] = [[literal + 1, numbers] for literal, numbers in sorted(problem.features.items())]
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in fields.items() if value != []]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(part) for part in value) + "\n]"


def _plain(value: Any, name: Any) -> Any:
    """A name or a value as JSON has it; one that JSON cannot have raises, naming the variable."""
    if isinstance(value, tuple):
        return [_plain(part, name) for part in value]
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if not isinstance(value, str | int | float | bool | None):
        raise ValueError(f"{name!r}: {value!r} cannot be written as JSON; use texts, numbers and tuples of them")
    return value


def _signed(problem: Problem, group: Iterable[int]) -> list[int]:
    n = problem.literals
    return [z + 1 if z < n else -problem.negated[z - n] - 1 for z in group]


def _written(problem: Problem, group: Bounds) -> list[Any]:
    written: list[Any] = [group.least, group.most, _signed(problem, group.literals)]
    further = [group.role, group.implied, group.features]
    while further and not further[-1]:
        further.pop()
    return written + further


def from_json(text: str, file: str, limits: InputLimits) -> Problem:
    """The problem of a text; raises InputError that names the file."""
    try:
        fields = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file, error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON that can be read: {error}", file) from None
    if not isinstance(fields, dict) or fields.get("dibs") != "problem":
        raise InputError('is no problem of dibs: {"dibs": "problem", "version": 1, ...}', file)
    if fields.get("version") != VERSION:
        raise InputError(f"is of version {fields.get('version')!r}; this dibs reads version {VERSION}", file)
    check_keys(fields, KEYS, file, "")
    try:
        return _Fields(fields, limits).problem()
    except (ValueError, TypeError) as error:
        raise InputError(str(error), file, _line(text, str(error))) from None


_BLANK = re.compile(r"[\s,]*")


def _line(text: str, message: str) -> int | None:
    """The line of the list that a message names, as in "groups[3]: ..."; None where it names none."""
    named = re.match(r"(\w+)\[(\d+)\]", message)
    if named is None:
        return None

    def value(at: int) -> tuple[Any, int]:
        return json.JSONDecoder().raw_decode(text, begin(at))

    def begin(at: int) -> int:
        return _BLANK.match(text, at).end()  # type: ignore[union-attr]

    key, at = value(text.index("{") + 1)
    while key != named[1]:
        at = value(text.index(":", at) + 1)[1]
        key, at = value(at)
    at = text.index("[", at) + 1
    for _ in range(int(named[2])):
        at = value(at)[1]
    return text.count("\n", 0, begin(at)) + 1


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


class _Fields:
    """What a JSON object says, checked on the way out."""

    def __init__(self, fields: dict[str, Any], limits: InputLimits) -> None:
        self.fields, self.limits = fields, limits
        self.names: list[Any] | range  # by number, from 0

    def problem(self) -> Problem:
        forms = [key for key in ("literals", "names", "variables") if key in self.fields]
        if len(forms) != 1:
            raise ValueError("one of literals, names and variables must be there")
        variables = self.variables() if forms == ["variables"] else None
        self.names = self.named() if forms == ["names"] else range(self.count(variables))
        if len(self.names) > self.limits.max_variables:
            raise ValueError(self.limits.excess("max_variables", "literals"))
        groups: dict[str, Any] = {
            kind: [self.group(g, f"{kind}[{i}]") for i, g in enumerate(self.listed(kind))] for kind in KINDS
        }
        groups["groups"] = [self.bounds(g, f"groups[{i}]") for i, g in enumerate(self.listed("groups"))]
        groups["given"] = self.group(self.listed("given"), "given")
        if "decide" in self.fields:
            groups["decide"] = [_whole(i, "decide") for i in self.listed("decide")]
        groups["features"] = self.features()
        if variables is not None:
            groups["groups"] += _one_value_each(variables, groups)
            return Modelled(variables, **groups)
        return Problem(self.names if isinstance(self.names, list) else len(self.names), **groups)

    def listed(self, key: str) -> list[Any]:
        return _list(self.fields.get(key, []), key)

    def named(self) -> list[Any]:
        return [_hashable(name, "names") for name in self.listed("names")]

    def count(self, variables: tuple[Variable, ...] | None) -> int:
        if variables is not None:
            return sum(max(1, len(v.values)) for v in variables)
        count = _whole(self.fields["literals"], "literals")
        if count < 1:
            raise ValueError("a problem needs at least one literal")
        return count

    def variables(self) -> tuple[Variable, ...]:
        found: dict[Any, Variable] = {}
        first = 0
        for i, record in enumerate(self.listed("variables")):
            what = f"variables[{i}]"
            if not isinstance(record, dict) or "name" not in record or not set(record) <= {"name", "values"}:
                raise ValueError(f'{what}: write {{"name": ..., "values": [...]}}')
            name = _hashable(record["name"], what)
            values = tuple(_hashable(value, repr(name)) for value in _list(record.get("values", []), repr(name)))
            if name in found:
                raise ValueError(f"{name!r}: there are two variables of this name")
            if len(set(values)) < len(values) or ("values" in record and not values):
                raise ValueError(f"{name!r}: values are to be different, and at least one")
            found[name] = Variable(name, values, first)
            first += max(1, len(values))
        if not found:
            raise ValueError("a model needs at least one variable")
        return tuple(found.values())

    def group(self, group: Any, what: str) -> list[Any]:
        members = _list(group, what)
        if len(members) > self.limits.max_clause:
            raise ValueError(f"{what}: " + self.limits.excess("max_clause", "literals in a group"))
        found = [self.literal(z, what) for z in members]
        if what != "given" and (twice := repeated(members)) is not None:
            raise ValueError(f"{what}: literal {twice} is there twice")
        return found

    def features(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, row in enumerate(self.listed("features")):
            what = f"features[{i}]"
            if not isinstance(row, list) or len(row) != 2 or not isinstance(row[1], dict):
                raise ValueError(f'{what}: write [literal, {{"cost": 3}}]')
            literal = self.literal(row[0], what)
            if isinstance(literal, Not):
                raise ValueError(f"{what}: a negation has no features: give them to the literal")
            if literal in found:
                raise ValueError(f"{what}: literal {row[0]} is there twice")
            found[literal] = checked_features(row[1], what)
        return found

    def literal(self, signed: Any, what: str) -> Any:
        number = _whole(signed, what)
        if not 0 < abs(number) <= len(self.names):
            raise ValueError(f"{what}: literal {number} is out of range 1..{len(self.names)}")
        name = self.names[abs(number) - 1]
        return name if number > 0 else Not(name)

    def bounds(self, group: Any, what: str) -> Bounds:
        parts = _list(group, what)
        if not 3 <= len(parts) <= 6:
            raise ValueError(f"{what}: write [least, most, [literals]] or [least, most, [literals], role]")
        return Bounds(parts[0], parts[1], self.group(parts[2], what), *parts[3:])


def _one_value_each(variables: Iterable[Variable], groups: Mapping[str, Any]) -> Iterator[Bounds]:
    """What a variable with values means, as far as no group of the file says it: such a file was written by hand."""
    exactly = [group.literals for group in groups["groups"] if group[:2] == (1, 1) and not group.implied]
    said = {frozenset(literals) for literals in (*exactly, *groups["exactly_one"])}
    for variable in variables:
        values = range(variable.first, variable.first + len(variable.values))
        if values and frozenset(values) not in said:
            yield Bounds(1, 1, values)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what}: expected a list")
    return value


def _whole(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{what}: {value!r} is not a whole number")
    return value


def _hashable(value: Any, what: str) -> Any:
    """Names and values: lists were tuples."""
    if isinstance(value, list):
        return tuple(_hashable(part, what) for part in value)
    if isinstance(value, dict):
        raise ValueError(f"{what}: an object is neither a name nor a value")
    return value
