"""The compiled relational denoiser says what the torch module says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dibs.guide.graph import graph
from dibs.guide.native import Native
from dibs.model.relational import Inputs, Relational
from dibs.problem.shape import Shape, shape

SHAPES = [shape(4, (2, 2)), shape(6, (2, 3)), shape(9, (3, 3)), shape(16, (4, 4)), shape(7, None)]


def _states(of: Shape, count: int, seed: int) -> NDArray[np.bool_]:
    """States with anything from no open literal to all of them; some groups lose all of theirs."""
    rng = np.random.default_rng(seed)
    share = np.linspace(0, 1, count)[:, None]
    states: NDArray[np.bool_] = rng.random((count, of.size**3)) < share
    return states


def _module(width: int, rounds: int) -> Relational:
    torch.manual_seed(width)
    module = Relational(width, rounds)
    with torch.no_grad():  # as after training: no weight has the value it begins with
        for value in module.parameters():
            value.add_(0.1 * torch.randn_like(value))
        module.score.bias.zero_()
    return module


def _native(module: Relational, threads: int = 1) -> Native:
    tensors = {name: value.numpy() for name, value in module.state_dict().items()}
    return Native(tensors, module.width, module.rounds, threads)


@pytest.mark.parametrize("of", SHAPES, ids=lambda of: f"{of.size}-{of.box}")
@pytest.mark.parametrize("width", [5, 16, 24, 32])
def test_as_torch(of: Shape, width: int) -> None:
    module = _module(width, 4)
    states = _states(of, 7, width)
    found = graph(of.structure, states)
    with torch.no_grad():
        wanted = module(Inputs(found)).logits[-1].numpy()
    logits = _native(module).logits(of.structure, states)
    np.testing.assert_allclose(logits[found.state, found.literal], wanted, rtol=0, atol=1e-4)
    assert not logits[~states].any()


def test_a_state_does_not_depend_on_its_neighbours_or_threads() -> None:
    of = shape(9, (3, 3))
    module = _module(16, 6)
    states = _states(of, 9, 1)
    alone = np.concatenate([_native(module).logits(of.structure, state[None]) for state in states])
    for threads in (1, 2, 3):
        assert np.array_equal(_native(module, threads).logits(of.structure, states), alone)


def test_nothing_open() -> None:
    of = shape(9, (3, 3))
    logits = _native(_module(16, 2)).logits(of.structure, np.zeros((2, 729), bool))
    assert not logits.any()
    assert _native(_module(16, 2)).logits(of.structure, np.zeros((0, 729), bool)).shape == (0, 729)


def test_weights_of_something_else_are_refused() -> None:
    tensors = {name: value.numpy() for name, value in _module(16, 2).state_dict().items()}
    with pytest.raises(ValueError, match="is not as in a relational denoiser of width 8"):
        Native(tensors, 8, 2)
    with pytest.raises(ValueError, match=r"own\.weight"):
        Native({name: value for name, value in tensors.items() if name != "own.weight"}, 16, 2)
    with pytest.raises(ValueError, match="other"):
        Native(tensors | {"other": tensors["own.weight"]}, 16, 2)


def test_its_scratch_lives_as_long_as_it_is_used() -> None:
    """Where freed memory is unmapped at once (glibc, blocks above the threshold), using it would end the process."""
    code = """
import dibs
from dibs import generate
[square] = generate.latin(1, order=16, holes=0.5)
outcome = dibs.solve(square, guide=dibs.load_guide("relational"), level="eliminate", nodes=20)
assert outcome.asks
"""
    threshold = {"MALLOC_MMAP_THRESHOLD_": "4096"}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | threshold, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
