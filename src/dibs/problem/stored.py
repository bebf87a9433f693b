"""Reading a problem from JSON; `written.py` says what is in it."""

from __future__ import annotations

import json
from typing import Any

from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.modelled import Modelled, Variable
from dibs.problem.own import Bounds, Not, Problem
from dibs.problem.text import InputError, Source, check_keys, open_text
from dibs.problem.written import KINDS, VERSION

KEYS = ("dibs", "version", "literals", "names", "variables", *KINDS, "groups", "given", "decide")


def read_problem(source: Source, *, limits: InputLimits = DEFAULT) -> Problem:
    """A problem, or a model, from a JSON file that `save` wrote, plain or packed; "-" is standard input."""
    with open_text(source, limits=limits) as (name, lines):
        return from_json("".join(lines), name, limits)


def from_json(text: str, file: str, limits: InputLimits) -> Problem:
    """The problem of a text; raises InputError that names the file."""
    try:
        fields = json.loads(text, parse_constant=_refuse)
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
        raise InputError(str(error), file) from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


class _Fields:
    """What a JSON object says, checked on the way out."""

    def __init__(self, fields: dict[str, Any], limits: InputLimits) -> None:
        self.fields, self.limits = fields, limits
        self.names: list[Any] | range  # by number, from 0

    def problem(self) -> Problem:
        said = [key for key in ("literals", "names", "variables") if key in self.fields]
        if len(said) != 1:
            raise ValueError("one of literals, names and variables must be there")
        variables = self.variables() if said == ["variables"] else None
        self.names = self.named() if said == ["names"] else range(self.count(variables))
        if len(self.names) > self.limits.max_variables:
            raise ValueError(self.limits.excess("max_variables", "literals"))
        groups: dict[str, Any] = {
            kind: [self.group(g, f"{kind}[{i}]") for i, g in enumerate(self.listed(kind))] for kind in KINDS
        }
        groups["groups"] = [self.bounds(g, f"groups[{i}]") for i, g in enumerate(self.listed("groups"))]
        groups["given"] = self.group(self.listed("given"), "given")
        if "decide" in self.fields:
            groups["decide"] = [_whole(i, "decide") for i in self.listed("decide")]
        if variables is not None:
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
        return [self.literal(z, what) for z in members]

    def literal(self, signed: Any, what: str) -> Any:
        number = _whole(signed, what)
        if not 0 < abs(number) <= len(self.names):
            raise ValueError(f"{what}: literal {number} is out of range 1..{len(self.names)}")
        name = self.names[abs(number) - 1]
        return name if number > 0 else Not(name)

    def bounds(self, group: Any, what: str) -> Bounds:
        parts = _list(group, what)
        if not 3 <= len(parts) <= 5:
            raise ValueError(f"{what}: write [least, most, [literals]] or [least, most, [literals], role]")
        return Bounds(parts[0], parts[1], self.group(parts[2], what), *parts[3:])


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
