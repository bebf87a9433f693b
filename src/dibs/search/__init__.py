"""The exact search: options in, outcomes out. Names are loaded when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dibs.search.options import Options
    from dibs.search.outcome import Outcome, Status, WrongSolution
    from dibs.search.plan import Plan
    from dibs.search.solve import count_solutions, is_unique, plan, solve, solve_many

_WHERE = {
    "Options": "options",
    "Outcome": "outcome",
    "Plan": "plan",
    "Status": "outcome",
    "WrongSolution": "outcome",
    "count_solutions": "solve",
    "is_unique": "solve",
    "plan": "solve",
    "solve": "solve",
    "solve_many": "solve",
}
__all__ = [
    "Options",
    "Outcome",
    "Plan",
    "Status",
    "WrongSolution",
    "count_solutions",
    "is_unique",
    "plan",
    "solve",
    "solve_many",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'dibs.search' has no attribute {name!r}")
    return getattr(import_module(f"dibs.search.{_WHERE[name]}"), name)
