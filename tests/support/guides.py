"""Guides that behave badly: none of them may change an answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs import Asks, Guide, Oracle


class Scored(Guide):
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


def _gives_up(asks: Asks) -> NDArray[Any]:
    """Says of every other state that no order can help."""
    return np.where(asks.open.sum(axis=1, keepdims=True) % 2, -np.inf, _random(asks))


BAD: dict[str, Callable[[Asks], NDArray[Any]]] = {
    "random": _random,
    "constant": lambda asks: np.full(asks.true.shape, 3, np.int64),
    "reversed": _ramp,
    "nan": lambda asks: np.full(asks.true.shape, np.nan, np.float32),
    "infinite": lambda asks: np.where(asks.candidates, np.inf, -np.inf),
    "wild": _wild,
    "gives up": lambda asks: np.full(asks.true.shape, -np.inf),
    "gives up at random": _gives_up,
    "boolean": lambda asks: asks.open,
}


def seeded(asks: Asks, scale: float = 1.0) -> NDArray[Any]:
    """Random scores that encode the state: another open literal, other scores."""
    shape = asks.open.shape
    keys = [int.from_bytes(np.packbits(row).tobytes(), "little") for row in asks.open]
    return scale * np.stack([np.random.default_rng(key).normal(size=shape[1]) for key in keys])


def _overconfident(asks: Asks) -> NDArray[Any]:
    """Quite sure of everything, for no reason."""
    return np.where(seeded(asks) > 0, 0, -1000)


def _against(asks: Asks) -> NDArray[Any]:
    """Knows the solution, and is sure of everything else."""
    return -20 * Oracle().rank(asks)


# Guides that are sure of what is not the case: they choose the domain, too.
SURE: dict[str, Callable[[Asks], NDArray[Any]]] = {"overconfident": _overconfident, "against": _against}


def meddling(asks: Asks) -> NDArray[Any]:
    """Writes to whatever it is given, where that can be written to."""
    scores = seeded(asks)
    for name in ("rows", "open", "true", "candidates", "depth"):
        with suppress(ValueError):  # for reading only
            getattr(asks, name)[:] = 0
    return scores


def knowing(asks: Asks) -> NDArray[Any]:
    """Log-probabilities of a guide that knows the solution and is sure of it."""
    return np.where(Oracle().rank(asks) > 0, 0.0, -20.0)
