"""Figures of records against slow ones of their own, and intervals against plain resampling."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dibs.bench.records import COLUMNS, frame
from dibs.bench.summary import BINS, LARGEST, mean_interval, percentile_interval, spread, summarise, versions

Floats = NDArray[np.float64]


def records(*rows: dict[str, Any]) -> pl.DataFrame:
    """Records with what matters here; the rest is nothing."""
    nothing = {"String": "", "Boolean": False, "Float64": 0.0}
    columns = {
        name: [row.get(name, [] if kind.startswith("List") else nothing.get(kind, 0)) for row in rows]
        for name, kind in COLUMNS.items()
    }
    return frame(columns | {"options": [row.get("options", "{}") for row in rows]})


def percentile(values: list[float], share: float) -> float:
    """Linear between ranks, from the definition."""
    ordered = sorted(values)
    at = Fraction(share).limit_denominator(1000) * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (at - low) * (Fraction(ordered[high]) - Fraction(ordered[low])))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=300))
def test_figures_are_those_of_the_definitions(values: list[int]) -> None:
    found = spread(np.array(values, np.float64))
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.median == pytest.approx(statistics.median(values))
    assert found.p95 == pytest.approx(percentile([float(value) for value in values], 0.95))
    assert found.most == max(values)
    assert min(values) <= found.mean_interval.low <= found.mean_interval.high <= max(values) * (1 + 1e-12)
    assert found.mean_interval.low <= found.mean * (1 + 1e-12)
    assert found.mean_interval.high >= found.mean * (1 - 1e-12) or len(values) < 3
    assert found.p95_interval.low in values
    assert found.p95_interval.high in values
    assert found.p95_interval.low <= found.p95_interval.high


def samples() -> dict[str, Floats]:
    rng = np.random.default_rng(5)
    return {
        "few": rng.exponential(size=30),
        "as many as are taken one by one": rng.exponential(size=LARGEST),
        "more": rng.lognormal(sigma=2, size=LARGEST + BINS // 2),
        "a long tail": rng.lognormal(sigma=2, size=3_000),
        "ties": rng.integers(0, 4, 2_000).astype(np.float64),
        "one outlier": np.append(np.ones(999), 1e6),
    }


def resampled(values: Floats, figure: Any) -> Floats:
    rng = np.random.default_rng(11)
    drawn = [figure(values[rng.integers(0, len(values), len(values))]) for _ in range(2_000)]
    ends: Floats = np.quantile(drawn, [0.025, 0.975])
    return ends


@pytest.mark.parametrize("name", samples())
def test_the_interval_of_a_mean_is_the_bootstrap(name: str) -> None:
    values = np.sort(samples()[name])
    low, high = resampled(values, np.mean)
    found = mean_interval(values)
    # Of 1,000 draws and of 2,000: the ends of both wander by some percent of the width.
    assert found.low == pytest.approx(low, abs=0.12 * (high - low))
    assert found.high == pytest.approx(high, abs=0.12 * (high - low))


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("name", ["a long tail", "more", "ties"])
def test_the_interval_of_a_percentile_is_that_of_resampling(name: str, share: float) -> None:
    """In ranks, for that is what resampling makes uncertain."""
    values = np.sort(samples()[name])
    found = percentile_interval(values, share)
    for end, wanted in zip(
        (found.low, found.high), resampled(values, lambda some: np.quantile(some, share)), strict=True
    ):
        first, last = (np.searchsorted(values, end, side) / len(values) for side in ("left", "right"))
        there = np.searchsorted(values, wanted) / len(values)
        width = math.sqrt(share * (1 - share) / len(values))
        assert first - width <= there <= last + width


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_interval_of_a_percentile_covers_95_percent(share: float) -> None:
    """Of many values: 1.96 standard errors of a rank to either side, over several seeds."""
    n = 100_000
    error = math.sqrt(share * (1 - share) * n)
    found = [percentile_interval(np.arange(n, dtype=np.float64), share, seed) for seed in range(20)]
    assert np.mean([(one.low - share * n) / error for one in found]) == pytest.approx(-1.96, abs=0.06)
    assert np.mean([(one.high - share * n) / error for one in found]) == pytest.approx(1.96, abs=0.06)


def test_the_interval_of_a_mean_covers_95_percent() -> None:
    values = np.sort(np.random.default_rng(4).normal(size=2_000))
    error = values.std() / math.sqrt(len(values))
    found = [mean_interval(values, seed) for seed in range(20)]
    assert np.mean([(one.low - values.mean()) / error for one in found]) == pytest.approx(-1.96, abs=0.08)
    assert np.mean([(one.high - values.mean()) / error for one in found]) == pytest.approx(1.96, abs=0.08)


def test_intervals_of_equal_values() -> None:
    for values in (np.array([3.0]), np.full(500, 3.0)):
        found = spread(values)
        assert (found.mean_interval.low, found.mean_interval.high) == (3, 3)
        assert (found.p95_interval.low, found.p95_interval.high) == (3, 3)


def test_intervals_shrink_with_more_values() -> None:
    rng = np.random.default_rng(2)
    widths = [(one := mean_interval(np.sort(rng.exponential(size=n)))).high - one.low for n in (100, 10_000)]
    assert widths[1] < widths[0] / 5


def test_limit_runs_stay_in_every_figure() -> None:
    rows = [
        {"row": "x", "instance": i, "nodes": i, "backtracks": 2 * i, "search_seconds": i / 1000, "status": status}
        for i in range(101)
        for status in ["LIMIT" if i == 100 else "SAT"]
    ]
    [summary] = summarise(records(*rows))
    assert (summary.row, summary.instances, summary.limits) == ("x", 101, 1)
    assert (summary.nodes.mean, summary.nodes.median, summary.nodes.p95, summary.nodes.most) == (50, 50, 95, 100)
    assert summary.backtracks.p95 == 190
    assert summary.milliseconds.median == pytest.approx(50)
    assert summary.p_s is None
    assert summary.timed


def test_rows_and_models() -> None:
    """Rows as they first appear; the model's time is part of a row's time; p_s is about all states together."""
    summaries = summarise(
        records(
            {"row": "b", "search_seconds": 0.002, "model_seconds": 0.05, "calls": 5, "path_place": [0, 0, 1]},
            {"row": "a", "search_seconds": 0.002, "options": '{"asked": "path"}'},
            {"row": "b", "search_seconds": 0.004, "calls": 1, "path_place": [2]},
            {"row": "b", "search_seconds": 0.003, "path_place": []},
        )
    )
    b, a = summaries
    assert (b.row, a.row) == ("b", "a")
    assert b.milliseconds.mean == pytest.approx(59 / 3)
    assert b.model_milliseconds == pytest.approx(50 / 3)
    assert (b.calls.mean, b.calls.most) == (2, 5)
    assert (b.asked, b.right, b.p_s) == (4, 2, 0.5)
    assert (a.asked, a.p_s, a.timed, b.timed) == (0, None, False, True)
    assert a.options == {"asked": "path"}


def test_versions_are_told() -> None:
    found = records({"row": "a", "version": "2"}, {"row": "a", "version": "1"}, {"row": "b", "version": "2"})
    assert versions(found) == ["1", "2"]
