"""What is learned: for each kind of denoiser, how batches are drawn, what the loss is and how it answers."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dibs.guide.graph import graph
from dibs.model import diffusion
from dibs.model.codec import encode, from_true
from dibs.model.config import Config
from dibs.model.puzzles import Puzzles, shape_of
from dibs.model.relational import Inputs, Relational, cell_log_probabilities
from dibs.model.states import Bools, Values, truth, walk
from dibs.model.transformer import Transformer
from dibs.problem import InputError
from dibs.problem.shape import Shape
from dibs.problem.structure import LEVELS

CHUNK = 16  # batches that are drawn at once: states are made by the engine, which likes many


class Task(Protocol):
    of: Shape

    def module(self, finished: bool = False) -> nn.Module:
        """A module with random weights: one to be trained, or one that takes trained weights and is used."""

    def batches(self, rng: np.random.Generator) -> list[Any]:
        """CHUNK batches; they depend on the generator only."""

    def loss(self, module: nn.Module, batch: Any, device: torch.device) -> Tensor: ...

    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        """[n, L] log-probabilities within each cell over its open literals; -inf elsewhere."""


def task(config: Config, sources: dict[str, Puzzles]) -> Task:
    kind = RelationalTask if config.model.kind == "relational" else TransformerTask
    return kind(config, sources)


class _Draw:
    """Puzzles and solutions from the training part of each source, mixed by the shares of the configuration."""

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        self.sources = sources
        sizes = {name: len(source.puzzles) - source.held for name, source in sources.items()}
        mix = config.train.mix or sizes
        if unknown := mix.keys() - sizes.keys():
            raise InputError(f"[train] mix has {', '.join(sorted(unknown))}, but [data] does not")
        self.names = sorted(mix)
        self.shares = np.array([mix[name] for name in self.names], float)
        self.shares /= self.shares.sum()

    def __call__(self, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """(puzzles, solutions), each [count, cells], in random order."""
        which = rng.choice(len(self.names), size=count, p=self.shares)
        puzzles, solutions = [], []
        for number, name in enumerate(self.names):
            source = self.sources[name]
            rows = rng.integers(source.held, len(source.puzzles), size=int((which == number).sum()))
            puzzles.append(source.puzzles[rows])
            solutions.append(source.solutions[rows])
        order = rng.permutation(count)
        return np.concatenate(puzzles)[order], np.concatenate(solutions)[order]


class RelationalTask:
    """States of searches on the way to the solution, and randomly masked solutions, after propagation."""

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        self.config = config
        self.of = shape_of(config.data)
        self.draw = _Draw(config, sources)
        rounds = config.model.rounds
        # Deep supervision: every second round of the second half, the last one included.
        self.heads = tuple(range(rounds, rounds // 2, -2))[::-1]

    def module(self, finished: bool = False) -> Relational:
        m = self.config.model
        return Relational(m.width, m.reach if finished and m.reach else m.rounds)

    def batches(self, rng: np.random.Generator) -> list[tuple[Bools, Values]]:
        """(open literals [n, L], solutions [n, cells]) for each batch."""
        t = self.config.train
        open_: list[Bools] = []
        targets: list[Values] = []
        found, wanted = 0, CHUNK * t.batch
        while found < wanted:
            puzzles, solutions = self.draw(wanted - found, rng)
            count = len(puzzles)
            steps = np.where(rng.random(count) < t.root, 0, rng.integers(1, t.deepest + 1, count))
            masked = rng.random(count) < t.masks
            puzzles[masked] = diffusion.masked(solutions[masked], solutions[masked] == 0, rng, t.diffusion_steps)[0]
            steps[masked] = 0
            shares = np.array([t.levels.get(level, 0.0) for level in LEVELS])
            which = rng.choice(len(LEVELS), size=count, p=shares / shares.sum())
            for number, level in enumerate(LEVELS):
                rows = which == number
                if not rows.any():
                    continue
                seed = int(rng.integers(2**40))
                states, depth = walk(self.of, puzzles[rows], solutions[rows], steps[rows], level, seed)
                open_.append(states[depth >= 0])
                targets.append(solutions[rows][depth >= 0])
                found += len(open_[-1])
        states, solutions = np.concatenate(open_), np.concatenate(targets)
        order = rng.permutation(found)[:wanted].reshape(CHUNK, t.batch)
        return [(states[rows], solutions[rows]) for rows in order]

    def loss(self, module: nn.Module, batch: tuple[Bools, Values], device: torch.device) -> Tensor:
        """Cross-entropy of the open cells, averaged over the supervised rounds."""
        states, solutions = batch
        found = graph(self.of.structure, states)
        x = Inputs(found, device)
        right = torch.from_numpy(truth(self.of, solutions)[found.state, found.literal]).to(device)
        losses = [-cell_log_probabilities(logits, x)[right].mean() for logits in module(x, self.heads)]
        return torch.stack(losses).mean()

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        found = graph(self.of.structure, open_)
        x = Inputs(found, next(module.parameters()).device)
        scores = np.full(open_.shape, -np.inf, np.float32)
        scores[found.state, found.literal] = cell_log_probabilities(module(x)[-1], x).cpu().numpy()
        return scores


class TransformerTask:
    """Masked diffusion as in the paper: solutions with masked cells, the givens never masked."""

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        self.config = config
        self.of = shape_of(config.data)
        self.draw = _Draw(config, sources)

    def module(self, finished: bool = False) -> Transformer:
        m = self.config.model
        return Transformer(
            self.of.cells, self.of.size, width=m.width, layers=m.layers, heads=m.heads, dropout=m.dropout
        )

    def batches(self, rng: np.random.Generator) -> list[Any]:
        """(values with 0 = masked, solutions, mask, t) for each batch."""
        t = self.config.train
        drawn = []
        for _ in range(CHUNK):
            puzzles, solutions = self.draw(t.batch, rng)
            values, mask, time = diffusion.masked(solutions, puzzles > 0, rng, t.diffusion_steps)
            drawn.append((values, solutions, mask, time))
        return drawn

    def loss(self, module: nn.Module, batch: Any, device: torch.device) -> Tensor:
        values, solutions, mask, time = batch
        logits = module(torch.from_numpy(encode(values, self.of.size)).to(device))
        right, hidden, t = (torch.from_numpy(part).to(device) for part in (solutions, mask, time))
        train = self.config.train
        return diffusion.diffusion_loss(logits, right, hidden, t, train.diffusion_steps, train.reweight)

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        tokens = torch.from_numpy(encode(from_true(true, self.of.size), self.of.size))
        logits = module(tokens.to(next(module.parameters()).device)).cpu()
        closed = torch.from_numpy(~open_.reshape(logits.shape))
        scores: NDArray[np.float32] = logits.masked_fill(closed, -torch.inf).log_softmax(2).numpy()
        return np.where(open_, scores.reshape(open_.shape), np.float32(-np.inf))
