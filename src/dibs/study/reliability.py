"""Whether probabilities mean what they say: predictions in bins of their confidence, and how often they were right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Predictions by confidence: bin i of BINS holds those in [i/BINS, (i+1)/BINS), the last one 1 as well."""

    count: NDArray[np.int64]  # [BINS] predictions
    right: NDArray[np.int64]  # [BINS] right ones
    confidence: NDArray[np.float64]  # [BINS] sum of their probabilities

    @classmethod
    def of(cls, probability: NDArray[Any], right: NDArray[np.bool_]) -> Reliability:
        """Of predictions with these probabilities [n]."""
        p = np.clip(probability.astype(np.float64), 0, 1)
        place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
        count, hits = (np.bincount(part, minlength=BINS) for part in (place, place[right]))
        return cls(count, hits, np.bincount(place, p, BINS).astype(np.float64))

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(self.count + other.count, self.right + other.right, self.confidence + other.confidence)

    @property
    def predictions(self) -> int:
        return int(self.count.sum())

    @property
    def accuracy(self) -> float:
        return float(self.right.sum() / max(self.predictions, 1))

    @property
    def mean_confidence(self) -> float:
        return float(self.confidence.sum() / max(self.predictions, 1))

    @property
    def ece(self) -> float:
        """Expected calibration error: |accuracy - mean confidence| of each bin, weighted by its predictions."""
        return float(np.abs(self.right - self.confidence).sum() / max(self.predictions, 1))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the bins that hold something, each with its bounds."""
        return {
            "predictions": self.predictions,
            "accuracy": self.accuracy,
            "mean_confidence": self.mean_confidence,
            "ece": self.ece,
            "bins": [
                {
                    "low": i / BINS,
                    "high": (i + 1) / BINS,
                    "count": int(self.count[i]),
                    "accuracy": float(self.right[i] / self.count[i]),
                    "mean_confidence": float(self.confidence[i] / self.count[i]),
                }
                for i in np.flatnonzero(self.count).tolist()
            ],
        }
