"""Fields of frozen option records: each has its range and its help, and a value out of range says the range."""

from __future__ import annotations

from dataclasses import field, fields
from fractions import Fraction
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
    for f in fields(record):
        value, choices, least = getattr(record, f.name), f.metadata["choices"], f.metadata["least"]
        if choices and value not in choices:
            raise ValueError(f"{f.name} = {value!r}: choose one of {', '.join(choices)}")
        if least is not None and not (value is None and f.default is None):
            number = checked_number(f.name, value, least, f.metadata["most"], f.metadata["whole"])
            object.__setattr__(record, f.name, number)


def checked_number(name: str, value: Any, least: float, most: float | None, whole: bool) -> int | float:
    """A number as Python's own; ValueError, in one line, where it is none or out of its range."""
    highest = most if most is not None or whole else float_info.max  # a whole number has no upper end
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
