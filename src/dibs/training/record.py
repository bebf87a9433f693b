"""What a run has decided, what it says on its way, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dibs.training.verdict import Verdict

if TYPE_CHECKING:
    from dibs.guide import DiBS


@dataclass
class Decided:
    """What run.json says: what was asked for, and what was decided on the way."""

    source: str
    minutes: float
    seed: int
    instances: int  # wanted
    fixed: bool = False  # so many of them, whatever the time
    network: str | None = None  # module:Class of the user's own, in place of ours
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
