"""The relational denoiser: its symmetries, its batches, and its arithmetic against one written from the definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from dibs.guide.features import GROUP_KINDS
from dibs.guide.graph import graph
from dibs.guide.network import Batch
from dibs.model.relational import Relational, cell_log_probabilities, widened
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.structure import Structure
from paths import states

Bools = NDArray[np.bool_]
Permutation = NDArray[np.int64]


def module(width: int = 16, rounds: int = 6, seed: int = 0) -> Relational:
    """Random weights, with biases and norms that are not their neutral beginning."""
    torch.manual_seed(seed)
    made = Relational(width, rounds)
    with torch.no_grad():
        for weights in made.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
    return made.eval()


@torch.no_grad()
def dense_logits(of: Relational, structure: Structure, open_: Bools) -> NDArray[np.float32]:
    """[n, L] logits of open literals, 0 elsewhere."""
    found = graph(structure, open_)
    logits = np.zeros(open_.shape, np.float32)
    logits[found.state, found.literal] = of(Batch(found)).logits[-1].numpy()
    return logits


def symmetry(name: str, box: Box, rng: np.random.Generator) -> Permutation:
    """[L] where each literal of the image comes from, for a random symmetry of one kind, or of all kinds at once."""
    high, wide = box
    n = high * wide
    rows = columns = digits = np.arange(n)
    if name in ("rows in a band", "all"):
        rows = np.concatenate([rng.permutation(high) + high * band for band in range(wide)])
    if name in ("bands", "all"):
        rows = rows.reshape(wide, high)[rng.permutation(wide)].ravel()
    if name in ("columns in a stack", "all"):
        columns = np.concatenate([rng.permutation(wide) + wide * stack for stack in range(high)])
    if name in ("stacks", "all"):
        columns = columns.reshape(high, wide)[rng.permutation(high)].ravel()
    if name in ("digits", "all"):
        digits = rng.permutation(n)
    grid = np.arange(n**3).reshape(n, n, n)[rows][:, columns][:, :, digits]
    if name == "transposition" or (name == "all" and high == wide):
        grid = grid.transpose(1, 0, 2)
    return grid.ravel()


SYMMETRIES = ["digits", "rows in a band", "bands", "columns in a stack", "stacks", "transposition", "all"]


@pytest.mark.parametrize("name", SYMMETRIES)
@pytest.mark.parametrize("box", [(3, 3), (4, 4)])
def test_a_symmetry_of_the_grid_permutes_the_logits(name: str, box: Box) -> None:
    rng = np.random.default_rng(SYMMETRIES.index(name))
    of, found = states(box, 2, seed=1)
    model = module(seed=2)
    for row in rng.choice(len(found.open), 4, replace=False):
        moved = symmetry(name, box, rng)
        before = dense_logits(model, of.structure, found.open[row : row + 1])
        after = dense_logits(model, of.structure, found.open[row : row + 1, moved])
        assert before.std() > 0.01
        np.testing.assert_allclose(after, before[:, moved], atol=1e-5)


def test_a_wider_network_begins_as_the_narrow_one() -> None:
    of, found = states((3, 3), 2, seed=1)
    narrow = module(seed=2)
    wide = widened(narrow, 48).eval()
    assert (wide.width, wide.rounds) == (48, narrow.rounds)
    wanted = dense_logits(narrow, of.structure, found.open)
    np.testing.assert_allclose(dense_logits(wide, of.structure, found.open), wanted, atol=1e-4)
    copies = wide.out.weight.detach().reshape(-1, 3, 16)
    assert (copies[:, 0] - copies[:, 1]).abs().min() > 0  # or they would stay copies for ever


def test_boxes_that_are_not_square() -> None:
    rng = np.random.default_rng(0)
    structure = shape(6, (2, 3)).structure
    open_ = rng.random((1, 216)) < 0.6  # no state of a search, but the module does not know
    moved = symmetry("all", (2, 3), rng)
    before, after = (dense_logits(module(), structure, o) for o in (open_, open_[:, moved]))
    np.testing.assert_allclose(after, before[:, moved], atol=1e-5)


def test_moves_that_are_no_symmetry_change_the_logits() -> None:
    """Otherwise the tests above would prove nothing."""
    of, found = states((3, 3), 2, seed=1)
    rows = np.array([3, 1, 2, 0, 4, 5, 6, 7, 8])  # rows of two bands change places
    moved = np.arange(729).reshape(9, 9, 9)[rows].ravel()
    before, after = (dense_logits(module(), of.structure, o) for o in (found.open[:1], found.open[:1, moved]))
    assert np.abs(after - before[:, moved]).max() > 1e-3


def test_a_state_does_not_see_its_neighbours_in_the_batch() -> None:
    of, found = states((3, 3), 3, seed=4)
    model = module()
    together = dense_logits(model, of.structure, found.open)
    alone = np.concatenate([dense_logits(model, of.structure, row[None]) for row in found.open])
    backwards = dense_logits(model, of.structure, found.open[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, backwards, atol=1e-5)


def plain(of: Relational, structure: Structure, open_: Bools) -> Tensor:
    """The logits of one state from the definition: groups as lists of literals, sums by index_add, in float64."""
    literals = np.flatnonzero(open_).tolist()
    number = {literal: i for i, literal in enumerate(literals)}
    n = structure.decisions
    kind_of = [0] * n + [1] * (2 * n) + [2] * (structure.groups - 3 * n)
    groups: list[tuple[int, list[int]]] = []  # (kind, open members)
    for g in range(structure.groups):
        members = [number[m] for m in structure.members(g).tolist() if m in number]
        if members:
            groups.append((kind_of[g], members))
    x = torch.zeros(len(literals), 2 * len(GROUP_KINDS) + 1, dtype=torch.float64)
    x[:, -1] = 1
    for kind, members in groups:
        x[members, 2 * kind] += 1 / len(members)
        x[members, 2 * kind + 1] += 1 / len(members) ** 2
    h = of.enter(x)
    for _ in range(of.rounds):
        z = of.norm(h)
        pre = F.relu(of.pre(z))
        inbox = torch.zeros_like(h)
        for kind, members in groups:
            message = of.message[kind](F.relu(of.inner[kind](pre[members].sum(dim=0))))
            inbox = inbox.index_add(0, torch.tensor(members), message.expand(len(members), -1))
        h = h + of.out(F.relu(of.own(z) + of.given(x) + inbox))
    logits: Tensor = of.score(of.last(h)).squeeze(1)
    return logits


@pytest.mark.parametrize("of", [shape(4, (2, 2)), shape(6, (2, 3)), shape(5, None)], ids=["4x4", "6x6", "latin"])
def test_values_and_gradients_are_those_of_the_definition(of: Shape) -> None:
    structure = of.structure
    open_ = np.random.default_rng(1).random((1, structure.literals)) < 0.6
    model = module(8, 3).double()
    x = Batch(graph(structure, open_))
    x.features = x.features.double()
    wanted = plain(model, structure, open_[0])
    found = model(x).logits[-1]
    np.testing.assert_allclose(found.detach(), wanted.detach(), atol=1e-6)  # the features were float32
    weight = torch.linspace(-1, 1, len(found), dtype=torch.float64)
    # A Latin square has no boxes: their weights are not used.
    used = {name: p for name, p in model.named_parameters() if of.box or not name.startswith(("inner.2", "message.2"))}
    wanted_grads = torch.autograd.grad((weight * wanted.tanh()).sum(), list(used.values()))
    found_grads = torch.autograd.grad((weight * found.tanh()).sum(), list(used.values()))
    for name, a, b in zip(used, found_grads, wanted_grads, strict=True):
        assert b.abs().max() > 0, name
        np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-5, err_msg=name)


def test_heads_are_the_logits_of_earlier_rounds() -> None:
    of, found = states((3, 3), 1)
    model = module(8, 5)
    x = Batch(graph(of.structure, found.open[:2]))
    early, late = model(x, (3, 5)).logits
    assert torch.equal(late, model(x).logits[-1])
    model.rounds = 3
    assert torch.equal(early, model(x).logits[-1])


def test_segments_are_one_long_pass() -> None:
    """The hidden state is all that a segment hands on: three of two rounds are six rounds."""
    of, found = states((3, 3), 1)
    model = module(8, 6)
    x = Batch(graph(of.structure, found.open[:2]))
    whole = model(x, (2, 4, 6))
    model.rounds, hidden, logits = 2, None, []
    for _ in range(3):
        passed = model(x, hidden=hidden)
        hidden = passed.hidden
        logits += passed.logits
    assert hidden is not None
    assert torch.equal(hidden, whole.hidden)
    assert len(logits) == 3
    assert all(torch.equal(a, b) for a, b in zip(logits, whole.logits, strict=True))


def test_probabilities_of_a_cell_add_up() -> None:
    of, found = states((3, 3), 2)
    x = Batch(graph(of.structure, found.open))
    log_p = cell_log_probabilities(module()(x).logits[-1], x)
    total = torch.zeros(x.kinds[1]).index_add(0, x.cell, log_p.exp())
    assert torch.allclose(total, torch.ones_like(total), atol=1e-6)
