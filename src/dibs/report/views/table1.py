"""Table 1 of the paper: the published figures below ours, and what the baselines lack against DiBS."""

from __future__ import annotations

from dataclasses import replace

from dibs.bench.summary import Spread, Summary
from dibs.report import published, table
from dibs.report.bootstrap import change, changes
from dibs.report.published import DIBS, REVERSED, TABLE1
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, percent
from dibs.report.views.distribution import distribution

SHOWN = ("MRV", "+ FC", "+ FC + MCV", "+ FC + MCV + Degree", DIBS, "DiBS, asked at every node", "oracle, 2 values")
METRICS = {"time": "milliseconds", "nodes": "nodes", "backtracks": "backtracks"}
PUBLISHED = (
    "Published figures stand below the row that they belong to: other hardware and other code; those runs are cut at a "
    "limit, and their averages are over solved runs only."
)
LCV = (
    "The published code sorts its LCV the other way round (values that remove most options first): what it reports as "
    "LCV stands at the rows with MCV, which have that order."
)


def section(run: Run) -> Section:
    title = run.title()
    main = table.figures(title, run.summaries, key="figures", published=_published())
    main = replace(main, notes=(PUBLISHED, LCV, *main.notes))
    tables = [main, table.intervals(f"{title}: intervals", run.summaries)]
    if DIBS in run.rows:
        tables += [_gaps(run, "p95"), _gaps(run, "mean")]
    pictures = [distribution(run, what, SHOWN) for what in ("nodes", "time")]
    return Section("", title, _words(run), tuple(tables), tuple(one for one in pictures if one))


def _published() -> table.Published:
    """At which of our rows each published row stands."""
    found: dict[str, tuple[str, published.Figures]] = {}
    for name, paper in TABLE1.items():
        at = next((row for row, other in REVERSED.items() if other == name), name)
        found[at] = ("published" if at == name else f"published as {name}", paper)
    return found


def _words(run: Run) -> tuple[str, ...]:
    ours = {s.row: s for s in run.summaries}
    if DIBS not in ours or not ours[DIBS].milliseconds.mean:
        return ()
    share = ours[DIBS].model_milliseconds / ours[DIBS].milliseconds.mean
    paper = f"{100 * published.MODEL_SHARE:.1f} %"
    return (f"The model takes {100 * share:.1f} % of the mean time of DiBS; published: {paper}.",)


def _gaps(run: Run, which: str) -> Tabular:
    """What each row needs more than DiBS, as published and as measured here."""
    ours = {s.row: s for s in run.summaries}
    at = run.rows.index(DIBS)
    exact = [str(one) for one in changes(run.matrix("nodes"), at)] if which == "mean" else []
    lines = []
    for number, row in enumerate(run.rows):
        if row == DIBS:
            continue
        known = ours[row].timed and ours[DIBS].timed
        cells: list[Cell] = [row]
        for metric in METRICS:
            here = percent(_gap(ours, row, metric, which)) if known or metric != "time" else MISSING
            cells.append((percent(_published_gap(row, metric, which)), here))
        cells += [exact[number]] if exact else []
        lines.append(Line((*cells, str(ours[row].limits))))
    columns = [Column("solver"), *(Column(metric, ("published", "here")) for metric in METRICS)]
    columns += [Column("nodes here, 95 % interval")] if exact else []
    title = f"{run.title()}: gaps of the {'p95' if which == 'p95' else 'means'} against DiBS"
    caption = f"{which} of a row over that of DiBS, less 1: above 0, the row needs more"
    own = table.notes(run.summaries)
    return Tabular(f"gaps-{which}", title, (*columns, Column("LIMIT")), tuple(lines), caption, (LCV, *own))


def _gap(ours: dict[str, Summary], row: str, metric: str, which: str) -> float:
    spreads: list[Spread] = [getattr(ours[name], METRICS[metric]) for name in (row, DIBS)]
    return change(*(getattr(spread, which) for spread in spreads))


def _published_gap(row: str, metric: str, which: str) -> float | None:
    name = REVERSED.get(row, row)
    if name not in TABLE1 or row in REVERSED.values():
        return None
    return change(*(getattr(TABLE1[one][metric], which) for one in (name, DIBS)))
