"""The exact search: options in, outcomes out."""

from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, WrongSolution
from dibs.search.plan import Plan
from dibs.search.solve import count_solutions, is_unique, plan, solve, solve_many

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
