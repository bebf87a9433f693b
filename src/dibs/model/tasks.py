"""What is learned: for each kind of denoiser, how batches are drawn, what the loss is and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dibs.guide.codec import encode, from_true
from dibs.guide.features import BOUNDED, GROUP_KINDS, NO_FEATURES, PLAIN, OwnFeatures
from dibs.guide.graph import Graph, graph, graph_of
from dibs.guide.native import Native
from dibs.guide.network import Batch
from dibs.guide.runtime import compiles
from dibs.model import diffusion
from dibs.model.config import Config, Train
from dibs.model.labelled import Labelled, joined
from dibs.model.many_solutions import ManySolutions
from dibs.model.pool import Carried, Pool
from dibs.model.pool import loss as pooled_loss
from dibs.model.puzzles import Puzzles, fingerprint, shape_of
from dibs.model.relational import Relational, cell_log_probabilities
from dibs.model.states import Bools, Values, truth, walk
from dibs.model.transformer import Transformer
from dibs.model.validation import Validation, held_out
from dibs.problem import InputError
from dibs.problem.structure import LEVELS
from dibs.search.probe import probe

CALIBRATED = 1_000  # held-out puzzles of a source that a guide is calibrated on, at most
JUDGED = 256  # states with several solutions that are judged at once,
MOST_JUDGED = 40_000_000  # and rounds of their open literals; of more states, every second is judged, or third, ...
SEGMENTS = 4  # that a state has on the average, at least: a step draws its states by it
CHUNK = 16  # batches that are drawn at once: states are made by the engine, which likes many


class Task(Protocol):
    family: str  # of the problems
    kinds: tuple[str, ...]  # of their groups
    features: OwnFeatures

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

    def losses(
        self, module: nn.Module, batch: Any, device: torch.device, rng: np.random.Generator, compiled: bool
    ) -> Iterator[Tensor]:
        """The loss of each update of a step; between two of them the weights may change.

        `compiled`: whether compiled code may take the place of the module's own forward pass and gradients.
        """


Sources = dict[str, Puzzles] | ManySolutions


class _Puzzled:
    """What the tasks about Sudokus share."""

    family = "sudoku"
    kinds: tuple[str, ...] = GROUP_KINDS
    features = NO_FEATURES

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


def native(module: Relational) -> Native:
    """The compiled form of a module, with all its rounds."""
    return Native({name: value.numpy() for name, value in module.state_dict().items()}, module.width, module.rounds)


def _heads(rounds: int) -> tuple[int, ...]:
    """Deep supervision: every second round of the second half, the last one included."""
    return tuple(range(rounds, rounds // 2, -2))[::-1]


class _Segmented:
    """What the tasks of a relational denoiser share: segments of rounds on the states of a pool."""

    config: Config
    kinds: tuple[str, ...]
    features = NO_FEATURES  # of the user's own
    bounds = 0  # 1: what groups need and have room for is among the features

    def module(self, finished: bool = False) -> Relational:
        m, t = self.config.model, self.config.train
        rounds = m.inference_rounds if finished and m.inference_rounds else m.rounds
        own = dict(zip(("literal_features", "group_features"), map(len, self.features), strict=True))
        sizes = {"kinds": len(self.kinds), "bounds": self.bounds, **own, "probes": int(m.probes)}
        return Relational(m.width, rounds, m.rounds * t.segments, m.settled, **sizes)

    def pool(self, batch: Any) -> Pool:
        """The states of a step."""
        raise NotImplementedError

    def losses(
        self, module: nn.Module, batch: Any, device: torch.device, rng: np.random.Generator, compiled: bool
    ) -> Iterator[Tensor]:
        """Cross-entropy of the open cells, averaged over the supervised rounds; the hidden states are carried over."""
        t, heads, pool = self.config.train, _heads(self.config.model.rounds), self.pool(batch)
        carried = Carried(pool, t.batch, t.segments, rng)
        for _ in range(t.updates):
            if compiled:
                from dibs.model import backward

                assert isinstance(module, Relational)
                found, solved = backward.loss(module, pool, carried.rows, heads)
            else:
                found, solved = pooled_loss(module, pool, carried.rows, heads, device)
            yield found
            carried.after(solved)


def _drawn(t: Train) -> int:
    """States of a step: as many as its updates are likely to need; if they need more, the first come once more."""
    return t.batch * max(1, -(-t.updates // SEGMENTS))


class RelationalTask(_Segmented, _Puzzled):
    """States of searches on the way to the solution, and randomly masked solutions, after propagation."""

    def batches(self, rng: np.random.Generator) -> list[tuple[Bools, Values]]:
        """(open literals [n, L], solutions [n, cells]) for each batch."""
        t = self.config.train
        open_: list[Bools] = []
        targets: list[Values] = []
        found, wanted = 0, CHUNK * _drawn(t)
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
                states = self._settled(states)[0]
                left = (depth >= 0) & states.any(axis=1)
                open_.append(states[left])
                targets.append(solutions[rows][left])
                found += len(open_[-1])
            if not found:
                raise InputError("[data] has no puzzle that leaves anything to learn: propagation solves them all")
        states, solutions = np.concatenate(open_), np.concatenate(targets)
        order = rng.permutation(found)[:wanted].reshape(CHUNK, -1)
        return [(states[rows], solutions[rows]) for rows in order]

    def pool(self, batch: tuple[Bools, Values]) -> Pool:
        states, solutions = batch
        found = graph(self.of.structure, states)
        right = truth(self.of, solutions)[found.state, found.literal]
        begin = np.searchsorted(found.state, np.arange(len(states) + 1))
        return Pool(found, right, begin, self.config.model.width)

    def _settled(self, open_: Bools) -> tuple[Bools, Bools]:
        """(open, certain) [n, L]: what the network is asked about, and what is known before that."""
        if not self.config.model.probes:
            return open_, np.zeros_like(open_)
        return probe(self.of.structure, open_)

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        device = next(module.parameters()).device
        open_, certain = self._settled(open_)
        found = graph(self.of.structure, open_)
        x = Batch(found, device)
        if device.type == "cpu" and compiles():
            assert isinstance(module, Relational)
            exact = native(module).logits(self.of.structure, open_)[found.state, found.literal]
            logits = torch.from_numpy(exact)
        else:
            logits = module(x).logits[-1]
        scores = np.where(certain, np.float32(0), np.float32(-np.inf))
        scores[found.state, found.literal] = cell_log_probabilities(logits, x).cpu().numpy()
        return scores


class TransformerTask(_Puzzled):
    """Masked diffusion as in the paper: solutions with masked cells, the givens never masked."""

    def module(self, finished: bool = False) -> Transformer:
        m = self.config.model
        return Transformer(
            self.of.cells,
            self.of.size,
            width=m.width,
            layers=m.layers,
            heads=m.heads,
            dropout=m.dropout,
            candidates=m.candidates,
            relations=m.relations,
            loops=m.loops,
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

    def losses(
        self, module: nn.Module, batch: Any, device: torch.device, rng: np.random.Generator, compiled: bool
    ) -> Iterator[Tensor]:
        values, *rest = batch
        parts = (torch.from_numpy(part).to(device) for part in (encode(values, self.of.size), *rest))
        tokens, right, masked, t = parts
        train = self.config.train
        yield diffusion.diffusion_loss(module(tokens), right, masked, t, train.diffusion_steps, train.reweight)

    @torch.no_grad()
    def log_probabilities(self, module: nn.Module, open_: Bools, true: Bools) -> NDArray[np.float32]:
        device = next(module.parameters()).device
        tokens = torch.from_numpy(encode(from_true(true, self.of.size), self.of.size)).to(device)
        candidates = torch.from_numpy(open_.reshape(len(open_), self.of.cells, -1)).to(device)
        logits = (module(tokens, candidates.float()) if self.config.model.candidates else module(tokens)).cpu()
        closed = ~candidates.cpu()
        scores: NDArray[np.float32] = logits.masked_fill(closed, -torch.inf).log_softmax(2).numpy()
        return np.where(open_, scores.reshape(open_.shape), np.float32(-np.inf))


class ManySolutionsTask(_Segmented):
    """States on the way to one of several solutions; the target is how many of those known have a literal true."""

    def __init__(self, config: Config, many: ManySolutions) -> None:
        self.config = config
        self.many = many
        self.family, self.kinds, self.features = many.family, many.kinds, many.features
        self.bounds = int(many.bounds)
        if config.model.kind != "relational":
            raise InputError(f"[model] kind = {config.model.kind!r}: these instances need 'relational'")

    def fingerprint(self) -> str:
        return self.many.fingerprint()

    def batches(self, rng: np.random.Generator) -> list[list[Labelled]]:
        states, held = self.many.states, self.many.held
        size = CHUNK, _drawn(self.config.train)
        if self.many.even:
            ease = np.array([1 / len(state.target) for state in states[held:]])
            rows = held + rng.choice(len(ease), size, p=ease / ease.sum())
        else:
            rows = rng.integers(held, len(states), size)
        return [[states[row] for row in some] for some in rows.tolist()]

    def pool(self, batch: list[Labelled]) -> Pool:
        target = [state.target for state in batch]
        begin = np.cumsum([0, *map(len, target)])
        width, own = self.config.model.width, len(self.features.literals)
        return Pool(self._graph(batch), np.concatenate(target), begin, width, own)

    def validation(self) -> Callable[[nn.Module], dict[str, float]]:
        return self._validated

    def _validated(self, module: nn.Module) -> dict[str, float]:
        """p_s: how often some known solution has the value that it puts first where a search branches."""
        return {"p_s": float(np.mean(self.first_values(module)[1] > 0))} if self.many.held else {}

    @torch.no_grad()
    def first_values(self, module: nn.Module) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the n states that were held out, where a search branches: the probability of the likeliest value [n], and
        the share of the known solutions that have it [n]."""
        module.eval()
        sure, shares = [], []
        held = self.many.states[: self.many.held]
        model = self.config.model
        effort = max(model.rounds, model.inference_rounds) * sum(len(state.target) for state in held)
        held = held[:: max(1, -(-effort // MOST_JUDGED))]
        for at in range(0, len(held), JUDGED):
            states = held[at : at + JUDGED]
            scores = self.scores(module, Batch(self._graph(states), next(module.parameters()).device))
            ends = np.cumsum([len(state.target) for state in states])
            for state, own in zip(states, np.split(scores, ends[:-1]), strict=True):
                literals = np.flatnonzero(state.candidates)
                logits, target = own[literals].astype(np.float64), state.target[literals].astype(np.float64)
                if len(literals) == 1:  # one by itself is true or false
                    logits, target = np.array([logits[0], 0.0]), np.array([target[0], 1 - target[0]])
                first = logits.argmax()
                sure.append(1 / np.exp(logits - logits[first]).sum())
                shares.append(target[first])
        module.train()
        return np.array(sure), np.array(shares)

    def scores(self, module: nn.Module, x: Batch) -> NDArray[np.float32]:
        """[N] logits."""
        found: NDArray[np.float32] = module(x).logits[-1].float().cpu().numpy()
        return found

    def calibrate(self, guide: Path) -> None:
        """Shares of solutions are what it has learned: there is nothing to fit."""

    def _graph(self, states: Sequence[Labelled]) -> Graph:
        """Many states as one graph."""
        groups = joined(states)
        per = BOUNDED if self.bounds else PLAIN
        return graph_of(groups, np.ones((1, len(groups.begin) - 1), bool), kinds=len(self.kinds), per=per)
