"""Fields of frozen option records: each has its range and its help, and a value out of range says the range."""

from __future__ import annotations

from dataclasses import field, fields
from fractions import Fraction
from functools import cache
from numbers import Integral, Real
from sys import float_info
from typing import Any, get_args


def option(
    default: Any,
    help: str,
    choices: Any = None,
    least: float | None = None,
    most: float | None = None,
    whole: bool = True,
) -> Any:
    """A dataclass field: one of a Literal's `choices`, or a number (`whole` or not) from `least` to `most`."""
    ranges = {"choices": get_args(choices), "least": least, "most": most, "whole": whole}
    return field(default=default, metadata={"help": help, **ranges})


def check(record: Any) -> None:
    """Raise ValueError, in one line, for the first field of a record that is out of its range. None is no number.

    Numbers of any kind, NumPy's too, become Python's.
    """
    values = record.__dict__
    for name, default, choices, least, most, whole in _ranges(record.__class__):
        value = values[name]
        if choices and value not in choices:
            raise ValueError(f"{name} = {value!r}: choose one of {', '.join(choices)}")
        if value is default:  # nearly always
            continue
        if least is not None and not (value is None and default is None):
            number = checked_number(name, value, least, most, whole)
            if number is not value:
                object.__setattr__(record, name, number)


@cache
def _ranges(kind: Any) -> list[tuple[Any, ...]]:
    """Name, default, choices, least, most and whole of the fields of a record."""
    keys = "choices", "least", "most", "whole"
    return [(f.name, f.default, *(f.metadata[key] for key in keys)) for f in fields(kind)]


def checked_number(name: str, value: Any, least: float, most: float | None, whole: bool) -> int | float:
    """A number as Python's own; ValueError, in one line, where it is none or out of its range."""
    highest = most if most is not None or whole else float_info.max  # a whole number has no upper end
    if type(value) is (int if whole else float) and least <= value and (highest is None or value <= highest):
        return value  # nearly always
    right = isinstance(value, Integral if whole else Real) and not isinstance(value, bool | Fraction)
    number: int | float = 0
    if right:
        number = int(value) if isinstance(value, Integral) else float(value)
    if not right or not least <= number or (highest is not None and number > highest):
        kind = "whole number" if whole else "number"
        span = f", {least} or more" if most is None and not number > least else f" from {least} to {highest}"
        shown = repr(value)
        raise ValueError(f"{name} = {shown if len(shown) < 40 else shown[:36] + '...'}: it must be a {kind}{span}")
    return number
