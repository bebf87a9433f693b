"""Whether a finished guide is as sure as it should be, at states of instances that it has not learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dibs.study.reliability import Reliability

if TYPE_CHECKING:
    from dibs.model.tasks import Task


def calibration(guide: Path, task: Task, seed: int) -> Reliability | None:
    """Of the likeliest value where a search branches, against a known solution drawn by `seed`; None without states."""
    from dibs.model.export import load_module
    from dibs.model.tasks import ManySolutionsTask

    assert isinstance(task, ManySolutionsTask)
    sure, shares = task.first_values(load_module(guide))
    right = np.random.default_rng(seed).random(len(shares)) < shares
    return Reliability.of(sure, right) if len(sure) else None
