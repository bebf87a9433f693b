"""One page with everything: it opens from disk, needs no script and no network, and prints well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from dibs.report import tabular
from dibs.report.section import Picture, Section

STYLE = """
:root { color-scheme: light dark;
  --text: #1c2024; --quiet: #60666d; --line: #d5d9de; --back: #ffffff; --band: #f5f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8ea; --quiet: #a2a9b1; --line: #3b4148; --back: #16191c; --band: #1f2327; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 76rem; color: var(--text); background: var(--back);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; line-height: 1.2; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 3rem 0 .5rem; padding-top: .8rem;
  border-top: 2px solid var(--text); }
p { max-width: 46rem; margin: .4rem 0; }
nav ol { margin: .3rem 0; padding-left: 1.4rem; }
a { color: inherit; text-underline-offset: .15em; }
figure { margin: 1.5rem 0; }
figcaption { max-width: 46rem; margin-bottom: .4rem; }
.note, .origin, figure.picture figcaption { color: var(--quiet); font-size: .88rem; }
.origin { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; line-height: 1.35;
  border-top: 1.5px solid var(--text); border-bottom: 1.5px solid var(--text); }
th, td { padding: .22rem .55rem; text-align: right; white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
thead tr:last-child th, thead th[rowspan] { border-bottom: 1px solid var(--text); }
th.group { text-align: center; border-bottom: 1px solid var(--line); }
td:first-child, thead tr:first-child th:first-child { text-align: left; }
tbody tr { border-top: 1px solid var(--line); }
tbody tr:hover { background: var(--band); }
tr.quiet { border-top: 0; color: var(--quiet); font-style: italic; }
tr.quiet td:first-child { padding-left: 1.6rem; }
td.missing { text-align: center; color: var(--quiet); }
.pictures { display: flex; flex-wrap: wrap; gap: 1.5rem 2.5rem; align-items: flex-start; }
figure.picture { margin: .5rem 0; width: 27rem; max-width: 100%; }
figure.picture svg { display: block; width: 100%; height: auto; background: #fff; border-radius: 4px; }
figure.picture figcaption { margin: .4rem 0 0; }
@media print {
  :root { color-scheme: light; --text: #000; --quiet: #444; --line: #bbb; --back: none; --band: none; }
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; background: none; }
  section { break-before: page; }
  h2 { margin-top: 0; border-top: 0; }
  .scroll { overflow: visible; }
  table { font-size: 6.8pt; }
  th, td { padding: .12rem .3rem; }
  td:first-child { white-space: normal; }
  thead { display: table-header-group; }
  tr, figure.picture { break-inside: avoid; }
  figcaption { break-after: avoid; }
  figure.picture { width: 86mm; }
}
""".strip()


def page(title: str, sections: Sequence[Section], drawings: Mapping[str, bytes], words: Sequence[str] = ()) -> str:
    """`drawings`: the SVG of every picture, by its key; `words` go above everything."""
    contents = "\n".join(f'<li><a href="#{escape(one.key)}">{escape(one.title)}</a></li>' for one in sections)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}\n</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escape(title)}</h1>",
            *(f"<p>{escape(word)}</p>" for word in words),
            f"</header>\n<nav aria-label='Contents'><ol>\n{contents}\n</ol></nav>",
            "<main>",
            *(_section(one, drawings) for one in sections),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section, drawings: Mapping[str, bytes]) -> str:
    pictures = [_picture(one, drawings[one.key]) for one in section.pictures]
    *words, origin = section.words or ("",)
    return "\n".join(
        [
            f'<section id="{escape(section.key)}">',
            f"<h2>{escape(section.title)}</h2>",
            *(f"<p>{escape(word)}</p>" for word in words),
            *(tabular.html(table) for table in section.tables),
            *(['<div class="pictures">', *pictures, "</div>"] if pictures else []),
            f'<p class="origin">{escape(origin)}</p>',
            "</section>",
        ]
    )


def _picture(picture: Picture, drawing: bytes) -> str:
    caption = f"<figcaption><strong>{escape(picture.title)}.</strong> {escape(picture.caption)}</figcaption>"
    begin = f'<figure class="picture" id="figure-{escape(picture.key)}">'
    return f"{begin}\n{inlined(picture, drawing)}\n{caption}\n</figure>"


def inlined(picture: Picture, drawing: bytes) -> str:
    """An SVG as an element of a page: no prolog, and names that no other figure of the page has."""
    text = drawing.decode()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{picture.key}.', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{picture.key}.", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(picture.title)}"', 1)
