"""Whether what was drawn is spread evenly."""

from __future__ import annotations

import math
from collections.abc import Sequence


def chi_square(counts: Sequence[int], cells: int) -> float:
    """(X^2 - its mean) / its standard deviation, for equally likely cells; counts of 0 may be left out."""
    expected = sum(counts) / cells
    statistic = sum((c - expected) ** 2 for c in counts) / expected + (cells - len(counts)) * expected
    return (statistic - (cells - 1)) / math.sqrt(2 * (cells - 1))
