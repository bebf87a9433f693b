"""What policy `auto` does with formulas: a short nogood search, then CaDiCaL where python-sat is installed.

Most formulas are easy: the nogood search ends before CaDiCaL would be loaded. On others both take about as many
conflicts, and CaDiCaL is quicker at each (benchmarks/formulas.py). Where the two differ by more it is by luck.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

import numpy as np

from dibs.problem.structure import Structure
from dibs.search.external.registry import ENGINES

ENGINE = "cadical195"
NODES = 4_000  # of the nogood search before CaDiCaL
GUIDED_NODES = 1_000  # where CaDiCaL has a guide's phases: it is worth more than what the nogood search would find
PARITY_NODES = 300  # and where CaDiCaL has its own ways
DISTINCT = 0.95  # sets of variables over clauses, at least, in a random formula
PARITY = 0.5  # the same, at most, of parities: three variables have four clauses


def engine_after(explicit: Iterable[str], takes: Iterable[str]) -> tuple[str | None, str]:
    """The engine that takes over from the nogood search, and why; None where there is none.

    `explicit`: the fields that a user gave; `takes`: those that engines know.
    """
    if other := next((name for name in explicit if name not in takes), None):
        return None, f"nogoods to the end: {other} is not for CaDiCaL"
    if find_spec("pysat") is None:
        extra = ENGINES[ENGINE].extra
        return None, f"nogoods to the end: CaDiCaL needs {ENGINES[ENGINE].needs}, pip install 'dibs[{extra}]'"
    return ENGINE, "a formula that is not easy is for CaDiCaL"


def random_like(structure: Structure) -> bool:
    """Whether it looks like random 3-SAT, all that the guide `sat` has learned from.

    All clauses have three literals, and hardly any two of them the same variables.
    """
    sizes = np.diff(structure.start)[structure.decisions :]
    return bool(len(sizes) and (sizes == 3).all() and _distinct(structure) >= DISTINCT)


def parity_like(structure: Structure) -> bool:
    """Whether most clauses have the same variables as others: an odd or even number of them is true."""
    return _distinct(structure) <= PARITY


def _distinct(structure: Structure) -> float:
    """Sets of variables over clauses, of those with three literals or more; 1 if there are none."""
    start = structure.start[structure.decisions :]
    code = np.random.default_rng(0).integers(2**62, size=structure.decisions)
    sums = np.add.reduceat(np.append(code[structure.member // 2], 0), start[:-1])
    long = sums[np.diff(start) >= 3]
    return len(np.unique(long)) / len(long) if len(long) else 1.0
