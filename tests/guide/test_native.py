"""The compiled relational denoiser says what the torch module says."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dibs.clock import waiting
from dibs.guide.graph import graph
from dibs.guide.native import EVERY, FLOOR, Native
from dibs.guide.network import Batch
from dibs.model.relational import Relational
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
        wanted = module(Batch(found)).logits[-1].numpy()
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


def test_what_is_left_in_the_room_of_another_answer_says_nothing() -> None:
    module = _module(16, 4)
    used = _native(module)
    order = np.random.default_rng(0).permutation(np.repeat(range(len(SHAPES)), 3))
    for seed, which in enumerate(order.tolist()):
        of = SHAPES[which]
        open_ = _states(of, 7, seed)[seed % 3 :]
        used.room.real[:] = np.nan
        used.room.whole[:] = -1
        assert np.array_equal(used.logits(of.structure, open_), _native(module).logits(of.structure, open_))


def test_nothing_open() -> None:
    of = shape(9, (3, 3))
    logits = _native(_module(16, 2)).logits(of.structure, np.zeros((2, 729), bool))
    assert not logits.any()
    assert _native(_module(16, 2)).logits(of.structure, np.zeros((0, 729), bool)).shape == (0, 729)


def test_who_comes_too_late_need_not_go_on() -> None:
    of, module = shape(9, (3, 3)), _module(16, 256)
    states = np.ones((3, 729), bool)
    for threads in (1, 2):
        native = _native(module, threads)
        with waiting(-1):
            logits, rounds = native.run(of.structure, states)
        assert rounds.tolist() == [1, 1, 1]
        np.testing.assert_array_equal(logits, Native(native.weights.tensors(16), 16, 1).logits(of.structure, states))
        with waiting(1e6):
            assert native.run(of.structure, states)[1].tolist() == [256] * 3
        assert native.run(of.structure, states)[1].tolist() == [256] * 3


def test_an_answer_is_cut_off_while_it_is_computed() -> None:
    of, native = shape(9, (3, 3)), _native(_module(16, 60_000))
    with waiting(1e-3):
        rounds = native.run(of.structure, np.ones((1, 729), bool))[1]
    assert rounds[0] < 60_000


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


def _log_probabilities(of: Shape, logits: NDArray[np.float32], states: NDArray[np.bool_]) -> NDArray[np.float32]:
    """[n, L] within each cell; the floor of the test that ends the rounds where a literal is unlikely or not open."""
    found = torch.from_numpy(np.where(states, logits, -np.inf)).reshape(len(states), -1, of.size).log_softmax(2)
    below: NDArray[np.float32] = np.maximum(np.nan_to_num(found.numpy(), nan=-np.inf), FLOOR).reshape(states.shape)
    return below


def test_it_ends_where_log_probabilities_have_settled() -> None:
    """The first look at which they are as EVERY rounds before; what is said then is what so many rounds say."""
    of, tolerance = shape(9, (3, 3)), 0.05
    module = _module(16, 40)
    states = _states(of, 12, 3)
    tensors = {name: value.numpy() for name, value in module.state_dict().items()}
    logits, used = Native(tensors, 16, 40, settled=tolerance).run(of.structure, states)
    assert len(set(used.tolist())) > 1, "some end early, at different rounds"
    looks = range(EVERY, 41, EVERY)
    every = [Native(tensors, 16, rounds).logits(of.structure, states) for rounds in looks]
    said = [_log_probabilities(of, one, states) for one in every]
    for state in range(len(states)):
        changes = [float(abs(b[state] - a[state]).max()) for a, b in pairwise(said)]
        ends = next((at for at, change in zip(looks[1:], changes, strict=True) if change <= tolerance), 40)
        assert used[state] == ends
        np.testing.assert_allclose(logits[state], every[ends // EVERY - 1][state], rtol=0, atol=1e-5)


def test_without_a_tolerance_every_state_has_all_rounds() -> None:
    of = shape(9, (3, 3))
    assert (_native(_module(16, 9)).run(of.structure, _states(of, 4, 1))[1] == 9).all()
