"""The families of problems of all kinds: timetables, graphs to be coloured, and so on.

A family is one file of this folder, which is found by itself: a generator that has the file's name, `family(seed)` for
training, and `SEVERAL` and `FILES`, what more than one is called and what the names of their files begin with. The
generator takes a seed, then settings by name. They are the flags of its command in `dibs generate`, and its docstring
is the help; with their defaults it is a kind of instances of experiments. See examples/templates/generator.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import get_type_hints

import dibs.generate
from dibs.problem import CNF, Instance

FAMILY = b"\ndef family("


@dataclass(frozen=True)
class OwnFamily:
    """What a file of this folder says of its family."""

    name: str
    make: Callable[..., Instance]  # (seed, **settings)
    several: str  # "timetables"
    files: str  # "week-": the first is week-1.json

    @property
    def formulas(self) -> bool:
        """They are formulas in DIMACS form; otherwise problems in JSON."""
        return get_type_hints(self.make)["return"] is CNF


@cache
def families() -> dict[str, OwnFamily]:
    """All of them, by name. Other files of this folder are not imported: some bring Numba."""
    found = {}
    for one in iter_modules(dibs.generate.__path__):
        spec = find_spec(f"dibs.generate.{one.name}")
        if spec and spec.origin and FAMILY in Path(spec.origin).read_bytes():
            module = import_module(spec.name)
            found[one.name] = OwnFamily(one.name, getattr(module, one.name), module.SEVERAL, module.FILES)
    return found
