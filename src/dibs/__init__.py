"""dibs: an exact constraint solver whose value ordering can be learned.

    import dibs
    outcome = dibs.solve(dibs.Sudoku.parse(text))

Numba is loaded when the first search starts and ONNX Runtime when a trained guide is, not by this import.
"""

from dibs.guide import Asks, DiBS, Guide, Oracle, load_guide
from dibs.problem import CNF, InputError, Instance, Latin, Problem, Structure, Sudoku, read_instances
from dibs.search import Options, Outcome, Status, WrongSolution, count_solutions, is_unique, solve, solve_many

__version__ = "0.1.0"

__all__ = [
    "CNF",
    "Asks",
    "DiBS",
    "Guide",
    "InputError",
    "Instance",
    "Latin",
    "Options",
    "Oracle",
    "Outcome",
    "Problem",
    "Status",
    "Structure",
    "Sudoku",
    "WrongSolution",
    "count_solutions",
    "is_unique",
    "load_guide",
    "read_instances",
    "solve",
    "solve_many",
]
