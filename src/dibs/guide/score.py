"""The paper's value order: what a denoiser prefers, and what its peers leave over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.guide.relations import relations
from dibs.guide.steps import LogProbabilities, denoise, refusal
from dibs.problem.structure import Structure
from dibs.search.contract import Asks, Guide
from dibs.search.guidance import Guidance

FLOOR = -100.0  # log-probabilities below it count as this much: probability 0 must not make a sum infinite


class DiBS(Guide):
    """A guide from a denoiser: Score = alpha S + (1 - alpha) Cons, `steps` forward passes for an ask.

    `denoiser` is anything with `log_probabilities(structure, open, true)`; see `LogProbabilities`.
    """

    def __init__(self, denoiser: LogProbabilities, alpha: float = 0.8, steps: int = 1) -> None:
        Guidance(guide="", alpha=alpha, steps=steps)  # raises where they are out of range
        self.denoiser = denoiser
        self.alpha = alpha
        self.passes = steps  # forward passes for an ask

    def refusal(self, structure: Structure) -> str | None:
        """Why the denoiser cannot take problems of this structure, or None.

        Args:
            structure: of the problems.

        Returns:
            A line, or None if it can.
        """
        return refusal(self.denoiser, structure)

    def rank(self, asks: Asks) -> NDArray[np.float32]:
        """[n, L] Score of the candidates, log-probabilities elsewhere; nothing but these where the guide selects.

        Args:
            asks: n waiting states over L literals.

        Returns:
            Scores [n, L].
        """
        return self.scored(asks, denoise(self.denoiser, asks, self.passes))

    def scored(self, asks: Asks, found: NDArray[np.float32]) -> NDArray[np.float32]:
        """`rank`, from the log-probabilities [n, L] that the denoiser has found.

        Args:
            asks: n waiting states over L literals.
            found: log-probabilities [n, L].

        Returns:
            Scores [n, L].
        """
        scores = found.copy()
        if asks.selecting:
            return scores
        hopeful = (asks.candidates & (found > -np.inf)).any(axis=1, keepdims=True)  # elsewhere no order can help
        row, literal = (asks.candidates & hopeful).nonzero()
        # Preference: S(v,d) = log p(d|v), p renormalised over the current domain of v.
        preference = np.clip(scores[row, literal], FLOOR, 0)
        if self.alpha == 1:
            scores[row, literal] = preference
        else:
            consistency = _consistency(asks, scores, row, literal)
            scores[row, literal] = self.alpha * preference + (1 - self.alpha) * consistency
        return scores


def _consistency(
    asks: Asks, found: NDArray[np.float32], row: NDArray[np.int64], literal: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Cons(v,d) = - sum over the distinct peers u of v of q(u,d), for the literals "v is d" [m] of the states `row`.

    q is the model's marginal over the current domain of u, 0 where u is assigned; `found` [n, L] is its log.
    """
    of = relations(asks.structure)
    peers = [of.neighbours(one) for one in literal.tolist()]
    count = np.array([len(some) for some in peers], np.int64)
    at = np.repeat(row, count), np.concatenate([*peers, np.zeros(0, np.int64)])
    marginal = np.where(asks.open[at], np.exp(np.minimum(found[at], 0)), 0)
    number = np.repeat(np.arange(len(literal)), count)
    return -np.bincount(number, marginal, len(literal)).astype(np.float32)
