"""Rows side by side: what each cost."""

from __future__ import annotations

from dibs.report import table
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.views.distribution import distribution


def section(run: Run) -> Section:
    title = run.title()
    tables = table.figures(title, run.summaries), table.intervals(f"{title}: intervals", run.summaries)
    pictures = distribution(run, "nodes"), distribution(run, "time")
    return Section("", title, (), tables, tuple(one for one in pictures if one))
