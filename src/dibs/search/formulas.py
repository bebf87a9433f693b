"""What policy `auto` does with formulas: a short nogood search, then CaDiCaL where python-sat is installed.

Most formulas are easy: the nogood search ends before CaDiCaL would be loaded. On others both take about as many
conflicts, and CaDiCaL is quicker at each (benchmarks/formulas.py). Where the two differ by more it is by luck: so the
nogood search goes on beside it (beside.py). Exact covers that are written as formulas are different: as groups
(problem/cover.py) they take our search a tenth of the time, so that it has longer before CaDiCaL begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec

import numpy as np

from dibs.problem.structure import Structure
from dibs.search.external.registry import ENGINES

ENGINE = "cadical195"
NODES = 1_000  # of the nogood search before CaDiCaL,
NODES_OF_COVERS = 100_000  # and where a formula is an exact cover
CLAUSES = 100  # for each group with bounds, at least, in a formula that CaDiCaL takes over
DISTINCT = 0.95  # sets of variables over clauses, at least, in a random formula


def engine_after(explicit: Iterable[str], takes: Iterable[str]) -> tuple[str | None, str]:
    """The engine that takes over from the nogood search, and why; None where there is none.

    `explicit`: the fields that a user gave; `takes`: those that engines know.
    """
    if other := next((name for name in explicit if name not in takes), None):
        return None, f"nogoods to the end: {other} is not for CaDiCaL"
    if not has_python_sat():
        extra = ENGINES[ENGINE].extra
        return None, f"nogoods to the end: CaDiCaL needs {ENGINES[ENGINE].needs}, pip install 'dibs[{extra}]'"
    return ENGINE, "a formula that is not easy is for CaDiCaL, and nogoods go on beside it"


def clausal(structure: Structure, solutions: int) -> bool:
    """Whether it is a formula for CaDiCaL, bounds or not: a group with bounds has a hundred clauses or more beside it.

    Where bounds are most of it, the nogood search, which counts, is for all of it. So it is for several `solutions`.
    """
    if structure.family == "cnf":
        return True
    groups = int(np.count_nonzero(structure.beyond)) if structure.family == "knf" else 0
    return solutions == 1 and 0 < groups * CLAUSES <= structure.groups - structure.decisions - groups


def random_like(structure: Structure) -> bool:
    """Whether it looks like random 3-SAT, all that the guide `sat` has learned from.

    All clauses have three literals, and hardly any two of them the same variables.
    """
    sizes = np.diff(structure.start)[structure.decisions :]
    if not len(sizes) or not (sizes == 3).all():
        return False
    variable = structure.member[structure.start[structure.decisions] :].reshape(-1, 3) // 2
    sets = np.sort(variable @ (structure.decisions**2, structure.decisions, 1))  # `np.unique` takes four times as long
    return 1 + int(np.count_nonzero(np.diff(sets))) >= DISTINCT * len(sets)


@cache
def has_python_sat() -> bool:
    """Whether python-sat is here: to look for it takes as long as an easy formula."""
    return find_spec("pysat") is not None
