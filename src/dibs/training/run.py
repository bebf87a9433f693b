"""One run: instances are solved, a network learns from their solutions, and what it is worth is measured.

Instances that were too hard are tried once more with a first guide, which has learned from the others; the guide then
learns on from all of them.

Its folder has run.json (what was decided), known/ (the solutions of each instance), what training keeps (checkpoint.pt,
log.csv), first/ (the first guide, if there was one), the guide itself, verdict.json and report.html. Each phase goes on
where it was interrupted. What is learned depends on the instances, the seed, and a few numbers that the clock decides
once: how many instances were taken and looked at in time, and how many steps there is time for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from dibs.guide.card import Card, find, verify
from dibs.guide.graph import own_features
from dibs.model.labelled import Labelled
from dibs.model.many_solutions import LEVEL, ManySolutions
from dibs.model.own_states import Known, failed_state, known_of, states_of
from dibs.notebook import progress
from dibs.problem import InputError, Instance
from dibs.ranges import checked_number
from dibs.training.affordable import affordable
from dibs.training.calibration import calibration
from dibs.training.record import Decided, Report, Trained, begun, taken_by
from dibs.training.source import Collected, Source, collect
from dibs.training.verdict import Verdict, judge
from dibs.wording import plural
from dibs.writing import write

if TYPE_CHECKING:
    from dibs.guide.network import Network
    from dibs.model.config import Config
    from dibs.model.tasks import Task
    from dibs.model.train import Progress

SHARES = {"read": 0.1, "solve": 0.2, "first": 0.2, "again": 0.1, "judge": 0.2}  # of the time; the rest is for learning
RATE = 40  # instances a minute that are asked for
HARD = 0.25  # share of the instances that are unsolved: with more of them there is a first guide
LEAST, MOST = 40, 2_000  # instances
FEWEST = 5  # instances that something can be learned from
TESTED = 0.2  # share of the instances that is for the verdict only,
MOST_TESTED = 100  # at most so many
HELD = 0.1  # share of the others that validation looks at
SOLUTIONS = 8  # of an instance
NODES = 20_000  # of a search for one
WIDTHS = ((400, 32), (10**9, 16))  # of the hidden state, for so many literals open at the root, where most asks are
ROUNDS, BATCH, LEARNING = 12, 16, 4e-3
UPDATES, SLOWER = 64, 1e-3  # of a step where hidden states are carried over, and the learning rate there
SETTLED = 0.3  # a guide that may think for long needs no more rounds where log-probabilities change by less
LIMIT = 10.0  # seconds for an instance in the verdict, at most;
LIMITS = 80  # there is time for so many limits

_READING = Lock()  # NumPy reads headers by `ast`, which fails now and then in two threads of Python 3.11.0 to 3.11.7


def train(
    source: Source,
    minutes: float = 20.0,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    workers: int | None = None,
    instances: int | None = None,
    steps: int | None = None,
    segments: int = 1,
    start: str = "",
    network: type[Network] | str | None = None,
    resume: bool = False,
    report: Callable[[Report], None] | None = None,
) -> Trained:
    """Train a guide for the family that `source` has instances of, and judge it on a part that it has not seen.

    Args:
        source: a folder or file of instances, "module:function" or a function from a seed to a problem, or a list.
        minutes: time for all of it.
        out: the run's folder, whose `guide` is what `dibs solve --guide` takes; runs/own, unless you say otherwise.
        seed: of everything that is drawn.
        workers: threads that solve; as many as there are cores.
        instances: how many, in place of what there is time for.
        steps: of training, in place of what there is time for; with both, the guide is the same to the bit.
        segments: more than one: the guide learns to think for up to so many times 12 rounds, where a state needs it.
            Then a step has 64 updates.
        start: a guide whose weights are the beginning, by name or folder.
        network: your own in place of ours, a subclass of `dibs.guide.network.Network` or its "module:Class".
        resume: go on with the run in that folder.
        report: called with what is going on; a notebook shows it as a line.

    Returns:
        A `Trained`: the guide's folder, and the verdict, which says whether it pays.

    Raises:
        InputError: `source` has too few instances, or the folder holds another run.
    """
    if not 0 < minutes < float("inf"):
        raise ValueError(f"minutes = {minutes!r}: it must be above 0")
    given = {"seed": (seed, 0), "workers": (workers, 1), "instances": (instances, FEWEST)}
    for name, (value, least) in {**given, "steps": (steps, 1), "segments": (segments, 1)}.items():
        if value is not None:
            checked_number(name, value, least, None, whole=True)
    folder = Path(out) if out is not None else Path("runs") / "own"
    if report is None:
        show = progress()

        def report(now: Report) -> None:
            show(now.line or now.phase, now.share, now.loss)

    said: dict[str, Any] = {"solved": instances, "steps": steps, "segments": segments, "start": start}
    wanted = Decided(minutes=minutes, seed=seed, instances=instances, **said)
    return _Run(source, wanted, folder, workers or os.cpu_count() or 1, resume, report, network)()


class _Run:
    def __init__(
        self,
        source: Source,
        wanted: Decided,
        folder: Path,
        workers: int,
        resume: bool,
        report: Callable[[Report], None],
        network: type[Network] | str | None = None,
    ) -> None:
        self.folder, self.workers, self.report = folder, workers, report
        self.network: type[Network] | None = None
        if network is not None:
            from dibs.guide.network import network_and_name

            self.network, wanted.network = network_and_name(network)
            if wanted.start or wanted.segments > 1:
                said = f"start = {wanted.start!r}" if wanted.start else f"segments = {wanted.segments}"
                raise ValueError(f"{said} is for our network: one of your own is trained from nothing, in one segment")
        first = _first_card(wanted.start) if wanted.start else None
        if first is not None:
            wanted.width = int(first.config["width"])
        begin = monotonic()
        end = begin + (inf if wanted.instances else 60 * SHARES["read"] * wanted.minutes)
        taken = taken_by(folder)  # by a run that goes on; a new one takes what there is time for

        def enough(found: int) -> bool:
            return found == taken if taken else found >= LEAST and monotonic() >= end

        most = wanted.instances or int(np.clip(RATE * wanted.minutes, LEAST, MOST))
        self.given: Collected = collect(source, most, enough)
        wanted.source = self.given.label
        self.decided = begun(folder, wanted, resume)
        self.decided.taken = len(self.given.instances)
        spent = self.decided.seconds
        spent["read"] = spent.get("read", 0.0) + monotonic() - begin  # or generate
        order = np.random.default_rng((wanted.seed, 1)).permutation(len(self.given.instances))
        tested = min(max(1, round(TESTED * len(order))), MOST_TESTED)
        if len(order) < FEWEST:
            why = f"; {self.given.faults[-1]}" if self.given.faults else ""
            raise InputError(
                f"has {plural(len(order), 'instance')}: at least {FEWEST} are needed, more are better{why}",
                self.given.label,
            )
        self.tested = [self.given.instances[i] for i in order[:tested]]
        self.learned = [self.given.instances[i] for i in order[tested:]]
        self.features = own_features(one.structure for one in self.learned)
        if first is not None and (first.kinds, first.features) != (self.given.kinds, self.features):
            what = "features" if first.kinds == self.given.kinds else "kinds of groups"
            raise InputError(f"has learned other {what} than these instances have: leave out start", wanted.start)
        if self.decided.solved is not None:
            self.decided.solved = min(self.decided.solved, len(self.learned))

    def __call__(self) -> Trained:
        self.decided.write(self.folder)
        for fault in self.given.faults:
            self.report(Report("read", line=fault))
        found = f"{len(self.given.instances)} instances, {len(self.tested)} of them for the verdict only"
        self.report(Report("read", line=f"{self.given.label}: {found}"))
        if self._left("read") <= 0 and not self.decided.instances and self.decided.solved is None:
            self.report(Report("read", line="it took long to get these: a quicker source leaves more time to learn"))
        for what, names in self.features.as_dict().items():
            if names:
                self.report(Report("read", line=f"features of {what}: {', '.join(names)}"))
        known = self._timed("solve", self._solve)
        if hard := self._hard(known):
            self._timed("first", lambda: self._first(known))
            known = self._timed("again", lambda: self._again(known, hard))
        sources = self._states(known)
        self._timed("learn", lambda: self._learn(sources))
        verdict = self._timed("judge", self._judge)
        write(self.folder / "verdict.json", json.dumps(verdict.as_dict(), indent=2).encode() + b"\n")
        from dibs.training.page import page

        held = calibration(self.folder / "guide", self._task(sources), self.decided.seed)
        write(self.folder / "report.html", page(self.folder, self.given, verdict, held).encode())
        return Trained(self.folder / "guide", verdict)

    def _timed(self, phase: str, work: Callable[[], Any]) -> Any:
        begin, before = monotonic(), self.decided.seconds.get(phase, 0.0)
        try:
            return work()
        finally:
            self.decided.seconds[phase] = before + monotonic() - begin
            self.decided.write(self.folder)

    # Solving

    def _solve(self) -> list[Known]:
        """What is known of each training instance: as many as there is time for, at least a few."""
        end = monotonic() + self._left("solve")
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
        line = f"solved {solved} of {len(known)} for training" + (f", {refuted} without a solution" if refuted else "")
        self.report(Report("solve", line=line))
        if solved < 2:
            none = f" and {refuted} have no solution" if refuted else ""
            wanted = "easier instances of the same family"
            if 2 * refuted > len(known):
                wanted = "instances of the same family that have a solution"
            raise InputError(
                f"of {len(known)} instances {solved} were solved with {NODES:,} nodes{none}: there is nothing to learn "
                f"from; give {wanted}, or more of them",
                self.given.label,
            )
        return known

    def _known(self, number: int) -> Known:
        """The solutions of one instance: from its file, or found now."""
        seed = hash_of(self.decided.seed, number)
        return self._kept(f"{number:05}", number, lambda one: known_of(one, SOLUTIONS, seed, max_nodes=NODES))

    def _kept(self, name: str, number: int, find: Callable[[Instance], Known]) -> Known:
        path = self.folder / "known" / f"{name}.npz"
        instance = self.learned[number]
        if path.exists():
            with _READING, np.load(path) as file:
                bits = {
                    key: np.unpackbits(file[key], axis=1, count=instance.structure.literals).astype(bool)
                    for key in ("solutions", "failed")
                }
                return Known(**bits, refuted=bool(file["refuted"]))
        found = find(instance)
        content = BytesIO()
        solutions, failed = (np.packbits(part, axis=1) for part in (found.solutions, found.failed))
        np.savez(content, solutions=solutions, failed=failed, refuted=found.refuted)
        write(path, content.getvalue())
        return found

    # A first guide, and what it makes of those that were too hard

    def _hard(self, known: list[Known]) -> list[int]:
        """The numbers of instances without an answer, if they are many."""
        hard = [number for number, one in enumerate(known) if not one.solved and not one.refuted]
        return hard if len(hard) >= HARD * len(known) else []

    def _first(self, known: list[Known]) -> None:
        self.report(Report("first", line="a first guide, for those that were too hard"))
        sources = self._states(known)
        if self.decided.first is None:
            given = self.decided.steps  # if it is fixed, the first guide has half as many
            self.decided.first = -(-given // 2) if given else affordable(self._task(sources), self._left("first"))
            self.decided.write(self.folder)
        self._train(self.folder / "first", self.decided.first, sources)

    def _again(self, known: list[Known], hard: list[int]) -> list[Known]:
        """What is known, with what the first guide finds of those that were too hard."""
        guide = str(self.folder / "first" / "guide")
        end = monotonic() + self._left("again")
        more, count = list(known), len(hard) if self.decided.again is None else self.decided.again

        def find(one: Instance) -> Known:
            return known_of(one, 1, self.decided.seed, max_nodes=NODES, guide=guide)

        for done, number in enumerate(hard[:count]):
            more[number] = self._kept(f"{number:05}-again", number, find)
            self.report(Report("again", done / count))
            if self.decided.again is None and not self.decided.instances and monotonic() > end:
                count = done + 1
                break
        self.decided.again = count
        solved = sum(more[number].solved for number in hard[:count])
        self.report(Report("again", line=f"with it, solved {solved} of {count} that were too hard"))
        return more

    def _left(self, phase: str) -> float:
        """Seconds that a phase still has."""
        return 60 * SHARES[phase] * self.decided.minutes - self.decided.seconds.get(phase, 0.0)

    def _states(self, known: list[Known]) -> ManySolutions:
        states: list[Labelled] = []
        solved = [number for number, one in enumerate(known) if one.solved]
        last, held = max(1, round(HELD * len(solved))), 0
        open_at_root = []
        level, features = LEVEL.get(self.given.family, "hidden"), self.features
        for place, number in enumerate(solved):
            rng = np.random.default_rng((self.decided.seed, 2, number))
            found = list(
                states_of(self.learned[number], known[number].solutions, self.given.kinds, level, rng, features)
            )
            states += found
            open_at_root += [len(root.target) for root in found[:1]]
            if place + 1 == last:
                held = len(states)
        for number, one in enumerate(known):
            if not one.solved:
                states += failed_state(self.learned[number], one.failed, self.given.kinds, level, features)
        if len(states) == held:
            raise InputError("nothing is open after propagation: a guide has nothing to say here", self.given.label)
        if self.decided.width is None:
            literals = float(np.median(open_at_root)) if open_at_root else 0.0
            self.decided.width = next(width for most, width in WIDTHS if literals <= most)
        own = self.given.family == "problem"
        return ManySolutions(self.given.family, states, held, self.given.kinds, own, True, features)

    # Learning

    def _config(self, steps: int, start: str = "") -> Config:
        from dibs.model.config import Config

        model: dict[str, Any] = {"width": self.decided.width, "rounds": ROUNDS}
        train: dict[str, Any] = {"steps": steps, "batch": BATCH, "seed": self.decided.seed}
        train["start"] = start or self.decided.start
        rate = self.network.rate if self.network else LEARNING
        train |= {"warmup": 20, "lr": rate, "decay": 0.5, "ema": 0.995}
        if self.decided.segments > 1:
            model |= {"inference_rounds": ROUNDS * self.decided.segments, "settled": SETTLED}
            train |= {"updates": UPDATES, "segments": self.decided.segments, "lr": SLOWER, "warmup": 1, "ema": 0.999}
        train |= {"validate": max(1, steps // 10), "checkpoint": max(1, min(50, steps // 10))}
        return Config.of(self.given.function or self.folder.name, {"model": model, "train": train}, "training")

    def _learn(self, sources: ManySolutions) -> None:
        if self.decided.steps is None:
            left = 60 * (1 - SHARES["judge"]) * self.decided.minutes - self.decided.spent
            self.decided.steps = affordable(self._task(sources), left)
            self.decided.write(self.folder)
        first = self.folder / "first" / "guide"
        self._train(self.folder, self.decided.steps, sources, str(first) if first.exists() else "")

    def _train(self, folder: Path, steps: int, sources: ManySolutions, start: str = "") -> None:
        from dibs.model.train import train as learn

        folder.mkdir(exist_ok=True)
        resume = (folder / "checkpoint.pt").exists()
        learn(self._config(steps, start), sources, folder, self._stepped, resume, self.network)

    def _task(self, sources: ManySolutions) -> Task:
        from dibs.model.task_for import task_for

        return task_for(self._config(1), sources, self.network)

    def _stepped(self, now: Progress) -> None:
        figures = "  ".join(f"{name} {value:.3f}" for name, value in now.figures.items())
        line = now.note or (f"step {now.step:,} of {now.steps:,}  loss {now.loss:.4f}  {figures}" if figures else "")
        self.report(Report("learn", now.step / now.steps, line, now.loss))

    # Judging

    def _judge(self) -> Verdict:
        seconds = 60 * SHARES["judge"] * self.decided.minutes
        limit = round(max(0.5, min(LIMIT, seconds / LIMITS)), 1)
        return judge(
            self.folder / "guide",
            self.tested,
            limit=limit,
            seconds=seconds,
            training=self.decided.spent - self.decided.seconds.get("judge", 0.0),  # of a run that was judged before
            progress=lambda done, of: self.report(Report("judge", done / of)),
        )


def _first_card(guide: str) -> Card:
    """Of a guide that is to be trained on."""
    card = verify(find(guide))
    if card.kind != "relational":
        raise InputError(f"is a guide of kind {card.kind}: only relational ones are trained on", guide)
    return card


def hash_of(*numbers: int) -> int:
    """A seed from several."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(16))
