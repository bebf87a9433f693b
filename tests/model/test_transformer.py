"""The paper's transformer: its size, its initial weights, and that every cell sees every other."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dibs.guide.codec import VOCABULARY
from dibs.model.transformer import Block, Transformer


def small(dropout: float = 0.0, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(cells=16, size=4, width=24, layers=2, heads=3, dropout=dropout)


def grids(count: int = 2, cells: int = 16, size: int = 4) -> Tensor:
    return torch.randint(size + 1, (count, cells), generator=torch.Generator().manual_seed(1))


def parameters(module: nn.Module) -> int:
    return sum(weights.numel() for weights in module.parameters())


def test_papers_size() -> None:
    width, layers, cells = 384, 3, 81
    block = 12 * width**2 + 13 * width  # attention 4 w^2 + 4 w, perceptron 8 w^2 + 5 w, two norms 4 w
    wanted = layers * block + (cells + VOCABULARY) * width + 2 * width
    assert parameters(Transformer()) == wanted == 5_367_168  # about 6 M in the paper's words


def test_logits_of_the_digits() -> None:
    assert small()(grids()).shape == (2, 16, 4)


@pytest.mark.parametrize(("changed", "seen"), [(15, 0), (0, 15), (7, 8), (8, 7)])
def test_every_cell_sees_both_ways(changed: int, seen: int) -> None:
    module = small().eval()
    tokens = grids()
    other = tokens.clone()
    other[:, changed] = (other[:, changed] + 1) % 5
    difference = (module(tokens) - module(other))[:, seen].abs().amax(dim=1)
    assert (difference > 1e-6).all()


def test_cells_are_told_apart_by_place() -> None:
    logits = small().eval()(torch.zeros(1, 16, dtype=torch.long))[0]
    distances = torch.cdist(logits, logits)
    assert distances[~torch.eye(16, dtype=torch.bool)].min() > 1e-5


def test_head_reads_the_digits_own_tokens() -> None:
    """Digit d is scored against the embedding of token d, not of another id."""
    module = small().eval()
    tokens = torch.zeros(1, 16, dtype=torch.long)
    before = module(tokens)
    with torch.no_grad():
        module.token.weight[3] *= 2
    changed = (module(tokens) - before).abs().amax(dim=(0, 1)) > 1e-6
    assert changed.tolist() == [False, False, True, False]


def test_initial_weights() -> None:
    torch.manual_seed(0)
    module = Transformer(width=192)
    for block in module.blocks:
        assert isinstance(block, Block)
        for layer in (block.split, block.grow):
            assert layer.weight.std().item() == pytest.approx(192**-0.5, rel=0.03)
        for layer in (block.merge, block.shrink):  # added to the state six times
            assert layer.weight.std().item() == pytest.approx((6 * layer.in_features) ** -0.5, rel=0.03)
        assert not any(layer.bias.any() for layer in (block.split, block.merge, block.grow, block.shrink))
    assert module.position.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert module.token.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_dropout_in_training_only() -> None:
    module, tokens = small(dropout=0.5), grids()
    torch.manual_seed(1)
    first, second = module(tokens), module(tokens)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(module(tokens), first), "dropout follows torch's seed"
    module.eval()
    assert torch.equal(module(tokens), module(tokens))


def test_configuration_makes_the_same_module() -> None:
    module = small(dropout=0.25)
    other = Transformer(**module.configuration)
    assert other.configuration == module.configuration
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.eval()(grids()), module.eval()(grids()))


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="width = 100: it must be a multiple of heads = 12"):
        Transformer(width=100)
    with pytest.raises(ValueError, match="vocabulary = 9: a 9x9 grid needs at least 10 tokens"):
        Transformer(vocabulary=9)
