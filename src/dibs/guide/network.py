"""A network of your own in place of ours: a subclass of `Network`. Needs torch, also where it is used.

    class Mine(Network):
        def __init__(self, sizes):
            super().__init__(sizes)
            self.enter = nn.Linear(sizes.features, 32)
            self.score = nn.Linear(64, 1)

        def forward(self, batch):
            h = self.enter(batch.features).relu()
            heard = batch.to_literals(batch.to_groups(h))  # what the groups of each literal add up to
            return self.score(torch.cat([h, heard], 1)).squeeze(1)

`dibs.train(family, network=Mine)` trains it, judges it and writes it as a guide.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dibs.errors import InputError
from dibs.guide.by_name import by_name
from dibs.guide.card import Card
from dibs.guide.features import BOUNDED, PLAIN
from dibs.guide.graph import Graph
from dibs.wording import one_line

SAID = 300  # characters of what torch says of weights that do not fit


class Sizes(NamedTuple):
    """What decides the shapes of a `Batch`."""

    kinds: int  # of groups, the cells first
    bounds: int = 0  # 1: what groups need and have room for is among the features
    literal_features: int = 0  # of the user's own
    group_features: int = 0

    @property
    def features(self) -> int:
        """Of a literal, all of them."""
        return (BOUNDED if self.bounds else PLAIN) * self.kinds + 1 + self.literal_features


class Batch:
    """Some states: N open literals in G groups, with E memberships, as tensors on a device.

    Groups are numbered kind by kind. Those of kind 0 are the cells: disjoint groups with exactly one true literal, and
    every literal that is in no such group by itself, which may stay false. Nothing tells where a state ends: states
    share no group.
    """

    features: Tensor  # [N, features] as `dibs.guide.graph` has them; the user's own are the last
    group_features: Tensor  # [G, group features] the user's own
    member: Tensor  # [E] literals, group by group
    start: Tensor  # [G] where each group's begin
    link: Tensor  # [E] groups, literal by literal
    at: Tensor  # [N] where each literal's begin
    cell: Tensor  # [N] the cell of each literal
    least: Tensor  # [G] open literals that a group needs
    most: Tensor  # [G] and has room for
    free: Tensor  # [cells] may stay empty
    kinds: list[int]  # [kinds + 1] where the groups of each kind begin

    def __init__(self, graph: Graph, device: torch.device | None = None) -> None:
        arrays = (*graph[:5], graph.cell, graph.group_features, graph.least, graph.most)
        tensors = [torch.from_numpy(array).to(device) for array in arrays]
        self.features, self.member, self.start, self.link, self.at, self.cell = tensors[:6]
        self.group_features, self.least, self.most = tensors[6:]
        self.kinds = graph.kinds.tolist()
        self.free = self.least[: self.kinds[1]] == 0

    @property
    def kind(self) -> Tensor:
        """[G] of each group."""
        sizes = torch.tensor(self.kinds, device=self.link.device).diff()
        return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)

    def to_groups(self, rows: Tensor) -> Tensor:
        """[G, w] the sums over the literals of each group, from `rows` [N, w]."""
        sums: Tensor = _Gather.apply(rows, self.member, self.start, self.link, self.at)  # type: ignore[no-untyped-call]
        return sums

    def to_literals(self, rows: Tensor) -> Tensor:
        """[N, w] the sums over the groups of each literal, from `rows` [G, w]."""
        sums: Tensor = _Gather.apply(rows, self.link, self.at, self.member, self.start)  # type: ignore[no-untyped-call]
        return sums


class _Gather(torch.autograd.Function):
    """Sums of rows over sparse sets; the gradient is the same along the transposed sets."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, of: Tensor, at: Tensor, back: Tensor, back_at: Tensor) -> Tensor:
        ctx.sets = back, back_at
        return F.embedding_bag(of, rows, at, mode="sum")

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return F.embedding_bag(ctx.sets[0], grad.contiguous(), ctx.sets[1], mode="sum"), None, None, None, None


class Network(nn.Module):
    """Base class of a network of your own: `__init__(sizes)` makes it, `forward(batch)` gives a logit to each literal.

    A softmax over each cell makes probabilities of the logits, with a logit of 0 for none of them where the cell may
    stay empty. What it says of a state must not depend on the other states of the batch.
    """

    rate = 1e-3  # the highest learning rate

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(self, batch: Batch) -> Tensor:
        """[N] logits.

        Args:
            batch: some states with N open literals.

        Returns:
            Logits [N].
        """
        raise NotImplementedError


def name_of(network: type[Network]) -> str:
    """`module:Class`, as a card has it; InputError where nobody could find it by that."""
    if not (isinstance(network, type) and issubclass(network, Network)):
        raise InputError(f"network = {network!r}: give a subclass of dibs.guide.network.Network")
    if "." in network.__qualname__:
        raise InputError(f"{network.__qualname__}: a class within another, or within a function, cannot be found again")
    return f"{network.__module__}:{network.__qualname__}"


def network_and_name(network: type[Network] | str) -> tuple[type[Network], str]:
    """The class, given as it is or by its name, and its name."""
    found = network_named(network) if isinstance(network, str) else network
    return found, name_of(found)


def network_named(name: str) -> type[Network]:
    """The class of that name."""
    found = by_name(name, "class")
    if not (isinstance(found, type) and issubclass(found, Network)):
        raise InputError("is no subclass of dibs.guide.network.Network", name)
    return found


def sizes_of(card: Card) -> Sizes:
    return Sizes(len(card.kinds), *(card.config.get(key, 0) for key in Sizes._fields[1:]))


def loaded(path: Path, card: Card) -> Network:
    """The network of a card with the weights of a file, in eval mode; InputError where they do not fit."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    network = network_named(card.network)(sizes_of(card))
    try:
        network.load_state_dict(load_file(path))
    except (RuntimeError, SafetensorError) as error:
        line = one_line(error)[:SAID]
        raise InputError(f"does not fit {card.network}, which may have changed: {line}", str(path)) from None
    return network.eval()


def logits_of(network: nn.Module, batch: Batch) -> Tensor:
    """[N] what it says; ValueError where that is something else."""
    found = network(batch)
    if not isinstance(found, Tensor) or found.shape != batch.cell.shape or not found.is_floating_point():
        said = f"{found.dtype} {list(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(f"the network returned {said}; asked were logits [{len(batch.cell)}]: one for each literal")
    return found
