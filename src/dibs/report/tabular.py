"""A table apart from how it is written: for the terminal, as Markdown, LaTeX or HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MISSING = "-"
BETWEEN = " / "  # parts of a cell

Cell = str | tuple[str, ...]  # text, or the parts of it that its column names


@dataclass(frozen=True)
class Column:
    name: str
    parts: tuple[str, ...] = ()  # what each cell has: mean, median, p95


@dataclass(frozen=True)
class Line:
    """A row of a table. A quiet one is about the line above it: published figures, for instance."""

    cells: tuple[Cell, ...]
    quiet: bool = False


@dataclass(frozen=True)
class Tabular:
    key: str  # of its file
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    caption: str = ""  # what the figures are, in a few words
    notes: tuple[str, ...] = ()  # whole sentences

    def heads(self) -> list[str]:
        """One line for each column. What the parts of a cell are stands there, unless the caption says it."""
        headings = [BETWEEN.join(column.parts) for column in self.columns]
        return [
            column.name if parts in self.caption else f"{column.name}: {parts}"
            for column, parts in zip(self.columns, headings, strict=True)
        ]


def number(value: float | None) -> str:
    """Three significant digits, no exponent: 0.123, 4.56, 78.9, 12,345; `-` where there is none."""
    if value is None or not isfinite(value):
        return MISSING
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.4f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A change: 0.5 is `+50.0 %`; `-` where there is none."""
    if share is None or not isfinite(share):
        return MISSING
    return f"{signed(100 * share, digits)} %"


def signed(value: float, digits: int = 1) -> str:
    """`+1.5`, `-12.0`, `+0.0`."""
    return f"{round(value, digits) + 0.0:+,.{digits}f}"


def terminal(table: Tabular, width: int) -> RenderableType:
    """Columns that do not fit side by side have the parts of their cells one below the other; if that is still too
    wide, the table is continued below, with its first column again."""
    from rich.console import Group

    if width >= wide(table):
        return _rich(table, range(len(table.columns)), BETWEEN)
    sizes = [_size(column, "\n") for column in _columns(table, "\n")]
    parts: list[list[int]] = []
    left = 0
    for at in range(1, len(sizes)):
        left -= sizes[at]
        if not parts or left < 0:
            parts.append([0])
            left = width - 1 - sizes[0] - sizes[at]
        parts[-1].append(at)
    return Group(*(_rich(table, part, "\n", first=part is parts[0], last=part is parts[-1]) for part in parts))


def wide(table: Tabular) -> int:
    """Characters that the table needs with one line to a row."""
    return 1 + sum(_size(column, BETWEEN) for column in _columns(table, BETWEEN))


def _columns(table: Tabular, between: str) -> list[list[str]]:
    return [list(column) for column in zip(table.heads(), *_texts(table, between, "  "), strict=True)]


def _texts(table: Tabular, between: str, quiet: str = "") -> list[list[str]]:
    """Cells as text; quiet lines begin with `quiet`."""
    found = []
    for line in table.lines:
        texts = [cell if isinstance(cell, str) else between.join(cell) for cell in line.cells]
        found.append([quiet + texts[0], *texts[1:]] if line.quiet else texts)
    return found


def _size(texts: Sequence[str], between: str) -> int:
    return 3 + max(len(part) for text in texts for part in (text.split("\n") if between == "\n" else [text]))


def _rich(table: Tabular, some: Sequence[int], between: str, *, first: bool = True, last: bool = True) -> Table:
    from rich.table import Table
    from rich.text import Text

    stacked = between == "\n" and any(table.columns[at].parts for at in some)
    found = Table(
        title=Text(table.title) if first else None,
        caption=Text("\n".join([table.caption, *table.notes]).strip("\n")) if last else None,
        title_justify="left",
        caption_justify="left",
        show_lines=stacked,
        expand=False,
    )
    heads = table.heads()
    for at in some:
        found.add_column(Text(heads[at]), justify="right" if at else "left", no_wrap=True)
    for line, texts in zip(table.lines, _texts(table, between, "  "), strict=True):
        found.add_row(*(Text(texts[at]) for at in some), style="dim" if line.quiet else None)
    return found


def markdown(table: Tabular) -> str:
    """Without a line end after it."""
    lines = [
        f"**{table.title}**" + (f" ({table.caption})" if table.caption else ""),
        "",
        _pipes(table.heads()),
        "|---|" + "---:|" * (len(table.columns) - 1),
        *(_pipes(texts) for texts in _texts(table, BETWEEN)),
    ]
    return "\n".join(lines + [part for note in table.notes for part in ("", note)])


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "|": "$|$", "–": "--",
    "²": "$^2$", "≤": r"$\leq$", "≥": r"$\geq$", "×": r"$\times$", "δ": r"$\delta$", "ρ": r"$\rho$", "Σ": r"$\Sigma$",
}  # fmt: skip
LARGE = 9  # columns of a table that needs the width of a page


def latex(table: Tabular) -> str:
    """A `table` with booktabs rules; parts of cells are columns under a common head."""
    spans = [max(1, len(column.parts)) for column in table.columns]
    kind = "table*" if sum(spans) >= LARGE else "table"
    caption = ". ".join([table.title] + [table.caption] * bool(table.caption))
    lines = [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{{kind}}}[t]",
        r"\centering\small\setlength{\tabcolsep}{3.5pt}",
        rf"\caption{{{tex(caption)}.}}",
        rf"\label{{tab:{table.key}}}",
        rf"\begin{{tabular}}{{l{'r' * (sum(spans) - 1)}}}",
        r"\toprule",
        *_latex_heads(table.columns, spans),
        r"\midrule",
    ]
    for line in table.lines:
        cells = [_latex_cell(cell, span) for cell, span in zip(line.cells, spans, strict=True)]
        cells[0] = rf"\quad\emph{{{cells[0]}}}" if line.quiet else cells[0]
        lines.append(" & ".join(cells) + r" \\")
    notes = [rf"\par\smallskip{{\footnotesize {tex(note)}\par}}" for note in table.notes]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes, rf"\end{{{kind}}}"])


def _latex_heads(columns: Sequence[Column], spans: Sequence[int]) -> list[str]:
    if not any(column.parts for column in columns):
        return [" & ".join(tex(column.name) for column in columns) + r" \\"]
    top, rules, at = [], [], 1
    for column, span in zip(columns, spans, strict=True):
        top.append(rf"\multicolumn{{{span}}}{{c}}{{{tex(column.name)}}}" if column.parts else "")
        rules += [rf"\cmidrule(lr){{{at}-{at + span - 1}}}"] * bool(column.parts)
        at += span
    low = [tex(part) for column in columns for part in column.parts or (column.name,)]
    return [" & ".join(top) + r" \\", "".join(rules), " & ".join(low) + r" \\"]


def _latex_cell(cell: Cell, span: int) -> str:
    if isinstance(cell, tuple):
        return " & ".join(map(_latex_figure, cell))
    return rf"\multicolumn{{{span}}}{{c}}{{{_latex_figure(cell)}}}" if span > 1 else _latex_figure(cell)


def _latex_figure(text: str) -> str:
    return "--" if text == MISSING else tex(text)


def tex(text: str) -> str:
    """Escaped; a sign before a number becomes a minus."""
    found = "".join(_LATEX.get(letter, letter) for letter in text)
    return re.sub(r"(?<![\w$-])-(?=\d)", "$-$", found)


def html(table: Tabular) -> str:
    """A `figure` with a table that can be scrolled; parts of cells are columns under a common head."""
    split = any(column.parts for column in table.columns)
    tall = ' rowspan="2"' if split else ""
    heads = [
        f'<th colspan="{len(column.parts)}" class="group">{escape(column.name)}</th>'
        if column.parts
        else f"<th{tall}>{escape(column.name)}</th>"
        for column in table.columns
    ]
    low = [f"<th>{escape(part)}</th>" for column in table.columns for part in column.parts]
    caption = f"<strong>{escape(table.title)}.</strong> {escape(table.caption)}".strip()
    return "\n".join(
        [
            f'<figure class="table" id="table-{escape(table.key)}">',
            f"<figcaption>{caption}</figcaption>",
            '<div class="scroll"><table>',
            f"<thead><tr>{''.join(heads)}</tr>" + (f"<tr>{''.join(low)}</tr>" if split else "") + "</thead>",
            "<tbody>",
            *(_html_line(table.columns, line) for line in table.lines),
            "</tbody>",
            "</table></div>",
            *(f'<p class="note">{escape(note)}</p>' for note in table.notes),
            "</figure>",
        ]
    )


def _html_line(columns: Sequence[Column], line: Line) -> str:
    cells = []
    for column, cell in zip(columns, line.cells, strict=True):
        if isinstance(cell, tuple):
            cells += [f"<td>{escape(part)}</td>" for part in cell]
        else:
            span = f' colspan="{len(column.parts)}" class="missing"' if column.parts else ""
            cells.append(f"<td{span}>{escape(cell)}</td>")
    quiet = ' class="quiet"' if line.quiet else ""
    return f"<tr{quiet}>{''.join(cells)}</tr>"
