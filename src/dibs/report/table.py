"""Summaries as a table, for the terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from dibs.bench.summary import Spread, Summary

CAPTION = "mean / median / p95"
MODEL_CAPTION = f"{CAPTION}; the model's part of the time: mean"


def _number(value: float) -> str:
    """Three significant digits, no exponent: 0.123, 4.56, 78.9, 12,345."""
    if value == 0 or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.4f}"


def _modelled(summaries: Sequence[Summary]) -> bool:
    return any(s.calls.most for s in summaries)


def _caption(summaries: Sequence[Summary]) -> str:
    return MODEL_CAPTION if _modelled(summaries) else CAPTION


def _columns(summaries: Sequence[Summary]) -> list[str]:
    model = ["calls", "model, ms"] if _modelled(summaries) else []
    return ["solver", "time, ms", "nodes", "most", "backtracks", *model, "LIMIT"]


def _rows(summaries: Sequence[Summary], between: str = " / ") -> list[list[str]]:
    def cell(spread: Spread) -> str:
        return between.join(_number(value) for value in (spread.mean, spread.median, spread.p95))

    rows = []
    for s in summaries:
        model = [cell(s.calls), _number(s.model_milliseconds)] if _modelled(summaries) else []
        rows.append(
            [
                s.row,
                cell(s.milliseconds),
                cell(s.nodes),
                _number(s.nodes.most),
                cell(s.backtracks),
                *model,
                str(s.limits),
            ]
        )
    return rows


def wide(summaries: Sequence[Summary]) -> int:
    """Characters that the table needs with one line to a row."""
    columns = zip(_columns(summaries), *_rows(summaries), strict=True)
    return 1 + sum(3 + max(map(len, column)) for column in columns)


def terminal(title: str, summaries: Sequence[Summary], width: int) -> Table:
    """Where the columns do not fit side by side, the three figures of a cell stand one below the other."""
    narrow = width < wide(summaries)
    table = Table(
        title=title,
        caption=_caption(summaries),
        title_justify="left",
        caption_justify="left",
        show_lines=narrow,
        expand=False,
    )
    for number, name in enumerate(_columns(summaries)):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in _rows(summaries, "\n" if narrow else " / "):
        table.add_row(*row)
    return table


def markdown(title: str, summaries: Sequence[Summary]) -> str:
    columns = _columns(summaries)
    lines = [f"**{title}** ({_caption(summaries)})", "", _line(columns), "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join([*lines, *map(_line, _rows(summaries))])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
