"""Means, medians and tails of records. LIMIT runs are counted and kept in every figure, never dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dibs.dtypes import Floats, Ints

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("row", "instance", "status", "nodes", "backtracks", "asks", "calls", "depth", "search_seconds",
          "model_seconds", "path_place", "options", "version", "machine")  # fmt: skip
DRAWS = 1000  # of the bootstrap
LARGEST = 100  # values that the bootstrap takes one by one; the others go in bins of neighbours
BINS = 200


@dataclass(frozen=True)
class Interval:
    """95 % of the bootstrap."""

    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """mean / median / 95th percentile (linear between ranks), and the most."""

    mean: float
    median: float
    p95: float
    most: float
    mean_interval: Interval
    p95_interval: Interval


@dataclass(frozen=True)
class Summary:
    row: str
    instances: int
    limits: int  # runs that ended at a limit: their figures are lower bounds
    timed: bool  # whether calls and times are those of the row's way to search; not if it was asked on the path only
    milliseconds: Spread  # search and model
    nodes: Spread
    backtracks: Spread
    calls: Spread  # forward passes of the row's model
    model_milliseconds: float  # what they took, on average
    asked: int  # states on the way to the solution where the guide was asked
    right: int  # and put the solution's value first
    options: Mapping[str, Any]

    @property
    def p_s(self) -> float | None:
        """How often the guide puts the solution's value first on the way to it; None where it was not asked."""
        return self.right / self.asked if self.asked else None


def summarise(records: pl.DataFrame) -> list[Summary]:
    """One summary for each row, in the order in which rows first appear."""
    return [_summary(str(name), part) for (name,), part in records.group_by("row", maintain_order=True)]


def _summary(name: str, part: pl.DataFrame) -> Summary:
    import polars as pl

    def values(column: str) -> Floats:
        return part[column].to_numpy().astype(np.float64)

    options = json.loads(part["options"][0])
    model = values("model_seconds")
    places = part["path_place"].explode(empty_as_null=False) if "path_place" in part.columns else pl.Series([])
    return Summary(
        row=name,
        instances=len(part),
        limits=int((part["status"] == "LIMIT").sum()),
        timed=options.get("asked") != "path",
        milliseconds=spread(1e3 * (values("search_seconds") + model)),
        nodes=spread(values("nodes")),
        backtracks=spread(values("backtracks")),
        calls=spread(values("calls")),
        model_milliseconds=float(1e3 * model.mean()),
        asked=len(places),
        right=int((places == 0).sum()),
        options=options,
    )


def spread(values: Floats) -> Spread:
    ordered = np.sort(values)
    return Spread(
        float(ordered.mean()),
        float(np.median(ordered)),
        float(np.percentile(ordered, 95)),
        float(ordered[-1]),
        mean_interval(ordered),
        percentile_interval(ordered, 0.95),
    )


def mean_interval(ordered: Floats, seed: int = 0) -> Interval:
    """Of the mean of ascending values: the bootstrap, with neighbours in bins so that long lists take no time.

    The largest values, which make the mean uncertain, are drawn one by one.
    """
    n = len(ordered)
    if ordered[0] == ordered[-1]:
        return Interval(float(ordered[0]), float(ordered[0]))
    edges, size, drawn = _draws(n, seed)
    means = np.add.reduceat(ordered, edges) / size
    low, high = np.quantile(drawn @ means / n, [0.025, 0.975])
    return Interval(float(low), float(high))


@lru_cache(maxsize=4)
def _draws(n: int, seed: int) -> tuple[Ints, Ints, Floats]:
    """Where bins of n ascending values begin, [bins] their sizes, and [draws, bins] how often each is drawn.

    Rows of an experiment have as many values each: they share the draws.
    """
    rest = max(0, n - LARGEST)
    edges = np.unique(np.append(np.linspace(0, rest, min(BINS, rest) + 1).astype(int), np.arange(rest, n)))
    size = np.diff(np.append(edges, n))
    drawn = np.random.default_rng(seed).multinomial(n, size / n, DRAWS)
    return edges, size, drawn.astype(np.float64)


def percentile_interval(ordered: Floats, share: float, seed: int = 0) -> Interval:
    """Of a percentile of ascending values: the k-th of n draws is at a place that has a beta distribution."""
    n = len(ordered)
    k = min(max(round(share * n), 1), n)
    drawn = np.random.default_rng(seed).beta(k, n + 1 - k, DRAWS)
    low, high = ordered[np.minimum((np.quantile(drawn, [0.025, 0.975]) * n).astype(int), n - 1)]
    return Interval(float(low), float(high))


def versions(records: pl.DataFrame) -> Sequence[str]:
    """Of the code that made the records; more than one must be said beside every figure."""
    return sorted(records["version"].unique())
