"""Training a network of the user's own, on the states that ours learns from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dibs.guide.network import Batch, Network, Sizes, logits_of
from dibs.model.config import Config
from dibs.model.many_solutions import ManySolutions
from dibs.model.pool import emptied
from dibs.model.relational import cell_log_probabilities
from dibs.model.tasks import ManySolutionsTask


class OwnNetworkTask(ManySolutionsTask):
    """One update in a step: the mean cross-entropy of the cells, by torch."""

    def __init__(self, config: Config, many: ManySolutions, network: type[Network]) -> None:
        super().__init__(config, many)
        self.network = network

    def module(self, finished: bool = False) -> nn.Module:  # type: ignore[override]
        return self.network(Sizes(len(self.kinds), self.bounds, *map(len, self.features)))

    def losses(
        self, module: nn.Module, batch: Any, device: torch.device, rng: np.random.Generator, compiled: bool
    ) -> Iterator[Tensor]:
        x = Batch(self._graph(batch), device)
        target = torch.from_numpy(np.concatenate([state.target for state in batch])).to(device)
        found = cell_log_probabilities(logits_of(module, x), x)
        cells = torch.where(x.free[x.cell], 1.0, target).sum().clamp(min=1)  # that have a target
        yield (emptied(found, target, x) - (target * found).sum()) / cells

    def scores(self, module: nn.Module, x: Batch) -> NDArray[np.float32]:
        found: NDArray[np.float32] = logits_of(module, x).float().cpu().numpy()
        return found
