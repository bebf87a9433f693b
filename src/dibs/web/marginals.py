"""What a guide believes about every cell of a puzzle, pass by pass."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats32
from dibs.guide.score import DiBS
from dibs.guide.steps import LogProbabilities, denoise
from dibs.problem import CNF, Sudoku
from dibs.problem.structure import Structure
from dibs.search.contract import Asks
from dibs.search.outcome import Status
from dibs.solving import solve
from dibs.web.board import root

JUDGED = 5_000  # nodes in which the solution is sought that beliefs are judged by


class _Passes:
    """A denoiser that keeps what it said."""

    def __init__(self, model: LogProbabilities) -> None:
        self.model = model
        self.answers: list[Floats32] = []

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        found = self.model.log_probabilities(structure, open_, true)
        self.answers.append(found)
        return found


def marginals(instance: Sudoku | CNF, guide: DiBS, steps: int) -> dict[str, Any]:
    """Probabilities [cells][values] of each of `steps` passes; no cell is spared, as none is branched on."""
    open_, true = root(instance)
    model = _Passes(guide.denoiser)
    none = np.zeros((1, len(open_)), bool)
    asks = Asks.of(instance.structure, [instance], open_[None], true[None], candidates=none)
    begin = perf_counter()
    denoise(model, asks, steps)
    seconds = perf_counter() - begin
    width = 2 if isinstance(instance, CNF) else instance.size
    free = open_.reshape(-1, width).any(axis=1)
    stuck = not (free | true.reshape(-1, width).any(axis=1)).all()  # a blank cell without a candidate
    shares = [np.exp(answer[0].astype(np.float64)).reshape(-1, width) for answer in model.answers]
    return {
        "steps": [np.round(share, 5).tolist() for share in shares],
        "entropy": [round(_entropy(share[free]), 5) for share in shares],
        "solution": _only(instance) if isinstance(instance, Sudoku) else None,
        "impossible": bool(stuck or (free.any() and not shares[0][free].any())),
        "seconds": round(seconds, 6),
    }


def _only(puzzle: Sudoku) -> list[int] | None:
    """The values of the only solution, to judge beliefs by; None where there are several, or it is too far to seek."""
    found = solve(puzzle, policy="plain", max_solutions=2, max_nodes=JUDGED)
    if found.status is not Status.SAT or found.solutions != 1:
        return None
    return [int(value) for value in found.solution.array.reshape(-1)]


def _entropy(shares: NDArray[np.float64]) -> float:
    """In bits, on average over the cells [cells, values]; 0 where there are none."""
    if not len(shares):
        return 0.0
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return abs(float(-(shares * logs).sum(axis=1).mean()))
