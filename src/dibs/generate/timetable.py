"""A school's week: which teacher each class has in each hour, where a part of the plan is fixed.

Every class has a teacher in every hour, each of its teachers as often as was agreed; a teacher has one class at a time,
and some are away. A plan is hidden in it, so it can be completed, in one way or in many.
"""

from __future__ import annotations

import numpy as np

from dibs.dtypes import Bools, Ints
from dibs.problem.own import Bounds, Problem

SEVERAL, FILES = "timetables", "week-"


def timetable(
    seed: int, *, classes: int = 40, teachers: int = 40, hours: int = 40, fixed: float = 0.46, away: float = 0.0
) -> Problem:
    """Timetables of a school, a part of which is fixed, as problems in JSON.

    Each can be completed. One goes to standard output or to the file
    --output; more of them to the folder --output. Number i is the one of seed
    SEED + i - 1. `dibs train dibs.generate.timetable:family` learns from such
    instances.

    For example:
      dibs generate timetable 20 --classes 36 --teachers 36 --hours 36 --output weeks

    Args:
        seed: which instance.
        classes: classes of the school
        teachers: its teachers, as many as classes or more
        hours: hours of the week
        fixed: share of the plan that is given
        away: share of a teacher's free hours in which they are away

    Returns:
        A problem. Its literals are (class, hour, teacher of the class who is there).
    """
    if classes < 2 or hours < 2 or teachers < classes:
        raise ValueError(
            f"classes = {classes}, teachers = {teachers}, hours = {hours}: 2 classes and hours or more, and a teacher "
            "for each class"
        )
    for name, share in (("fixed", fixed), ("away", away)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} = {share}: a share from 0 to 1")
    rng = np.random.default_rng((seed, classes, teachers, hours))
    plan = np.stack([rng.permutation(teachers)[:classes] for _ in range(hours)], axis=1)
    there = rng.random((teachers, hours)) >= away
    there[plan, np.arange(hours)] = True
    given = np.zeros(classes * hours, bool)
    given[rng.permutation(classes * hours)[: round(fixed * classes * hours)]] = True
    return planned(plan, there, given.reshape(classes, hours))


def planned(plan: Ints, there: Bools, given: Bools) -> Problem:
    """A week from a `plan` [classes, hours] of teachers who are `there` [teachers, hours]; a part of it is `given`."""
    classes, hours = plan.shape
    often = np.zeros((classes, len(there)), np.int64)
    np.add.at(often, (np.arange(classes)[:, None], plan), 1)
    possible = (often[:, None] > 0) & there.T[None]  # [classes, hours, teachers]
    number = np.cumsum(possible).reshape(possible.shape) - 1
    hour = [(1, 1, number[c, h][possible[c, h]], "hour") for c in range(classes) for h in range(hours)]
    lessons = [
        (often[c, t], often[c, t], number[c, :, t][possible[c, :, t]], "lessons") for c, t in np.argwhere(often > 0)
    ]
    teacher = [(0, 1, number[:, h, t][possible[:, h, t]], "teacher") for t, h in np.argwhere(there)]
    groups = [
        Bounds(int(least), int(most), literals.tolist(), role)
        for least, most, literals, role in [*hour, *lessons, *teacher]
        if len(literals) > most or least > 0
    ]
    c, h = np.nonzero(given)
    return Problem(int(possible.sum()), groups=groups, given=number[c, h, plan[c, h]].tolist())


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.timetable:family` learns: schools of all sizes, from easy to hard."""
    rng = np.random.default_rng((seed, 1))
    size, fixed = int(rng.integers(12, 37)), float(rng.uniform(0.42, 0.5))
    return timetable(seed, classes=size, teachers=size, hours=size, fixed=fixed)
