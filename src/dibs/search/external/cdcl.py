"""What the SAT solvers of python-sat have in common: load, search in slices, read model, counters and proof."""

from __future__ import annotations

from typing import Any

from pysat.solvers import Solver

from dibs.search.external.task import STATUS, Found, Task

# Conflicts between two looks at the clock and at Ctrl-C: python-sat holds Python's lock while it searches, and CaDiCaL
# cannot be interrupted. A fixed number keeps the counters independent of the machine.
SLICE = 2_000


def run(name: str, task: Task) -> Found:
    """Solve with one of python-sat's solvers, under the guide's phases if there is one."""
    with Solver(name=name, bootstrap_with=task.formula.clauses, with_proof=task.proof) as solver:
        if task.wishes is not None:
            solver.set_phases(task.formula.literals(task.wishes))
        answer = _search(task, solver)
        counters = solver.accum_stats()
        return Found(
            status=STATUS[answer],
            true=task.formula.true(solver.get_model()) if answer else None,
            decisions=counters["decisions"],
            conflicts=counters["conflicts"],
            proof=solver.get_proof() if task.proof and answer is False else None,
        )


def _search(task: Task, solver: Any) -> bool | None:
    """True, False, or None where time is up. What was learned in a slice serves the next one."""
    answer: bool | None = None
    while answer is None and task.left() > 0 and not task.stopped():
        solver.conf_budget(SLICE)
        answer = solver.solve_limited()
    return answer
