"""`benchmarks/large.py`: the tables of docs/LARGE.md."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

import large


def record(
    kind: str, row: str, instance: int, seconds: float, status: str = "SAT", nodes: int = 10
) -> dict[str, object]:
    return {
        "kind": kind, "row": row, "instance": instance, "search_seconds": seconds, "model_seconds": 0.001,
        "status": status, "nodes": nodes,
    }  # fmt: skip


def tables(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    monkeypatch.setattr(sys, "argv", ["large.py", str(folder)])
    large.main()
    return [table.splitlines() for table in capsys.readouterr().out.split("\n\n")]


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [record("latin 9", "ours", i, 0.009 + 0.01 * i, nodes=5) for i in range(3)]
    rows += [record("latin 9", large.LUBY, i, 0.099, nodes=50) for i in range(3)]
    rows += [record("latin 9", peer, i, 0.199) for peer in ("Glucose4", "CP-SAT") for i in range(3)]
    rows += [record("latin 9", "CaDiCaL", i, 0.039, "LIMIT" if i == 2 else "SAT") for i in range(3)]
    rows.append(record("latin 9", "ours", 3, 1e9))  # the other rows have not got so far
    pl.DataFrame(rows[:4]).write_parquet(tmp_path / "000001.parquet")
    pl.DataFrame(rows[4:]).write_parquet(tmp_path / "000002.parquet")
    times, nodes = tables(tmp_path, monkeypatch, capsys)  # no engine was guided
    assert (
        times[-1] == "| latin 9 | 3 | 20 / 29 | 100 / 100 | 200 / 200 | ≥ 40 / ≥ 40 (1) | 200 / 200 | **0.50 / 0.72** |"
    )
    assert nodes[-1] == "| latin 9 | 5 / 5 | 50 / 50 | 10.0 / 10.0 |"


def test_guided_engines_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [record("latin 9", row, i, 0.099) for row in ("ours", *large.PEERS.values()) for i in range(3)]
    pl.DataFrame(rows).write_parquet(tmp_path / "000001.parquet")
    times, _ = tables(tmp_path, monkeypatch, capsys)
    assert (
        times[0]
        == "| kind | instances | ours | Glucose4, guided | CaDiCaL, guided | CP-SAT, hinted | ours / best peer |"
    )
    rows += [record("latin 9", peer, i, 0.199) for peer in large.PEERS for i in range(3)]
    pl.DataFrame(rows).write_parquet(tmp_path / "000001.parquet")
    *_, engines = tables(tmp_path, monkeypatch, capsys)
    assert engines[-1] == "| latin 9 | 100 / 100 | " + " | ".join(["200 / 200", "100 / 100"] * 3) + " |"
