"""One run: instances are solved, a network learns from their solutions, and what it is worth is measured.

Its folder has run.json (what was decided), known/ (the solutions of each instance), what training keeps (checkpoint.pt,
log.csv), the guide itself, verdict.json and report.html. Each phase goes on where it was interrupted. What is
learned depends on the instances, the seed, and two numbers that the clock decides once: how many instances were solved
in time, and how many steps there is time for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from dibs.model.labelled import Labelled
from dibs.model.many_solutions import LEVEL, ManySolutions
from dibs.model.own_states import Known, known_of, states_of
from dibs.problem import InputError
from dibs.training.source import Collected, Source, collect
from dibs.training.verdict import Verdict, judge
from dibs.writing import write

if TYPE_CHECKING:
    from dibs.guide import DiBS
    from dibs.model.config import Config
    from dibs.model.train import Progress

SHARES = {"solve": 0.3, "judge": 0.15}  # of the time; the rest is for learning
RATE = 15  # instances a minute that are asked for
LEAST, MOST = 40, 2_000  # instances
TESTED = 0.2  # share of the instances that is for the verdict only,
MOST_TESTED = 100  # at most so many
HELD = 0.1  # share of the others that validation looks at
SOLUTIONS = 8  # of an instance
NODES = 20_000  # of a search for one
WIDTHS = ((300, 32), (10**9, 16))  # of the hidden state, for so many open literals: large states are to be quick
ROUNDS, BATCH, UPDATES = 12, 16, 4
TRIAL = 3  # steps that are timed
LIMIT = 10.0  # seconds for an instance in the verdict, at most a part of what there is for all


@dataclass
class Decided:
    """What run.json says: what was asked for, and what was decided on the way."""

    source: str
    minutes: float
    seed: int
    instances: int  # wanted
    solved: int | None = None  # training instances that were looked at in time
    steps: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # of each phase so far

    @property
    def spent(self) -> float:
        return sum(self.seconds.values())


@dataclass(frozen=True)
class Report:
    """What a run says on its way: a line that stays, or how far a phase is."""

    phase: str
    share: float | None = None
    line: str = ""


@dataclass(frozen=True)
class Trained:
    """A guide's folder, and whether it pays."""

    folder: Path
    verdict: Verdict

    @property
    def guide(self) -> DiBS:
        from dibs.guide import load_guide

        return load_guide(self.folder)


def train(
    source: Source,
    minutes: float = 20.0,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    workers: int | None = None,
    instances: int | None = None,
    steps: int | None = None,
    resume: bool = False,
    report: Callable[[Report], None] = lambda now: None,
) -> Trained:
    """Train a guide for the family that `source` has instances of, and judge it on a part that it has not seen.

    `source`: a folder or file of instances, "module:function" or a function from a seed to a problem, or a list.
    `out`: the run's folder, whose `guide` is what `dibs solve --guide` takes; `workers`: threads that solve.
    `instances` and `steps`: how many, in place of what there is time for; with both the guide is the same to the bit.
    """
    if not 0 < minutes < float("inf"):
        raise ValueError(f"minutes = {minutes!r}: it must be above 0")
    folder = Path(out) if out is not None else Path("runs") / "own"
    return _Run(source, minutes, folder, seed, workers or os.cpu_count() or 1, instances, steps, resume, report)()


class _Run:
    def __init__(
        self,
        source: Source,
        minutes: float,
        folder: Path,
        seed: int,
        workers: int,
        instances: int | None,
        steps: int | None,
        resume: bool,
        report: Callable[[Report], None],
    ) -> None:
        self.folder, self.workers, self.resume, self.report = folder, workers, resume, report
        wanted = instances or int(np.clip(RATE * minutes, LEAST, MOST))
        self.given: Collected = collect(source, wanted)
        self.decided = self._begin(Decided(self.given.label, minutes, seed, wanted, instances, steps))
        order = np.random.default_rng((seed, 1)).permutation(len(self.given.instances))
        tested = min(max(1, round(TESTED * len(order))), MOST_TESTED)
        if len(order) < 5:
            raise InputError(f"has {len(order)} instances: at least 5 are needed, more are better", self.given.label)
        self.tested = [self.given.instances[i] for i in order[:tested]]
        self.learned = [self.given.instances[i] for i in order[tested:]]
        if self.decided.solved is not None:
            self.decided.solved = min(self.decided.solved, len(self.learned))

    def _begin(self, fresh: Decided) -> Decided:
        """What an interrupted run had decided, or a new record."""
        path = self.folder / "run.json"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "known").mkdir(exist_ok=True)
            return fresh
        if not self.resume:
            raise InputError("holds a run already: go on with --resume, or take another --out", str(self.folder))
        found = Decided(**json.loads(path.read_text(encoding="utf-8")))
        if (found.source, found.seed, found.instances) != (fresh.source, fresh.seed, fresh.instances):
            raise InputError("is a run on other instances: take another --out", str(path))
        found.minutes = fresh.minutes
        return found

    def _write(self) -> None:
        write(self.folder / "run.json", json.dumps(asdict(self.decided), indent=2).encode() + b"\n")

    def __call__(self) -> Trained:
        self._write()
        for fault in self.given.faults:
            self.report(Report("read", line=fault))
        found = f"{len(self.given.instances)} instances, {len(self.tested)} of them for the verdict only"
        self.report(Report("read", line=f"{self.given.label}: {found}"))
        known = self._timed("solve", self._solve)
        sources = self._states(known)
        self._timed("learn", lambda: self._learn(sources))
        verdict = self._timed("judge", self._judge)
        write(self.folder / "verdict.json", json.dumps(verdict.as_dict(), indent=2).encode() + b"\n")
        from dibs.training.page import page

        write(self.folder / "report.html", page(self.folder, self.given, verdict).encode())
        return Trained(self.folder / "guide", verdict)

    def _timed(self, phase: str, work: Callable[[], Any]) -> Any:
        begin, before = monotonic(), self.decided.seconds.get(phase, 0.0)
        try:
            return work()
        finally:
            self.decided.seconds[phase] = before + monotonic() - begin
            self._write()

    # Solving

    def _solve(self) -> list[Known]:
        """What is known of each training instance: as many as there is time for, at least a few."""
        end = monotonic() + 60 * SHARES["solve"] * self.decided.minutes - self.decided.seconds.get("solve", 0.0)
        known: list[Known] = []
        count = self.decided.solved
        with ThreadPoolExecutor(self.workers, thread_name_prefix="solve") as pool:
            for at in range(0, len(self.learned) if count is None else count, 2 * self.workers):
                some = range(at, min(at + 2 * self.workers, len(self.learned) if count is None else count))
                known += pool.map(self._known, some)
                self.report(Report("solve", len(known) / len(self.learned)))
                if count is None and monotonic() > end and sum(one.solved for one in known) >= 4:
                    break
        self.decided.solved = len(known)
        solved, refuted = sum(one.solved for one in known), sum(one.refuted for one in known)
        line = f"solved {solved} of {len(known)} for training" + (f", {refuted} have no solution" if refuted else "")
        self.report(Report("solve", line=line))
        if solved < 2:
            raise InputError(
                f"of {len(known)} instances {solved} were solved with {NODES:,} nodes: there is nothing to learn from; "
                "give easier instances of the same family, or more of them",
                self.given.label,
            )
        return known

    def _known(self, number: int) -> Known:
        """The solutions of one instance: from its file, or found now."""
        path = self.folder / "known" / f"{number:05}.npz"
        instance = self.learned[number]
        literals = instance.structure.literals
        if path.exists():
            with np.load(path) as file:
                bits = np.unpackbits(file["solutions"], axis=1, count=literals).astype(bool)
                return Known(bits, bool(file["refuted"]))
        found = known_of(instance, SOLUTIONS, hash_of(self.decided.seed, number), max_nodes=NODES)
        content = BytesIO()
        np.savez(content, solutions=np.packbits(found.solutions, axis=1), refuted=found.refuted)
        write(path, content.getvalue())
        return found

    def _states(self, known: list[Known]) -> ManySolutions:
        states: list[Labelled] = []
        solved = [number for number, one in enumerate(known) if one.solved]
        last, held = max(1, round(HELD * len(solved))), 0
        level = LEVEL.get(self.given.family, "hidden")
        for place, number in enumerate(solved):
            rng = np.random.default_rng((self.decided.seed, 2, number))
            states += states_of(self.learned[number], known[number].solutions, self.given.kinds, level, rng)
            if place + 1 == last:
                held = len(states)
        if len(states) == held:
            raise InputError("nothing is open after propagation: a guide has nothing to say here", self.given.label)
        return ManySolutions(self.given.family, states, held, self.given.kinds, self.given.family == "problem")

    # Learning

    def _config(self, steps: int, sources: ManySolutions) -> Config:
        from dibs.model.config import Config

        literals = float(np.median([len(state.target) for state in sources.states]))
        model = {"width": next(width for most, width in WIDTHS if literals <= most), "rounds": ROUNDS}
        train: dict[str, Any] = {
            "steps": steps,
            "batch": BATCH,
            "updates": UPDATES,
            "seed": self.decided.seed,
            "warmup": 20,
        }
        train |= {"decay": 0.5, "validate": max(1, steps // 10), "checkpoint": max(1, min(50, steps // 10))}
        return Config.of(self.folder.name, {"model": model, "train": train}, "training")

    def _learn(self, sources: ManySolutions) -> None:
        from dibs.model.train import train as learn

        if self.decided.steps is None:
            self.decided.steps = self._affordable(sources)
            self._write()
        resume = (self.folder / "checkpoint.pt").exists()
        learn(self._config(self.decided.steps, sources), sources, self.folder, self._stepped, resume)

    def _affordable(self, sources: ManySolutions) -> int:
        """Steps that there is time for: a few are tried on weights that are thrown away."""
        import torch

        from dibs.model.tasks import ManySolutionsTask

        task = ManySolutionsTask(self._config(1, sources), sources)
        module = task.module()
        optimiser = torch.optim.AdamW(module.parameters())
        rng = np.random.default_rng(0)
        took = []
        for batch in task.batches(rng)[: 1 + TRIAL]:
            begin = monotonic()
            for loss in task.losses(module, batch, torch.device("cpu"), rng, compiled=_compiles()):
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            took.append(monotonic() - begin)
        left = 60 * (1 - SHARES["judge"]) * self.decided.minutes - self.decided.spent
        return max(10, int(left / max(float(np.mean(took[1:])), 1e-4)))  # the first has compiled

    def _stepped(self, now: Progress) -> None:
        figures = "  ".join(f"{name} {value:.3f}" for name, value in now.figures.items())
        line = now.note or (f"step {now.step:,} of {now.steps:,}  loss {now.loss:.4f}  {figures}" if figures else "")
        self.report(Report("learn", now.step / now.steps, line))

    # Judging

    def _judge(self) -> Verdict:
        seconds = 60 * SHARES["judge"] * self.decided.minutes
        limit = round(max(0.5, min(LIMIT, seconds / 12)), 1)
        return judge(
            self.folder / "guide",
            self.tested,
            limit=limit,
            seconds=seconds,
            training=self.decided.spent,
            progress=lambda done, of: self.report(Report("judge", done / of)),
        )


def hash_of(*numbers: int) -> int:
    """A seed from several."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(16))


def _compiles() -> bool:
    from dibs.guide.runtime import compiles

    return compiles()
