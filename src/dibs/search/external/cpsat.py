"""CP-SAT of OR-Tools: groups become its own constraints, and it takes hints. One worker, so that runs repeat."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from dibs.clock import in_time
from dibs.problem.structure import Need
from dibs.search.external.task import Found, Task
from dibs.search.outcome import Status
from dibs.search.root import roots

PATIENCE = 0.05  # seconds between two looks at `stopped`
LOOK = 4096  # variables between two looks at the clock
STATUS = {
    cp_model.OPTIMAL: Status.SAT,
    cp_model.FEASIBLE: Status.SAT,
    cp_model.INFEASIBLE: Status.UNSAT,
    cp_model.UNKNOWN: Status.LIMIT,
}


def run(task: Task) -> Found:
    signed = task.formula.signed
    [open_], [true], [consistent] = roots([task.instance], "eliminate")  # only what is open becomes a variable
    model = cp_model.CpModel()
    if not consistent:
        model.add_bool_or([])
    variables: dict[int, Any] = {}
    for i, z in enumerate(np.unique(np.abs(signed[open_])).tolist()):
        if i % LOOK == 0:
            in_time(lambda: task.left() <= 0)
        variables[z] = model.new_bool_var("")
    _constrain(model, variables, task, open_, true)
    for z in [] if task.wishes is None else task.formula.literals(task.wishes):
        if abs(z) in variables:
            model.add_hint(variables[abs(z)], z > 0)
    if task.left() <= 0 or task.stopped():
        return Found(Status.LIMIT, None, 0, 0)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False
    if task.left() < float("inf"):
        solver.parameters.max_time_in_seconds = task.left()
    status = STATUS[_solve(solver, model, task)]
    found = None
    if status is Status.SAT:
        free = [z if solver.boolean_value(x) else -z for z, x in variables.items()]
        found = task.formula.true([*signed[true].tolist(), *free])
    return Found(status, found, decisions=solver.num_branches, conflicts=solver.num_conflicts)


def _constrain(
    model: Any, variables: dict[int, Any], task: Task, open_: NDArray[np.bool_], true: NDArray[np.bool_]
) -> None:
    """The groups, over what is open of them."""
    structure, signed = task.instance.structure, task.formula.signed
    for group in range(structure.groups):
        in_time(lambda: task.left() <= 0)
        members = structure.members(group)
        held = int(np.count_nonzero(true[members]))
        some = [variables[z] if z > 0 else ~variables[-z] for z in signed[members[open_[members]]].tolist()]
        if structure.beyond[group]:
            least, most = int(structure.least[group]) - held, int(structure.most[group]) - held
            model.add_linear_constraint(cp_model.LinearExpr.sum(some), least, most)
        elif held:  # no other is open where there is at most one
            continue
        elif structure.exclusive[group] and structure.need[group] > Need.NONE:
            model.add_exactly_one(some)
        elif structure.exclusive[group]:
            model.add_at_most_one(some)
        elif structure.need[group] > Need.NONE:
            model.add_bool_or(some)


def _solve(solver: Any, model: Any, task: Task) -> Any:
    with ThreadPoolExecutor(1, thread_name_prefix="dibs") as pool:
        future = pool.submit(solver.solve, model)
        while not wait([future], PATIENCE).done:
            if task.stopped():
                solver.stop_search()
        return future.result()
