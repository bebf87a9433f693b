"""The engines by name: which file adapts them, what they need, what they can do."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple

from dibs.problem.text import InputError


class External(NamedTuple):
    """An adapter is a module with `run(task) -> Found` (see `task.py`)."""

    module: str
    needs: str  # the package it imports
    extra: str  # the extra of dibs that brings it
    takes: str  # what a guide gives it, after one ask about the root; "": it takes nothing
    clauses: bool = True  # whether it searches clauses; if so, it can write a DRAT proof


EngineName = Literal["own", "glucose4", "cadical195", "kissat", "cp-sat"]

ENGINES = {
    "glucose4": External("dibs.search.external.glucose", "python-sat", "sat", "phases"),
    "cadical195": External("dibs.search.external.cadical", "python-sat", "sat", "phases"),
    "kissat": External("dibs.search.external.kissat", "passagemath-kissat", "kissat", "phases"),
    "cp-sat": External("dibs.search.external.cpsat", "ortools", "cp", "hints", clauses=False),
}


def find(name: str) -> External:
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


def installed(name: str) -> bool:
    """Whether the package of an engine is here."""
    try:
        adapter(name)
    except InputError:
        return False
    return True


def check_guide(name: str) -> None:
    """Raise ValueError where the engine has no use for a guide."""
    if name != "own" and not find(name).takes:
        able = ", ".join(other for other, engine in ENGINES.items() if engine.takes)
        raise ValueError(f"engine {name} takes no guide: use own, {able}")


def check_proofs(name: str) -> None:
    """Raise ValueError where the engine writes no proofs."""
    if name != "own" and not find(name).clauses:
        able = ", ".join(["own", *(other for other, engine in ENGINES.items() if engine.clauses)])
        raise ValueError(f"engine {name} writes no proofs: use {able}")
