"""Predictions in bins of their confidence."""

from __future__ import annotations

import numpy as np
import pytest

from dibs.study.reliability import BINS, Reliability


def test_bins() -> None:
    p = np.array([0.0, 0.1, 0.99, 1.0, 1.0000001, 0.5])
    found = Reliability.of(p, np.array([False, False, True, True, False, True]))
    assert (found.count[[0, 1, 7, 14]].tolist(), found.predictions) == ([1, 1, 1, 3], 6)
    assert found.right.tolist() == [0] * 7 + [1] + [0] * 6 + [2]
    assert found.confidence[-1] == pytest.approx(2.99)
    assert found.ece == pytest.approx((0.1 + 0.5 + 0.99) / 6)
    both = found + found
    assert both.ece == pytest.approx(found.ece)
    assert both.as_dict()["bins"][-1] == {
        "low": 14 / BINS,
        "high": 1,
        "count": 6,
        "accuracy": pytest.approx(2 / 3),
        "mean_confidence": pytest.approx(2.99 / 3),
    }
