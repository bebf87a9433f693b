"""What the SAT solvers of python-sat have in common: load, search in slices, read model, counters and proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import Any

from pysat.solvers import Solver

from dibs.search.external.task import STATUS, Found, Task
from dibs.search.outcome import Status

# Conflicts between two looks at the clock and at Ctrl-C: CaDiCaL cannot be interrupted, and python-sat holds Python's
# lock while it searches. A fixed number keeps the counters independent of the machine, but for the end of a search that
# has little time left. A large formula begins with few.
SLICE = 2_000
FIRST, LEAST = 64, 8
LARGE = 20_000  # clauses; also those between two looks while they are loaded
PATIENCE = 0.02  # seconds between two looks at what can be interrupted


def run(name: str, task: Task, *, interrupts: bool) -> Found:
    """Solve with one of python-sat's solvers, under the guide's phases if there is one.

    `interrupts`: it can be interrupted.
    """
    clauses = task.formula.clauses
    with Solver(name=name, with_proof=task.proof) as solver:
        for i in range(0, len(clauses), LARGE):
            if task.left() <= 0 or task.stopped():
                return Found(Status.LIMIT, None, 0, 0)
            solver.append_formula(clauses[i : i + LARGE])
        if task.wishes is not None:
            solver.set_phases(task.formula.literals(task.wishes))
        if interrupts:
            with _watched(task, solver):
                answer = _search(task, solver, expect_interrupt=True)
        else:
            answer = _search(task, solver)
        counters = solver.accum_stats()
        return Found(
            status=STATUS[answer],
            true=task.formula.true(solver.get_model()) if answer else None,
            decisions=counters["decisions"],
            conflicts=counters["conflicts"],
            proof=solver.get_proof() if task.proof and answer is False else None,
        )


def _search(task: Task, solver: Any, **how: bool) -> bool | None:
    """True, False, or None where time is up. What was learned in a slice serves the next one."""
    answer: bool | None = None
    size = SLICE if how or len(task.formula.clauses) <= LARGE else FIRST
    while answer is None and task.left() > 0 and not task.stopped():
        begin = perf_counter()
        solver.conf_budget(size)
        answer = solver.solve_limited(**how)
        if answer is None and task.between(size):
            break
        soon = task.left() < 4 * (perf_counter() - begin)
        size = max(size // 2, LEAST) if soon and not how else min(2 * size, SLICE)
    return answer


@contextmanager
def _watched(task: Task, solver: Any) -> Iterator[None]:
    """Interrupt a solver once time is up or somebody wants it to end."""
    over = Event()

    def watch() -> None:
        while not over.wait(max(0.0, min(PATIENCE, task.left()))):
            if task.left() <= 0 or task.stopped():
                solver.interrupt()
                return

    thread = Thread(target=watch, name="dibs: watches the clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
