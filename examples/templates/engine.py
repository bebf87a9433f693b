"""TEMPLATE of an engine: copy it beside the others, add a line to their registry, and import its package at the top.

An engine gets a `Task` and returns what it `Found`. A solution is checked by its family, so a wrong one is an error and
never an answer; whether "no" is right is the engine's own responsibility. This one is a search of a few lines.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from dibs.search.external.task import Found, Task
from dibs.search.outcome import Status

Clauses = list[list[int]]


def run(task: Task) -> Found:
    """`task.formula` has the clauses, `task.instance` the groups; `task.wishes` is what a guide would choose."""
    counted: Counter[str] = Counter()
    status, true = Status.LIMIT, None
    with suppress(TimeoutError):
        model = _search(task, [list(clause) for clause in task.formula.clauses], counted)
        status = Status.UNSAT if model is None else Status.SAT
        true = None if model is None else task.formula.true(model)
    return Found(status, true, counted["decisions"], counted["conflicts"])


def _search(task: Task, clauses: Clauses, counted: Counter[str]) -> list[int] | None:
    """The true literals of a model, or None."""
    if task.left() <= 0 or task.stopped():  # looked at often: a limit is a limit, and somebody may want it to end
        raise TimeoutError
    if not clauses:
        return []
    shortest = min(clauses, key=len)
    counted["decisions"] += len(shortest) > 1
    for z in shortest:
        model = _search(task, [[y for y in clause if y != -z] for clause in clauses if z not in clause], counted)
        if model is not None:
            return [z, *model]
    counted["conflicts"] += 1
    return None
