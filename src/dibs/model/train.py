"""Training a denoiser: one loop for all kinds, from nothing or from the last checkpoint.

Every batch, and every dropout mask, is a function of the seed and the step. So a run that was interrupted and resumed
ends with the weights of a run that was not.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from dibs.guide.network import Network
from dibs.interrupt import interrupts_later, plain_interrupts
from dibs.model.checkpoint import Checkpoint, Unwritable
from dibs.model.config import Config, Model, Train
from dibs.model.log import Log
from dibs.model.task_for import task_for
from dibs.model.tasks import CHUNK, Sources, Task
from dibs.problem import InputError

SEGMENT = 1  # what the generator of a step is for: how long its states stay
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
Validated = Callable[[nn.Module], dict[str, float]]


def train(
    config: Config,
    sources: Sources,
    folder: Path,
    report: Report,
    resume: bool = False,
    network: type[Network] | None = None,
) -> None:
    """Train as `config` says; checkpoint, logs and, at the end, the guide itself go into `folder`.

    `report` is called after every step, in the first process; it may raise KeyboardInterrupt, as Ctrl-C does: a
    checkpoint is written before that gets out. With several devices `report` must be picklable.
    `network`: the user's own, in place of ours.
    """
    several = config.train.devices != 1
    on_cpu = config.train.accelerator == "cpu" or not torch.cuda.is_available()
    fabric = Fabric(
        accelerator=config.train.accelerator,
        devices=config.train.devices,
        precision=config.train.precision,  # type: ignore[arg-type]
        strategy="ddp_spawn" if several and on_cpu else "auto",
    )
    run = _Run(config, sources, folder, report, resume, network)
    if several:
        fabric.launch(run)
    else:
        with plain_interrupts():
            run(fabric)


@dataclass
class _Run:
    """One call of `train`, in one of its processes."""

    config: Config
    sources: Sources
    folder: Path
    report: Report
    resume: bool
    network: type[Network] | None = None

    def __call__(self, fabric: Fabric) -> None:
        t = self.config.train
        learn = task_for(self.config, self.sources, self.network)
        torch.manual_seed(t.seed)
        module = learn.module()
        optimiser = torch.optim.AdamW(module.parameters(), lr=t.lr, weight_decay=t.weight_decay)
        state = self.begin(learn, module, optimiser)
        wrapped, wrapped_optimiser = fabric.setup(module, optimiser)
        log = Log(self.folder, state.step) if fabric.is_global_zero else None
        validation = learn.validation()
        begin, start, before = monotonic(), state.step, state.seconds
        batches = _Batches(learn, t.seed, fabric.global_rank)
        try:
            with plain_interrupts():
                if log and state.step:  # interrupted after a step and before what comes with it
                    now = Progress(state.step, t.steps, state.loss, 0.0)
                    self.follow(state, learn, validation, log, now)
                    if now.figures:
                        self.report(now)
                while state.step < t.steps:
                    batch = batches[state.step]
                    # Weights, optimiser, average and counter change together: what is saved is the state after a step.
                    with interrupts_later(signal.SIGINT, signal.SIGTERM):
                        torch.manual_seed(_hash(t.seed, fabric.global_rank, state.step))  # dropout
                        value = self.update(fabric, learn, (module, wrapped), wrapped_optimiser, batch, state)
                        state.loss = SMOOTH * state.loss + (1 - SMOOTH) * value if state.step else value
                        state.step += 1
                        state.seconds = before + monotonic() - begin
                    if log is None:
                        continue
                    now = Progress(state.step, t.steps, state.loss, (state.step - start) / (monotonic() - begin))
                    self.follow(state, learn, validation, log, now)
                    if state.step == t.steps or state.step % t.checkpoint == 0:
                        now.note = self.save(state, module, optimiser)
                    self.report(now)
        except KeyboardInterrupt:
            if log:
                with interrupts_later(signal.SIGINT, signal.SIGTERM):
                    self.save(state, module, optimiser)
            raise
        finally:
            if log:
                log.close()
        if log:
            self.finish(learn, _with(learn.module(finished=True), state.average), state)

    @torch.enable_grad()  # an interrupt of a validation may have left gradients switched off in this process
    def update(
        self, fabric: Fabric, learn: Task, modules: tuple[nn.Module, Any], optimiser: Any, batch: Any, state: Checkpoint
    ) -> float:
        """One step: some updates of the weights and of their average. Returns the mean loss."""
        t, (plain, wrapped) = self.config.train, modules
        for group in optimiser.param_groups:
            group["lr"] = _rate(t, state.step)
        compiled = _compiles(fabric, t)
        rng = np.random.default_rng(np.random.SeedSequence((t.seed, fabric.global_rank, state.step, SEGMENT)))
        losses = []
        for number, loss in enumerate(
            learn.losses(plain if compiled else wrapped, batch, fabric.device, rng, compiled), 1
        ):
            optimiser.zero_grad()
            fabric.backward(loss)
            if t.clip:
                fabric.clip_gradients(wrapped, optimiser, max_norm=t.clip)
            optimiser.step()
            _average(state.average, plain, t.ema, state.step * t.updates + number)
            losses.append(loss.detach())
        return float(torch.stack(losses).mean())

    def follow(self, state: Checkpoint, learn: Task, validation: Validated, log: Log, now: Progress) -> None:
        """Validate and write a row of the log, where that is due and has not been done."""
        t = self.config.train
        due = state.step == t.steps or state.step % t.validate == 0
        if not due or log.has(state.step):
            return
        now.figures = validation(_with(learn.module(finished=True), state.average))
        rate = _rate(t, state.step - 1)
        with interrupts_later(signal.SIGINT, signal.SIGTERM):
            log.write(state.step, seconds=state.seconds, loss=state.loss, lr=rate, **now.figures)

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.pt"

    def begin(self, learn: Task, module: nn.Module, optimiser: torch.optim.Optimizer) -> Checkpoint:
        """The first state of the run, or the last one that was written, with weights and optimiser set to it."""
        data = learn.fingerprint()
        if not self.resume:
            if self.config.train.start:
                _take(module, self.config.train.start)
            weights = module.state_dict()
            average = {name: value.clone() for name, value in weights.items()}
            return Checkpoint(0, 0.0, self.config.tables(), data, weights, average, {})
        state = Checkpoint.read(self.path)
        if state.data != data:
            raise InputError("was trained on other puzzles than [data] gives", file=str(self.path))
        finished = ("inference_rounds", "settled")  # of the guide that is made in the end, not of the training
        known = {key: value for key, value in self.config.tables()["model"].items() if key not in finished}
        before = asdict(Model()) | state.config["model"]  # a key that is newer than the checkpoint had its default
        if any(before[key] != value for key, value in known.items()):
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
        takes: dict[str, Any] = {"family": learn.family, "kinds": learn.kinds, "features": learn.features}
        export(module, guide, data=state.data, trained=trained, **takes)
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


def _compiles(fabric: Fabric, t: Train) -> bool:
    """Whether compiled code can do it: in one process, on a processor, in its own precision."""
    from dibs.guide.runtime import compiles

    return fabric.world_size == 1 and fabric.device.type == "cpu" and t.precision == "32-true" and compiles()


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


def _take(module: nn.Module, guide: str) -> None:
    """Give a module the weights of a guide of the same kind, and of its width or, if relational, a part of it."""
    from dibs.guide.card import find
    from dibs.model.export import load_module
    from dibs.model.relational import Relational, widened

    found = load_module(find(guide))
    if isinstance(found, Relational) and isinstance(module, Relational) and found.width != module.width:
        if module.width % found.width:
            raise InputError(
                f"[train] start = {guide!r}: [model] width = {module.width} is no multiple of its {found.width}"
            )
        found = widened(found, module.width)
    weights, own = found.state_dict(), module.state_dict()
    if {name: value.shape for name, value in weights.items()} != {name: value.shape for name, value in own.items()}:
        raise InputError(f"[train] start = {guide!r}: its weights are not of the shape that [model] says")
    module.load_state_dict(weights)


def _with(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    module.load_state_dict(weights)
    return module.eval()


def _hash(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
