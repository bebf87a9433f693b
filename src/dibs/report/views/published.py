"""Published sets, class by class: the share solved within a time and CPU time, beside what others have published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dibs.bench.kinds import InstanceKind
from dibs.report.published import SETS, Solved
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular
from dibs.report.views.large import Contest, Figure, KindTimes, disagreement, key, loading, measured, percentiles

WITHIN = (1, 10, 100)  # seconds, as far as the limit allows
CAPTION = "share solved within so many CPU seconds; CPU time of all searches, those at their limit included"
LOWER = (
    "LIMIT counts searches that ended at their limit (wall-clock): unsolved, and in every figure as far as they went."
)
CUT = 0.9  # CPU time of a search at a limit of the clock, which is a little less than that limit


def section(run: Run) -> Section:
    contest = Contest.of(run)
    every = list(measured(run, contest))
    words = (
        "CPU time is that of one row on one instance, from the instance to the checked answer, guide and an engine's "
        "own process included. All rows of an instance ran one after the other, each instance beginning with another "
        "row. Quiet lines are published figures, of other machines and one thread.",
        loading(contest, every),
        *disagreement(every),
    )
    tables = tuple(_table(contest, one, run.manifest["title"]) for one in (*every, *pooled(every)))
    return Section("", run.manifest["title"], words, tables, ())


def pooled(every: Sequence[KindTimes]) -> list[KindTimes]:
    """All classes of one order of a set together, where there are several: so are most published figures."""
    parts: dict[InstanceKind, list[KindTimes]] = defaultdict(list)
    for one in every:
        if one.kind.filled is not None:
            parts[replace(one.kind, filled=None)].append(one)
    return [_together(kind, some) for kind, some in parts.items() if len(some) > 1]


def _together(kind: InstanceKind, some: Sequence[KindTimes]) -> KindTimes:
    names = ("time", "search", "cpu", "counts", "limited", "status")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in some]) for name in names}
    return replace(some[0], kind=kind, **arrays)


def _table(contest: Contest, one: KindTimes, title: str) -> Tabular:
    figures = SETS.get(one.kind.label, ())
    limit = max(contest.limits) / 1e3
    mine = WITHIN if not limit else (*(most for most in WITHIN if most < limit), int(limit))
    within = sorted({*mine, *(figure.seconds for figure in figures)})
    lines = [Line(_cells(one, at, row, within)) for at, row in enumerate(contest.rows)]
    lines += [Line(_published(figure, within), quiet=True) for figure in figures]
    columns = [Column("solver"), *(Column(f"{seconds:,} s") for seconds in within)]
    columns += [Column("mean, s"), Column("p95, s"), Column("LIMIT")]
    notes = (LOWER,) * bool(one.limited.any())
    name = f"{title}: {len(one.time):,} of {one.kind.label}"
    return Tabular(key(one.kind), name, tuple(columns), tuple(lines), CAPTION, notes)


def _cells(one: KindTimes, at: int, row: str, within: Sequence[int]) -> tuple[Cell, ...]:
    seconds, limited = one.cpu[:, at], one.limited[:, at]
    shares = []
    for most in within:
        # What was given up earlier might have been solved by then: that is a lower bound.
        bound = "≥ " if (limited & (seconds < most * CUT)).any() else ""
        shares.append(bound + share(float((~limited & (seconds <= most)).mean())))
    mean = Figure(float(seconds.mean()), bool(limited.any()))
    return (row, *shares, str(mean), str(percentiles(seconds, limited)["p95"]), str(int(limited.sum())))


def _published(figure: Solved, within: Sequence[int]) -> tuple[Cell, ...]:
    shares = [share(figure.share) if most == figure.seconds else MISSING for most in within]
    return (f"{figure.solver}, published", *shares, MISSING, MISSING, MISSING)


def share(value: float) -> str:
    return f"{100 * value:.4g} %"
