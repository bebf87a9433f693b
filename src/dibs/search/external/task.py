"""What goes into an adapter and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance
from dibs.search.external.formula import Formula
from dibs.search.outcome import Status


@dataclass(frozen=True)
class Task:
    """One instance for an engine."""

    instance: Instance
    formula: Formula
    wishes: (
        NDArray[np.int8] | None
    )  # [literals] what the guide would choose at the root: 1 true, -1 false, 0 no opinion
    proof: bool  # whether a proof of UNSAT is wanted
    left: Callable[[], float]  # seconds until the time limit; infinity without one
    stopped: Callable[[], bool]  # whether somebody wants it to end
    between: Callable[[int], bool] = lambda conflicts: False  # called after slices; whether another search has answered


class Found(NamedTuple):
    """What an engine found. LIMIT also where it was stopped."""

    status: Status
    true: NDArray[np.int64] | None  # the true literals, ascending, if there is a solution
    decisions: int
    conflicts: int
    proof: list[str] | None = None  # lines of DRAT, for UNSAT
    seconds: float | None = None  # of the search, if `run` did more than search, such as writing a file; else all of it


STATUS = {True: Status.SAT, False: Status.UNSAT, None: Status.LIMIT}
