"""The paper's denoiser: GPT-2 blocks without the causal mask, so every cell sees the whole grid.

Unlike the relational denoiser it is tied to one grid size, and learns from data alone which cells share a unit. Three
things that the paper's does not have can be switched on: the candidates of each cell as input, a bias of attention for
cells that share a row, column or box, and blocks that are passed more than once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from dibs.guide.codec import VOCABULARY, check_vocabulary, digits
from dibs.problem.shape import shape
from dibs.problem.sudoku import default_box

DEVIATION = 0.02  # of initial embeddings, as in GPT-2
LEANING = 4.0  # initial bias of a head of attention towards the cells that it begins with, where relations are seen
SHARED = 8  # what two cells may share: row, column and box, each or not


class Transformer(nn.Module):
    """Bidirectional transformer over the cells of a grid; the defaults are the paper's (5.4 M parameters).

    `width` of the hidden state, `layers` blocks, `heads` of attention in each; `vocabulary`: see `codec`. Not in the
    paper: `candidates`, whether it sees which values of a cell are open; `relations`, whether attention has a bias for
    what two cells share; `loops`, how often the state goes through the blocks.
    """

    shared: Tensor  # [cells, cells] where relations are seen: `_shared`

    def __init__(
        self,
        cells: int = 81,
        size: int = 9,
        width: int = 384,
        layers: int = 3,
        heads: int = 12,
        vocabulary: int = VOCABULARY,
        dropout: float = 0.1,
        candidates: bool = False,
        relations: bool = False,
        loops: int = 1,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width = {width}: it must be a multiple of heads = {heads}")
        check_vocabulary(size, vocabulary)
        self.configuration: dict[str, Any] = {
            "cells": cells,
            "size": size,
            "width": width,
            "layers": layers,
            "heads": heads,
            "vocabulary": vocabulary,
            "dropout": dropout,
        }
        extra = {"candidates": int(candidates), "relations": int(relations), "loops": loops if loops > 1 else 0}
        self.configuration |= {name: value for name, value in extra.items() if value}  # the paper's has none of them
        self.candidates, self.loops = candidates, loops
        self.digits = digits(size)
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(cells, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.open = nn.Linear(size, width, bias=False) if candidates else None
        self.relation = nn.Embedding(SHARED, heads) if relations else None
        if relations:
            self.register_buffer("shared", torch.from_numpy(_shared(cells, size)), persistent=False)
        self._initialise()

    def forward(self, tokens: Tensor, candidates: Tensor | None = None, last: int = 0) -> Tensor:
        """Logits [n, cells, size] of the digits, from tokens int64 [n, cells].

        `candidates` float32 [n, cells, size]: 1 where a value is open; for a module that sees them. `last`: the logits
        after each of the last so many loops instead, [last, n, cells, size].
        """
        places = torch.arange(tokens.shape[1], device=tokens.device)
        h = self.token(tokens) + self.position(places)
        if self.open is not None:
            h = h + self.open(candidates)
        h = self.drop(h)
        bias = self.bias()
        found = []
        for loop in range(self.loops):
            for block in self.blocks:
                h = block(h, bias)
            if loop >= self.loops - max(last, 1):
                found.append(self._head(h))
        return torch.stack(found) if last else found[0]

    def _head(self, h: Tensor) -> Tensor:
        """It is the token embedding, as in GPT-2. Only digits can be an answer: their logits are all that is kept."""
        return F.linear(self.norm(h), self.token.weight)[:, :, self.digits]

    def bias(self) -> Tensor | None:
        """[heads, cells, cells] what is added to the attention of one cell to another; None where there is nothing."""
        return None if self.relation is None else self.relation(self.shared).permute(2, 0, 1)

    def _initialise(self) -> None:
        """As GPT-2, but linear weights begin at 1/sqrt(inputs): its 0.02 is for wider models, and slow in narrow ones.

        (Width 64, batch 16, 400 steps: mean loss of the last hundred 0.155, with 0.02 0.481; a guess has 0.488.)
        What a block adds to the state is scaled down as there, so that its variance does not grow with depth.
        Where relations are seen, one head in four begins with the row of a cell, one with its column, one with its box.
        """
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=DEVIATION)
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if self.relation is not None:
            begins = torch.arange(SHARED)[:, None] >> torch.arange(self.relation.embedding_dim) % 4 & 1
            with torch.no_grad():
                self.relation.weight += LEANING * begins
        for block in self.blocks:
            assert isinstance(block, Block)
            for last in (block.merge, block.shrink):
                nn.init.normal_(last.weight, std=(2 * self.loops * len(self.blocks) * last.in_features) ** -0.5)


class Block(nn.Module):
    """Attention, then a perceptron four times as wide; each reads the normed state and adds to it."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.before = nn.LayerNorm(width)
        self.split = nn.Linear(width, 3 * width)  # queries, keys, values
        self.merge = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, h: Tensor, bias: Tensor | None = None) -> Tensor:
        """[n, cells, width] -> the same; `bias` [heads, cells, cells] is added to the attention."""
        h = h + self.drop(self.merge(self._attend(self.before(h), bias)))
        inner: Tensor = F.gelu(self.grow(self.between(h)), approximate="tanh")  # GPT-2's form
        added: Tensor = self.drop(self.shrink(inner))
        return h + added

    def _attend(self, z: Tensor, bias: Tensor | None) -> Tensor:
        """Every cell to every cell: there is no mask."""
        n, cells, width = z.shape
        parts = self.split(z).view(n, cells, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        dropped = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropped)
        return mixed.transpose(1, 2).reshape(n, cells, width)


def _shared(cells: int, size: int) -> NDArray[np.int64]:
    """[cells, cells] what two cells of a Sudoku share: 1 for the row, 2 for the column and 4 for the box, added up."""
    box = default_box(size)
    if cells != size**2 or box is None:
        raise ValueError(f"cells = {cells}, size = {size}: relations are those of a Sudoku with its usual boxes")
    units = shape(size, box).units
    found: NDArray[np.int64] = (units[:, None] == units[None]) @ np.array([1, 2, 4])
    return found
