"""Table 3 of the paper: random 3-SAT, size by size, the published figures below ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.bench.summary import Interval, mean_interval
from dibs.dtypes import Floats
from dibs.report import table
from dibs.report.bootstrap import change
from dibs.report.figures import COLUMN, MOST, legend, pens, thousands, whole
from dibs.report.published import GLUCOSE, TABLE3, Formulas
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, number

NODES = "nodes: values tried + 1, as the paper counts them"
PUBLISHED = (
    "Published figures stand below the row that they belong to: other formulas of the same kind, other hardware and "
    "other code; the nodes of Glucose4 are decisions, its backtracks conflicts."
)


@dataclass(frozen=True, eq=False)
class Size:
    """What was measured on the formulas with so many variables: [formulas, rows] each."""

    variables: int
    nodes: Floats  # tries + 1
    backtracks: Floats
    time: Floats
    calls: Floats
    solved: NDArray[np.bool_]
    limited: NDArray[np.bool_]


def section(run: Run) -> Section:
    every = list(sizes(run))
    title = run.title()
    tables = (_nodes(title, run, every), *(_size(run, one) for one in every))
    words = (
        "A node of the paper's Table 3 is a call of its recursive procedure: one for the root and one for every value "
        "tried. These tables have those; elsewhere a node is a state that is branched on. A backtrack is a value that "
        "was tried and failed, as everywhere.",
    )
    return Section("", title, words, tables, (_picture(run.rows, every),))


def sizes(run: Run) -> Iterator[Size]:
    solved, limited = (
        (run.records["status"] == status).to_numpy().reshape(len(run.rows), run.done).T for status in ("SAT", "LIMIT")
    )
    variables = run.matrix("variables")[:, 0].astype(int)
    nodes, backtracks, time, calls = (run.matrix(what) for what in ("tries", "backtracks", "time", "calls"))
    for size in np.unique(variables).tolist():
        there = variables == size
        counts = nodes[there] + 1, backtracks[there], time[there], calls[there]
        yield Size(size, *counts, solved[there], limited[there])


def _nodes(title: str, run: Run, every: list[Size]) -> Tabular:
    """Mean nodes of every row at every size, each with its interval."""
    lines = []
    for at, row in enumerate(run.rows):
        cells = [table.within(float(one.nodes[:, at].mean()), _interval(one.nodes[:, at])) for one in every]
        lines.append(Line((row, *cells, str(sum(int(one.limited[:, at].sum()) for one in every)))))
        paper = [TABLE3.get(one.variables, {}).get(row) for one in every]
        if any(paper):
            lines.append(Line(("published", *(number(one.nodes) if one else MISSING for one in paper), MISSING), True))
    columns = (Column("solver"), *(Column(f"n = {one.variables}") for one in every), Column("LIMIT"))
    caption = f"mean {NODES}; 95 % intervals of the bootstrap over formulas"
    return Tabular("nodes", f"{title}: mean nodes", columns, tuple(lines), caption, _notes(run, every))


def _size(run: Run, size: Size) -> Tabular:
    """All figures of one size. Times are over those of the first row."""
    paper = TABLE3.get(size.variables, {})
    modelled = bool(size.calls.any())
    lines = []
    for at, row in enumerate(run.rows):
        limits, timed = int(size.limited[:, at].sum()), run.summaries[at].timed
        cells: list[Cell] = [row, _three(size.nodes[:, at]), number(size.nodes[:, at].max())]
        cells += [_three(size.backtracks[:, at])] + [number(size.calls[:, at].mean() if timed else None)] * modelled
        cells += [_times(size, at) if timed and run.summaries[0].timed else MISSING]
        lines.append(Line((*cells, f"{100 * size.solved[:, at].mean():.4g} %", str(limits))))
        if row in paper:
            lines.append(_published("published", paper[row], paper.get(run.rows[0]), modelled))
    if GLUCOSE in paper:
        lines.append(_published(f"published: {GLUCOSE}", paper[GLUCOSE], paper.get(run.rows[0]), modelled))
    names = ["solver", "nodes", "most", "backtracks", *["calls"] * modelled, "time", "solved", "LIMIT"]
    parts = dict.fromkeys(("nodes", "backtracks", "time"), table.PARTS)
    title = f"{run.manifest['title']}: {len(size.nodes):,} formulas with {size.variables} variables"
    caption = f"{table.CAPTION}; {NODES}; time: over that of {run.rows[0]}"
    columns = tuple(Column(name, parts.get(name, ())) for name in names)
    return Tabular(f"n{size.variables}", title, columns, tuple(lines), caption, _notes(run, [size]))


def _published(name: str, paper: Formulas, base: Formulas | None, modelled: bool) -> Line:
    nodes: Cell = (number(paper.nodes), MISSING, number(paper.nodes_p95))
    backtracks: Cell = (number(paper.backtracks), MISSING, number(paper.backtracks_p95))
    time: Cell = (MISSING, MISSING, number(paper.time_p95 / base.time_p95)) if base else MISSING
    return Line((name, nodes, MISSING, backtracks, *[MISSING] * modelled, time, MISSING, MISSING), quiet=True)


def _times(size: Size, at: int) -> Cell:
    own, base = _spread(size.time[:, at]), _spread(size.time[:, 0])
    return tuple(number(change(*both) + 1) for both in zip(own, base, strict=True))


def _three(values: Floats) -> Cell:
    return tuple(map(number, _spread(values)))


def _spread(values: Floats) -> tuple[float, float, float]:
    return float(values.mean()), float(np.median(values)), float(np.percentile(values, 95))


def _interval(values: Floats) -> Interval:
    return mean_interval(np.sort(values))


def _notes(run: Run, some: list[Size]) -> tuple[str, ...]:
    paper = any(one.variables in TABLE3 for one in some)
    untimed = not all(s.timed for s in run.summaries)
    limited = any(one.limited.any() for one in some)
    return (*[PUBLISHED] * paper, *[table.UNTIMED] * untimed, *[table.LOWER] * limited)


def _picture(rows: list[str], every: list[Size]) -> Picture:
    """Rows in panels, as many in each as can be told apart."""
    count = -(-len(rows) // MOST)
    parts = [part.tolist() for part in np.array_split(np.arange(len(rows)), count)]
    variables = [one.variables for one in every]

    def draw(figure: Any) -> None:
        panels = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, part in zip(panels, parts, strict=True):
            for at, pen in zip(part, pens(), strict=False):
                _curve(axes, rows[at], [one.nodes[:, at] for one in every], variables, pen)
            axes.set(yscale="log", ylabel="mean nodes")
            thousands(axes.yaxis)
            legend(axes, loc="upper left")
        whole(panels[-1].xaxis)
        panels[-1].set_xlabel("variables")

    words = "Mean nodes (values tried + 1) by number of variables, with 95 % intervals. Large hollow marks: published."
    if any(one.limited.any() for one in every):
        words += " Runs that ended at a limit are drawn with what they had cost until then."
    return Picture("growth", "Nodes against variables", words, (COLUMN, 0.6 + 2.3 * count), draw)


def _curve(axes: Any, row: str, nodes: list[Floats], variables: list[int], pen: dict[str, Any]) -> None:
    around = [_interval(values) for values in nodes]
    axes.plot(variables, [values.mean() for values in nodes], label=row, **pen)
    low, high = [one.low for one in around], [one.high for one in around]
    axes.fill_between(variables, low, high, color=pen["color"], alpha=0.15, linewidth=0)
    paper = [(size, TABLE3[size][row].nodes) for size in variables if row in TABLE3.get(size, {})]
    if paper:
        marks = {"markerfacecolor": "none", "markersize": 6, "markeredgewidth": 0.8}
        axes.plot(*zip(*paper, strict=True), pen["marker"], color=pen["color"], **marks)
