"""Put the tables and figures of runs into docs/RESULTS.md: `make results RUNS=folder`.

    python benchmarks/results.py runs

The words of the page are written by hand; what stands between `<!-- table NAME -->` and `<!-- end -->` is replaced by
the table of that name of `dibs report`, and the figures that the page shows are drawn to docs/figures/results-NAME.svg.
"""

from __future__ import annotations

import re
from pathlib import Path

import cyclopts

from dibs.problem import InputError
from dibs.report.figures import drawn
from dibs.report.tabular import markdown
from dibs.report.views import read, sections

DOCS = Path(__file__).parents[1] / "docs"
RUNS = (
    "table1",
    "table1-transformer",
    "table1-asked",
    "ablation",
    "ablation-network",
    "ablation-transformer",
    "difficulty",
    "steps",
    "sat",
    "sat-large",
    "theory",
)

_TABLE = re.compile(r"<!-- table (\S+) -->\n.*?<!-- end -->", re.DOTALL)
_FIGURE = re.compile(r"figures/results-([\w-]+)\.svg")


def main(runs: Path, /, *, page: Path = DOCS / "RESULTS.md") -> None:
    """Replace the tables of the page and draw its figures, from the runs of these names in the folder `runs`."""
    made = sections([read(runs / name) for name in RUNS if (runs / name).is_dir()])
    tables = {table.key: table for section in made for table in section.tables}
    pictures = {picture.key: picture for section in made for picture in section.pictures}

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name not in tables:
            raise InputError(f"no run has the table {name}; there are {', '.join(tables)}", str(page))
        return f"<!-- table {name} -->\n{markdown(tables[name])}\n<!-- end -->"

    text = _TABLE.sub(replaced, page.read_text(encoding="utf-8"))
    for name in dict.fromkeys(_FIGURE.findall(text)):
        (page.parent / "figures" / f"results-{name}.svg").write_bytes(drawn(pictures[name])[0])
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    cyclopts.run(main)
