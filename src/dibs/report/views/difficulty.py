"""Gains against the number of givens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dibs.dtypes import Floats
from dibs.report import table
from dibs.report.bootstrap import Change, changes
from dibs.report.figures import COLUMN, GREY, legend, pens
from dibs.report.published import DIFFICULTY, REVERSED
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, number

METRICS = ("nodes", "backtracks", "time")
LCV = (
    "Published gains are those of DiBS over the published code's LCV, which has the order of + FC + MCV here; "
    "40 to 60 % at 17 to 21 givens, 20 to 30 % at 25 to 29."
)


@dataclass(frozen=True)
class Gains:
    """Of every row against one of them, bucket by bucket: 0.4 is a cost that is 40 % less."""

    base: str
    givens: list[int]  # [buckets]
    by_row: dict[str, list[Change]]  # [buckets] each


def section(run: Run) -> Section:
    title = run.title()
    timed = {s.row: s.timed for s in run.summaries}
    found = {what: gains(run, what, run.rows[0]) for what in METRICS}
    tables = [_costs(run, title)]
    tables += [_table(title, what, found[what], run, timed) for what in METRICS]
    same = [row for row in run.rows[1:] if REVERSED.get(row) == run.rows[0]]
    tables += [_table(title, "nodes", gains(run, "nodes", row), run, timed, key="gain-nodes-mcv") for row in same]
    words = (
        f"A gain is 1 less the ratio of means against {run.rows[0]}, the first row: 40 % is a cost of 0.6 times. "
        "Every bucket has the same puzzles, with more of their solution revealed.",
    )
    return Section("", title, words, tuple(tables), (_picture(found, timed),))


def gains(run: Run, what: str, base: str) -> Gains:
    """In `what`: nodes, backtracks or time."""
    values, buckets = run.matrix(what), run.matrix("givens")[:, 0].astype(int)
    givens = np.unique(buckets).tolist()
    by_row: dict[str, list[Change]] = {row: [] for row in run.rows if row != base}
    for bucket in givens:
        drawn = changes(values[buckets == bucket], run.rows.index(base))
        for row, one in zip(run.rows, drawn, strict=True):
            if row != base:
                by_row[row].append(Change(-one.value, -one.high, -one.low))
    return Gains(base, givens, by_row)


def _costs(run: Run, title: str) -> Tabular:
    """Mean nodes of every row, and how many runs ended at a limit."""
    nodes, limits = run.matrix("nodes"), (run.records["status"] == "LIMIT").to_numpy()
    limited = limits.reshape(len(run.rows), run.done).T
    buckets = run.matrix("givens")[:, 0].astype(int)
    lines = []
    for bucket in np.unique(buckets).tolist():
        there = buckets == bucket
        means = [number(mean) for mean in nodes[there].mean(axis=0).tolist()]
        lines.append(Line((str(bucket), f"{there.sum():,}", *means, str(int(limited[there].sum())))))
    columns = (Column("givens"), Column("puzzles"), *map(Column, run.rows), Column("LIMIT"))
    return Tabular("nodes", f"{title}: mean nodes", columns, tuple(lines), "", _limited(run))


def _limited(run: Run) -> tuple[str, ...]:
    return (table.LOWER,) if any(s.limits for s in run.summaries) else ()


def _table(title: str, what: str, found: Gains, run: Run, timed: dict[str, bool], key: str = "") -> Tabular:
    lines = []
    for at, givens in enumerate(found.givens):
        cells: list[Cell] = [str(givens)]
        for row, some in found.by_row.items():
            known = what != "time" or (timed[row] and timed[found.base])
            cells.append(str(some[at]) if known else MISSING)
        lines.append(Line((*cells, str(_limits(run, givens)))))
    columns = (Column("givens"), *map(Column, found.by_row), Column("LIMIT"))
    caption = f"gain in mean {what} against {found.base}, with the 95 % interval of the paired bootstrap"
    notes = (LCV, *_limited(run))
    return Tabular(key or f"gain-{what}", f"{title}: gain in {what}", columns, tuple(lines), caption, notes)


def _limits(run: Run, givens: int) -> int:
    return int(((run.records["givens"] == givens) & (run.records["status"] == "LIMIT")).sum())


def _picture(found: dict[str, Gains], timed: dict[str, bool]) -> Picture:
    def draw(figure: Any) -> None:
        panels = dict(zip(METRICS, figure.subplots(3, 1, sharex=True), strict=True))
        for what, axes in panels.items():
            rows = {row: np.array(some).T for row, some in found[what].by_row.items()}
            if what == "time":
                rows = {row: some for row, some in rows.items() if timed[row] and timed[found[what].base]}
            _panel(axes, found[what].givens, rows)
            axes.set_ylabel(f"gain in {what}, %")
        panels["time"].set_xlabel("givens")
        handles, labels = panels["nodes"].get_legend_handles_labels()
        legend(figure, handles=handles, labels=labels, loc="outside upper left")

    words = (
        f"Gain over {found['nodes'].base} by number of givens, with 95 % intervals. The axis is that of the cost that "
        "is left, logarithmic: 90 is a tenth of the cost, -900 ten times the cost. Hatched: the ranges that the paper "
        "reports for DiBS."
    )
    return Picture("gain", "Gain against givens", words, (COLUMN, 4.8 + 0.13 * len(found["nodes"].by_row)), draw)


def _panel(axes: Any, givens: list[int], rows: dict[str, Floats]) -> None:
    """`rows`: [3, buckets] gains with their intervals."""
    left = [1 - some[0] for some in rows.values()]
    floor, ticks = scale(np.concatenate(left) if left else np.ones(1))
    for paper in DIFFICULTY:
        label = "published" if paper is DIFFICULTY[0] else None
        axes.fill_between(
            [paper.first - 0.4, paper.last + 0.4], 1 - paper.high / 100, 1 - paper.low / 100, facecolor="none",
            edgecolor=GREY, hatch="//////", linewidth=0.6, label=label,
        )  # fmt: skip
    axes.axhline(1, color=GREY, linewidth=0.8, zorder=1)
    for (row, some), pen in zip(rows.items(), pens(), strict=False):
        value, high, low = np.maximum(1 - some, floor)
        axes.plot(givens, value, label=row, clip_on=False, **pen)
        axes.fill_between(givens, low, high, color=pen["color"], alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.set_ylim(1.3 * max(ticks), floor)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_xticks(givens if len(givens) < 8 else givens[::2])


def scale(left: Floats) -> tuple[float, dict[float, str]]:
    """For shares of a cost that are left: the lowest place on a logarithmic axis, and its ticks as gains in %.

    A cost of which nothing is left has no place there; it goes to the lowest one, which then says 100.
    """
    some = left[np.isfinite(left) & (left > 0)]
    low = int(np.floor(np.log10(min(0.5, some.min() if len(some) else 1)) + 1e-9))
    most = max(1.0, some.max() if len(some) else 1)
    high = 0 if most <= 2 else int(np.ceil(np.log10(most) - 1e-9))
    ticks = {10.0**power: f"{100 * (1 - 10.0**power):,.12g}" for power in range(low, high + 1)}
    if high - low < 4:
        ticks[0.5] = "50"
    if 1 < most <= 2:
        ticks[2.0] = "-100" if high - low < 4 else ""  # no room for a text so close to 0
    if (left <= 0).any():
        low -= 1
        ticks[10.0**low] = "100"
    return 10.0**low, ticks
