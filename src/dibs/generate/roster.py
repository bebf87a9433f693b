"""A month of nurses: who works which shift on which day, where a part of the plan is agreed already.

On each day a nurse has one shift or is off. Every shift has as many nurses as it needs, or more; nobody works more than
five days of any seven, more nights or more days than was agreed, or a shift too soon after the last. A plan is hidden
in it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dibs.problem.own import Bounds, Problem

SEVERAL, FILES = "rosters", "ward-"
EARLY, LATE, NIGHT, OFF = range(4)
WINDOW, MOST = 7, 5  # of so many days that follow one another, nobody works more
SOON = {LATE: (EARLY,), NIGHT: (EARLY, LATE)}  # on the day after


def roster(seed: int, *, nurses: int = 20, days: int = 28, fixed: float = 0.5) -> Problem:
    """Rosters of nurses, a part of which is agreed, as problems in JSON.

    Each can be completed. Every shift is covered; nobody works more than five
    days of seven, more than was agreed, or too soon. Files and seeds are as
    for timetables.

    For example:
      dibs generate roster 20 --nurses 12 --days 21 --output wards

    Args:
        seed: which instance.
        nurses: nurses of the ward, 4 or more
        days: days of the plan, 7 or more
        fixed: share of the plan that is given

    Returns:
        A problem. Literal 4 (`days` * nurse + day) + shift: early, late, night, off.
    """
    if nurses < 4 or days < WINDOW:
        raise ValueError(f"nurses = {nurses}, days = {days}: at least 4 nurses and {WINDOW} days")
    if not 0 <= fixed <= 1:
        raise ValueError(f"fixed = {fixed}: a share from 0 to 1")
    rng = np.random.default_rng((seed, nurses, days))
    plan = np.stack([_worked(days, rng) for _ in range(nurses)])
    literal = np.arange(4 * plan.size).reshape(nurses, days, 4)
    groups = [Bounds(1, 1, literals, "day") for literals in literal.reshape(-1, 4).tolist()]
    for shift in (EARLY, LATE, NIGHT):
        need = (plan == shift).sum(axis=0).tolist()
        groups += [Bounds(n, nurses, literal[:, day, shift].tolist(), "cover") for day, n in enumerate(need) if n]
    for own, line in zip(literal, plan, strict=True):
        groups.append(Bounds(0, int((line == NIGHT).sum()), own[:, NIGHT].tolist(), "nights"))
        groups.append(Bounds(0, int((line != OFF).sum()), own[:, :OFF].ravel().tolist(), "work"))
        for day in range(days - WINDOW + 1):
            groups.append(Bounds(0, MOST, own[day : day + WINDOW, :OFF].ravel().tolist(), "window"))
        for shift, soon in SOON.items():
            groups += [Bounds(0, 1, [int(a[shift]), *b[list(soon)].tolist()], "rest") for a, b in pairwise(own)]
    known = rng.permutation(plan.size)[: round(fixed * plan.size)]
    return Problem(4 * plan.size, groups=groups, given=(4 * known + plan.ravel()[known]).tolist())


def _worked(days: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[days] the shifts of one nurse, drawn day by day."""
    line = np.full(days, OFF)
    for day in range(days):
        if (line[max(0, day - WINDOW + 1) : day] != OFF).sum() < MOST and rng.random() < 0.9:
            soon = SOON.get(int(line[day - 1]), ()) if day else ()
            line[day] = rng.choice([shift for shift in (EARLY, LATE, NIGHT) if shift not in soon])
    return line


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.roster:family` learns: wards of all sizes, from easy to hard."""
    rng = np.random.default_rng((seed, 1))
    nurses, days = int(rng.integers(8, 21)), int(rng.integers(14, 29))
    return roster(seed, nurses=nurses, days=days, fixed=float(rng.uniform(0.4, 0.6)))
