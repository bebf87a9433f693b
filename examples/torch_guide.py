"""Your own torch module as a guide: `python examples/torch_guide.py`. Needs torch (pip install 'dibs[train]').

The module here is not trained: it shows the ten lines between a module and the search, not a good guide.
"""

import numpy as np

import dibs
from dibs.bench.instances import load

try:
    import torch
    from torch import nn
except ImportError:
    raise SystemExit("this example needs torch: pip install 'dibs[train]'") from None


class Net(nn.Module):
    """Logits [n, 81, 9] from the known digits [n, 81], 0 for an unknown one."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.digit, self.place = nn.Embedding(10, width), nn.Embedding(81, width)
        self.mix, self.head = nn.Linear(81, 81), nn.Linear(width, 9)

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        h = self.digit(digits) + self.place.weight
        h = h + self.mix(h.transpose(1, 2)).transpose(1, 2).relu()
        logits: torch.Tensor = self.head(h)
        return logits


class Model:
    """A module as `dibs.DiBS` wants it. Literal 9 * cell + digit - 1 says that the cell has the digit."""

    def __init__(self, net: nn.Module) -> None:
        self.net = net.eval()

    @torch.inference_mode()
    def log_probabilities(self, structure: dibs.Structure, open_: np.ndarray, true: np.ndarray) -> np.ndarray:
        """[n, 729]: open literals get the log-softmax of their cell, true ones 0, the others -inf."""
        alive = torch.from_numpy(open_ | true).view(-1, 81, 9)  # a known cell has one literal left: its softmax is 1
        known = torch.from_numpy(true).view(-1, 81, 9)
        logits: torch.Tensor = self.net(known.any(2) * (known.int().argmax(2) + 1))
        masked = logits.masked_fill(~alive, -torch.inf)
        return masked.log_softmax(2).flatten(1).numpy()


torch.manual_seed(0)
guide = dibs.DiBS(Model(Net()), alpha=0.8)

if __name__ == "__main__":
    for outcome in dibs.solve_many(load("hard300", 20), guide=guide, trigger="binary"):
        print(outcome.status, outcome.nodes, "nodes,", outcome.calls, "calls,", outcome.solution)
