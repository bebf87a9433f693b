"""A network of your own in place of ours: `python examples/own_network.py` (two minutes). Needs torch.

The class stands in a module of its own, so that `dibs solve --guide my-guide` finds it again from this folder.
"""

import torch
from torch import nn

import dibs
from dibs.guide.network import Batch, Network, Sizes


class Mine(Network):
    """Literals tell their groups, the groups tell them: four times, with weights of its own each time."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.enter = nn.Linear(sizes.features, 32)
        self.kind = nn.Embedding(sizes.kinds, 32)
        self.rounds = nn.ModuleList(nn.Linear(64, 32) for _ in range(4))
        self.score = nn.Linear(32, 1)

    def forward(self, batch: Batch) -> torch.Tensor:
        h = self.enter(batch.features)  # [N, 32] for N open literals
        for layer in self.rounds:
            groups = (batch.to_groups(h) + self.kind(batch.kind)).relu()  # [G, 32]
            h = h + layer(torch.cat([h, batch.to_literals(groups)], 1)).relu()
        logits: torch.Tensor = self.score(h).squeeze(1)
        return logits


if __name__ == "__main__":
    trained = dibs.train("dibs.generate.timetable:family", 2, "my-guide", network="own_network:Mine")
    print(trained.verdict)
