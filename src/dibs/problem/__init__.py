"""Problems as literals and groups: Sudoku, Latin squares, CNF and your own; reading, checking, writing."""

from dibs.problem.cnf import CNF
from dibs.problem.latin import Latin
from dibs.problem.limits import InputLimits
from dibs.problem.own import Bounds, Not, Problem
from dibs.problem.reading import read_instances
from dibs.problem.stored import read_problem, save_problem
from dibs.problem.structure import Instance, Structure
from dibs.problem.sudoku import Sudoku
from dibs.problem.text import InputError

__all__ = [
    "CNF",
    "Bounds",
    "InputError",
    "InputLimits",
    "Instance",
    "Latin",
    "Not",
    "Problem",
    "Structure",
    "Sudoku",
    "read_instances",
    "read_problem",
    "save_problem",
]
