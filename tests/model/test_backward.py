"""The compiled segment has the loss, the hidden states and the gradients of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dibs.generate import sat
from dibs.guide.graph import graph
from dibs.model import backward, pool
from dibs.model.pool import Carried, Pool
from dibs.model.relational import Relational
from dibs.problem.shape import Shape, shape
from dibs.problem.structure import Structure

CPU = torch.device("cpu")
GRIDS = [shape(4, (2, 2)), shape(6, (2, 3)), shape(9, (3, 3)), shape(7, None)]


def _pool(structure: Structure, states: int, width: int, seed: int) -> Pool:
    """States with any literals open and any shares as targets, of which each open cell has something."""
    rng = np.random.default_rng(seed)
    open_ = rng.random((states, structure.literals)) < rng.uniform(0.3, 0.9, (states, 1))
    found = graph(structure, open_)
    share = rng.random(len(found.literal)) * (rng.random(len(found.literal)) < 0.5)
    total = np.bincount(found.cell, share, minlength=int(found.kinds[1]))[found.cell]
    begin = np.searchsorted(found.state, np.arange(states + 1))
    return Pool(found, share / np.maximum(total, 1e-9), begin, width)


def _module(width: int, rounds: int) -> Relational:
    torch.manual_seed(width)
    module = Relational(width, rounds)
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.1 * torch.randn_like(value))
    return module


def _compared(structure: Structure, width: int) -> None:
    """Two segments: states that are fresh, then some of them and others, so that fresh ones and old ones are mixed."""
    module, heads = _module(width, 4), (2, 4)
    one, other = (_pool(structure, 9, width, 1) for _ in range(2))
    for rows in (np.array([0, 2, 3, 6]), np.array([1, 2, 6, 8])):
        found = []
        for compiled, own in ((False, one), (True, other)):
            module.zero_grad()
            loss, solved = (
                backward.loss(module, own, rows, heads) if compiled else pool.loss(module, own, rows, heads, CPU)
            )
            loss.backward()  # type: ignore[no-untyped-call]
            own.age[rows] += 1
            found.append((float(loss.detach()), solved, {n: p.grad for n, p in module.named_parameters()}))
        (torch_loss, torch_solved, wanted), (loss_, solved, grads) = found
        assert loss_ == pytest.approx(torch_loss, abs=1e-5)
        assert (solved == torch_solved).all()
        np.testing.assert_allclose(other.hidden, one.hidden, rtol=0, atol=1e-4)
        for name, grad in wanted.items():
            if grad is None:  # a Latin square has no boxes
                assert not grads[name].any(), name  # type: ignore[union-attr]
                continue
            np.testing.assert_allclose(grads[name], grad, rtol=1e-4, atol=1e-5, err_msg=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("of", GRIDS, ids=lambda of: f"{of.size}-{of.box}")
@pytest.mark.parametrize("width", [5, 16, 32])
def test_as_torch(of: Shape, width: int) -> None:
    _compared(of.structure, width)


def test_as_torch_on_a_formula() -> None:
    [formula] = sat(1, variables=12, seed=1)
    _compared(formula.structure, 16)


def test_finished_states_make_room() -> None:
    """A state is at most `segments` old, none is in the batch twice, and whoever comes (back) begins anew."""
    own = _pool(shape(4, (2, 2)).structure, 12, 4, 1)
    carried = Carried(own, 5, 3, np.random.default_rng(1))
    rng, seen = np.random.default_rng(2), set()
    for _ in range(60):
        rows = carried.rows.copy()
        assert len(set(rows.tolist())) == 5
        assert (np.diff(rows) > 0).all()
        assert (own.age[rows] < 3).all()
        seen |= set(rows.tolist())
        carried.after(rng.random(5) < 0.3)
        stay = np.isin(carried.rows, rows) & (own.age[carried.rows] > 0)
        assert np.isin(carried.rows[own.age[carried.rows] > 0], rows[np.isin(rows, carried.rows[stay])]).all()
    assert seen == set(range(12))


def test_a_pool_as_large_as_the_batch_begins_anew() -> None:
    own = _pool(shape(4, (2, 2)).structure, 5, 4, 1)
    carried = Carried(own, 5, 1, np.random.default_rng(1))
    carried.after(np.zeros(5, bool))
    assert carried.rows.tolist() == [0, 1, 2, 3, 4]
    assert not own.age.any()
