"""What a denoiser says at states on the way to the solution, held against the solution."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.steps import LogProbabilities
from dibs.model.calibration import Reliability
from dibs.search.contract import Asks

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """n states, with m wrong candidates at the cells that they branch on."""

    depth: Ints  # [n]
    arity: Ints  # [n] candidates at the cell to branch on
    right: Bools  # [n] whether the solution's value comes first there
    surest: Bools  # [n] whether it comes first at the cell with the highest probability of all open ones
    open: NDArray[np.uint8]  # [n, L / 8] packed bits
    true: NDArray[np.uint8]  # [n, L / 8]
    ahead: Bools  # [m] whether the wrong candidate comes before the solution's value
    state: Ints  # [m] its state
    literal: Ints  # [m]

    def __len__(self) -> int:
        return len(self.depth)

    def unpacked(self, rows: Ints, literals: int) -> tuple[Bools, Bools]:
        """(open, true) of some states, each [rows, L]."""
        open_, true = (
            np.unpackbits(bits[rows], axis=1, count=literals).view(np.bool_) for bits in (self.open, self.true)
        )
        return open_, true

    @classmethod
    def joined(cls, parts: list[Judged]) -> Judged:
        """All states of at least one part."""
        first = np.cumsum([0, *map(len, parts)])
        columns = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)}
        columns["state"] = np.concatenate([part.state + at for part, at in zip(parts, first, strict=False)])
        return cls(**columns)


@dataclass(frozen=True)
class Accuracy:
    states: int
    right: int  # states where the solution's value comes first at the cell that MRV branches on
    surest: int  # states where it comes first at the cell with the highest probability of all open ones

    @property
    def p_s(self) -> float:
        return self.right / self.states

    @property
    def p_surest(self) -> float:
        return self.surest / self.states

    @classmethod
    def of(cls, judged: Judged, rows: Bools) -> Accuracy:
        return cls(int(rows.sum()), int(judged.right[rows].sum()), int(judged.surest[rows].sum()))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"p_s": self.p_s, "p_surest": self.p_surest}


def judge(denoiser: LogProbabilities, asks: Asks, truth: Bools) -> tuple[Judged, Reliability, Reliability]:
    """The states of `asks` with the solutions `truth` [n, L]; calibration at all open cells, and where they branch."""
    found = np.asarray(denoiser.log_probabilities(asks.structure, asks.open, asks.true))
    if found.shape != asks.open.shape or found.dtype.kind != "f" or np.isnan(found[asks.open]).any():
        raise ValueError(f"the denoiser returned {found.dtype} {found.shape}, not numbers of shape {asks.open.shape}")
    n = len(asks)
    rows = np.arange(n)
    cells = (n, asks.structure.decisions, -1)  # literals go cell by cell
    scores = np.where(asks.open, found, -np.inf).reshape(cells)
    first = scores.argmax(axis=2)[:, :, None]
    right = np.take_along_axis(truth.reshape(cells), first, axis=2)[:, :, 0]
    best = np.take_along_axis(scores, first, axis=2)[:, :, 0]
    is_open = asks.open.reshape(cells).any(axis=2)
    branch = asks.candidates.reshape(cells).any(axis=2).argmax(axis=1)
    surest = np.where(is_open, best, -np.inf).argmax(axis=1)

    state, literal = (asks.candidates & ~truth).nonzero()
    true_literal = (asks.candidates & truth).argmax(axis=1)[state]
    own, other = found[state, literal], found[state, true_literal]
    judged = Judged(
        depth=asks.depth,
        arity=asks.candidates.sum(axis=1),
        right=right[rows, branch],
        surest=right[rows, surest],
        open=np.packbits(asks.open, axis=1),
        true=np.packbits(asks.true, axis=1),
        ahead=(own > other) | ((own == other) & (literal < true_literal)),
        state=state,
        literal=literal,
    )
    probability = np.exp(best)
    at_branch = Reliability.of(probability[rows, branch], judged.right)
    return judged, Reliability.of(probability[is_open], right[is_open]), at_branch
