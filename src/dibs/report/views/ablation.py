"""Variants as changes against the first row, with the published changes beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dibs.bench.summary import Summary
from dibs.report import table
from dibs.report.bootstrap import Change, change, changes
from dibs.report.figures import COLUMN, GREY, PENS, SMALL, legend
from dibs.report.published import ABLATION, ABLATION_BASE
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, number, percent, signed

PARTS = ("time", "time p95", "nodes", "backtracks")
CAPTION = (
    "means, but for the p95 of time; the first row in ms, nodes and backtracks, the others as changes against it; "
    "95 % interval of the change in mean nodes: bootstrap over puzzles, with all rows of a puzzle together"
)


def section(run: Run) -> Section:
    title = run.title()
    nodes = changes(run.matrix("nodes"))
    tables = _changes(title, run.summaries, nodes), table.figures(f"{title}: all figures", run.summaries)
    return Section("", title, (), tables, (_picture(run.rows, nodes),))


def _changes(title: str, summaries: Sequence[Summary], nodes: Sequence[Change]) -> Tabular:
    base = summaries[0]
    judged = any(s.p_s is not None for s in summaries)
    lines = []
    for s, drawn in zip(summaries, nodes, strict=True):
        first = s is base
        p_s = [MISSING if s.p_s is None else f"{s.p_s:.4f}"] * judged
        here: Cell = _absolute(s) if first else _against(s, base)
        interval = MISSING if first else f"{signed(100 * drawn.low)} to {signed(100 * drawn.high)} %"
        lines.append(Line((s.row, here, interval, _published(s.row, first), *p_s, str(s.limits))))
    names = Column("variant"), Column("here", PARTS), Column("nodes, 95 %"), Column("published", PARTS)
    columns = (*names, *[Column("p_s")] * judged, Column("LIMIT"))
    caption = CAPTION + (f"; {table.GUIDE_CAPTION}" if judged else "")
    return Tabular("changes", title, columns, tuple(lines), caption, (*_noise(summaries), *table.notes(summaries)))


def _noise(summaries: Sequence[Summary]) -> tuple[str, ...]:
    """A row with the options of the first is the same search: what its time changes by is no effect."""
    base = summaries[0]
    same = [s.row for s in summaries[1:] if s.options == base.options and s.timed]
    return tuple(f"{row} is the same search as {base.row}: its times differ by noise only." for row in same)


def _absolute(s: Summary) -> tuple[str, ...]:
    times = [s.milliseconds.mean, s.milliseconds.p95] if s.timed else [None, None]
    return tuple(number(value) for value in (*times, s.nodes.mean, s.backtracks.mean))


def _against(s: Summary, base: Summary) -> tuple[str, ...]:
    known = s.timed and base.timed
    pairs = [
        (s.milliseconds.mean, base.milliseconds.mean),
        (s.milliseconds.p95, base.milliseconds.p95),
        (s.nodes.mean, base.nodes.mean),
        (s.backtracks.mean, base.backtracks.mean),
    ]
    found = [percent(change(*pair)) for pair in pairs]
    return tuple(found if known else [MISSING, MISSING, *found[2:]])


def _published(row: str, first: bool) -> Cell:
    if first:
        return tuple(number(value) for value in ABLATION_BASE)
    return tuple(percent(value / 100, 2) for value in ABLATION[row]) if row in ABLATION else MISSING


def _picture(rows: Sequence[str], nodes: Sequence[Change]) -> Picture:
    """A point with its interval for each variant, from above."""
    shown = [(row, one) for row, one in zip(rows[1:], nodes[1:], strict=True) if one.value == one.value]
    paper = [(at, ABLATION[row].nodes) for at, (row, _) in enumerate(shown) if row in ABLATION]
    most = 1.15 * max([50.0, *(100 * one.value for _, one in shown), *(value for _, value in paper)])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=1)
        places = range(len(shown))
        values = [100 * one.value for _, one in shown]
        errors = [[100 * (one.value - one.low) for _, one in shown], [100 * (one.high - one.value) for _, one in shown]]
        # A resampled interval can miss its own estimate by rounding; an error bar cannot.
        errors = [[max(0.0, error) for error in side] for side in errors]
        axes.errorbar(
            values, places, xerr=errors, fmt="o", color=PENS[1].color, markersize=4, linewidth=1, label="here"
        )
        if paper:
            axes.plot(
                [value for _, value in paper], [at for at, _ in paper], "D", markersize=5.5, markerfacecolor="none",
                markeredgecolor=PENS[2].color, markeredgewidth=1, label="published", zorder=3,
            )  # fmt: skip
        axes.set_yticks(places, [row for row, _ in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(-112, most)
        axes.set_xlabel("change in mean nodes, %")
        axes.tick_params(axis="y", length=0, labelsize=SMALL)
        axes.grid(axis="y", color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
        legend(figure, loc="outside upper right", ncols=2, handlelength=1.6, columnspacing=1.2)

    words = (
        f"Change in mean nodes against {rows[0]}, with 95 % intervals of the paired bootstrap; an interval may leave "
        "the figure."
    )
    return Picture("nodes", "Ablation", words, (COLUMN, 0.9 + 0.19 * max(4, len(shown))), draw)
