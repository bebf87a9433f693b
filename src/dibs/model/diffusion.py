"""Masked diffusion as in the paper: hide tokens of a solution, learn to name them.

At time t = 0 .. T-1 each token that is not given is masked with probability (t+1)/T, so t = T-1 shows the puzzle and
t = 0 a nearly full grid. The loss is the cross-entropy of masked tokens, each weighted by T - t: what is nearly
determined counts most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from dibs.guide.codec import MASK

STEPS = 20  # T
ALPHA, GAMMA = 0.25, 1.0  # of the token reweighting

Values = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def masked(
    solutions: Values, given: Bools, rng: np.random.Generator, steps: int = STEPS
) -> tuple[Values, Bools, NDArray[np.int64]]:
    """Solutions at a random time each: (values with 0 = masked [n, cells], what is masked [n, cells], t [n]).

    `solutions` [n, cells] hold 1..size; `given` [n, cells] is never masked. All chance comes from `rng`.
    """
    t = rng.integers(steps, size=len(solutions))
    # Uniform numbers lie in [0, 1), so at the last time everything is masked.
    mask = (rng.random(solutions.shape) < ((t + 1) / steps)[:, None]) & ~given
    return np.where(mask, np.uint8(MASK), solutions), mask, t


def diffusion_loss(
    logits: Tensor, solutions: Tensor, mask: Tensor, t: Tensor, steps: int = STEPS, reweight: bool = True
) -> Tensor:
    """The mean over masked tokens of their losses, weighted by (T - t); a scalar in float32, 0 if nothing is masked.

    `logits` [n, cells, size] of the digits 1..size; `solutions` [n, cells] the digits; `mask` bool [n, cells]; `t` [n].

    The sum is divided by the sum of the weights. That changes the paper's loss by a factor only (which Adam does not
    see) and makes it readable: a guess is worth ln(size) whatever T, batch and masks are.
    `reweight` takes 0.25 (1 - e^-loss) loss for each token: tokens that are known already count less.
    """
    target = solutions.long() - 1
    loss = F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), reduction="none").view_as(target)
    if reweight:
        loss = ALPHA * (-(-loss).expm1()) ** GAMMA * loss
    weight = mask * (steps - t)[:, None].to(loss.dtype)
    return (weight * loss).sum() / weight.sum().clamp(min=1)
