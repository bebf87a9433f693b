"""One table, four ways to write it."""

from __future__ import annotations

from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from dibs.report.tabular import Column, Line, Tabular, html, latex, markdown, number, percent, terminal, tex, wide

PARTS = ("mean", "p95")
TABLE = Tabular(
    "key",
    "A & B",
    (Column("row"), Column("nodes", PARTS), Column("LIMIT")),
    (Line(("a_1|x", ("1", "-2"), "0")), Line(("published", ("3", "-"), "-"), quiet=True), Line(("c", "-", "1"))),
    "mean / p95",
    ("50 % of <them>.",),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00012, "0.0001"), (0.1234, "0.123"), (4.56, "4.56"), (99.96, "100"), (12345.6, "12,346")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_figures_that_are_missing() -> None:
    assert [number(None), number(float("nan")), percent(None), percent(float("inf"))] == ["-"] * 4


@pytest.mark.parametrize(
    ("share", "text"), [(0.5, "+50.0 %"), (-1, "-100.0 %"), (-1e-9, "+0.0 %"), (91.8, "+9,180.0 %")]
)
def test_changes(share: float, text: str) -> None:
    assert percent(share) == text


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "**A & B** (mean / p95)",
        "",
        "| row | nodes | LIMIT |",
        "|---|---:|---:|",
        "| a_1\\|x | 1 / -2 | 0 |",
        "| published | 3 / - | - |",
        "| c | - | 1 |",
        "",
        "50 % of <them>.",
    ]


def test_parts_that_the_caption_does_not_say_stand_in_the_head() -> None:
    silent = Tabular("k", "T", TABLE.columns, TABLE.lines)
    assert "| row | nodes: mean / p95 | LIMIT |" in markdown(silent)


def test_latex() -> None:
    lines = latex(TABLE).splitlines()
    assert r"\caption{A \& B. mean / p95.}" in lines
    assert r"\begin{tabular}{lrrr}" in lines
    assert r" & \multicolumn{2}{c}{nodes} &  \\" in lines
    assert r"\cmidrule(lr){2-3}" in lines
    assert r"row & mean & p95 & LIMIT \\" in lines
    assert r"a\_1$|$x & 1 & $-$2 & 0 \\" in lines
    assert r"\quad\emph{published} & 3 & -- & -- \\" in lines
    assert r"c & \multicolumn{2}{c}{--} & 1 \\" in lines
    assert r"\par\smallskip{\footnotesize 50 \% of $<$them$>$.\par}" in lines
    assert lines.count(r"\begin{table}[t]") == lines.count(r"\end{table}") == 1


def test_latex_escapes_what_it_must() -> None:
    assert tex(r"\ ~ ^ & % $ # _ { } < >") == (
        r"\textbackslash{} \textasciitilde{} \textasciicircum{} \& \% \$ \# \_ \{ \} $<$ $>$"
    )
    assert tex("-1.5 to +2, kept-0, H - h, δ_s R²") == r"$-$1.5 to +2, kept-0, H - h, $\delta$\_s R$^2$"


def test_latex_of_every_letter_that_tables_use() -> None:
    """What is not ASCII must have a command: a plain LaTeX has no such letters."""
    from dibs.report.views import ablation, difficulty, rows, steps, table1, theory

    for module in (ablation, difficulty, rows, steps, table1, theory):
        with open(str(module.__file__)) as file:
            assert tex(file.read()).isascii(), module.__name__


class Tags(HTMLParser):
    """The cells of each row; every tag must be closed by the right one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += int(dict(attrs).get("colspan") or 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html() -> None:
    text = html(TABLE)
    parser = Tags()
    parser.feed(text)
    assert parser.open == []
    assert parser.rows == [4, 2, 4, 4, 4]
    assert "A &amp; B" in text
    assert "&lt;them&gt;" in text
    assert '<tr class="quiet"><td>published</td>' in text


def shown(table: Tabular, width: int) -> str:
    text = StringIO()
    Console(file=text, width=width).print(terminal(table, width))
    return text.getvalue()


def test_terminal() -> None:
    text = shown(TABLE, wide(TABLE))
    assert "│ a_1|x       │ 1 / -2 │     0 │" in text
    assert "│   published │  3 / - │     - │" in text
    assert "…" not in text


def test_a_narrow_terminal_has_everything() -> None:
    columns = (Column("row"), *(Column(f"column {i}", ("mean", "median", "p95")) for i in range(6)))
    cells = tuple((f"{i},111,111", f"{i},222", f"{i}") for i in range(6))
    table = Tabular("k", "T", columns, (Line(("[bold]x[/bold]", *cells)),), "mean / median / p95", ("A note.",))
    for width in (200, 100, 60, 40):
        text = shown(table, width)
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text
        for i in range(6):
            assert all(part in text for part in cells[i])
        assert "[bold]x[/bold]" in text
        assert text.count("A note.") == 1
