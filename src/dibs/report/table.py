"""Summaries as a table: what each row of an experiment cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dibs.bench.summary import Interval, Spread, Summary
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, number

PARTS = ("mean", "median", "p95")
CAPTION = " / ".join(PARTS)
MODEL_CAPTION = f"{CAPTION}; the model's part of the time: mean"
GUIDE_CAPTION = "p_s: how often the guide puts the solution's value first on the way to it"
UNTIMED = "Time and calls are left out (-) where the guide was asked on the way to the solution only."
LOWER = "LIMIT counts runs that ended at a limit; they stay in every figure, and what they cost is a lower bound."

Published = Mapping[str, tuple[str, Mapping[str, tuple[float, float, float]]]]  # row: a name, and its figures


def figures(
    title: str, summaries: Sequence[Summary], *, key: str = "rows", published: Published | None = None
) -> Tabular:
    """Mean, median and p95 of time, nodes and backtracks; `published` figures go below the row that they are about.

    The columns of a model and of its quality are there if a row has them.
    """
    modelled = any(s.calls.most for s in summaries)
    judged = any(s.p_s is not None for s in summaries)
    lines = []
    for s in summaries:
        lines.append(Line(_cells(s, modelled, judged)))
        if published and s.row in published:
            name, paper = published[s.row]
            cells = [tuple(number(value) for value in paper[what]) for what in ("time", "nodes", "backtracks")]
            more = [MISSING] * (2 * modelled + judged)
            lines.append(Line((name, cells[0], cells[1], MISSING, cells[2], *more, MISSING), quiet=True))
    captions = [MODEL_CAPTION if modelled else CAPTION] + [GUIDE_CAPTION] * judged
    return Tabular(key, title, _columns(modelled, judged), tuple(lines), "; ".join(captions), notes(summaries))


def notes(summaries: Sequence[Summary]) -> tuple[str, ...]:
    """What must be known to read figures of these rows."""
    untimed = not all(s.timed for s in summaries)
    limited = any(s.limits for s in summaries)
    return (*[UNTIMED] * untimed, *[LOWER] * limited)


def _columns(modelled: bool, judged: bool) -> tuple[Column, ...]:
    names = ["solver", "time, ms", "nodes", "most", "backtracks"]
    names += ["calls", "model, ms"] * modelled + ["p_s"] * judged + ["LIMIT"]
    spread = ("time, ms", "nodes", "backtracks", "calls")
    return tuple(Column(name, PARTS if name in spread else ()) for name in names)


def _cells(s: Summary, modelled: bool, judged: bool) -> tuple[Cell, ...]:
    model = [_three(s.calls, s.timed), number(s.model_milliseconds if s.timed else None)] * modelled
    share = [MISSING if s.p_s is None else f"{s.p_s:.4f}"] * judged
    nodes = _three(s.nodes), number(s.nodes.most)
    return s.row, _three(s.milliseconds, s.timed), *nodes, _three(s.backtracks), *model, *share, str(s.limits)


def _three(spread: Spread, known: bool = True) -> Cell:
    return tuple(number(value) for value in (spread.mean, spread.median, spread.p95)) if known else MISSING


def intervals(title: str, summaries: Sequence[Summary]) -> Tabular:
    """Means and p95 with what other puzzles of the same kind might have given."""
    whats = ("time, ms", "nodes", "backtracks")
    columns = [Column(f"{what}: {which}") for what in whats for which in ("mean", "p95")]
    lines = []
    for s in summaries:
        cells: list[Cell] = [s.row]
        for spread, known in ((s.milliseconds, s.timed), (s.nodes, True), (s.backtracks, True)):
            cells.append(within(spread.mean, spread.mean_interval) if known else MISSING)
            cells.append(within(spread.p95, spread.p95_interval) if known else MISSING)
        lines.append(Line((*cells, str(s.limits))))
    caption = "95 % intervals of the bootstrap over puzzles"
    columns = [Column("solver"), *columns, Column("LIMIT")]
    return Tabular("intervals", title, tuple(columns), tuple(lines), caption, notes(summaries))


def within(value: float, interval: Interval) -> str:
    """`12.3 (11.9 to 12.8)`."""
    return f"{number(value)} ({number(interval.low)} to {number(interval.high)})"
