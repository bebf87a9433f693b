"""The exact search: options in, outcomes out. The calls that most users need are in `dibs.solving`."""

from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, WrongSolution
from dibs.search.plan import Plan

__all__ = ["Options", "Outcome", "Plan", "Status", "WrongSolution"]
