"""The engines by name: which file adapts them, what they need, what they can do."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from dibs.search.external.options import EngineOptions
from dibs.problem.text import InputError
from dibs.search.guidance import Guidance

REFUSED_OF_GUIDES = ("alpha", "steps")  # of the paper's score at one cell; engines read probabilities


class Engine(NamedTuple):
    """An adapter is a module with `run(task) -> Found` (see `task.py`)."""

    module: str
    needs: str  # the package it imports
    extra: str  # the extra of dibs that brings it
    takes: str  # what a guide gives it, after one ask about the root; "": it takes nothing
    clauses: bool = True  # whether it searches clauses; if so, it can write a DRAT proof


ENGINES = {
    "glucose4": Engine("dibs.search.external.glucose", "python-sat", "sat", "phases"),
    "cadical195": Engine("dibs.search.external.cadical", "python-sat", "sat", "phases"),
    "kissat": Engine("dibs.search.external.kissat", "passagemath-kissat", "kissat", ""),
    "cp-sat": Engine("dibs.search.external.cpsat", "ortools", "cp", "hints", clauses=False),
}


def find(name: str) -> Engine:
    if name not in ENGINES:
        raise ValueError(f"engine = {name!r}: choose one of {', '.join(['own', *ENGINES])}")
    return ENGINES[name]


def adapter(name: str) -> Any:
    """The module of an engine; one line names the extra where its package is not installed."""
    engine = find(name)
    try:
        return import_module(engine.module)
    except ImportError as error:
        if (error.name or "").startswith("dibs"):
            raise
        raise InputError(f"engine {name} needs {engine.needs}: pip install 'dibs[{engine.extra}]'") from None


def chosen_fields(name: str, given: Mapping[str, Any]) -> tuple[EngineOptions, Guidance]:
    """The records that a user's settings make for an engine that is not dibs' own; ValueError where they make no sense.

    Whether the engine is installed is `adapter`'s to say.
    """
    find(name)
    own = [key for key in given if key not in (*EngineOptions.__dataclass_fields__, *Guidance.__dataclass_fields__)]
    for key in (*own, *(key for key in REFUSED_OF_GUIDES if key in given)):
        if (key, given[key]) != ("count", 1):
            raise ValueError(f"{key} = {given[key]!r} is for dibs' own search, not for engine {name}")
    guidance = Guidance(**{key: given[key] for key in Guidance.__dataclass_fields__ if key in given})
    if guidance.guide is not None:
        check_guide(name)
    options = EngineOptions(**{key: given[key] for key in EngineOptions.__dataclass_fields__ if key in given})
    return options, guidance


def check_guide(name: str) -> None:
    """Raise ValueError where the engine has no use for a guide."""
    if name != "own" and not find(name).takes:
        able = ", ".join(other for other, engine in ENGINES.items() if engine.takes)
        raise ValueError(f"engine {name} takes no guide: use own, {able}")


def check_proofs(name: str) -> None:
    """Raise ValueError where the engine writes no proofs."""
    if name == "own" or not find(name).clauses:
        able = ", ".join(other for other, engine in ENGINES.items() if engine.clauses)
        raise ValueError(f"engine {name} writes no proofs: use {able}")
