"""A transformer that learns what a relational guide says: soft probabilities of all open cells at search states.

Masked solutions, the paper's data, are easy states with one bit of truth for each cell. A teacher says at the states
that a search meets how likely every value is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dibs.generate.canonical import shuffles
from dibs.guide.codec import encode, from_true
from dibs.guide.denoiser import Denoiser
from dibs.model.config import Config
from dibs.model.puzzles import Puzzles
from dibs.model.states import Bools, Values, truth
from dibs.model.tasks import RelationalTask, TransformerTask
from dibs.problem import InputError


class DistilTask(TransformerTask):
    """States as the relational denoiser has them, each under a random symmetry, with the teacher's probabilities."""

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        super().__init__(config, sources)
        self.states = RelationalTask(config, sources)
        self.teacher = Denoiser.load(config.train.teacher)
        if reason := self.teacher.refusal(self.of.structure):
            raise InputError(f"[train] teacher = {config.train.teacher!r}: {reason}")

    def batches(self, rng: np.random.Generator) -> list[tuple[Bools, Bools, NDArray[np.float32]]]:
        """(open, true, target), each [n, L], for each batch."""
        return [self.taught(*batch, rng) for batch in self.states.batches(rng)]

    def taught(
        self, open_: Bools, solutions: Values, rng: np.random.Generator
    ) -> tuple[Bools, Bools, NDArray[np.float32]]:
        """States [n, L] on the way to `solutions` [n, cells]: (open, true, target), under a random symmetry each."""
        right = truth(self.of, solutions)
        cells = (len(open_), self.of.cells, self.of.size)
        closed = np.repeat(~open_.reshape(cells).any(axis=2), self.of.size, axis=1)
        true = right & closed
        probability = np.exp(self.teacher.log_probabilities(self.of.structure, open_, true))
        soft = self.config.train.soft
        target = np.where(open_, soft * probability + (1 - soft) * right, 0).astype(np.float32)
        order = shuffles(len(open_), rng, self.of)
        flags: tuple[Bools, ...] = tuple(np.take_along_axis(part, order, axis=1) for part in (open_, true))
        return flags[0], flags[1], np.take_along_axis(target, order, axis=1)

    def losses(
        self, module: nn.Module, batch: Any, device: torch.device, rng: np.random.Generator, compiled: bool
    ) -> Iterator[Tensor]:
        """Cross-entropy of the open cells with the targets, averaged over the second half of the loops."""
        open_, true, target = batch
        cells = (len(open_), self.of.cells, self.of.size)
        tokens = torch.from_numpy(encode(from_true(true, self.of.size), self.of.size)).to(device)
        candidates, wanted = (torch.from_numpy(part.reshape(cells)).to(device) for part in (open_, target))
        seen = candidates.float() if self.config.model.candidates else None
        # Cells without an open value have no target: their logits must not become a minus infinity all over.
        closed = ~candidates & candidates.any(2, keepdim=True)
        logits = module(tokens, seen, last=-(-self.config.model.loops // 2)).float()
        found = logits.masked_fill(closed, -torch.inf).log_softmax(-1).masked_fill(~candidates, 0)
        yield -(wanted * found).sum() / (len(found) * candidates.any(2).sum().clamp(min=1))
