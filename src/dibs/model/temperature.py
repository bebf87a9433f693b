"""How much a guide's probabilities are worth: two numbers, fitted on held-out puzzles after training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.guide.denoiser import Denoiser
from dibs.guide.relations import relations
from dibs.model.states import States
from dibs.problem.structure import Structure

SPAN = ((-1.0, 1.0), (0.0, 6.0))  # of a and b, as in `loops.temper`
POINTS = 9  # of the grid in each direction
LEAST = -40.0  # log-probabilities below it are of excluded literals
ZOOMS = 4  # times that the grid is drawn closer around the best point


def fit(denoiser: Denoiser, structure: Structure, states: States) -> tuple[float, float]:
    """The calibration (a, b) with the least cross-entropy over the open cells of `states`; (0, 0) without states.

    `denoiser` must not be calibrated itself.
    """
    if not len(states.depth):
        return (0.0, 0.0)
    found = denoiser.log_probabilities(structure, states.open, states.true)
    possible = states.open & (found > LEAST)  # without what singles rule out
    span, best = SPAN, (0.0, 0.0)
    least = _loss(structure, found, possible, states, best)
    for _ in range(ZOOMS):
        grid = [np.linspace(low, high, POINTS) for low, high in span]
        for a in grid[0].tolist():
            for b in grid[1].tolist():
                loss = _loss(structure, found, possible, states, (a, b))
                if loss < least:
                    least, best = loss, (a, b)
        wide = [(high - low) / (POINTS - 1) for low, high in span]
        span = tuple((at - step, at + step) for at, step in zip(best, wide, strict=True))  # type: ignore[assignment]
    return best


def _loss(
    structure: Structure,
    found: NDArray[np.float32],
    possible: NDArray[np.bool_],
    states: States,
    at: tuple[float, float],
) -> float:
    from dibs.guide.loops import temper

    changed = found.copy()
    temper(changed, possible, *at, *relations(structure).cells)
    return float(-np.maximum(changed[states.truth & possible], -30).mean())
