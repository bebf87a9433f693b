"""How long a denoiser takes for a state, by batch size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.steps import LogProbabilities
from dibs.problem.structure import Structure
from dibs.study.judge import Judged

Bools = NDArray[np.bool_]
Report = Callable[[int, int], None]  # how many are done, of how many

BATCHES = (1, 16, 64, 256)
STATES = 256  # that one timing goes through
REPEATS = 5  # timings, of which the best is kept: whatever else the machine does makes them longer, never shorter
BUDGET = 3.0  # seconds for one batch size, about: slow models are timed on fewer states


@dataclass(frozen=True)
class Speed:
    states: str  # "root" or "path": where they come from
    batch: int
    milliseconds: float  # of one state, graph and softmax included
    open: float  # mean number of open literals of the states

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    denoiser: LogProbabilities,
    structure: Structure,
    judged: Judged,
    batches: Sequence[int],
    rng: np.random.Generator,
    report: Report = lambda done, total: None,
) -> tuple[Speed, ...]:
    """Each batch size on states at the root, where most literals are open, and on states of whole paths."""
    found: list[Speed] = []
    for name, rows in (("root", np.flatnonzero(judged.depth == 0)), ("path", np.arange(len(judged)))):
        open_, true = judged.unpacked(rng.permutation(rows)[: max(STATES, *batches, 0)], structure.literals)
        for batch in batches:
            report(len(found), 2 * len(batches))
            milliseconds, used = _best(denoiser, structure, open_, true, batch)
            found.append(Speed(name, batch, milliseconds, used))
    return tuple(found)


def _best(
    denoiser: LogProbabilities, structure: Structure, open_: Bools, true: Bools, batch: int
) -> tuple[float, float]:
    """(milliseconds of a state, mean open literals) over states [n, L], repeated where the batch is larger than n."""
    rows = np.resize(np.arange(len(open_)), max(STATES // batch, 1) * batch).reshape(-1, batch)
    batches = [(open_[part], true[part]) for part in rows]

    def run(count: int) -> float:
        begin = perf_counter()
        for one, other in batches[:count]:
            denoiser.log_probabilities(structure, one, other)
        return perf_counter() - begin

    run(1)  # the first call of a new size allocates
    count = int(np.clip(BUDGET / REPEATS / max(run(1), 1e-9), 1, len(batches)))
    best = min(run(count) for _ in range(REPEATS))
    return 1e3 * best / (count * batch), float(open_[rows[:count]].sum(axis=2).mean())
