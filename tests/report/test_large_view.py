"""Cells against the best peer, on records made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import made
from hypothesis import given
from hypothesis import strategies as st

from dibs.report.figures import drawn
from dibs.report.section import Section
from dibs.report.tabular import Cell as Text
from dibs.report.tabular import Tabular, latex, markdown
from dibs.report.views import section
from dibs.report.views.large import Figure, percentiles, ratio

SMALL = {"family": "latin", "order": 8, "holes": 0.5, "balanced": True}
LARGE = {"family": "latin", "order": 10, "holes": 0.4, "balanced": True}
LIMIT = 1.0  # seconds


def row(name: str, engine: str | None = None, guide: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {"name": name, "options": {"seconds": LIMIT}, "asked": "everywhere"}
    said["guidance"] = {"guide": guide} if guide else {}
    return said | ({"engine": engine, "settings": {}} if engine else {})


ROWS = [row("ours"), row("A", "glucose4"), row("B", "cadical195"), row("A, guided", "glucose4", "g")]


def searches(ms: Sequence[float | None], kind: str = "latin 8, 50 %", **more: Any) -> list[dict[str, Any]]:
    """Of one row and kind; None: it ended at its limit, the clock read a bit less."""
    return [
        {"nodes": 7, "backtracks": 3, "kind": kind, "search_seconds": (990 if one is None else one) / 1000}
        | {"status": "LIMIT" if one is None else "SAT"}
        | more
        for one in ms
    ]


def shown(folder: Path, *by_row: list[dict[str, Any]], cells: Sequence[Any] = (SMALL,)) -> Section:
    rows = ROWS[: len(by_row)]
    choice = {"puzzles": None, "kind": list(cells)}
    named = {one["name"]: some for one, some in zip(rows, by_row, strict=True)}
    return section(made(folder, "large", named, choice=choice, rows=rows))


def line(found: Tabular, first: str) -> dict[str, Text]:
    [cells] = [one.cells for one in found.lines if one.cells[0] == first]
    return dict(zip((column.name for column in found.columns), cells, strict=True))


def test_figures_of_a_kind(tmp_path: Path) -> None:
    a = searches([20, 40, 60], around_seconds=0.01)
    guided = searches([5, 5, 5], load_seconds=0.2, model_seconds=0.001)
    found = shown(tmp_path, searches([10, 20, 30]), a, searches([30, 30, 30]), guided)
    [table] = found.tables
    assert (table.key, table.title) == ("latin-8-50", "Made: 3 of latin 8, 50 %")
    assert line(table, "ours")["time, ms"] == ("20", "29")
    assert line(table, "ours")["ratio"] == ("0.667", "0.967"), "the best peer is B at both"
    assert line(table, "A")["ratio"] == ("1.33", "1.93")
    assert line(table, "A")["search, ms"] == ("30", "48")
    assert line(table, "A, guided")["ratio"] == ("0.2", "0.2"), "model time included"
    assert (line(table, "ours")["conflicts or nodes"], line(table, "A")["conflicts or nodes"]) == (
        ("7", "7"),
        ("3", "3"),
    )
    assert (line(table, "A")["solved"], line(table, "A")["LIMIT"]) == ("100 %", "0")
    assert (line(table, "ours")["guide load, ms"], line(table, "A, guided")["guide load, ms"]) == ("-", "200")
    assert any("A, guided: 200 ms" in words for words in found.words)
    assert any(words.startswith("Not in the times") for words in found.words)


def test_the_best_peer_may_be_another_one_at_p95(tmp_path: Path) -> None:
    found = shown(tmp_path, searches([10] * 9 + [100]), searches([5] * 9 + [900]), searches([50] * 10))
    [table] = found.tables
    assert line(table, "ours")["ratio"] == ("2", "1.19")
    assert table.notes[0] == (
        "ours: at p50 not below the best peer, A (10 against 5 ms, 2 of it); "
        "at p95 not below the best peer, B (59.5 against 50 ms, 1.19 of it)."
    )


def test_below_in_words(tmp_path: Path) -> None:
    [table] = shown(tmp_path, searches([10, 10]), searches([20, 40], around_seconds=0.015), searches([90, 90])).tables
    assert table.notes[0] == (
        "ours: at p50 below the best peer, A (10 against 30 ms, 0.333 of it); "
        "at p95 below the best peer, A (10 against 39 ms, 0.256 of it)."
    )
    assert table.notes[1].startswith("Writing the formula, making the engine and checking the answer left out, ours: ")
    assert "at p50 below the best peer, A (10 against 15 ms, 0.667 of it)" in table.notes[1]
    assert len(table.notes) == 2, "nothing about limits"


def test_level_in_words(tmp_path: Path) -> None:
    [table] = shown(tmp_path, searches([10]), searches([10])).tables
    assert "at p50 level with the best peer, A (10 against 10 ms, 1 of it)" in table.notes[0]


@pytest.mark.parametrize(
    ("ours", "peer", "says", "share"),
    [
        ([None, None], [5, 5], "not below the best peer, A (≥ 1,000 against 5 ms, ≥ 200 of it)", "≥ 200"),
        ([5, 5], [None, None], "below the best peer, A (5 against ≥ 1,000 ms, ≤ 0.005 of it)", "≤ 0.005"),
        ([None], [None], "nothing can be said, both end at their limit: A (≥ 1,000 against ≥ 1,000 ms)", "-"),
        ([1200], [None], "nothing can be said, the best peer ends at its limit: A (1,200 against ≥ 1,000 ms)", "≤ 1.2"),
        ([None], [1200], "nothing can be said, it ends at its limit: A (≥ 1,000 against 1,200 ms)", "≥ 0.833"),
    ],
)
def test_limits_in_words(tmp_path: Path, ours: list[Any], peer: list[Any], says: str, share: str) -> None:
    [table] = shown(tmp_path, searches(ours), searches(peer)).tables
    for what in ("p50", "p95"):
        assert f"at {what} {says}" in table.notes[0]
    assert line(table, "ours")["ratio"] == (share, share)
    assert any("LIMIT counts" in note for note in table.notes)


def test_a_peer_that_ends_speaks_for_one_that_does_not(tmp_path: Path) -> None:
    [table] = shown(tmp_path, searches([1300]), searches([None]), searches([1200])).tables
    assert "at p50 not below the best peer, B (1,300 against 1,200 ms, 1.08 of it)" in table.notes[0]
    [table] = shown(tmp_path / "x", searches([1100]), searches([None]), searches([1200])).tables
    assert "at p50 nothing can be said, the best peer ends at its limit: A" in table.notes[0]


def test_searches_at_their_limit_count_as_at_least_the_limit(tmp_path: Path) -> None:
    [table] = shown(tmp_path, searches([10, 10, 10, 10, None]), searches([10] * 5)).tables
    ours = line(table, "ours")
    assert ours["time, ms"] == ("10", "≥ 802"), "a fifth of 10 and four of 1,000, not of 990"
    assert (ours["solved"], ours["LIMIT"]) == ("80 %", "1")
    assert ours["conflicts or nodes"] == ("7", "≥ 7"), "its count might have been anything above"


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=30))
def test_percentiles_are_bounds_where_a_longer_search_would_change_them(some: list[tuple[float, bool]]) -> None:
    values, limited = np.array([one for one, _ in some]), np.array([cut for _, cut in some])
    found = percentiles(values, limited)
    longer = np.where(limited, values + 1e7, values)
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        assert found[name].value == np.quantile(values, share)
        assert found[name].least == bool(np.quantile(longer, share) > found[name].value + 1e-3)


def test_ratios() -> None:
    assert str(ratio(Figure(3, False), Figure(2, False))) == "1.5"
    assert str(ratio(Figure(3, False), Figure(0, False))) == "-"


def test_without_peers_there_is_no_verdict(tmp_path: Path) -> None:
    [table] = shown(tmp_path, searches([10])).tables
    assert table.notes == ()
    assert line(table, "ours")["ratio"] == ("-", "-")


@pytest.mark.parametrize(
    ("guided", "says"),
    [
        ([5, 10, 20], "ours, guided beside ours: 0.5 of it at p50, 0.5 of it at p95; training (600 s) has paid after"),
        ([20, 40, 80], "ours, guided beside ours: 2 of it at p50, 2 of it at p95; training does not pay."),
    ],
)
def test_what_a_guide_for_a_kind_is_worth(tmp_path: Path, guided: list[float], says: str) -> None:
    rows = [row("ours, guided", guide="auto") | {"guide": "auto"}, row("ours", guide="auto")]  # the second's by policy
    named = {"ours, guided": searches(guided, "roster"), "ours": searches([10, 20, 40], "roster")}
    choice = {"puzzles": None, "kind": [{"family": "roster", "trained": "runs/roster"}]}
    [table] = section(made(tmp_path, "large", named, choice=choice, rows=rows, training={"roster": 600})).tables
    assert table.notes[0].startswith(says)
    if guided[0] < 10:
        assert table.notes[0].endswith(" 51,429 instances.")  # 600 s of 35 / 3 ms each


def test_kinds_in_their_order(tmp_path: Path) -> None:
    both = [searches([1, 2]) + searches([3, 4], "latin 10, 40 %") for _ in range(4)]
    found = shown(tmp_path, *both, cells=[LARGE, SMALL, {"family": "sudoku", "size": 25, "kept": 0.5}])
    assert [table.key for table in found.tables] == ["latin-10-40", "latin-8-50"]
    assert found.title == "Made: 2 instances of each of 2 kinds"
    assert [one.key for one in found.pictures] == ["cactus", "orders"]
    for table in found.tables:
        assert "latin" in markdown(table)
        assert r"\%" in latex(table)


def test_figures_can_be_drawn_and_say_what_they_show(tmp_path: Path) -> None:
    both = [searches([1, None]) + searches([3, 4], "latin 10, 40 %") for _ in range(4)]
    cactus, orders = shown(tmp_path, *both, cells=[LARGE, SMALL]).pictures
    assert "Thin lines, hollow marks: the same engine with a guide." in cactus.caption
    assert "latin 8, 50 %; latin 10, 40 %" in orders.caption
    assert "Arrows" in orders.caption
    for picture in (cactus, orders):
        svg, png = drawn(picture)
        assert svg.startswith(b"<?xml")
        assert png.startswith(b"\x89PNG")
        assert drawn(picture)[0] == svg


def test_one_order_has_no_growth(tmp_path: Path) -> None:
    assert [one.key for one in shown(tmp_path, searches([1]), searches([2])).pictures] == ["cactus"]


def test_rows_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    wrong = searches([1, 1], status="UNSAT")
    found = shown(tmp_path, searches([1, 1]), wrong)
    assert "Rows contradict each other about 2 instances: one of them is wrong." in found.words
    assert not any("contradict" in words for words in shown(tmp_path / "x", searches([1]), searches([1])).words)
