"""Networks alone: how often a search that follows one never has to go back, and what the exact search needs with it."""

from __future__ import annotations

import numpy as np

from dibs.report import table
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.tabular import MISSING, Column, Line, Tabular


def section(run: Run) -> Section:
    title = run.title()
    words = (
        "No backtrack: the share of instances in which the first value was right at every node, so that the network "
        "alone, with propagation between its answers and nothing taken back, ends in the solution. The other columns "
        "are those of the exact search, which goes back where the network was wrong.",
    )
    return Section("", title, words, (_shares(title, run), table.figures(f"{title}: all figures", run.summaries)))


def _shares(title: str, run: Run) -> Tabular:
    lines = []
    for row, s in zip(run.rows, run.summaries, strict=True):
        part = run.part(row)
        alone = float(np.mean((part["backtracks"] == 0).to_numpy() & (part["status"] == "SAT").to_numpy()))
        nodes = tuple(f"{value:,.1f}" for value in (s.nodes.mean, s.nodes.median, s.nodes.p95, s.nodes.most))
        first = MISSING if s.p_s is None else f"{s.p_s:.4f}"
        lines.append(Line((row, f"{alone:.4f}", first, nodes, str(s.limits))))
    nodes_of = Column("nodes", ("mean", "median", "p95", "most"))
    columns = (Column("guide"), Column("no backtrack"), Column("p_s"), nodes_of, Column("LIMIT"))
    return Tabular("alone", title, columns, tuple(lines), "networks without a search", table.notes(run.summaries))
