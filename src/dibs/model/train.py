"""Training a denoiser: one loop for all kinds, from nothing or from the last checkpoint.

Every batch, and every dropout mask, is a function of the seed and the step. So a run that was interrupted and resumed
ends with the weights of a run that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from dibs.model.checkpoint import Checkpoint, Unwritable
from dibs.model.config import Config, Train
from dibs.model.log import Log
from dibs.model.tasks import CHUNK, Sources, Task, task
from dibs.problem import InputError

SMOOTH = 0.98  # of the loss that is shown: a mean over about 50 steps


@dataclass
class Progress:
    """Where a run is; `figures` is what a validation has just found, empty at other times."""

    step: int
    steps: int
    loss: float
    rate: float  # steps a second
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""  # a line that the user should see

    @property
    def left(self) -> float:
        """Seconds to the end."""
        return (self.steps - self.step) / self.rate if self.rate else math.inf


Report = Callable[[Progress], None]


def train(config: Config, sources: Sources, folder: Path, report: Report, resume: bool = False) -> None:
    """Train as `config` says; checkpoint, logs and, at the end, the guide itself go into `folder`.

    `report` is called after every step, in the first process; it may raise KeyboardInterrupt, as Ctrl-C does: a
    checkpoint is written before that gets out. With several devices `report` must be picklable.
    """
    several = config.train.devices != 1
    on_cpu = config.train.accelerator == "cpu" or not torch.cuda.is_available()
    fabric = Fabric(
        accelerator=config.train.accelerator,
        devices=config.train.devices,
        precision=config.train.precision,  # type: ignore[arg-type]
        strategy="ddp_spawn" if several and on_cpu else "auto",
    )
    run = _Run(config, sources, folder, report, resume)
    if several:
        fabric.launch(run)
    else:
        run(fabric)


@dataclass
class _Run:
    """One call of `train`, in one of its processes."""

    config: Config
    sources: Sources
    folder: Path
    report: Report
    resume: bool

    def __call__(self, fabric: Fabric) -> None:
        t = self.config.train
        learn = task(self.config, self.sources)
        torch.manual_seed(t.seed)
        module = learn.module()
        optimiser = torch.optim.AdamW(module.parameters(), lr=t.lr, weight_decay=t.weight_decay)
        state = self.begin(learn, module, optimiser)
        wrapped, wrapped_optimiser = fabric.setup(module, optimiser)
        log = Log(self.folder, state.step) if fabric.is_global_zero else None
        validation = learn.validation()
        begin, start, before = monotonic(), state.step, state.seconds
        loss, batches = 0.0, _Batches(learn, t.seed, fabric.global_rank)
        try:
            while state.step < t.steps:
                torch.manual_seed(_hash(t.seed, fabric.global_rank, state.step))  # dropout
                rate = _rate(t, state.step)
                value = _update(fabric, learn, wrapped, wrapped_optimiser, batches[state.step], rate, t.clip)
                state.step += 1
                _average(state.average, module, t.ema, state.step)
                state.seconds = before + monotonic() - begin
                if log is None:
                    continue
                loss = value if state.step == start + 1 else SMOOTH * loss + (1 - SMOOTH) * value
                now = Progress(state.step, t.steps, loss, (state.step - start) / (monotonic() - begin))
                last = state.step == t.steps
                if last or state.step % t.validate == 0:
                    now.figures = validation(_with(learn.module(finished=True), state.average))
                    log.write(state.step, seconds=state.seconds, loss=loss, lr=rate, **now.figures)
                if last or state.step % t.checkpoint == 0:
                    now.note = self.save(state, module, optimiser)
                self.report(now)
        except KeyboardInterrupt:
            if log:
                self.save(state, module, optimiser)
            raise
        finally:
            if log:
                log.close()
        if log:
            self.finish(learn, _with(learn.module(finished=True), state.average), state)

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.pt"

    def begin(self, learn: Task, module: nn.Module, optimiser: torch.optim.Optimizer) -> Checkpoint:
        """The first state of the run, or the last one that was written, with weights and optimiser set to it."""
        data = learn.fingerprint()
        if not self.resume:
            weights = module.state_dict()
            average = {name: value.clone() for name, value in weights.items()}
            return Checkpoint(0, 0.0, self.config.tables(), data, weights, average, {})
        state = Checkpoint.read(self.path)
        if state.data != data:
            raise InputError("was trained on other puzzles than [data] gives", file=str(self.path))
        known = {key: value for key, value in self.config.tables()["model"].items() if key != "reach"}
        if any(state.config["model"].get(key) != value for key, value in known.items()):
            raise InputError("is of another [model] than the configuration", file=str(self.path))
        module.load_state_dict(state.weights)
        optimiser.load_state_dict(state.optimiser)
        state.config = self.config.tables()
        return state

    def save(self, state: Checkpoint, module: nn.Module, optimiser: torch.optim.Optimizer) -> str:
        """Write a checkpoint; what went wrong, in a line, or nothing. The last good one survives, training goes on."""
        state.weights, state.optimiser = module.state_dict(), optimiser.state_dict()
        try:
            state.write(self.path)
        except Unwritable as error:
            return f"no checkpoint at step {state.step}, the previous one is kept: {error}"
        return ""

    def finish(self, learn: Task, module: nn.Module, state: Checkpoint) -> None:
        from dibs.model.export import export

        trained = {
            "config": self.config.name,
            "steps": state.step,
            "seconds": round(state.seconds),
            "seed": self.config.train.seed,
        }
        guide = self.folder / "guide"
        export(module, guide, data=state.data, trained=trained, family=learn.family)
        learn.calibrate(guide)


class _Batches:
    """The batch of any step of one process; they are drawn CHUNK at a time."""

    def __init__(self, learn: Any, seed: int, rank: int) -> None:
        self.learn, self.seed, self.rank = learn, seed, rank
        self.chunk = -1
        self.drawn: list[Any] = []

    def __getitem__(self, step: int) -> Any:
        chunk, at = divmod(step, CHUNK)
        if chunk != self.chunk:
            rng = np.random.default_rng(np.random.SeedSequence((self.seed, self.rank, chunk)))
            self.chunk, self.drawn = chunk, self.learn.batches(rng)
        return self.drawn[at]


def _update(
    fabric: Fabric, learn: Any, module: nn.Module, optimiser: Any, batch: Any, rate: float, clip: float
) -> float:
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad()
    loss: Tensor = learn.loss(module, batch, fabric.device)
    fabric.backward(loss)
    if clip:
        fabric.clip_gradients(module, optimiser, max_norm=clip)
    optimiser.step()
    return loss.item()


def _rate(t: Train, step: int) -> float:
    """The learning rate of a step: up over `warmup` steps, then by the schedule."""
    up = min(1.0, (step + 1) / max(t.warmup, 1))
    if t.schedule == "cosine":
        return t.lr * up * 0.5 * (1 + math.cos(math.pi * step / t.steps))
    return t.lr * up * min(1.0, (t.steps - step) / max(t.decay * t.steps, 1))


def _average(average: dict[str, Tensor], module: nn.Module, decay: float, step: int) -> None:
    """Move the average towards the weights; at first faster, so that the random beginning is soon forgotten."""
    share = 1 - min(decay, step / (step + 10))
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if value.is_floating_point():
                average[name].lerp_(value.to(average[name].device), share)
            else:
                average[name].copy_(value)


def _with(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    module.load_state_dict(weights)
    return module.eval()


def _hash(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
