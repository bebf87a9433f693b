"""The exact search: options in, outcomes out."""

from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, WrongSolution
from dibs.search.solve import count_solutions, is_unique, solve, solve_many

__all__ = ["Options", "Outcome", "Status", "WrongSolution", "count_solutions", "is_unique", "solve", "solve_many"]
