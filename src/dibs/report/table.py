"""Summaries as a table, for the terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from dibs.bench.summary import Spread, Summary

COLUMNS = ("solver", "time, ms", "nodes", "backtracks", "LIMIT")
CAPTION = "mean / median / p95"
WIDE = 116  # columns that a table with one line to a row may need


def _number(value: float) -> str:
    """Three significant digits, no exponent: 0.123, 4.56, 78.9, 12,345."""
    if value == 0 or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.4f}"


def _rows(summaries: Sequence[Summary], between: str = " / ") -> list[tuple[str, ...]]:
    def cell(spread: Spread) -> str:
        return between.join(_number(value) for value in (spread.mean, spread.median, spread.p95))

    return [(s.row, cell(s.milliseconds), cell(s.nodes), cell(s.backtracks), str(s.limits)) for s in summaries]


def terminal(title: str, summaries: Sequence[Summary], width: int) -> Table:
    """On less than `WIDE` columns the three figures of a cell stand one below the other."""
    narrow = width < WIDE
    table = Table(
        title=title, caption=CAPTION, title_justify="left", caption_justify="left", show_lines=narrow, expand=False
    )
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == COLUMNS[0] else "right", no_wrap=True)
    for row in _rows(summaries, "\n" if narrow else " / "):
        table.add_row(*row)
    return table


def markdown(title: str, summaries: Sequence[Summary]) -> str:
    lines = [f"**{title}** ({CAPTION})", "", "| " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in _rows(summaries))])
