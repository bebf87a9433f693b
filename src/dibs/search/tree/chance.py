"""Chance that does not depend on how searches interleave."""

from __future__ import annotations

import numpy as np

from dibs.compiled import part
from dibs.search.tree.planes import BIT, Int


@part
def scramble(seed: Int, node: Int, item: Int) -> Int:
    """A well-mixed 63-bit number: `random` choices depend on seed, node and item, not on how searches interleave."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)
    for step in (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(31))) * step + np.uint64(item)
        x ^= x >> np.uint64(29)
    return np.int64((x * np.uint64(0xD6E8FEB86659FD93)) >> BIT)
