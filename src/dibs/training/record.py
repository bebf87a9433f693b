"""What a run has decided, what it says on its way, and what comes of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dibs.problem import InputError
from dibs.training.verdict import Verdict
from dibs.writing import write

if TYPE_CHECKING:
    from dibs.guide import DiBS

RUN = "run.json"


@dataclass(kw_only=True)
class Decided:
    """What run.json says: what was asked for, and what was decided on the way."""

    source: str = ""
    minutes: float
    seed: int = 0
    instances: int | None = None  # so many of them, whatever the time
    network: str | None = None  # module:Class of the user's own, in place of ours
    segments: int = 1  # that a hidden state is carried over, at most
    start: str = ""  # the guide whose weights are the beginning
    solved: int | None = None  # training instances that were looked at in time
    steps: int | None = None
    width: int | None = None  # of the hidden state
    first: int | None = None  # steps of the first guide; 0: there is none
    again: int | None = None  # instances that were looked at with it
    taken: int | None = None  # instances that were read, or generated, in time
    seconds: dict[str, float] = field(default_factory=dict)  # of each phase so far

    @property
    def spent(self) -> float:
        return sum(self.seconds.values())

    def write(self, folder: Path) -> None:
        write(folder / RUN, json.dumps(asdict(self), indent=2).encode() + b"\n")


def taken_by(folder: Path) -> int | None:
    """How many instances an interrupted run had taken."""
    path = folder / RUN
    found = json.loads(path.read_text(encoding="utf-8")).get("taken") if path.exists() else None
    return None if found is None else int(found)


def begun(folder: Path, wanted: Decided, resume: bool) -> Decided:
    """What an interrupted run in that folder had decided, or a new run as it is wanted."""
    path = folder / RUN
    if not path.exists():
        (folder / "known").mkdir(parents=True, exist_ok=True)
        return wanted
    if not resume:
        raise InputError("holds a run already: go on with --resume, or take another --out", str(folder))
    found = Decided(**json.loads(path.read_text(encoding="utf-8")))
    if (found.source, found.seed, found.instances) != (wanted.source, wanted.seed, wanted.instances):
        raise InputError("is a run on other instances: take another --out", str(path))
    if found.network != wanted.network:
        whose = f"{found.network}: give --network {found.network}" if found.network else "of dibs: leave out --network"
        raise InputError(f"is a run of the network {whose}, or take another --out", str(path))
    if (found.segments, found.start) != (wanted.segments, wanted.start):
        said = f"segments = {found.segments}, start = {found.start!r}"
        raise InputError(f"is a run with {said}: take another --out", str(path))
    found.minutes = wanted.minutes
    return found


@dataclass(frozen=True)
class Report:
    """What a run says on its way: a line that stays, or how far a phase is."""

    phase: str
    share: float | None = None
    line: str = ""
    loss: float | None = None


@dataclass(frozen=True)
class Trained:
    """A guide's folder, and whether it pays."""

    folder: Path
    verdict: Verdict

    @property
    def guide(self) -> DiBS:
        from dibs.guide import load_guide

        return load_guide(self.folder)
