"""How often a denoiser in training puts the right value first, on puzzles that were held out."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dibs.model.alone import solved_alone
from dibs.model.puzzles import Puzzles
from dibs.model.relational import Relational
from dibs.model.states import Bools, States, collect
from dibs.problem.shape import Shape
from dibs.problem.structure import Level

PUZZLES = 100  # of each source
ALONE = 25  # of each source, that a network solves alone or not
SHARES = (1 / 8, 1 / 2)  # of the rounds of the finished guide, for which there are figures as well
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
        self.alone = held_out(task.of, sources, level, ALONE)

    def __call__(self, module: nn.Module) -> dict[str, float]:
        """p_s overall, by depth, by arity and by rounds, the accuracy of the surest open cell, and the network alone.

        `alone`: the share of puzzles that it solves without a search. `p_s_16`, `alone_16`: with 16 rounds only. Empty
        without puzzles.
        """
        if self.states is None or self.alone is None:
            return {}
        module.eval()
        figures = self._accuracies(module, self.states) | {"alone": self._alone(module, self.alone)}
        if isinstance(module, Relational):
            rounds = module.rounds
            for fewer in sorted({max(1, round(share * rounds)) for share in SHARES} - {rounds}):
                module.rounds = fewer
                figures[f"p_s_{fewer}"] = self._accuracies(module, self.states)["p_s"]
                figures[f"alone_{fewer}"] = self._alone(module, self.alone)
            module.rounds = rounds
        module.train()
        return {name: float(value) for name, value in figures.items()}

    def _accuracies(self, module: nn.Module, s: States) -> dict[str, float]:
        scores = np.concatenate(
            [
                self.task.log_probabilities(module, s.open[at : at + BATCH], s.true[at : at + BATCH])
                for at in range(0, len(s.open), BATCH)
            ]
        )
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
        return figures

    def _alone(self, module: nn.Module, s: States) -> float:
        """Of the puzzles that propagation does not solve."""
        root = s.depth == 0
        asked = partial(self.task.log_probabilities, module)
        return float(solved_alone(self.task.of.structure, s.open[root], s.truth[root], asked).mean())


def held_out(of: Shape, sources: dict[str, Puzzles], level: Level, most: int = PUZZLES) -> States | None:
    """The states on the solution paths of `most` held-out puzzles of each source, or None if there are none."""
    held = [s for s in sources.values() if s.held]
    if not held:
        return None
    puzzles = np.concatenate([s.puzzles[: s.held][:most] for s in held])
    solutions = np.concatenate([s.solutions[: s.held][:most] for s in held])
    found = collect(of, puzzles, solutions, level)
    return found if len(found.depth) else None
