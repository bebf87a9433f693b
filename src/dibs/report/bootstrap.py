"""Changes between rows with their 95 % intervals: puzzles are drawn again, each with what all rows made of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dibs.bench.summary import DRAWS
from dibs.dtypes import Floats
from dibs.report.tabular import MISSING, percent, signed

UNITS = 5_000  # that are drawn from
CHUNK = 50  # draws whose weights are held at once


class Change(NamedTuple):
    """Of a mean against another mean: 0.5 is half as much again. NaN where the other is 0."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """`+12.3 % (+10.1 to +14.5)`."""
        if not np.isfinite(self.value):
            return MISSING
        return f"{percent(self.value)} ({signed(100 * self.low)} to {signed(100 * self.high)})"


def changes(values: Floats, base: int = 0, seed: int = 0) -> list[Change]:
    """[k] of the mean of each column of values [n, k] against that of the column `base`."""
    drawn = resampled(values, seed)
    means = values.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = means / means[base] - 1
        ratios = drawn / drawn[:, base : base + 1] - 1
    lows, highs = np.full(len(found), np.nan), np.full(len(found), np.nan)
    known = np.isfinite(found)
    if known.any():
        # A draw without any cost in the base says nothing; with very few puzzles there are such draws.
        usable = ratios[np.isfinite(ratios[:, base])][:, known]
        lows[known], highs[known] = np.quantile(usable, [0.025, 0.975], axis=0) if len(usable) else found[known]
    return [Change(*map(float, three)) for three in zip(found, lows, highs, strict=True)]


def change(mean: float, base: float) -> float:
    """The same without an interval."""
    return mean / base - 1 if base else float("nan")


def resampled(values: Floats, seed: int = 0) -> Floats:
    """[DRAWS, k] means of the columns of values [n, k] over rows drawn with replacement.

    Beyond `UNITS` rows, random groups of rows are drawn instead of rows: as uncertain, and much quicker.
    """
    rng = np.random.default_rng(seed)
    size = np.ones(len(values))
    if len(values) > UNITS:
        first = np.linspace(0, len(values), UNITS, endpoint=False).astype(int)
        size = np.diff(np.append(first, len(values))).astype(np.float64)
        values = np.add.reduceat(values[rng.permutation(len(values))], first)
    n = len(values)
    found = []
    for at in range(0, DRAWS, CHUNK):
        count = min(CHUNK, DRAWS - at)
        weights = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(count)]).astype(np.float64)
        found.append(weights @ values / (weights @ size)[:, None])
    return np.concatenate(found)
