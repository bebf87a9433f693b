"""An experiment is data: a TOML file that names the puzzles and, row by row, the options of a search."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dibs.bundled import read_toml
from dibs.guide import Guidance
from dibs.problem import InputError, Instance, Sudoku, read_instances
from dibs.problem.text import check_keys
from dibs.search.options import Options
from dibs.search.policy import chosen_fields

BUNDLED = {"sample17": "sample17.txt", "hard300": "hard300.txt", "doubted": "doubted.txt.xz"}


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
            puzzles=str(table.get("puzzles", "sample17")),
            rows=tuple(_row(row, i, path) for i, row in enumerate(rows, 1)),
        )


def _row(table: dict[str, Any], number: int, path: Path) -> Row:
    known = {f.name for kind in (Options, Guidance) for f in fields(kind)}
    check_keys(table, known | {"name", "policy"}, str(path), f"row {number}: ")
    given = {key: value for key, value in table.items() if key in known}
    try:
        row = Row(str(table.get("name", number)), *chosen_fields(table.get("policy"), given, guided=True))
    except ValueError as error:
        raise InputError(f"row {number}: {error}", file=str(path)) from None
    return row


def load(puzzles: str, most: int | None = None) -> list[Instance]:
    """The instances of a bundled list or of a file; the first bad one raises."""
    source = str(files("dibs") / "data" / BUNDLED[puzzles]) if puzzles in BUNDLED else puzzles
    found: list[Instance] = []
    for _, item in read_instances(source):
        if isinstance(item, InputError):
            raise item
        if most is not None and len(found) >= most:
            break
        found.append(item)
    return found


def relabelled(instances: list[Instance], seed: int) -> list[Instance]:
    """Each Sudoku under a random symmetry of its shape: lists are often in canonical form. Others stay as they are."""
    from dibs.generate.canonical import shuffled

    rng = np.random.default_rng(seed)
    return [
        Sudoku._of(one.shape, shuffled(one.values[None], rng, one.shape)[0]) if isinstance(one, Sudoku) else one
        for one in instances
    ]
