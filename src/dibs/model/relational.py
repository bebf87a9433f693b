"""The relational denoiser: hidden states on open literals, messages through groups, the same weights in every round.

It sees which literals are open and which groups they share, nothing else. So it is equivariant to every symmetry of
the problem (digits, rows in a band, bands, columns, transposition), costs what the open literals cost, and takes a grid
of any size.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dibs.guide.features import BOUNDED, GROUP_KINDS, PLAIN
from dibs.guide.network import Batch


class Passed(NamedTuple):
    """What some rounds of messages came to."""

    logits: list[Tensor]  # [N] each: of the open literals after the rounds that were asked for
    hidden: Tensor  # [N, width] after the last round: what further rounds go on from


class Relational(nn.Module):
    """`width`: of the hidden state; `rounds`: how often messages pass; `kinds` of groups, the cells first.

    `bounds`: what groups need and have room for is among the features; `literal_features` and `group_features` are how
    many of them are the user's own.

    Three numbers are for the guide's card only: `trained_rounds`, how many rounds a state had in training at most,
    `settled`, the change of log-probabilities below which compiled code needs no further round (0: it goes on), and
    `probes`, whether it is asked about what trying each literal leaves open (`dibs.search.probe`).
    """

    def __init__(
        self,
        width: int = 32,
        rounds: int = 16,
        trained_rounds: int = 0,
        settled: float = 0.0,
        kinds: int = len(GROUP_KINDS),
        bounds: int = 0,
        literal_features: int = 0,
        group_features: int = 0,
        probes: int = 0,
    ) -> None:
        super().__init__()
        self.literal_features, self.group_features = literal_features, group_features
        self.width, self.rounds, self.kinds, self.bounds = width, rounds, kinds, bounds
        features = self.per * kinds + 1 + literal_features
        self.trained_rounds, self.settled, self.probes = trained_rounds, settled, probes
        self.enter = nn.Linear(features, width, bias=False)
        self.given = nn.Linear(features, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.pre = nn.Linear(width, width)
        self.inner = nn.ModuleList(nn.Linear(width, width) for _ in range(kinds))
        self.message = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(kinds))
        self.own = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)
        self.last = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        if group_features:
            self.about = nn.ModuleList(nn.Linear(group_features, width, bias=False) for _ in range(kinds))

    @property
    def per(self) -> int:
        """Features of a kind."""
        return BOUNDED if self.bounds else PLAIN

    @property
    def config(self) -> dict[str, float]:
        """The arguments that make this module again; what is not known is left out."""
        known = {"trained_rounds": self.trained_rounds, "settled": self.settled, "bounds": self.bounds}
        known |= {"literal_features": self.literal_features, "group_features": self.group_features}
        known |= {"probes": self.probes}
        known |= {"kinds": self.kinds} if self.kinds != len(GROUP_KINDS) else {}
        return {"width": self.width, "rounds": self.rounds} | {name: value for name, value in known.items() if value}

    def forward(
        self,
        x: Batch,
        heads: tuple[int, ...] = (),
        hidden: Tensor | None = None,
        fresh: Tensor | None = None,
    ) -> Passed:
        """Logits after each of the rounds `heads`, by default after the last one only; from `hidden` on if given.

        Literals that are `fresh` [N] begin anew nevertheless.
        """
        h = self.enter(x.features)
        if hidden is not None:
            h = hidden if fresh is None else torch.where(fresh[:, None], h, hidden)
        given = self.given(x.features)
        spans = list(pairwise(x.kinds))
        said = [0.0] * len(spans)  # of the groups of each kind, by the user
        if self.group_features:
            said = [about(x.group_features[a:b]) for about, (a, b) in zip(self.about, spans, strict=True)]
        logits = []
        for turn in range(1, self.rounds + 1):
            z = self.norm(h)
            sums = x.to_groups(F.relu(self.pre(z)))
            kinds = zip(self.inner, self.message, spans, said, strict=True)
            groups = torch.cat([message(F.relu(inner(sums[a:b]) + own)) for inner, message, (a, b), own in kinds])
            inbox = x.to_literals(groups)
            h = h + self.out(F.relu(self.own(z) + given + inbox))
            if turn in (heads or (self.rounds,)):
                logits.append(self.score(self.last(h)).squeeze(1))
        return Passed(logits, h)


def widened(module: Relational, width: int) -> Relational:
    """A network of a multiple of the width that says the same: every unit several times.

    What a unit sends is shared out at random among its copies, so that training can drive them apart.
    """
    copies = width // module.width
    kept = {name: value for name, value in module.config.items() if name != "width"}
    wide = Relational(width=width, **kept)  # type: ignore[arg-type]
    new = wide.state_dict()
    for name, value in module.state_dict().items():
        grown = value.repeat(copies, *[1] * (value.dim() - 1)) if value.shape[0] == module.width else value
        if value.dim() == 2 and value.shape[1] == module.width and not name.startswith(("enter", "given", "about")):
            share = torch.rand(grown.shape[0], copies, module.width) + 0.5
            grown = grown.repeat(1, copies) * (share / share.sum(1, keepdim=True)).flatten(1)
        new[name] = grown
    wide.load_state_dict(new)
    return wide


def cell_log_probabilities(logits: Tensor, x: Batch) -> Tensor:
    """[N] log of the softmax within each literal's cell, with a logit of 0 for none of them where it may stay empty."""
    least = torch.where(x.free, 0.0, -torch.inf).to(logits.dtype)
    top = least.scatter_reduce(0, x.cell, logits.detach(), "amax")
    shifted = logits - top[x.cell]
    total = torch.where(x.free, (-top).exp(), 0.0).index_add(0, x.cell, shifted.exp())
    return shifted - total.log()[x.cell]
