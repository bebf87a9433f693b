"""Records written by hand: a run is a table of figures, row by row and instance by instance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dibs.bench.records import COLUMNS, Store, frame
from dibs.report.run import Run
from dibs.report.views import read

Record = dict[str, Any]


def record(row: str, instance: int, nodes: int = 1, **more: Any) -> Record:
    """One search; twice as many backtracks and tries as nodes, a millisecond for each node, or as `more` says."""
    plain: Record = {name: [] for name, kind in COLUMNS.items() if kind.startswith("List")}
    plain |= {"row": row, "instance": instance, "number": instance, "givens": 0, "variables": 0, "status": "SAT"}
    plain |= {"nodes": nodes, "backtracks": 2 * nodes, "tries": 2 * nodes, "asks": 0, "calls": 0, "depth": 1}
    plain |= {"search_seconds": nodes / 1000}
    plain |= {"kind": "", "around_seconds": 0.0, "load_seconds": 0.0, "cpu_seconds": 0.0}
    plain |= {"model_seconds": 0.0, "options": "{}", "seed": 0, "version": "1", "machine": "m"}
    return plain | more


def manifest(rows: Sequence[str], count: int, view: str = "rows", /, **more: Any) -> dict[str, Any]:
    plain = {"experiment": "made", "title": "Made", "view": view, "choice": {"puzzles": "few"}}
    told = [{"name": row, "options": {}, "guidance": {}, "asked": "everywhere"} for row in rows]
    return plain | {"instances": {"count": count, "digest": "d"}, "rows": told, "guides": {}, "version": "1"} | more


def stored(folder: Path, said: Mapping[str, Any], records: Sequence[Record]) -> Path:
    """The folder of a run with these records, in two shards and in no order."""
    store = Store.open(folder, said)
    for some in (records[1::2], records[::2]):
        if some:
            store.append(frame({name: [one[name] for one in some] for name in COLUMNS}))
    store.close()
    return folder


def made(folder: Path, view: str, by_row: Mapping[str, Sequence[Record]], **more: Any) -> Run:
    """A complete run: the records of each row, without `row` and `instance`."""
    count = len(next(iter(by_row.values())))
    records = [record(row, i, **one) for row, some in by_row.items() for i, one in enumerate(some)]
    return read(stored(folder, manifest(list(by_row), count, view, **more), records))


def options(**said: Any) -> str:
    return json.dumps(said)


def path(*decisions: tuple[int, int, int, int], status: str = "SAT", more: int = 0) -> Record:
    """A search with these decisions from the root down: (values, tried before the right one, nodes of the failing ones
    that were tried, nodes of all failing ones). Its nodes follow from them; `more` of them are a violation."""
    good, found = 0, []
    for decision in reversed(decisions):
        found.append((*decision, good))
        good += 1 + decision[2]
    arity, place, entered, wrong, below = zip(*reversed(found), strict=True) if found else ((),) * 5
    said: Record = {"nodes": good + more, "status": status}
    lists: Record = {"arity": arity, "place": place, "entered": entered, "wrong": wrong, "good": below}
    lists |= {"p": [float("nan")] * len(arity), "cut": [False] * len(arity)}
    return said | {f"ledger_{name}": list(values) for name, values in lists.items()}
