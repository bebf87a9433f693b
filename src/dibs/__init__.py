"""dibs: an exact constraint solver whose value ordering can be learned.

    import dibs
    outcome = dibs.solve(dibs.Sudoku.parse(text))

Names are loaded when they are first used, Numba when the first search starts and ONNX Runtime when a trained guide is:
this import takes no time.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dibs.contradiction import Why, why
    from dibs.explaining import Explanation, explain
    from dibs.guide import Asks, DiBS, Guide, Oracle, as_guide, load_guide
    from dibs.modelling import Model
    from dibs.problem import (
        CNF,
        Bounds,
        InputError,
        InputLimits,
        Instance,
        Latin,
        Not,
        Problem,
        Structure,
        Sudoku,
        read_instances,
        read_problem,
        save_problem,
    )
    from dibs.questions import Sample, Solutions, count_solutions, is_unique, sample, solutions
    from dibs.search import Options, Outcome, Plan, Status, WrongSolution
    from dibs.session import Session
    from dibs.solving import plan, solve, solve_many
    from dibs.training import train

__version__ = "0.2.0.dev0"

__all__ = [
    "CNF",
    "Asks",
    "Bounds",
    "DiBS",
    "Explanation",
    "Guide",
    "InputError",
    "InputLimits",
    "Instance",
    "Latin",
    "Model",
    "Not",
    "Options",
    "Oracle",
    "Outcome",
    "Plan",
    "Problem",
    "Sample",
    "Session",
    "Solutions",
    "Status",
    "Structure",
    "Sudoku",
    "Why",
    "WrongSolution",
    "as_guide",
    "count_solutions",
    "explain",
    "is_unique",
    "load_guide",
    "plan",
    "read_instances",
    "read_problem",
    "sample",
    "save_problem",
    "solutions",
    "solve",
    "solve_many",
    "train",
    "why",
]


# Another package, dibs-lib, has no dibs/__init__.py: installed beside this one, its files lie in the same folder.
if os.path.exists(os.path.join(os.path.dirname(__file__), "inference", "dibs.py")):
    import logging

    _told = (
        "dibs-lib is installed in the same folder: `import dibs` is the solver, dibs.inference and others are its own"
    )
    logging.getLogger("dibs").warning("dibs: %s (an environment for each keeps them apart)", _told)


def __getattr__(name: str) -> Any:
    """A public name, from the first of the parts that has it; from then on it is an ordinary one."""
    parts = ["problem", "guide", "search", "solving", "session", "questions", "contradiction", "modelling"]
    for part in [*parts, "explaining", "training"] if name in __all__ else ():
        module = import_module(f"dibs.{part}")
        if name in module.__all__:
            globals()[name] = found = getattr(module, name)
            return found
    raise AttributeError(f"module 'dibs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
