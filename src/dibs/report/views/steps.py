"""Denoising steps: what they cost, and what they change about the rankings at the same states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.report import table
from dibs.report.bootstrap import Change, changes
from dibs.report.figures import COLUMN, GREY, PENS, SMALL, legend, pens
from dibs.report.published import STEPS
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, percent

METRICS = ("time", "model", "nodes", "backtracks")
NAMES = {"time": "time", "model": "model time", "nodes": "nodes", "backtracks": "backtracks"}


@dataclass(frozen=True)
class Quality:
    """What a row's guide said at the states on the way to the solution, and how that differs from the first row."""

    states: int
    matched: int  # states of instances where both rows were asked equally often
    better: int  # of these: the solution's value comes earlier than in the first row
    worse: int
    unmatched: int  # instances where they were not
    first: int  # states where the solution's value comes first
    sure: tuple[float, float, float, float]  # mean and quartiles of the mean confidence over unknown cells


def section(run: Run) -> Section:
    steps = [int(s.options.get("steps", 1)) for s in run.summaries]
    found = [quality(run, row) for row in run.rows]
    changed = {what: changes(run.matrix(what)) for what in METRICS}
    title = run.title()
    tables = (
        _costs(title, run, steps, changed),
        _rankings(title, run, found),
        table.figures(f"{title}: all figures", run.summaries),
    )
    pictures = _cost_picture(steps, changed), _quality_picture(steps, found)
    return Section("", title, _words(run, found), tables, pictures)


def quality(run: Run, row: str) -> Quality:
    base, own = run.part(run.rows[0]), run.part(row)
    before, places = _lists(base, "path_place"), _lists(own, "path_place")
    lengths, others = (part["path_place"].list.len().to_numpy() for part in (own, base))
    alike = lengths == others
    now, then = places[np.repeat(alike, lengths)], before[np.repeat(alike, others)]
    sure = _lists(own, "path_sure").astype(np.float64)
    spread = (float(sure.mean()), *np.quantile(sure, [0.25, 0.5, 0.75]).tolist()) if len(sure) else (np.nan,) * 4
    return Quality(
        states=len(places),
        matched=len(now),
        better=int((now < then).sum()),
        worse=int((now > then).sum()),
        unmatched=int((~alike).sum()),
        first=int((places == 0).sum()),
        sure=spread,
    )


def _lists(part: Any, column: str) -> NDArray[Any]:
    """All items of a column of lists, one after the other."""
    found: NDArray[Any] = part[column].explode(empty_as_null=False).to_numpy()
    return found.astype(np.int64) if found.dtype.kind == "u" else found


def _words(run: Run, found: Sequence[Quality]) -> tuple[str, ...]:
    unmatched = sum(one.unmatched for one in found)
    words = (
        "States are matched one by one on the way to the solution: MRV branches on the same cells whatever the order "
        f"of values. Better and worse: the solution's value comes earlier or later than with {run.rows[0]}."
    )
    if unmatched:
        words += f" {unmatched:,} searches were not asked as often as with {run.rows[0]} and are left out of that."
    return (words,)


def _costs(title: str, run: Run, steps: Sequence[int], changed: dict[str, list[Change]]) -> Tabular:
    """Changes against the first row, each with its interval, and the published ones."""
    lines = []
    for at, (row, k) in enumerate(zip(run.rows, steps, strict=True)):
        s = run.summaries[at]
        paper = STEPS.get(k, {})
        cells: list[Cell] = [row]
        for what in METRICS:
            known = (s.timed and run.summaries[0].timed) or what not in ("time", "model")
            cells.append(str(changed[what][at]) if at and known else MISSING)
        published = tuple(
            percent(paper[what] / 100, 2) if what in paper else MISSING for what in ("time", "model", "nodes")
        )
        lines.append(Line((*cells, published if paper else MISSING, str(s.limits))))
    columns = [Column("steps"), *(Column(NAMES[what]) for what in METRICS)]
    columns += [Column("published", ("time", "model time", "nodes")), Column("LIMIT")]
    caption = f"changes of the means against {run.rows[0]}, with 95 % intervals of the paired bootstrap"
    notes = table.notes(run.summaries)
    return Tabular("costs", f"{title}: costs", tuple(columns), tuple(lines), caption, notes)


def _rankings(title: str, run: Run, found: Sequence[Quality]) -> Tabular:
    lines = []
    for row, one, s in zip(run.rows, found, run.summaries, strict=True):
        same = one.matched - one.better - one.worse
        ranks = [f"{value:,}" for value in (one.matched, one.better, same, one.worse)]
        top = f"{one.first / one.states:.4f}" if one.states else MISSING
        sure = tuple(f"{value:.4f}" for value in one.sure) if one.states else MISSING
        lines.append(Line((row, *ranks, f"{one.unmatched:,}", top, sure, str(s.limits))))
    names = ("steps", "matched states", "better", "same", "worse", "unmatched searches", "first is right")
    confidence = Column("confidence", ("mean", "25 %", "median", "75 %"))
    caption = (
        "rankings at matched states, how often the solution's value comes first, and the probability of the likeliest "
        "value, averaged over the unknown cells of a state: mean and quartiles over states"
    )
    columns = (*map(Column, names), confidence, Column("LIMIT"))
    return Tabular("rankings", f"{title}: rankings", columns, tuple(lines), caption, table.notes(run.summaries))


def _cost_picture(steps: Sequence[int], changed: dict[str, list[Change]]) -> Picture:
    def draw(figure: Any) -> None:
        top, low = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        styles = dict(zip(METRICS, pens(), strict=False))
        for axes, some in ((top, ("time", "model")), (low, ("nodes", "backtracks"))):
            axes.axhline(0, color=GREY, linewidth=0.8, zorder=1)
            for what in some:
                axes.plot(steps, [100 * one.value for one in changed[what]], label=NAMES[what], **styles[what])
                paper = [(k, values[what]) for k, values in STEPS.items() if what in values]
                if paper:
                    marks = {"markerfacecolor": "none", "markersize": 6, "markeredgewidth": 0.9}
                    axes.plot(*zip(*paper, strict=True), styles[what]["marker"], color=styles[what]["color"], **marks)
            axes.set_ylabel("change, %")
            legend(axes, loc="upper left")
        low.set_ylim(*_around([one.value for what in ("nodes", "backtracks") for one in changed[what]]))
        low.set_xlabel("denoising steps K")
        low.set_xticks(steps)

    words = f"Means against K = {steps[0]}. Large hollow marks: published."
    return Picture("costs", "What denoising steps cost", words, (COLUMN, 3.4), draw)


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Limits of an axis, in %, with room for a legend; nodes that do not change must not look as if they did."""
    low, high = 100 * min(values), 100 * max(values)
    return min(-3.0, 1.2 * low), max(6.0, 1.6 * high)


def _quality_picture(steps: Sequence[int], found: Sequence[Quality]) -> Picture:
    def draw(figure: Any) -> None:
        sure, ranks, top = figure.subplots(3, 1, sharex=True)
        _confidence(sure, steps, found)
        _ranking_changes(ranks, steps, found)
        _first(top, steps, found)
        top.set_xlabel("denoising steps K")
        top.set_xticks(steps)
        for letter, axes in zip("abc", (sure, ranks, top), strict=True):
            axes.set_title(f"({letter})", loc="left", fontsize=SMALL, pad=2)

    words = (
        "(a) Confidence over unknown cells: mean, and the middle half of the states. (b) States where the solution's "
        f"value comes earlier or later than with K = {steps[0]}. (c) How often it comes first."
    )
    return Picture("rankings", "What denoising steps change", words, (COLUMN, 4.8), draw)


def _confidence(axes: Any, steps: Sequence[int], found: Sequence[Quality]) -> None:
    mean, low, _, high = np.array([one.sure for one in found]).T
    axes.fill_between(
        steps, low, high, color=PENS[1].color, alpha=0.25, linewidth=1, label="middle half", clip_on=False
    )
    axes.plot(steps, mean, label="mean", **next(pens()))
    axes.set_ylabel("confidence")
    axes.set_ylim(top=1)
    axes.margins(y=0.12)
    legend(axes, loc="lower right", ncols=2)


def _ranking_changes(axes: Any, steps: Sequence[int], found: Sequence[Quality]) -> None:
    """Bars to both sides of zero."""
    matched = np.maximum([one.matched for one in found], 1)
    better, worse = (100 * np.array([getattr(one, what) for one in found]) / matched for what in ("better", "worse"))
    axes.bar(steps, better, 0.6, color=PENS[1].color, label="earlier")
    axes.bar(steps, -worse, 0.6, facecolor="white", edgecolor=PENS[2].color, hatch="////", linewidth=0.8, label="later")
    axes.axhline(0, color="black", linewidth=0.6)
    most = max(float(better.max()), float(worse.max()), 0.02)
    axes.set_ylim(-1.15 * most, 1.6 * most)
    axes.set_ylabel("of states, %")
    legend(axes, loc="upper left", ncols=2)


def _first(axes: Any, steps: Sequence[int], found: Sequence[Quality]) -> None:
    shares = np.array([100 * one.first / max(one.states, 1) for one in found])
    half = np.array([_half(share / 100, one.states) for share, one in zip(shares, found, strict=True)])
    pen = next(pens())
    axes.errorbar(steps, shares, 100 * half, elinewidth=0.7, clip_on=False, **pen)
    low, high = float((shares - 100 * half).min()), float((shares + 100 * half).max())
    room = max(0.1, 0.2 * (high - low))
    axes.set_ylim(low - room, min(high + room, 100))
    axes.set_ylabel("first is right, %")


def _half(share: float, states: int) -> float:
    """Half of a 95 % interval."""
    return 1.96 * float(np.sqrt(share * (1 - share) / max(states, 1)))
