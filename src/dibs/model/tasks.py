"""What is learned: for each kind of denoiser, how batches are drawn, what the loss is and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dibs.guide.codec import encode, from_true
from dibs.guide.graph import graph, graph_of
from dibs.model import diffusion
from dibs.model.config import Config
from dibs.model.many_solutions import ManySolutions, State, joined
from dibs.model.puzzles import Puzzles, fingerprint, shape_of
from dibs.model.relational import Inputs, Relational, cell_log_probabilities
from dibs.model.states import Bools, Values, truth, walk
from dibs.model.transformer import Transformer
from dibs.model.validation import Validation, held_out
from dibs.problem import InputError
from dibs.problem.structure import LEVELS

CALIBRATED = 1_000  # held-out puzzles of a source that a guide is calibrated on, at most
JUDGED = 256  # states with several solutions that are judged at once
CHUNK = 16  # batches that are drawn at once: states are made by the engine, which likes many


class Task(Protocol):
    family: str  # of the problems

    def fingerprint(self) -> str:
        """SHA-256 of the data: two runs with the same one learn from the same."""

    def validation(self) -> Callable[[nn.Module], dict[str, float]]:
        """What a module can do on data that was held out, as figures by name; empty if there is none."""

    def calibrate(self, guide: Path) -> None:
        """Fit a finished guide's calibration to data that was held out."""

    def module(self, finished: bool = False) -> nn.Module:
        """A module with random weights: one to be trained, or one that takes trained weights and is used."""

    def batches(self, rng: np.random.Generator) -> list[Any]:
        """CHUNK batches; they depend on the generator only."""

    def prepare(self, batch: Any, device: torch.device) -> Any:
        """A batch as tensors on `device`."""

    def loss(self, module: nn.Module, prepared: Any, hidden: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The loss of a prepared batch, and the hidden state that a further segment goes on from, if there is one."""


Sources = dict[str, Puzzles] | ManySolutions


def task(config: Config, sources: Sources) -> Task:
    if isinstance(sources, ManySolutions):
        return SeveralTask(config, sources)
    kind = RelationalTask if config.model.kind == "relational" else TransformerTask
    return kind(config, sources)


class _Puzzled:
    """What the tasks about Sudokus share."""

    family = "sudoku"

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        self.config = config
        self.sources = sources
        self.of = shape_of(config.data)
        self.draw = _Draw(config, sources)

    def fingerprint(self) -> str:
        return fingerprint(self.sources)

    def validation(self) -> Callable[[nn.Module], dict[str, float]]:
        return Validation(self, self.sources, self.config.train.judged)

    def calibrate(self, guide: Path) -> None:
        from dibs.guide.denoiser import Denoiser
        from dibs.model.export import set_calibration
        from dibs.model.temperature import fit

        if states := held_out(self.of, self.sources, "hidden", CALIBRATED):
            set_calibration(guide, fit(Denoiser.load(guide), self.of.structure, states))

    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        """[n, L] log-probabilities within each cell over its open literals; -inf elsewhere."""
        raise NotImplementedError


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


def _heads(rounds: int) -> tuple[int, ...]:
    """Deep supervision: every second round of the second half, the last one included."""
    return tuple(range(rounds, rounds // 2, -2))[::-1]


class RelationalTask(_Puzzled):
    """States of searches on the way to the solution, and randomly masked solutions, after propagation."""

    def __init__(self, config: Config, sources: dict[str, Puzzles]) -> None:
        super().__init__(config, sources)
        self.heads = _heads(config.model.rounds)

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

    def prepare(self, batch: tuple[Bools, Values], device: torch.device) -> tuple[Inputs, Tensor]:
        """(the graph, which open literals [N] are right)."""
        states, solutions = batch
        found = graph(self.of.structure, states)
        right = torch.from_numpy(truth(self.of, solutions)[found.state, found.literal]).to(device)
        return Inputs(found, device), right

    def loss(
        self, module: nn.Module, prepared: tuple[Inputs, Tensor], hidden: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the open cells, averaged over the supervised rounds."""
        x, right = prepared
        passed = module(x, self.heads, hidden)
        losses = [-cell_log_probabilities(logits, x)[right].mean() for logits in passed.logits]
        return torch.stack(losses).mean(), passed.hidden

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        found = graph(self.of.structure, open_)
        x = Inputs(found, next(module.parameters()).device)
        scores = np.full(open_.shape, -np.inf, np.float32)
        scores[found.state, found.literal] = cell_log_probabilities(module(x).logits[-1], x).cpu().numpy()
        return scores


class TransformerTask(_Puzzled):
    """Masked diffusion as in the paper: solutions with masked cells, the givens never masked."""

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

    def prepare(self, batch: Any, device: torch.device) -> tuple[Tensor, ...]:
        """(tokens, solutions, mask, t)."""
        values, *rest = batch
        return tuple(torch.from_numpy(part).to(device) for part in (encode(values, self.of.size), *rest))

    def loss(
        self, module: nn.Module, prepared: tuple[Tensor, ...], hidden: Tensor | None = None
    ) -> tuple[Tensor, None]:
        tokens, right, masked, t = prepared
        train = self.config.train
        logits = module(tokens)
        return diffusion.diffusion_loss(logits, right, masked, t, train.diffusion_steps, train.reweight), None

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        tokens = torch.from_numpy(encode(from_true(true, self.of.size), self.of.size))
        logits = module(tokens.to(next(module.parameters()).device)).cpu()
        closed = torch.from_numpy(~open_.reshape(logits.shape))
        scores: NDArray[np.float32] = logits.masked_fill(closed, -torch.inf).log_softmax(2).numpy()
        return np.where(open_, scores.reshape(open_.shape), np.float32(-np.inf))


class SeveralTask:
    """States on the way to one of several solutions; the target is how many of those known have a literal true."""

    def __init__(self, config: Config, several: ManySolutions) -> None:
        self.config = config
        self.several = several
        self.family = several.family
        self.heads = _heads(config.model.rounds)
        if config.model.kind != "relational":
            raise InputError(f"[model] kind = {config.model.kind!r}: these instances need 'relational'")

    def fingerprint(self) -> str:
        return self.several.fingerprint()

    def module(self, finished: bool = False) -> Relational:
        m = self.config.model
        return Relational(m.width, m.reach if finished and m.reach else m.rounds)

    def batches(self, rng: np.random.Generator) -> list[list[State]]:
        states, held = self.several.states, self.several.held
        rows = rng.integers(held, len(states), (CHUNK, self.config.train.batch))
        return [[states[row] for row in some] for some in rows.tolist()]

    def prepare(self, batch: list[State], device: torch.device) -> tuple[Inputs, Tensor]:
        """(the graph, the share of solutions [N] that have each open literal true)."""
        target = np.concatenate([state.target for state in batch])
        return _inputs(batch, device), torch.from_numpy(target).to(device)

    def loss(
        self, module: nn.Module, prepared: tuple[Inputs, Tensor], hidden: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the open domains with shares of solutions, averaged over the supervised rounds."""
        x, target = prepared
        passed = module(x, self.heads, hidden)
        losses = [-(target * cell_log_probabilities(logits, x)).sum() for logits in passed.logits]
        return torch.stack(losses).mean() / x.kinds[1], passed.hidden

    def validation(self) -> Callable[[nn.Module], dict[str, float]]:
        return self._validated

    @torch.no_grad()
    def _validated(self, module: nn.Module) -> dict[str, float]:
        """p_s: how often some known solution has the value that it puts first where a search branches."""
        if not self.several.held:
            return {}
        module.eval()
        right = []
        for at in range(0, self.several.held, JUDGED):
            states = self.several.states[at : min(at + JUDGED, self.several.held)]
            scores = module(_inputs(states, next(module.parameters()).device)).logits[-1].cpu().numpy()
            ends = np.cumsum([len(state.target) for state in states])
            for state, own in zip(states, np.split(scores, ends[:-1]), strict=True):
                literals = np.flatnonzero(state.candidates)
                right.append(state.target[literals[own[literals].argmax()]] > 0)
        module.train()
        return {"p_s": float(np.mean(right))}

    def calibrate(self, guide: Path) -> None:
        """Shares of solutions are what it has learned: there is nothing to fit."""


def _inputs(states: Sequence[State], device: torch.device) -> Inputs:
    """Many states as one graph."""
    groups = joined(states)
    return Inputs(graph_of(groups, np.ones((1, len(groups.begin) - 1), bool)), device)
