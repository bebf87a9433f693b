"""A report as files: the page, the tables and the figures. Each file is there as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from dibs import writing
from dibs.report import html, tabular
from dibs.report.figures import drawn
from dibs.report.section import Section

TITLE = "dibs: what the search costs"

Report = Callable[[str], None]


def files(
    sections: Sequence[Section], words: Sequence[str], formats: Iterable[str], report: Report = lambda name: None
) -> Iterator[tuple[str, bytes]]:
    """Names and contents, one by one; `formats` are some of markdown, latex, figures and html.

    `report` is told what is being made.
    """
    wanted = set(formats)
    for table in (table for section in sections for table in section.tables):
        if "markdown" in wanted:
            yield f"tables/{table.key}.md", (tabular.markdown(table) + "\n").encode()
        if "latex" in wanted:
            yield f"tables/{table.key}.tex", (tabular.latex(table) + "\n").encode()
    drawings: dict[str, bytes] = {}
    for picture in (picture for section in sections for picture in section.pictures):
        if not wanted & {"figures", "html"}:
            continue
        report(picture.title)
        drawings[picture.key], png = drawn(picture)
        if "figures" in wanted:
            yield f"figures/{picture.key}.svg", drawings[picture.key]
            yield f"figures/{picture.key}.png", png
    if "html" in wanted:
        yield "report.html", html.page(TITLE, sections, drawings, words).encode()


def write(folder: Path, name: str, content: bytes) -> None:
    """A file of the report; until it is complete it has another name."""
    path = folder / name
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        writing.write(path, content)
