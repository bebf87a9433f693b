"""CP-SAT of OR-Tools: groups become its own constraints, and it takes hints. One worker, so that runs repeat."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from dibs.clock import in_time
from dibs.problem.structure import Need
from dibs.search.external.task import Found, Task
from dibs.search.outcome import Status

PATIENCE = 0.05  # seconds between two looks at `stopped`
LOOK = 4096  # variables between two looks at the clock
STATUS = {
    cp_model.OPTIMAL: Status.SAT,
    cp_model.FEASIBLE: Status.SAT,
    cp_model.INFEASIBLE: Status.UNSAT,
    cp_model.UNKNOWN: Status.LIMIT,
}


def run(task: Task) -> Found:
    model = cp_model.CpModel()
    variables: list[Any] = []
    for z in range(int(np.abs(task.formula.signed).max(initial=0))):
        if z % LOOK == 0:
            in_time(lambda: task.left() <= 0)
        variables.append(model.new_bool_var(""))
    literals = [variables[z - 1] if z > 0 else ~variables[-z - 1] for z in task.formula.signed.tolist()]
    _constrain(model, literals, task)
    for z in [] if task.wishes is None else task.formula.literals(task.wishes):
        model.add_hint(variables[abs(z) - 1], z > 0)
    if task.left() <= 0 or task.stopped():
        return Found(Status.LIMIT, None, 0, 0)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False
    if task.left() < float("inf"):
        solver.parameters.max_time_in_seconds = task.left()
    status = STATUS[_solve(solver, model, task)]
    model_of = [z if solver.boolean_value(x) else -z for z, x in enumerate(variables, 1)] if status == "SAT" else []
    return Found(
        status=status,
        true=task.formula.true(model_of) if status is Status.SAT else None,
        decisions=solver.num_branches,
        conflicts=solver.num_conflicts,
    )


def _constrain(model: Any, literals: list[Any], task: Task) -> None:
    structure, given = task.instance.structure, task.instance.given
    for group in range(structure.groups):
        in_time(lambda: task.left() <= 0)
        members = [literals[z] for z in structure.members(group).tolist()]
        if structure.beyond[group]:
            model.add_linear_constraint(sum(members), int(structure.least[group]), int(structure.most[group]))
        elif structure.exclusive[group] and structure.need[group] > Need.NONE:
            model.add_exactly_one(members)
        elif structure.exclusive[group]:
            model.add_at_most_one(members)
        elif structure.need[group] > Need.NONE:
            model.add_bool_or(members)
    for z in given.tolist():
        model.add_bool_or([literals[z]])


def _solve(solver: Any, model: Any, task: Task) -> Any:
    with ThreadPoolExecutor(1, thread_name_prefix="dibs") as pool:
        future = pool.submit(solver.solve, model)
        while not wait([future], PATIENCE).done:
            if task.stopped():
                solver.stop_search()
        return future.result()
