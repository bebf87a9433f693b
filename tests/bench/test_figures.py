"""The scripts that make the figures of docs/SEARCH.md: what they count, and what they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import depths
import dibs
import figures
import policies
import sizes
from dibs.bench.instances import load
from dibs.solving import solve_together

LIMIT = 150


@pytest.fixture(scope="module")
def puzzles() -> list[dibs.Sudoku]:
    return depths.drawn("sample17", 2, 3)


def test_a_sample_is_drawn_by_the_seed_and_relabelled(puzzles: list[dibs.Sudoku]) -> None:
    again = depths.drawn("sample17", 2, 3)
    assert [one.line() for one in again] == [one.line() for one in puzzles]
    assert not {one.line() for one in puzzles} & {one.line() for one in load("sample17")}
    assert len(depths.drawn("sample17", None, 0)) == len(load("sample17"))
    assert [np.count_nonzero(one.values) for one in puzzles] == [17, 17]


def test_paths_are_those_of_the_oracle(puzzles: list[dibs.Sudoku]) -> None:
    """And what lies beside them is what an ascending search enters, and more."""
    rows = depths.along_the_path(dibs.load_guide(figures.GUIDE).denoiser, puzzles)
    assert [row["depth"] for row in rows] == list(range(len(rows)))
    oracle = solve_together(puzzles, order="oracle", level="naked")
    assert sum(row["states"] for row in rows) == sum(outcome.nodes for outcome in oracle)
    assert all(row["siblings"] >= row["states"] for row in rows)
    assert all(0 <= row["p_s"] <= 1 and 0 <= row["p_surest"] <= 1 for row in rows)
    assert not any(row["siblings_cut"] for row in rows)
    plain = solve_together(puzzles, policy="plain", level="naked", tie="index")
    beside = sum(row["siblings"] * row["sibling_nodes"] for row in rows)
    assert 0 <= sum(outcome.nodes for outcome in plain) - sum(row["states"] for row in rows) <= beside + 1


def test_asks_are_counted_by_depth(puzzles: list[dibs.Sudoku]) -> None:
    rows = depths.asked(dibs.load_guide(figures.GUIDE), puzzles, LIMIT)
    assert [row["way"] for row in rows] == list(depths.WAYS)
    for row in rows:
        assert row["options"]["level"] == "naked"
        assert row["nodes"] <= row["options"]["max_nodes"] == LIMIT
        assert sum(row["asks_by_depth"]) == pytest.approx(row["asks"], abs=0.01)
        on = row["asks_on_path_by_depth"]
        assert all(some <= every for some, every in zip(on, row["asks_by_depth"], strict=True))
    _, every, kept = rows
    assert every["asks"] >= kept["asks"] >= 1
    assert every["asks_on_path_by_depth"][0] == 1


def test_the_figure_of_depths(tmp_path: Path) -> None:
    """The same numbers, the same files."""
    path = [
        {"depth": d, "states": 20 - d, "p_s": 0.9, "p_surest": 1.0, "sibling_nodes": max(0.0, 9.0 - d)}
        for d in range(15)
    ]
    asks = [{"way": str(i), "asks": 1.5, "asks_by_depth": [1.0, 0.0, 0.5][: 3 - i]} for i in range(4)]
    found: dict[str, Any] = {"list": "none", "puzzles": 20, "path": path, "asks": asks}
    for name in ("a", "b"):
        figures.write(tmp_path / f"{name}.svg", found, (4, 5), depths.draw)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert b"asks per puzzle" in first
    assert json.loads((tmp_path / "a.json").read_text()) == found


def test_half_of_a_large_grid() -> None:
    made = sizes.half(2, 1)
    assert [np.count_nonzero(one.values) for one in made] == [312, 312]
    assert [one.line() for one in made] == [one.line() for one in sizes.half(2, 1)]
    assert made[0].line() != made[1].line()


def test_policies_are_compared_on_the_same_puzzles(tmp_path: Path) -> None:
    some = [one for one in load("hard300", 2) if isinstance(one, dibs.Sudoku)]
    found = {policy: sizes.summary(outcomes) for policy, outcomes in sizes.compare(some, 30).items()}
    assert list(found) == list(sizes.POLICIES)
    assert found["plain"]["asks"] == 0 < found["guided"]["asks"]
    for row in found.values():
        assert len(row["each"]["nodes"]) == len(row["each"]["milliseconds"]) == 2
        assert row["LIMIT"] == sum(nodes == 30 for nodes in row["each"]["nodes"])
        assert row["nodes"]["mean"] == pytest.approx(np.mean(row["each"]["nodes"]))
        took = row["milliseconds"]
        assert took["mean"] == pytest.approx(took["search"] + took["guide"], abs=0.01)
    groups = [{"group": name, "puzzles": 2, **found} for name in sizes.GROUPS]
    figures.write(tmp_path / "sizes.svg", {"groups": groups}, (4, 4), sizes.draw)
    assert b"LIMIT" in (tmp_path / "sizes.svg").read_bytes()


def test_the_page_shows_the_policies_as_they_are() -> None:
    """If it does not: put what `python benchmarks/policies.py` prints into docs/SEARCH.md."""
    page = (figures.FOLDER.parent / "SEARCH.md").read_text()
    assert "\n".join(policies.table()) in page
