"""Fields of frozen option records: each has its range and its help, and a value out of range says the range."""

from __future__ import annotations

from dataclasses import field, fields
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
    """Raise ValueError, in one line, for the first field of a record that is out of its range. None is no number."""
    for f in fields(record):
        value, choices, least = getattr(record, f.name), f.metadata["choices"], f.metadata["least"]
        if choices and value not in choices:
            raise ValueError(f"{f.name} = {value!r}: choose one of {', '.join(choices)}")
        if least is not None and not (value is None and f.default is None):
            _check_number(f.name, value, least, f.metadata["most"], f.metadata["whole"])


def _check_number(name: str, value: Any, least: float, most: float | None, whole: bool) -> None:
    fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not fits or not least <= value < float("inf") or (most is not None and value > most):
        kind = "whole number" if whole else "number"
        span = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ValueError(f"{name} = {value!r}: it must be a {kind}{span}")
