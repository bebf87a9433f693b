"""An experiment is data: a TOML file that names the puzzles and, row by row, the options of a search."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from dibs.bundled import read_toml
from dibs.guide import Guidance
from dibs.problem import InputError
from dibs.problem.text import check_keys
from dibs.ranges import check, option
from dibs.search.options import Options
from dibs.search.policy import chosen_fields

Asked = Literal["everywhere", "path"]
View = Literal["rows", "table1", "ablation", "difficulty", "steps", "theory"]


@dataclass(frozen=True)
class Row:
    """A way to search, by name.

    `asked`: "path" asks the guide on the way to the solution only. A failing subtree has as many nodes whatever the
    order of values, so in a depth-first search with MRV all counts are those of asking everywhere; calls and times
    are not, and tables leave them out.
    """

    name: str
    options: Options
    guidance: Guidance = Guidance()  # noqa: RUF009 (frozen)
    asked: Asked = "everywhere"

    def __post_init__(self) -> None:
        if self.asked not in get_args(Asked):
            raise ValueError(f"asked = {self.asked!r}: choose one of {', '.join(get_args(Asked))}")
        o = self.options
        plain = not o.guide_selects and o.strategy == "dfs" and o.keep is None and o.asks is None and o.after is None
        if self.asked == "path" and not (self.guidance.guide and plain and o.trigger != "worth"):
            raise ValueError("asked = 'path' needs a guide and a depth-first search by MRV: elsewhere counts differ")
        if self.asked == "path" and (o.nodes is not None or o.seconds is not None or o.tie == "random"):
            # Both depend on the order within a failing subtree: where a limit cuts it, and what random ties have seen.
            raise ValueError("asked = 'path' goes with no limit and no random tie: counts would differ")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which instances of a list are searched."""

    puzzles: str = option("sample17", "a bundled list, one that `dibs data get` fetched, or a file")
    sample: int | None = option(None, "so many of them, drawn at random by the seed", least=1)
    seed: int = option(0, "of the sample and of added givens", least=0)
    relabel: int | None = option(None, "permute digits, rows, columns ... at random, by this seed", least=0)
    givens: tuple[int, ...] | None = option(None, "for each of these numbers: puzzles with so many givens")

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.puzzles, str):
            raise ValueError(f"puzzles = {self.puzzles!r}: it must be the name of a list or of a file")
        if self.givens is not None and not (
            isinstance(self.givens, tuple) and self.givens and all(type(one) is int and one > 0 for one in self.givens)
        ):
            raise ValueError(f"givens = {self.givens!r}: it must be a list of whole numbers, 1 or more")


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    choice: Choice
    rows: tuple[Row, ...]
    view: View = "rows"  # what `dibs report` makes of its records
    ledger: bool = False  # note every decision on the solution path, and what its failing siblings cost
    quick: Choice | None = None  # what `--quick` takes instead

    @classmethod
    def read(cls, source: str) -> Experiment:
        """From a TOML file, or by the name of one that comes with dibs. An unknown key names the nearest valid one."""
        path, table = read_toml(source, "experiments", "experiment")
        choices = {f.name for f in fields(Choice)}
        check_keys(table, choices | {"title", "view", "ledger", "quick", "row"}, str(path), "")
        rows = table.get("row", [])
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise InputError("has no [[row]]", file=str(path))
        choice = _choice({key: value for key, value in table.items() if key in choices}, path, "")
        quick = table.get("quick")
        if quick is not None:
            if not isinstance(quick, dict):
                raise InputError(f"quick = {quick!r}: it must be a table, [quick]", file=str(path))
            check_keys(quick, choices, str(path), "quick: ")
            quick = _choice(quick, path, "quick: ", choice)
        ledger = table.get("ledger", False)
        if not isinstance(ledger, bool):
            raise InputError(f"ledger = {ledger!r}: choose true or false", file=str(path))
        view = table.get("view", "rows")
        if view not in get_args(View):
            raise InputError(f"view = {view!r}: choose one of {', '.join(get_args(View))}", file=str(path))
        found = tuple(_row(row, i, path, ledger) for i, row in enumerate(rows, 1))
        names = [row.name for row in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"two rows are called {twice!r}", file=str(path))
        title = str(table.get("title", path.stem))
        return cls(path.stem, title, choice, found, view, ledger, quick)


def _choice(table: dict[str, Any], path: Path, where: str, base: Choice = Choice()) -> Choice:  # noqa: B008 (frozen)
    if isinstance(givens := table.get("givens"), list):
        table = table | {"givens": tuple(givens)}
    try:
        return replace(base, **table)
    except ValueError as error:
        raise InputError(f"{where}{error}", file=str(path)) from None


def _row(table: dict[str, Any], number: int, path: Path, ledger: bool) -> Row:
    known = {f.name for kind in (Options, Guidance) for f in fields(kind)}
    check_keys(table, known | {"name", "policy", "asked"}, str(path), f"row {number}: ")
    given = {key: value for key, value in table.items() if key in known}
    try:
        for key in table.keys() & {"name", "policy", "guide", "worth"}:
            if not isinstance(table[key], str):
                raise ValueError(f"{key} = {table[key]!r}: it must be a text")
        if not isinstance(given.get("bare", False), bool):
            raise ValueError(f"bare = {given['bare']!r}: choose true or false")
        options, guidance = chosen_fields(table.get("policy"), given, guided=True)
        row = Row(table.get("name", str(number)), options, guidance, table.get("asked", "everywhere"))
        if ledger and (options.after is not None or options.count > 1 or row.asked != "everywhere"):
            raise ValueError("a ledger is about one search for one solution: no `after`, no `count`, no `asked`")
        return row
    except ValueError as error:
        raise InputError(f"row {number}: {error}", file=str(path)) from None
