"""How many steps of training there is time for."""

from __future__ import annotations

from itertools import cycle
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dibs.model.tasks import Task

TRIAL = 3  # steps that are timed, at least;
TRIED = 0.02  # of the time: a few steps may all fall between two turns of other processes
FEWEST = 10  # steps, however little time there is


def affordable(task: Task, seconds: float) -> int:
    """Steps that `seconds` are enough for: some are tried, on weights of no use."""
    import torch

    from dibs.guide.runtime import compiles

    module = task.module()
    optimiser = torch.optim.AdamW(module.parameters())
    rng = np.random.default_rng(0)
    took: list[float] = []
    for batch in cycle(task.batches(rng)):
        begin = monotonic()
        for loss in task.losses(module, batch, torch.device("cpu"), rng, compiled=compiles()):
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        took.append(monotonic() - begin)
        if len(took) > TRIAL and sum(took[1:]) >= TRIED * seconds:  # the first has compiled
            break
    return max(FEWEST, int((seconds - sum(took)) / max(float(np.mean(took[1:])), 1e-4)))
