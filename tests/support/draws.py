"""Legal settings drawn at random from the option records themselves, as Python's arguments and as flags of the shell.

Nothing here knows options by name but those that are no plain choice or number (`SPECIAL`) and what limits a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any, get_args, get_type_hints

import numpy as np

from dibs.commands.fields import Given
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.policies import PolicyName

# Guides by name, threads that are there; the names of files are tested by themselves.
SPECIAL: dict[str, tuple[Any, ...]] = {"guide": ("auto", "relational", "relational-latin", "sat"), "threads": (1, 2)}
POLICIES = get_args(PolicyName)
COUNT = next(name for name in ("max_solutions", "count") if name in Options.__dataclass_fields__)


def every() -> list[tuple[str, Field[Any]]]:
    """All fields that a user can give, by name."""
    return [(f.name, f) for kind in (Options, Guidance) for f in fields(kind)]


def limits(name: str) -> bool:
    """Whether an option may end a search early."""
    return "nodes" in name or "seconds" in name


def values(f: Field[Any]) -> tuple[Any, ...]:
    """Some legal values: the ends of a range and what is near, all of few. Empty: a text with a meaning of its own."""
    about = f.metadata
    if f.name in SPECIAL:
        return SPECIAL[f.name]
    if about["choices"]:
        return tuple(about["choices"])
    if isinstance(f.default, bool):
        return (False, True)
    least, most = about["least"], about["most"]
    if least is None:
        return ()
    if about["whole"]:
        return tuple(value for value in (least, least + 1, least + 2, least + 300) if most is None or value <= 3)
    return (float(least), least + 0.5, float(most) if most is not None else least + 1000.0)


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Keywords of `dibs.solve`: up to five options, sometimes a policy."""
    able = [f for _, f in every() if values(f)]
    chosen = rng.choice(len(able), int(rng.integers(0, 6)), replace=False)
    found = {able[i].name: _one(rng, values(able[i])) for i in chosen.tolist()}
    return found | ({"policy": _one(rng, POLICIES)} if rng.random() < 0.3 else {})


def _one(rng: np.random.Generator, some: tuple[Any, ...]) -> Any:
    return some[int(rng.integers(len(some)))]


def flags(given: Mapping[str, Any]) -> Iterator[str]:
    """The same on a command line."""
    for name, value in given.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        else:
            yield from (f"--{flag}", str(value))


def on_the_command_line() -> set[str]:
    return set(get_type_hints(Given))
