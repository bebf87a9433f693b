"""How many puzzles need more than so many nodes, or so much time: the tail that means hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dibs.report.figures import COLUMN, MOST, PALE, beyond, legend, pens, thousands
from dibs.report.run import Run
from dibs.report.section import Picture

SHORT = 26  # letters of a name that leave room for a second column of the legend
LABELS = {"nodes": "nodes", "time": "time, ms"}


def distribution(run: Run, what: str, preferred: Sequence[str] = ()) -> Picture | None:
    """The share of puzzles that need more than x, on logarithmic axes; `what` is nodes or time.

    At most `MOST` rows are drawn apart: the preferred ones, or rows from the least to the most; the others are grey
    lines. None if there is no such row.
    """
    known = [s.row for s in run.summaries if s.timed or what != "time"]
    if not known:
        return None
    values = run.matrix(what)
    means = {row: float(values[:, run.rows.index(row)].mean()) for row in known}
    shown = [row for row in preferred if row in known] or spread_out(means, MOST)
    curves = {row: beyond(values[:, run.rows.index(row)]) for row in known}
    columns = 2 if max(map(len, shown)) <= SHORT else 1
    least = 70 / run.done

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for row in known:
            if row not in shown:
                axes.plot(*curves[row], color=PALE, linewidth=0.6, zorder=1, drawstyle="steps-post")
        for row, pen in zip(shown, pens(), strict=False):
            axes.plot(*curves[row], label=row, markevery=0.12, drawstyle="steps-post", **pen)
        axes.set(xscale="log", yscale="log", ylim=(least, 130))
        axes.set(xlabel=LABELS[what], ylabel="puzzles that need more, %")
        thousands(axes.xaxis)
        thousands(axes.yaxis)
        legend(figure, loc="outside upper left", ncols=columns, columnspacing=1.2)

    words = f"Share of puzzles that need more than so {'many nodes' if what == 'nodes' else 'much time'}."
    if len(shown) < len(known):
        words += f" {len(shown)} of {len(known)} rows by name, the others in grey."
    if any(s.limits for s in run.summaries):
        words += " Runs that ended at a limit are drawn with what they had cost until then."
    return Picture(what, f"Distribution of {what}", words, (COLUMN, 2.5 + 0.14 * -(-len(shown) // columns)), draw)


def spread_out(means: dict[str, float], most: int) -> list[str]:
    """Up to `most` rows: those of the least and the greatest mean and some between, in their own order."""
    ordered = sorted(means, key=lambda row: means[row])
    picked = {ordered[at] for at in np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int)}
    return [row for row in means if row in picked]
