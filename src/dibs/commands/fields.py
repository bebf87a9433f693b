"""The fields of option records as flags that may be left out: what is not given is for a policy to say."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from dibs.search.guidance import Guidance
from dibs.search.options import ALIASES, Options


@dataclass(frozen=True, kw_only=True)
class _Given:
    def as_dict(self) -> dict[str, Any]:
        """The fields that were given."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}


_SHORT = {name: short for short, name in ALIASES.items()}


def _optional(kind: type) -> list[tuple[str, Any, Any]]:
    """The fields as flags; a limit also has its short name."""
    hints = get_type_hints(kind)
    found = []
    for f in fields(kind):
        flag: Any = hints[f.name] | None
        if f.name in _SHORT:
            names = "--" + f.name.replace("_", "-"), "--" + _SHORT[f.name]
            flag = Annotated[flag, Parameter(name=names)]
        found.append((f.name, flag, field(default=None, metadata=f.metadata)))
    return found


Given: Any = make_dataclass(
    "Given", _optional(Options) + _optional(Guidance), bases=(_Given,), frozen=True, kw_only=True
)

Given.__module__ = __name__

Flags = Annotated[Given, Parameter(name="*")]
