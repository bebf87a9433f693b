"""Guides that behave badly: none of them may change an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs import Asks


class Scored:
    """A guide from a function of the asks."""

    def __init__(self, scores: Callable[[Asks], NDArray[Any]], static: bool = False) -> None:
        self.scores = scores
        self.static = static

    def rank(self, asks: Asks) -> NDArray[Any]:
        return self.scores(asks)


def _random(asks: Asks) -> NDArray[Any]:
    """Depends on the state alone, as a network would."""
    seeds = asks.true @ np.arange(1, asks.true.shape[1] + 1)
    return np.stack([np.random.default_rng(int(seed)).normal(size=asks.true.shape[1]) for seed in seeds])


def _ramp(asks: Asks) -> NDArray[Any]:
    return np.tile(np.arange(asks.true.shape[1], dtype=np.float64), (len(asks), 1))


def _wild(asks: Asks) -> NDArray[Any]:
    """Infinities of both signs, NaN and huge numbers side by side."""
    values = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 0.0])
    return values[(_ramp(asks).astype(int) * 7 + asks.depth[:, None]) % len(values)]


BAD: dict[str, Callable[[Asks], NDArray[Any]]] = {
    "random": _random,
    "constant": lambda asks: np.full(asks.true.shape, 3, np.int64),
    "reversed": _ramp,
    "nan": lambda asks: np.full(asks.true.shape, np.nan, np.float32),
    "infinite": lambda asks: np.where(asks.candidates, np.inf, -np.inf),
    "wild": _wild,
    "boolean": lambda asks: asks.open,
}
