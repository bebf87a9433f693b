"""What a page can choose from: the searches by name, the guides that come with dibs, the examples.

The searches are the rows of an experiment (`table1` for Sudokus, `sat` for formulas) and the policies, so that the page
shows what the tables count.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from dibs import __version__
from dibs.bench.experiment import Experiment, Row
from dibs.guide import card
from dibs.problem.sudoku import SIZES
from dibs.problem.text import InputError
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.plan import Request
from dibs.search.policies import POLICIES
from dibs.web import limits

EXPERIMENTS = {"sudoku": "table1", "cnf": "sat"}

_LEVELS = {
    "eliminate": "crosses values out, no more",
    "naked": "fills in what has one value left",
    "hidden": "fills in what has one value, or one place, left",
}
_ORDERS = {
    "ascending": "tries values in order",
    "lcv": "tries first what leaves most to others",
    "mcv": "tries first what leaves least to others",
    "jw": "tries first what short clauses want",
    "random": "tries values at random",
    "oracle": "is told the right value",
}
_TRIGGERS = {
    "always": "asks the guide at every node",
    "binary": "asks the guide where two values are left",
    "ternary": "asks the guide where three or more values are left",
}
_TIES = {
    "index": "",
    "degree": "branches where most is open around",
    "impact": "branches where most is crossed out",
    "random": "branches at random among equals",
}


@dataclass(frozen=True)
class Search:
    """A way to search that a page can ask for by `id`."""

    id: str
    row: Row

    @property
    def guided(self) -> bool:
        return self.row.guidance.guide is not None

    @property
    def oracle(self) -> bool:
        return self.row.options.order == "oracle"

    @property
    def words(self) -> str:
        """How it searches, in a line."""
        o = self.row.options
        parts = [_LEVELS[o.level], "branches on the first open variable" if o.select == "first" else _TIES[o.tie]]
        if not self.guided:
            parts.append(_ORDERS[o.order] + (" where two are left" if self.oracle and o.trigger == "binary" else ""))
        elif o.guide_after is not None:
            parts.append(f"plain; after {o.guide_after:,} nodes a guided search takes turns with it")
        else:
            parts.append(_TRIGGERS[o.trigger])
        parts += ["lets it choose the cell, too"] if o.guide_selects else []
        parts += ["begins again after a while"] if o.strategy == "restarts" else []
        words = "; ".join(part for part in parts if part)
        return words[0].upper() + words[1:]


@cache
def searches(family: str) -> dict[str, Search]:
    """By id. Rows that differ in the guide alone are one: the guide is a choice of its own."""
    rows = [row for row in Experiment.read(EXPERIMENTS[family]).rows if row.asked == "everywhere"]
    if family == "cnf":  # limits are the page's own
        rows = [replace(row, options=replace(row.options, max_nodes=None)) for row in rows]
    rows += [Row(name, request.options, request.guidance) for name in POLICIES if (request := Request(name))]
    found: dict[str, Search] = {}
    known: set[tuple[Options, Guidance]] = set()
    for row in rows:
        how = row.options, replace(row.guidance, guide=row.guidance.guide and "any")
        if how not in known:
            known.add(how)
            one = re.sub(r"[^a-z0-9]+", "-", row.name.lower()).strip("-")
            found[one] = Search(one, row)
    return found


@cache
def guides() -> list[dict[str, Any]]:
    """The guides that come with dibs. A request can name one of these, never a folder."""
    found = []
    for name, folder in card.shipped().items():
        about = card.Card.read(folder)
        sizes = "one size only" if about.kind == "transformer" else "any size"
        found.append({"name": name, "families": [about.family], "words": f"{about.kind}, {sizes}"})
    return found


def guide_for(family: str, name: str | None) -> str:
    """The guide that a request means; InputError where there is none."""
    able = [guide["name"] for guide in guides() if family in guide["families"]]
    if not able:
        raise InputError(f"no guide for the family {family} comes with this version of dibs")
    usual = Request("paper").guidance.guide
    if name is None:
        return str(usual if usual in able else able[0])
    if name not in able:
        raise InputError(f"guide = {_short(name)}: choose one of {', '.join(able)}")
    return name


def guided_by(family: str, name: str | None) -> Row:
    """A row for the guide that a request means, with nothing else in it."""
    return Row("marginals", Options(), Guidance(guide=guide_for(family, name)))


def search_for(
    family: str,
    name: str,
    *,
    guide: str | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> Row:
    """The options of a search within the limits of a page, and its guide; InputError where there is no such thing."""
    known = searches(family)
    if name not in known:
        raise InputError(f"search = {_short(name)}: choose one of {', '.join(known)}")
    if guide is not None and guide not in (names := [one["name"] for one in guides()]):
        raise InputError(f"guide = {_short(guide)}: choose one of {', '.join(names)}")
    search = known[name]
    options = replace(
        search.row.options,
        max_nodes=limits.NODES if nodes is None else nodes,
        max_seconds=limits.SECONDS if seconds is None else seconds,
        seed=seed,
    )
    guidance = search.row.guidance
    if search.guided:
        guidance = replace(guidance, guide=guide_for(family, guide))
    return Row(name, options, guidance)


def command(row: Row) -> str:
    """The flags with which `dibs solve` does the same."""
    words = []
    for record, usual in ((row.options, Options()), (row.guidance, Guidance())):
        for field in fields(record):
            value = getattr(record, field.name)
            if value != getattr(usual, field.name):
                flag = "--" + field.name.replace("_", "-")
                words += [flag] if value is True else [flag, str(value)]
    return " ".join(words)


@cache
def examples() -> list[dict[str, str]]:
    """Bundled puzzles and formulas, the easy ones first."""
    table = tomllib.loads((files("dibs.web") / "examples.toml").read_text(encoding="utf-8"))
    return list(table["example"])


@cache
def rivals() -> list[dict[str, str]]:
    """Who can fill a Latin square beside dibs: plain search, and CaDiCaL where it is installed."""
    found = [{"id": "plain", "name": "plain search"}]
    if find_spec("pysat") is not None:
        found.insert(0, {"id": "cadical195", "name": "CaDiCaL 1.9.5"})
    return found


def rival(name: str) -> str:
    """What a rival is called; InputError where it is not installed."""
    found = {one["id"]: one["name"] for one in rivals()}
    if name not in found:
        raise InputError(f"rival = {_short(name)}: it is not installed; choose one of {', '.join(found)}")
    return found[name]


def about(ready: bool, squares: bool) -> dict[str, Any]:
    """`ready`: searches can begin at once; `squares`: races of large squares, too."""
    return {
        "version": __version__,
        "ready": ready,
        "squares": squares,
        "rivals": rivals(),
        "guides": guides(),
        "searches": [
            {
                "id": one.id,
                "name": one.row.name,
                "words": one.words,
                "families": [family],
                "guided": one.guided,
                "oracle": one.oracle,
            }
            for family in EXPERIMENTS
            for one in searches(family).values()
        ],
        "limits": {
            "nodes": limits.NODES,
            "seconds": limits.SECONDS,
            "most_nodes": limits.MOST_NODES,
            "most_seconds": limits.MOST_SECONDS,
        },
        "examples": examples(),
        "sizes": [size for size in SIZES if size <= limits.LARGEST],
    }


def _short(text: str) -> str:
    """A text of a request, for a message: in ASCII, on one line, not longer than this."""
    return ascii(text if len(text) <= 40 else text[:40] + "...")
