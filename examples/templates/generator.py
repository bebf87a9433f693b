"""TEMPLATE of a generated family: copy it to `src/dibs/generate/`, and call the generator like the file.

The command `dibs generate generator`, its flags and its help are made from the generator, and so is the kind
`family = "generator"` of experiments. This one: people and tasks, each person has a task, some of them already.
"""

from __future__ import annotations

import numpy as np

from dibs.problem.own import Bounds, Problem

SEVERAL, FILES = "assignments", "team-"  # what more than one is called; the first file is team-1.json


def generator(seed: int, *, people: int = 20, fixed: float = 0.2) -> Problem:
    """Assignments of tasks, a part of which is fixed, as problems in JSON.

    Each can be completed. Files and seeds are as for timetables.

    For example:
      dibs generate generator 20 --people 30 --output teams

    Args:
        seed: which instance.
        people: how many people, and tasks
        fixed: share of the tasks that are taken

    Returns:
        A problem. Literal `people` * i + t: person i has the task t.
    """
    # What a user can get wrong is refused in one line, which names the setting.
    if people < 2 or not 0 <= fixed <= 1:
        raise ValueError(f"people = {people}, fixed = {fixed}: 2 people or more, and a share from 0 to 1")
    rng = np.random.default_rng((seed, people))
    task = rng.permutation(people)  # a solution is hidden in it
    literal = np.arange(people * people).reshape(people, people)
    groups = [Bounds(1, 1, row, "person") for row in literal.tolist()]
    groups += [Bounds(1, 1, column, "task") for column in literal.T.tolist()]
    known = rng.permutation(people)[: round(fixed * people)]
    return Problem(literal.size, groups=groups, given=literal[known, task[known]].tolist())


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.generator:family` learns: teams of all sizes."""
    return generator(seed, people=int(np.random.default_rng((seed, 1)).integers(10, 31)))
