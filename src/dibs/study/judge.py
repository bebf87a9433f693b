"""What a denoiser or a guide says at states on the way to the solution, held against the solution."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats32, Ints
from dibs.guide.steps import LogProbabilities, denoise
from dibs.problem.structure import Structure
from dibs.search.contract import Asks
from dibs.study.reliability import Reliability


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


class Cells(NamedTuple):
    """The cells of n states, as a denoiser sees them."""

    open: Bools  # [n, cells] whether it has an open value
    first: Ints  # [n, cells] its likeliest open value, counted from its first literal
    best: Floats32  # [n, cells] the log-probability of that; -inf where nothing is open
    surest: Ints  # [n] the open cell where that is highest


def cells_of(structure: Structure, open_: Bools, found: Floats32) -> Cells:
    """Of the states with the literals `open_` [n, L] and the log-probabilities `found` [n, L]."""
    values = np.where(open_, found, -np.inf).reshape(len(open_), structure.decisions, -1)  # literals go cell by cell
    first, best = values.argmax(axis=2), values.max(axis=2)
    is_open: Bools = np.asarray(open_.reshape(values.shape).any(axis=2))
    return Cells(is_open, first, best, best.argmax(axis=1))


class Order(NamedTuple):
    """The candidates of n states in the order of their scores, held against the solution: m wrong ones in all."""

    right: Ints  # [n] the solution's literal
    state: Ints  # [m] of a wrong candidate
    literal: Ints  # [m]
    ahead: Bools  # [m] whether it comes before the solution's; equal scores in ascending order

    def mistakes(self) -> Ints:
        """[n] how many wrong candidates come first."""
        return np.bincount(self.state[self.ahead], minlength=len(self.right))


def order_of(scores: Floats32, candidates: Bools, truth: Bools) -> Order:
    """Of states with the solutions `truth`; all are [n, L]."""
    right = (candidates & truth).argmax(axis=1)
    state, literal = (candidates & ~truth).nonzero()
    score, own = scores[state, literal], scores[state, right[state]]
    return Order(right, state, literal, (score > own) | ((score == own) & (literal < right[state])))


def judge(denoiser: LogProbabilities, asks: Asks, truth: Bools) -> tuple[Judged, Reliability, Reliability]:
    """The states of `asks` with the solutions `truth` [n, L]; calibration at all open cells, and where they branch."""
    found = denoise(denoiser, asks, 1)
    cells = cells_of(asks.structure, asks.open, found)
    order = order_of(found, asks.candidates, truth)
    by_cell = (len(asks), asks.structure.decisions, -1)
    right = np.take_along_axis(truth.reshape(by_cell), cells.first[:, :, None], axis=2)[:, :, 0]
    branch = asks.candidates.reshape(by_cell).any(axis=2).argmax(axis=1)
    rows = np.arange(len(asks))
    judged = Judged(
        depth=asks.depth,
        arity=asks.candidates.sum(axis=1),
        right=right[rows, branch],
        surest=right[rows, cells.surest],
        open=np.packbits(asks.open, axis=1),
        true=np.packbits(asks.true, axis=1),
        ahead=order.ahead,
        state=order.state,
        literal=order.literal,
    )
    probability = np.exp(cells.best)
    at_branch = Reliability.of(probability[rows, branch], judged.right)
    return judged, Reliability.of(probability[cells.open], right[cells.open]), at_branch
