"""The engines by name: which file adapts them, what they need, what they can do."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from dibs.problem.text import InputError


class Engine(NamedTuple):
    """An adapter is a module with `run(task) -> Found` (see `task.py`)."""

    module: str
    needs: str  # the package it imports
    extra: str  # the extra of dibs that brings it
    advice: tuple[str, ...]  # what it takes from a guide; the first by default
    clauses: bool = True  # whether it searches clauses; if so, it can write a DRAT proof


ENGINES = {
    "glucose4": Engine("dibs.engines.glucose", "python-sat", "sat", ("phases",)),
    "cadical195": Engine("dibs.engines.cadical", "python-sat", "sat", ("phases", "decisions")),
    "cp-sat": Engine("dibs.engines.cpsat", "ortools", "cp", ("hints",), clauses=False),
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


def check_advice(name: str, advice: str) -> str:
    """What the engine takes from a guide, `auto` resolved; raises ValueError where it has no such door."""
    doors = find(name).advice
    if advice == "auto":
        return doors[0]
    if advice not in doors:
        raise ValueError(f"advice = {advice!r}: engine {name} takes {' or '.join(doors)}")
    return advice


def check_proofs(name: str) -> None:
    """Raise ValueError where the engine writes no proofs."""
    if name == "own" or not find(name).clauses:
        able = " or ".join(other for other, engine in ENGINES.items() if engine.clauses)
        raise ValueError(f"engine {name} writes no proofs: use {able}")
