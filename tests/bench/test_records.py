"""The folder of a run: whole shards or none, one writer, nothing mixed in silence, whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs import writing
from dibs.bench.records import COLUMNS, LATER, MANIFEST, Store, frame
from dibs.problem import InputError

VALUES: dict[str, Any] = {"String": "x", "Boolean": True}


def some(*keys: tuple[str, int], version: str = "1") -> pl.DataFrame:
    """A record for each (row, instance)."""
    columns: dict[str, list[Any]] = {
        name: [[1] if kind.startswith("List(I") else [] if kind.startswith("List") else VALUES.get(kind, 1)] * len(keys)
        for name, kind in COLUMNS.items()
    }
    columns |= {"row": [row for row, _ in keys], "instance": [number for _, number in keys]}
    return frame(columns | {"version": [version] * len(keys)})


def manifest(**changes: Any) -> dict[str, Any]:
    rows = [{"name": name} for name in ("b", "a")]
    return {"experiment": "x", "instances": {"count": 3, "digest": "d"}, "rows": rows, "version": "1"} | changes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "x"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    store = Store.open(folder, manifest())
    yield store
    store.close()


def keys(store: Store) -> list[tuple[str, int]]:
    return store.records(()).rows()


def test_records_come_back_by_row_and_instance(store: Store, folder: Path) -> None:
    """In the order of the experiment's rows, whatever the order in which they were written."""
    assert keys(store) == []
    store.append(some(("a", 2), ("b", 0)))
    store.append(some(("b", 2), ("a", 0), ("b", 1)))
    assert keys(store) == [("b", 0), ("b", 1), ("b", 2), ("a", 0), ("a", 2)]
    assert [path.name for path in store.shards()] == ["000001.parquet", "000002.parquet"]
    whole = Store.read(folder).records()
    assert whole.columns == list(COLUMNS)
    assert whole.schema == some().schema
    assert store.records(("nodes",)).columns == ["row", "instance", "nodes"]


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 255), max_size=4), max_size=6))
def test_lists_come_back(lists: list[list[int]]) -> None:
    """Empty ones too, each with its own record."""
    columns = some(*(("a", i) for i in range(len(lists)))).to_dict(as_series=False)
    found = frame(columns | {"path_place": lists, "path_p": lists})
    assert found["path_place"].to_list() == found["path_p"].to_list() == lists
    assert found["ledger_p"].to_list() == [[]] * len(lists)


@settings(max_examples=20)
@given(st.permutations([(row, number) for row in "ab" for number in range(4)]), st.integers(1, 8))
def test_any_order_of_finishing_reads_the_same(order: list[tuple[str, int]], size: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        store = Store.open(Path(name), manifest())
        for at in range(0, len(order), size):
            store.append(some(*order[at : at + size]))
        store.close()
        assert keys(store) == [(row, number) for row in "ba" for number in range(4)]


def test_one_writer_at_a_time(store: Store, folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match=r"runs/x: another run is writing there$"):
            Store.open(folder, manifest())
    assert keys(Store.read(folder)) == [], "reading needs no lock"
    store.close()
    store.close()
    Store.open(folder, manifest()).close()


def test_a_refusal_leaves_no_lock(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    store.close()
    with pytest.raises(InputError, match="something else"):
        Store.open(folder, manifest(experiment="y"))
    Store.open(folder, manifest()).close()


def test_the_lock_goes_with_a_killed_process(folder: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from dibs import writing
from dibs.bench.records import Store
store = Store.open(Path({str(folder)!r}), {manifest()!r})
try:
    Store.open(Path({str(folder)!r}), {manifest()!r})
except ValueError as error:
    print(error, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == -9
    assert done.stdout == f"{folder}: another run is writing there\n"
    Store.open(folder, manifest()).close()


def test_what_a_killed_run_left_is_cleared_away(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    store.close()
    for name in ("000002.part", "run.part", "000002.parquet.00ff00ff.partial", "run.json.00ff00ff.partial"):
        (folder / name).write_bytes(b"PAR1 and no more")
    for name in ("film.part", "film.avi.00ff00ff.partial", "0001.parquet", "notes.txt"):
        (folder / name).write_text("not ours")
    again = Store.open(folder, manifest())
    assert keys(again) == [("a", 0)]
    again.append(some(("a", 1)))
    again.close()
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [
            ".lock",
            "000001.parquet",
            "000002.parquet",
            "0001.parquet",
            "film.part",
            "film.avi.00ff00ff.partial",
            "notes.txt",
            MANIFEST,
        ]
    )
    Store.open(folder, manifest(), fresh=True).close()
    assert (folder / "film.part").exists(), "files of others stay"


@pytest.mark.parametrize("key", ["experiment", "instances", "rows"])
def test_another_experiment_is_not_mixed_in(key: str, store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    store.close()
    other = manifest(**{key: "another"})
    for mixed in (False, True):
        with pytest.raises(InputError) as error:
            Store.open(folder, other, mixed=mixed)
        assert str(error.value) == (
            f"{folder}: is a run of something else, see {key} in run.json: "
            "begin anew with --fresh, or name another --out"
        )
    fresh = Store.open(folder, other, fresh=True)
    assert fresh.shards() == []
    fresh.close()
    assert json.loads((folder / MANIFEST).read_text()) == other


def test_versions_are_mixed_only_if_told_so(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    store.close()
    with pytest.raises(InputError) as error:
        Store.open(folder, manifest(version="2"))
    assert str(error.value).startswith(f"{folder}: has records of dibs 1, and this is 2: go on with --mix-versions ")
    mixed = Store.open(folder, manifest(version="2"), mixed=True)
    mixed.append(some(("a", 1), version="2"))
    mixed.close()
    assert mixed.records(("version",))["version"].to_list() == ["1", "2"]
    with pytest.raises(InputError, match="has records of dibs 1"):
        Store.open(folder, manifest(version="2"))


def test_a_run_without_records_may_become_another(store: Store, folder: Path) -> None:
    """It was killed before its first shard: there is nothing to mix."""
    store.close()
    other = manifest(version="2", experiment="y")
    Store.open(folder, other).close()
    assert Store.read(folder).manifest == other


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, but long enough to have a footer"])
def test_a_damaged_shard_is_named(content: bytes, store: Store, folder: Path) -> None:
    for number in range(3):
        store.append(some(("a", number)))
    (folder / "000002.parquet").write_bytes(content)
    with pytest.raises(InputError) as error:
        store.records()
    said = str(error.value)
    assert said.startswith(f"{folder / '000002.parquet'}: is damaged: ")
    assert said.endswith("; without it, its records are run again")
    assert "\n" not in said
    (folder / "000002.parquet").unlink()
    assert keys(store) == [("a", 0), ("a", 2)]


def test_a_truncated_shard_is_named(store: Store, folder: Path) -> None:
    store.append(some(*(("a", number) for number in range(500))))
    shard = folder / "000001.parquet"
    shard.write_bytes(shard.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"000001.parquet: is damaged: [^\n]+$"):
        store.records()


def test_a_shard_of_somebody_else(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    pl.DataFrame({"row": ["a"], "instance": [1]}).write_parquet(folder / "000002.parquet")
    with pytest.raises(InputError, match=r"000002.parquet: is damaged"):
        store.records()


def test_records_of_earlier_versions(store: Store, folder: Path) -> None:
    """Columns that they did not have; alone, and beside newer shards."""
    old = some(("a", 0), ("b", 0)).drop(list(LATER))
    old.write_parquet(folder / "000001.parquet")
    assert keys(store) == [("b", 0), ("a", 0)]
    whole = store.records()
    assert whole.schema == some().schema
    assert whole["variables"].to_list() == [0, 0]
    assert whole["tries"].to_list() == [None, None], "nobody counted them"
    assert store.records(tuple(old.columns)).equals(old.sort("row", descending=True))
    store.append(some(("a", 1)))
    assert keys(store) == [("b", 0), ("a", 0), ("a", 1)]
    whole = store.records()
    assert whole.schema == some().schema
    assert whole["variables"].to_list() == [0, 0, 1]
    assert whole["tries"].to_list() == [None, None, 1]
    (folder / "000001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"000001.parquet: is damaged"):
        store.records()


def test_names_of_earlier_versions(store: Store, folder: Path) -> None:
    """What is a kind of instances now was a cell, in records and in the manifest."""
    new = some(("a", 0), ("b", 0))
    new.rename({"kind": "cell"}).write_parquet(folder / "000001.parquet")
    assert store.records(("row", "instance", "kind"))["kind"].to_list() == new["kind"].to_list()
    assert store.records(("row", "instance", "nodes")).columns == ["row", "instance", "nodes"]
    manifest = json.loads((folder / MANIFEST).read_text()) | {"choice": {"cell": ["one"], "seed": 3}}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert Store.read(folder).manifest["choice"] == {"kind": ["one"], "seed": 3}


def test_shards_that_do_not_go_together(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    some(("a", 1)).with_columns(pl.col("nodes").cast(pl.String)).write_parquet(folder / "000002.parquet")
    with pytest.raises(InputError, match=r"runs/x: has shards that do not go together$"):
        store.records()


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run: there is no run.json; `dibs bench` makes runs"):
        Store.read(tmp_path / "nowhere")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="is not the folder of a run"):
        Store.read(file)
    with pytest.raises(InputError, match="cannot be written: "):
        Store.open(file, manifest())
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        Store.open(file / "below", manifest())
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(InputError, match=r"run.json: cannot be read: "):
        Store.read(tmp_path)


def test_records_of_an_unknown_run_are_not_taken_over(store: Store, folder: Path) -> None:
    store.append(some(("a", 0)))
    store.close()
    (folder / MANIFEST).unlink()
    with pytest.raises(InputError, match="is not a run: there is no"):
        Store.open(folder, manifest())
    Store.open(folder, manifest(), fresh=True).close()
    assert Store.read(folder).shards() == []


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(
    where: str, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(some(("a", 0)))
    with monkeypatch.context() as patched:
        patched.setattr(f"os.{where}", full)
        with pytest.raises(OSError, match="No space left"):
            store.append(some(("a", 1)))
        with pytest.raises(InputError, match="x/new: cannot be written: No space left on device"):
            Store.open(folder / "new", manifest())
    assert keys(store) == [("a", 0)]
    assert [path.name for path in folder.iterdir() if path.suffix in (".part", ".partial")] == []
    store.append(some(("a", 1)))
    assert keys(store) == [("a", 0), ("a", 1)]
    Store.open(folder / "new", manifest()).close()


class Killed(BaseException):
    """The end of a process, without any of its last words."""


class Disk:
    """A disk whose computer goes down at the n-th step; then there are no more steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 10**9
        self.steps = 0
        for owner, name in ((os, "fsync"), (os, "replace"), (Path, "unlink")):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))
        monkeypatch.setattr(writing, "open", self.counted(open), raising=False)

    def counted(self, call: Any) -> Any:
        def step(*arguments: Any, **more: Any) -> Any:
            self.steps += 1
            self.left -= 1
            if self.left < 0:
                raise Killed
            return call(*arguments, **more)

        return step


def test_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever step was the last: the folder can be taken up, and has whole shards only."""
    disk = Disk(monkeypatch)

    def run(folder: Path) -> None:
        store = Store.open(folder, manifest())
        try:
            for number in range(4):
                if ("a", number) not in keys(store):
                    store.append(some(("a", number), ("b", number)))
        finally:
            store.close()

    run(tmp_path / "whole")
    steps = disk.steps
    wanted = keys(Store.read(tmp_path / "whole"))
    assert steps >= 20
    for last in range(steps):
        folder = tmp_path / str(last)
        disk.left = last
        with pytest.raises(Killed):
            run(folder)
        disk.left = 10**9
        run(folder)
        assert keys(Store.read(folder)) == wanted
        assert not [path for path in folder.iterdir() if path.suffix in (".part", ".partial")]
