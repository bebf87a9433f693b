"""States that searches branch on, for tests of denoisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance, Level, Structure
from dibs.search import Options
from dibs.search.tree.search import TreeSearch

Bools = NDArray[np.bool_]


class Visited(NamedTuple):
    structure: Structure
    open: Bools  # [n, L]
    true: Bools  # [n, L]


def visited(instances: Sequence[Instance], most: int, level: Level = "naked") -> Visited:
    """The first `most` states of searches with a guide that guesses: many of them are in subtrees that fail."""
    engine = TreeSearch(instances, Options(level=level, max_solutions=10**6), guided=True)
    found: list[tuple[Bools, Bools]] = []
    random = np.random.default_rng(0)
    while sum(len(open_) for open_, _ in found) < most and (asks := engine.advance()):
        found.append((asks.open, asks.true))
        engine.answer(asks, random.random(asks.open.shape))
    open_, true = (np.concatenate(part)[:most] for part in zip(*found, strict=True))
    return Visited(instances[0].structure, open_, true)
