"""`dibs guides`: which guides there are."""

from __future__ import annotations

import json as encoder
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def guides(
    *folders: Annotated[Path, Parameter(help="folders to look into as well: guides, or runs of dibs train")],
    json: Annotated[bool, Parameter(help="a JSON object on a line for each")] = False,
) -> int:
    """The guides that come with dibs, and those in folders that you name.

    For each: the problems that it takes, and its size. `dibs model info` says
    what one was trained on.

    For example:
      dibs guides
      dibs guides my-guide runs/*
    """
    from rich.console import Console
    from rich.table import Table

    from dibs.guide.card import find, shipped, verify
    from dibs.report.guide import described, takes

    found = []
    for place in (*shipped().values(), *map(find, folders)):
        about = described(place, verify(place))
        found.append({"guide": str(place) if place not in shipped().values() else place.name, **about})
    if json:
        for one in found:
            print(encoder.dumps(one))
        return 0
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("guide", no_wrap=True)  # its name is what one types
    for name in ("takes", "kind", "parameters"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(one["guide"], takes(one), one["kind"], f"{one['parameters']:,}")
    Console().print(table)
    return 0
