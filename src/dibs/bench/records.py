"""Records of an experiment, as Parquet files in a folder that a killed run can go on with.

    runs/table1/run.json            what is run: rows, instances, versions
    runs/table1/000001.parquet ...  shards of records: one record for each instance and row

A shard is written under another name, flushed to the disk and renamed: whatever happens, it is there as a whole or not
at all. What is in no shard has not been run. One process writes; it holds a lock on the folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dibs.problem import InputError
from dibs.writing import write

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "run.json"
_SHARD = re.compile(r"\d{6}\.parquet")
# What a killed run left; the shorter names are those of earlier versions.
_PARTIAL = re.compile(r"(\d{6}\.parquet|run\.json)\.[0-9a-f]+\.partial|(\d{6}|run)\.part")

# The columns of a record. Lists have an item for each state on the way to the solution:
# `path_*` where a guide was asked, `ledger_*` at every decision if the experiment keeps a ledger.
COLUMNS = {
    "row": "String",
    "instance": "Int32",  # its place in the experiment
    "number": "Int32",  # its place in the list
    "givens": "Int16",  # 0: not asked for
    "variables": "Int32",  # of a generated formula; otherwise 0
    "kind": "String",  # the label of the kind that it was generated for; otherwise empty
    "status": "String",
    "nodes": "Int64",  # of another engine: its decisions
    "backtracks": "Int64",  # of another engine: its conflicts
    "tries": "Int64",
    "asks": "Int64",
    "calls": "Int64",  # forward passes of a model
    "depth": "Int32",
    "search_seconds": "Float64",
    "model_seconds": "Float64",
    "around_seconds": "Float64",  # of search_seconds: outside the search's own clock; 0 where all is on that clock
    "load_seconds": "Float64",  # what it took to load the guide, before all searches; 0 where it was not measured
    "cpu_seconds": "Float64",  # of search, guide and all around them, other processes included; 0 where not measured
    "path_p": "List(Float32)",  # the guide's probability of the solution's value
    "path_place": "List(UInt8)",  # values that it puts before the solution's
    "path_sure": "List(Float32)",  # probability of the likeliest value, averaged over the unknown cells
    "ledger_arity": "List(UInt8)",  # values of the branching variable
    "ledger_p": "List(Float32)",  # the guide's probability of the solution's value; NaN where it was not asked
    "ledger_place": "List(UInt8)",  # values that were tried before the solution's
    "ledger_entered": "List(Int64)",  # nodes of the failing siblings that were tried
    "ledger_wrong": "List(Int64)",  # nodes of all failing siblings, tried or not
    "ledger_cut": "List(Boolean)",  # one of them was given up at a limit: `wrong` is a lower bound
    "ledger_good": "List(Int64)",  # nodes below the solution's value
    "options": "String",  # JSON: what differs from the defaults
    "seed": "Int64",
    "version": "String",
    "machine": "String",
}
# Columns that shards of earlier versions do not have, and what stands there when they are read.
_UNTIMED = {"around_seconds": 0.0, "load_seconds": 0.0, "cpu_seconds": 0.0}
LATER: dict[str, Any] = {"variables": 0, "tries": None, "kind": "", **_UNTIMED}
RENAMED = {"kind": "cell"}  # columns and settings that earlier versions called otherwise


def frames() -> Any:
    """Polars, or a line that says how to get it."""
    try:
        import polars
    except ImportError:
        raise InputError("records need polars: pip install 'dibs[bench]'") from None
    return polars


def frame(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Records from all their columns."""
    data: pl.DataFrame = frames().DataFrame(
        {name: _series(columns[name], _type(kind)) for name, kind in COLUMNS.items()}
    )
    return data


def _series(values: Sequence[Any], kind: Any) -> pl.Series:
    """A column. Lists are put together from all their items at once: one by one they take half of a run's own time."""
    polars = frames()
    if not isinstance(kind, polars.List):
        plain: pl.Series = polars.Series(values, dtype=kind)
        return plain
    items = polars.Series(list(chain.from_iterable(values)), dtype=kind.inner)
    places = np.arange(len(values))
    owner = np.repeat(places, np.fromiter(map(len, values), np.int64, len(values)))
    lists = polars.DataFrame({"place": owner, "items": items}).group_by("place", maintain_order=True).all()
    found: pl.Series = polars.DataFrame({"place": places}).join(lists, "place", "left", maintain_order="left")["items"]
    return found.fill_null(polars.Series([[]], dtype=kind))


def _type(kind: str) -> Any:
    pl = frames()
    inner = re.fullmatch(r"List\((\w+)\)", kind)
    return pl.List(getattr(pl, inner[1])) if inner else getattr(pl, kind)


class Store:
    """The folder of a run. `open` takes up one that is there, if it is a run of the same thing."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock: int | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """For looking only."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            choice = manifest.get("choice", {})
            for new, old in RENAMED.items():
                if old in choice:
                    choice[new] = choice.pop(old)
            return cls(folder, manifest)
        except FileNotFoundError:
            raise InputError(f"is not a run: there is no {MANIFEST}; `dibs bench` makes runs", str(folder)) from None
        except NotADirectoryError:
            raise InputError("is not the folder of a run; `dibs bench` makes runs", str(folder)) from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {error}", str(folder / MANIFEST)) from None

    @classmethod
    def open(cls, folder: Path, manifest: Mapping[str, Any], *, mixed: bool = False, fresh: bool = False) -> Self:
        """For writing. A run of something else raises, and so does another version unless `mixed`.

        `fresh` forgets the records that are there.
        """
        store = cls(folder, manifest)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            store._take()
            for left in (*store._files(_PARTIAL), *(store.shards() if fresh else [])):
                left.unlink()
            if store.shards():
                store._compare(cls.read(folder).manifest, mixed)
            else:
                write(folder / MANIFEST, json.dumps(manifest, indent=1).encode(), durable=True)
        except BaseException as error:
            store.close()
            if isinstance(error, OSError):
                raise InputError(f"cannot be written: {error.strerror or error}", str(folder)) from None
            raise
        return store

    def _take(self) -> None:
        """Hold the lock; it goes with the process, however that ends."""
        self._lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT)
        with suppress(ImportError):  # no such locks on Windows
            import fcntl

            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError("another run is writing there", str(self.folder)) from None

    def _compare(self, before: Mapping[str, Any], mixed: bool) -> None:
        for key in self.manifest:
            if before.get(key) == json.loads(json.dumps(self.manifest[key])) or (key == "version" and mixed):
                continue
            if key == "version":
                raise InputError(
                    f"has records of dibs {before.get(key)}, and this is {self.manifest[key]}: go on with "
                    "--mix-versions (each record says its version), begin anew with --fresh, or name another --out",
                    str(self.folder),
                )
            raise InputError(
                f"is a run of something else, see {key} in {MANIFEST}: begin anew with --fresh, or name another --out",
                str(self.folder),
            )

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def shards(self) -> list[Path]:
        return self._files(_SHARD)

    def _files(self, name: re.Pattern[str]) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if name.fullmatch(path.name))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", str(self.folder)) from None

    def append(self, records: pl.DataFrame) -> None:
        """A shard more. On a full disk OSError; what was there stays."""
        import io

        shards = self.shards()
        number = int(shards[-1].stem) + 1 if shards else 1
        packed = io.BytesIO()
        records.write_parquet(packed, compression="zstd")
        write(self.folder / f"{number:06d}.parquet", packed.getvalue(), durable=True)

    def records(self, columns: Sequence[str] = tuple(COLUMNS)) -> pl.DataFrame:
        """All records, or some of their columns, by instance and in the order of the rows."""
        polars = frames()
        shards = self.shards()
        wanted = list(dict.fromkeys(["row", "instance", *columns]))
        if not shards:
            return frame({name: [] for name in COLUMNS}).select(wanted)
        try:
            found: pl.DataFrame = polars.read_parquet(shards, columns=wanted)
        except (polars.exceptions.PolarsError, OSError):
            found = self._one_by_one(shards, wanted)
        names = [row["name"] for row in self.manifest.get("rows", [])]
        place = polars.col("row").replace_strict({name: i for i, name in enumerate(names)}, default=len(names))
        return found.sort(place, "instance")

    def _one_by_one(self, shards: Sequence[Path], columns: Sequence[str]) -> pl.DataFrame:
        """For shards of earlier versions, see `LATER`; one that is damaged is named."""
        polars = frames()
        parts = []
        for shard in shards:
            try:
                there = polars.read_parquet_schema(shard).keys()
                earlier = {new: old for new, old in RENAMED.items() if new in columns and old in there}
                lacking = LATER.keys() - there - earlier.keys()
                names = [earlier.get(name, name) for name in columns if name not in lacking]
                part = polars.read_parquet(shard, columns=names).rename({old: new for new, old in earlier.items()})
            except (polars.exceptions.PolarsError, OSError) as error:
                first = str(error).strip().partition("\n")[0]
                raise InputError(f"is damaged: {first}; without it, its records are run again", str(shard)) from None
            filled = [polars.lit(LATER[name], _type(COLUMNS[name])).alias(name) for name in lacking]
            parts.append(part.with_columns(filled).select(columns))
        try:
            found: pl.DataFrame = polars.concat(parts)
        except polars.exceptions.PolarsError:
            raise InputError("has shards that do not go together", str(self.folder)) from None
        return found
