"""`dibs report`: tables and figures of runs. The work is done in `dibs.report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from dibs.commands.terminal import Meter, Terminal, screen
from dibs.errors import Refused

if TYPE_CHECKING:
    from dibs.report.section import Section

Format = Literal["terminal", "markdown", "latex", "html", "all"]

PATIENCE = 2.0  # seconds before there is a line of progress


def report(
    *runs: Annotated[Path, Parameter(help="the folder of a run that `dibs bench` made")],
    out: Annotated[Path | None, Parameter(help="write files to this folder: all, or the one format named")] = None,
    format: Annotated[Format | None, Parameter(help="of the tables: terminal, markdown, latex, html or all")] = None,
) -> int:
    """Make the tables and figures of one or more runs.

    Without --out the tables are printed. With it, report.html holds
    everything on one page that opens from disk; tables/ has the tables as
    Markdown and LaTeX, figures/ the figures as SVG and PNG. The same records
    make the same files, byte by byte.

    The experiment says what is made of its records: plain rows, Table 1 or
    Table 3 beside the published figures, changes of an ablation, gains by
    givens, denoising steps, or the theorems as identities. Runs that ended at
    a limit are counted in every table and stay in every figure; a run that is
    not complete, or whose records are of several versions, is said to be so.

    For example:
      dibs report runs/table1-quick
      dibs report runs/table1 --format markdown
      dibs report runs/table1 runs/ablation runs/theory --out report
    """
    if not runs:
        raise Refused("dibs: name the folder of at least one run: dibs report runs/table1")
    if out is not None and format == "terminal":
        raise Refused("dibs: --format terminal prints; --out writes markdown, latex, html or all of them")
    if out is None and format in ("html", "all"):
        raise Refused(f"dibs: --format {format} needs a folder to write to: --out DIR")
    stage = "reading records"

    def enter(what: str) -> None:
        nonlocal stage
        stage = what

    with Terminal(lambda seconds: Meter(stage) if seconds > PATIENCE else None) as terminal:
        from dibs.bench.records import frames
        from dibs.report.views import mixed, read, sections

        frames()
        if out is not None and format in (None, "html", "all"):
            from dibs.report.figures import ready

            ready()
        found = []
        for folder in runs:
            enter(f"reading {folder}")
            found.append(read(folder))
        enter("summarising")
        made = sections(found)
        words = [word for word in [mixed(found)] if word]
        if out is not None:
            _write(out, made, words, format or "all", terminal, enter)
            return 0
        terminal.close()
    _print(made, words, format or "terminal")
    return 0


def _write(
    out: Path,
    made: Sequence[Section],
    words: Sequence[str],
    format: str,
    terminal: Terminal,
    enter: Callable[[str], None],
) -> None:
    from dibs.report.writing import files, write

    formats = ("markdown", "latex", "figures", "html") if format == "all" else (format,)
    counts: dict[str, int] = {}
    for name, content in files(made, words, formats, lambda title: enter(f"drawing: {title}")):
        write(out, name, content)
        folder = name.rpartition("/")[0]
        counts[folder] = counts.get(folder, 0) + 1
    parts = [f"{count} files in {out / folder}" for folder, count in counts.items() if folder]
    terminal.rows("\n".join([*parts, *[str(out / "report.html")] * ("" in counts)]) + "\n")


def _print(made: Sequence[Section], words: Sequence[str], format: str) -> None:
    if format != "terminal":
        from dibs.report.tabular import latex, markdown

        written = {"markdown": markdown, "latex": latex}[format]
        print("\n\n".join([*words, *(written(table) for section in made for table in section.tables)]))
        return
    from rich.text import Text

    from dibs.report.tabular import terminal, wide

    tables = [table for section in made for table in section.tables]
    width = max([wide(table) for table in tables], default=80)
    console = screen(max(width, 80))
    for word in words:
        console.print(Text(word))
    for section in made:
        for word in section.words:
            console.print(Text(word))
        for table in section.tables:
            console.print()
            console.print(terminal(table, console.width))
        console.print()
