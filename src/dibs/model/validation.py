"""How often a denoiser in training puts the right value first, on puzzles that were held out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dibs.model.puzzles import Puzzles
from dibs.model.states import Bools, States, collect
from dibs.problem.shape import Shape
from dibs.problem.structure import Level

PUZZLES = 100  # of each source
BATCH = 256
DEPTHS = (0, 1, 2, 4, 8)  # figures are given for these and the depths up to the next


class Judged(Protocol):
    """A task about Sudokus, as far as it is validated."""

    of: Shape

    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]: ...


class Validation:
    """States on the solution paths of held-out puzzles at one level, MRV ties by index."""

    def __init__(self, task: Judged, sources: dict[str, Puzzles], level: Level) -> None:
        self.task = task
        self.states = held_out(task.of, sources, level)

    def __call__(self, module: nn.Module) -> dict[str, float]:
        """p_s overall, by depth and by arity, and the accuracy of the surest open cell; empty without puzzles."""
        if self.states is None:
            return {}
        s = self.states
        module.eval()
        scores = np.concatenate(
            [
                self.task.log_probabilities(module, s.open[at : at + BATCH], s.true[at : at + BATCH])
                for at in range(0, len(s.open), BATCH)
            ]
        )
        module.train()
        rows = np.arange(len(scores))
        right = s.truth[rows, np.where(s.candidates, scores, -np.inf).argmax(axis=1)]
        arity = s.candidates.sum(axis=1)
        figures = {"p_s": right.mean(), "surest": s.truth[rows, scores.argmax(axis=1)].mean()}
        for low, high in zip(DEPTHS, (*DEPTHS[1:], 10**9), strict=True):
            if (at := (s.depth >= low) & (s.depth < high)).any():
                figures["root" if low == 0 else f"depth_{low}+"] = right[at].mean()
        for low in (2, 3, 4):
            if (at := (arity == low) | ((low == 4) & (arity > 4))).any():
                figures[f"arity_{low}" + ("+" if low == 4 else "")] = right[at].mean()
        return {name: float(value) for name, value in figures.items()}


def held_out(of: Shape, sources: dict[str, Puzzles], level: Level, most: int = PUZZLES) -> States | None:
    """The states on the solution paths of `most` held-out puzzles of each source, or None if there are none."""
    held = [s for s in sources.values() if s.held]
    if not held:
        return None
    puzzles = np.concatenate([s.puzzles[: s.held][:most] for s in held])
    solutions = np.concatenate([s.solutions[: s.held][:most] for s in held])
    found = collect(of, puzzles, solutions, level)
    return found if len(found.depth) else None
