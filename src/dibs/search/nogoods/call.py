"""One call of a search that is asked again, up to its first failures: most calls end here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.held import places
from dibs.search.nogoods import arrays
from dibs.search.nogoods.arrays import Int, Memory, Problem
from dibs.search.nogoods.assume import recalled, resumed
from dibs.search.nogoods.loop import search

problem_at, memory_at = places(Problem), places(Memory)


@entry(error_model="numpy")
def call(
    problem: Any,
    memory: Any,
    assumed: NDArray[np.int32],
    failures: NDArray[np.int32],
    unit: Int,
    most: Int,
    budget: Int,
) -> Int:
    """Begin anew with these assumptions, each of them once, with counters that begin again, and search.

    `problem` and `memory` are held. Up to `most` decisions and `budget` failures, as `loop.advance` does. Not for a
    search that has failed at its root.

    Returns which of the `failures` [k, most], each with -1 behind it, are all assumed: then it is answered; or -1.
    """
    p, m = problem_at(problem), memory_at(memory)
    known = recalled(m, assumed, failures)
    if known < 0:
        keep_phases(m)
        resumed(p, m, assumed, True)
        m.counts[arrays.MOST] = most
        search(p, m, unit, budget)
    return known


@part
def keep_phases(m: Memory) -> None:
    """What is true in the first solution is tried first from then on: all that is learnt is about its surroundings."""
    counts = m.counts
    if counts[arrays.FURTHEST] == arrays.SOLUTION:
        return
    counts[arrays.FURTHEST] = 0
    if counts[arrays.PHASE] == arrays.SAT:
        counts[arrays.FURTHEST] = arrays.SOLUTION
        for literal in range(len(m.best)):
            m.best[literal] = m.state[literal] == arrays.TRUE
