"""An experiment is data: a TOML file that names the puzzles and, row by row, the options of a search."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from dibs.bundled import read_toml
from dibs.guide import Guidance
from dibs.problem import InputError, Instance, read_instances
from dibs.problem.text import check_keys
from dibs.search.options import Options

BUNDLED = ("sample17", "hard300")


@dataclass(frozen=True)
class Row:
    name: str
    options: Options
    guidance: Guidance = Guidance()  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class Experiment:
    title: str
    puzzles: str  # a bundled list or a file
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, source: str) -> Experiment:
        """From a TOML file, or by the name of one that comes with dibs. An unknown key names the nearest valid one."""
        path, table = read_toml(source, "experiments", "experiment")
        check_keys(table, {"title", "puzzles", "row"}, str(path), "")
        rows = table.get("row", [])
        if not isinstance(rows, list) or not rows:
            raise InputError("has no [[row]]", file=str(path))
        return cls(
            title=str(table.get("title", path.stem)),
            puzzles=str(table.get("puzzles", BUNDLED[0])),
            rows=tuple(_row(row, i, path) for i, row in enumerate(rows, 1)),
        )


def _row(table: dict[str, Any], number: int, path: Path) -> Row:
    options, guidance = ({f.name for f in fields(kind)} for kind in (Options, Guidance))
    check_keys(table, options | guidance | {"name"}, str(path), f"row {number}: ")
    try:
        row = Row(
            str(table.get("name", number)),
            Options(**{key: value for key, value in table.items() if key in options}),
            Guidance(**{key: value for key, value in table.items() if key in guidance}),
        )
        row.guidance.check_order(row.options.order)
    except ValueError as error:
        raise InputError(f"row {number}: {error}", file=str(path)) from None
    return row


def load(puzzles: str, most: int | None = None) -> list[Instance]:
    """The instances of a bundled list or of a file; the first bad one raises."""
    source = str(files("dibs") / "data" / f"{puzzles}.txt") if puzzles in BUNDLED else puzzles
    found: list[Instance] = []
    for _, item in read_instances(source):
        if isinstance(item, InputError):
            raise item
        if most is not None and len(found) >= most:
            break
        found.append(item)
    return found
