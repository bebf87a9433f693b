"""Masked diffusion: how often tokens are masked at each time, and the loss worked out by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch
from torch import Tensor

from dibs.model.diffusion import diffusion_loss, masked

T = 20


def test_mask_frequencies_by_time() -> None:
    rng = np.random.default_rng(0)
    solutions = rng.integers(1, 10, size=(20_000, 81)).astype(np.uint8)
    given = rng.random(solutions.shape) < 0.4
    values, mask, t = masked(solutions, given, rng, T)
    assert not (mask & given).any()
    assert np.array_equal(values, np.where(mask, 0, solutions))
    assert values.dtype == np.uint8
    assert np.bincount(t, minlength=T) == pytest.approx(1000, abs=130)  # 4 standard deviations
    for time in range(T):
        free = ~given[t == time]
        assert mask[t == time][free].mean() == pytest.approx((time + 1) / T, abs=0.01)
    assert mask[t == T - 1][~given[t == T - 1]].all(), "the last time shows the puzzle alone"


def test_tokens_are_masked_independently() -> None:
    solutions = np.ones((20_000, 2), np.uint8)
    _, mask, t = masked(solutions, np.zeros((20_000, 2), bool), np.random.default_rng(1), 2)
    both = mask[t == 0].all(axis=1).mean()
    assert both == pytest.approx(0.25, abs=0.02)


def test_masks_follow_the_generator() -> None:
    solutions, given = np.ones((50, 81), np.uint8), np.zeros((50, 81), bool)
    first, again, other = (masked(solutions, given, np.random.default_rng(seed)) for seed in (3, 3, 4))
    for part in range(3):
        assert np.array_equal(first[part], again[part])
    assert not np.array_equal(first[1], other[1])


def example() -> tuple[Tensor, Tensor, Tensor]:
    """Three grids of two cells and two digits, with the right digit at 0.5, 0.2; 0.9, 0.6; 0.7, 0.3."""
    right = torch.tensor([[0.5, 0.2], [0.9, 0.6], [0.7, 0.3]])
    solutions = torch.tensor([[1, 2], [2, 1], [1, 1]], dtype=torch.uint8)
    chances = torch.where(
        (solutions == 1)[..., None], torch.stack([right, 1 - right], 2), torch.stack([1 - right, right], 2)
    )
    return chances.log() + 7, solutions, right  # softmax does not see the 7


def test_loss_by_hand() -> None:
    logits, solutions, _ = example()
    mask = torch.tensor([[True, True], [False, True], [False, False]])
    t = torch.tensor([0, 15, 3])
    weighted = 20 * -log(0.5) + 20 * -log(0.2) + 5 * -log(0.6)  # weights T - t: 20 for the first grid, 5 for the second
    assert diffusion_loss(logits, solutions, mask, t, T, reweight=False).item() == pytest.approx(weighted / 45)


def test_time_weights_are_linear() -> None:
    """Two tokens alone: the share of the first is (T - t1) / (T - t1 + T - t2)."""
    logits, solutions, _ = example()
    mask = torch.tensor([[True, False], [True, False], [False, False]])
    for first, second in [(0, 0), (0, 19), (7, 12), (19, 19)]:
        t = torch.tensor([first, second, 0])
        share = (T - first) / (2 * T - first - second)
        wanted = share * -log(0.5) + (1 - share) * -log(0.9)
        assert diffusion_loss(logits, solutions, mask, t, T, reweight=False).item() == pytest.approx(wanted)


@pytest.mark.parametrize("cell", range(6))
def test_token_reweighting(cell: int) -> None:
    logits, solutions, right = example()
    mask = torch.zeros(3, 2, dtype=torch.bool)
    mask[cell // 2, cell % 2] = True
    loss = -log(right.flatten()[cell].item())
    found = diffusion_loss(logits, solutions, mask, torch.tensor([4, 4, 4]), T, reweight=True).item()
    assert found == pytest.approx(0.25 * (1 - exp(-loss)) * loss, rel=1e-5)


def test_a_guess_is_worth_ln_of_the_size() -> None:
    rng = np.random.default_rng(0)
    solutions = rng.integers(1, 10, size=(8, 81)).astype(np.uint8)
    _, mask, t = masked(solutions, np.zeros_like(solutions, bool), rng, T)
    right, hidden, time = (torch.from_numpy(part) for part in (solutions, mask, t))
    loss = diffusion_loss(torch.zeros(8, 81, 9), right, hidden, time, T, reweight=False)
    assert loss.item() == pytest.approx(log(9))


def loss_and_slope(logits: Tensor, solutions: Tensor, mask: Tensor, t: Tensor) -> tuple[float, Tensor]:
    logits.requires_grad_()
    loss = diffusion_loss(logits, solutions, mask, t, T)
    [slope] = torch.autograd.grad(loss, logits)
    return loss.item(), slope


def test_only_masked_tokens_are_learned() -> None:
    logits, solutions, _ = example()
    mask = torch.tensor([[True, False], [False, True], [False, False]])
    _, slope = loss_and_slope(logits, solutions, mask, torch.tensor([1, 2, 3]))
    assert torch.equal(slope.abs().amax(dim=2) > 0, mask)


def test_nothing_masked_is_no_loss() -> None:
    logits, solutions, _ = example()
    mask, t = torch.zeros(3, 2, dtype=torch.bool), torch.zeros(3, dtype=torch.long)
    loss, slope = loss_and_slope(logits, solutions, mask, t)
    assert loss == 0
    assert not slope.any()


def test_half_precision_logits_give_a_float_loss() -> None:
    logits, solutions, _ = example()
    mask, t = torch.ones(3, 2, dtype=torch.bool), torch.tensor([0, 1, 2])
    loss = diffusion_loss(logits.half(), solutions, mask, t, T)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(diffusion_loss(logits, solutions, mask, t, T).item(), rel=0.01)


@pytest.mark.parametrize("answer", [1, 2])  # as sure as can be, right and wrong
def test_sure_tokens_keep_finite_gradients(answer: int) -> None:
    mask, t = torch.ones(1, 1, dtype=torch.bool), torch.zeros(1, dtype=torch.long)
    solutions = torch.full((1, 1), answer, dtype=torch.uint8)
    _, slope = loss_and_slope(torch.tensor([[[90.0, -90.0]]]), solutions, mask, t)
    assert slope.isfinite().all()
