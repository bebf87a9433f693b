"""The report of a run as one page: the verdict, the times of all contenders, how it learned."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dibs.problem import InputError
from dibs.report import figures, html, reliability
from dibs.report.section import Picture, Section
from dibs.report.tabular import Column, Line, Tabular, number
from dibs.study.reliability import Reliability
from dibs.training.source import Collected
from dibs.training.verdict import WITH, Verdict


def page(folder: Path, given: Collected, verdict: Verdict, held: Reliability | None) -> str:
    """HTML that opens from disk; without matplotlib it has no pictures. `held`: on states that were held out."""
    log = _log(folder / "log.csv")
    judged = Section(
        "verdict",
        "On instances that it has not seen",
        (
            str(verdict),
            f"{verdict.instances} instances, all contenders in turn on each, in one process; the guide's time is "
            f"included, and an instance without an answer counts as the limit of {verdict.limit:g} s. Where there was "
            "not time for all, other engines were run on the first of them only.",
        ),
        (table(verdict),),
        (_against(verdict),) if verdict.peers else (),
    )
    learned = Section(
        "learning",
        "How it learned",
        (f"p_s: how often the value that it puts first is right, on instances that were held out of {given.label}.",),
        (),
        (_curve(log),) if len(log) > 1 else (),
    )
    sections = [judged, learned, *([_calibrated(held)] if held else [])]
    try:
        drawings = {one.key: figures.drawn(one)[0] for section in sections for one in section.pictures}
    except InputError:  # nothing to draw with
        sections = [Section(one.key, one.title, one.words, one.tables) for one in sections]
        drawings = {}
    return html.page(f"A guide for {given.label}", sections, drawings)


def _calibrated(held: Reliability) -> Section:
    words = (
        f"At {held.predictions:,} states that were held out, in the domain that a search branches on: the probability "
        "of the value that comes first, and how often one of the known solutions, drawn at random, has it. "
        f"The expected calibration error (ECE) is {held.ece:.3f}.",
    )
    caption = "Points on the dashed line: probabilities mean what they say. Below: how many predictions there are."
    picture = Picture(
        "calibration",
        "Calibration",
        caption,
        reliability.INCHES,
        lambda figure: reliability.drawn(figure, {"first": held}),
    )
    return Section("calibration", "Whether it is as sure as it should be", words, (), (picture,))


def table(verdict: Verdict) -> Tabular:
    """Share solved and seconds of each contender."""
    columns = (Column("contender"), Column("solved"), Column("p50, s"), Column("p95, s"), Column("mean, s"))
    lines = [
        Line((one.name, f"{one.solved} of {len(one.seconds)}", *map(number, (one.p50, one.p95, one.mean))))
        for one in verdict.times
    ]
    return Tabular("times", "Seconds to the answer", columns, tuple(lines))


def _log(path: Path) -> list[dict[str, float]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as rows:
        return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(rows)]


def _curve(log: list[dict[str, float]]) -> Picture:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        pens = figures.pens()
        for key in ("loss", "p_s"):
            points = [(row["step"], row[key]) for row in log if key in row]
            if points:
                axes.plot(*zip(*points, strict=True), label=key, **next(pens))
        axes.set_xlabel("step")
        figures.legend(axes)

    return Picture("curve", "Learning", "Loss in training, and p_s on held-out instances.", (4.0, 2.6), draw)


def _against(verdict: Verdict) -> Picture:
    best = min(verdict.peers, key=lambda one: one.mean)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        own = verdict.of(WITH).seconds[: len(best.seconds)]
        axes.loglog(best.seconds, own, ".", markersize=4)
        least = min(*best.seconds, *own)
        axes.plot([least, verdict.limit], [least, verdict.limit], linewidth=0.8, color="grey")
        axes.set_aspect("equal", adjustable="datalim")
        for axis in (axes.xaxis, axes.yaxis):
            figures.ones_and_threes(axis)
        axes.set_xlabel(f"{best.name}, s")
        axes.set_ylabel("with this guide, s")

    caption = f"Each point is an instance; below the line the guide is faster than {best.name}."
    return Picture("against", "Time against the best peer", caption, (3.4, 3.2), draw)
