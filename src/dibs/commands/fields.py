"""The fields of option records as flags that may be left out: what is not given is for a policy to say."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from dibs.search.guidance import Guidance
from dibs.search.options import Options


@dataclass(frozen=True, kw_only=True)
class _Given:
    def as_dict(self) -> dict[str, Any]:
        """The fields that were given."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}


def _optional(kind: type) -> list[tuple[str, Any, Any]]:
    hints = get_type_hints(kind)
    return [(f.name, hints[f.name] | None, field(default=None, metadata=f.metadata)) for f in fields(kind)]


Given: Any = make_dataclass(
    "Given", _optional(Options) + _optional(Guidance), bases=(_Given,), frozen=True, kw_only=True
)

Given.__module__ = __name__

Flags = Annotated[Given, Parameter(name="*")]
