"""An experiment is data: a TOML file that names the puzzles and, row by row, the options of a search."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
View = Literal["rows", "table1", "ablation", "difficulty", "steps", "theory", "sat"]

PUZZLES = "sample17"  # the list of an experiment that names none
LEAST = 5  # variables of a formula: with fewer there are not as many different clauses as it would have


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
    """Which instances are searched: of a list, or generated formulas. `puzzles` is None for these only."""

    puzzles: str | None = option(None, f"a bundled list ({PUZZLES}), one that `dibs data get` fetched, or a file")
    sample: int | tuple[int, ...] | None = option(
        None, "so many, drawn at random by the seed; of formulas so many of each size, or a number for each size"
    )
    seed: int = option(0, "of the sample, of added givens and of formulas", least=0)
    relabel: int | None = option(None, "permute digits, rows, columns ... at random, by this seed", least=0)
    givens: tuple[int, ...] | None = option(None, "for each of these numbers: puzzles with so many givens")
    variables: tuple[int, ...] | None = option(
        None, "no puzzles: for each of these numbers, satisfiable random 3-SAT formulas with so many variables"
    )

    def __post_init__(self) -> None:
        check(self)
        if self.puzzles is not None and not isinstance(self.puzzles, str):
            raise ValueError(f"puzzles = {self.puzzles!r}: it must be the name of a list or of a file")
        if not isinstance(self.sample, tuple):
            if self.sample is not None and not _whole(self.sample, 1):
                raise ValueError(f"sample = {self.sample!r}: it must be a whole number, 1 or more")
        elif len(self.sample) != len(self.variables or ()) or not all(_whole(one, 1) for one in self.sample):
            raise ValueError(f"sample = {self.sample!r}: it must be one whole number, or one for each of `variables`")
        for name, least in (("givens", 1), ("variables", LEAST)):
            some = getattr(self, name)
            if some is not None and not (isinstance(some, tuple) and some and all(_whole(one, least) for one in some)):
                raise ValueError(f"{name} = {some!r}: it must be a list of whole numbers, {least} or more")
        if self.variables is None:
            if self.puzzles is None:
                object.__setattr__(self, "puzzles", PUZZLES)
            return
        if len(set(self.variables)) < len(self.variables):
            raise ValueError(f"variables = {self.variables!r}: a number is there twice")
        for name in ("puzzles", "relabel", "givens"):
            if (value := getattr(self, name)) is not None:
                raise ValueError(f"{name} = {value!r} is about a list: `variables` generates formulas")


def _whole(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


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
        said = {key: value for key, value in table.items() if key in choices}
        choice = _choice(said, path, "")
        quick = table.get("quick")
        if quick is not None:
            if not isinstance(quick, dict):
                raise InputError(f"quick = {quick!r}: it must be a table, [quick]", file=str(path))
            check_keys(quick, choices, str(path), "quick: ")
            quick = _choice(said | quick, path, "quick: ")
        ledger = table.get("ledger", False)
        if not isinstance(ledger, bool):
            raise InputError(f"ledger = {ledger!r}: choose true or false", file=str(path))
        view = table.get("view", "rows")
        if view not in get_args(View):
            raise InputError(f"view = {view!r}: choose one of {', '.join(get_args(View))}", file=str(path))
        if view == "sat" and any(one is not None and one.variables is None for one in (choice, quick)):
            raise InputError("view = 'sat' is about formulas: give `variables`", file=str(path))
        found = tuple(_row(row, i, path, ledger) for i, row in enumerate(rows, 1))
        names = [row.name for row in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"two rows are called {twice!r}", file=str(path))
        title = str(table.get("title", path.stem))
        return cls(path.stem, title, choice, found, view, ledger, quick)


def _choice(table: dict[str, Any], path: Path, where: str) -> Choice:
    said: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return Choice(**said)
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
