"""A local search beside the nogood search: from where it begins, and what becomes of its best state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.search.nogoods import arrays, walk
from dibs.search.nogoods.arrays import Memory, Problem
from dibs.search.nogoods.lines import lines


class Walker:
    """One walk after another on a problem, each from a state that is drawn from the scores of its literals.

    A walk that has not ended is given up after a while, twice as long from one to the next of equal length (Luby's
    sequence would do as well): some beginnings lead nowhere.
    """

    def __init__(self, problem: Problem, seed: tuple[int, ...]) -> None:
        self.problem = problem
        self.seed = seed
        self.looks = 0  # swaps that were looked at in all walks
        self.begun = 0
        self._lines = lines(problem, np.ones(len(problem.literal_start) - 1, bool))
        self._walk: walk.Walk | None = None

    @property
    def able(self) -> bool:
        """Whether the problem has lines."""
        return self._lines is not None

    def advance(self, score: NDArray[np.float32], budget: int) -> bool:
        """Walk on for so many looks; whether nothing clashes any more. `score` [L]: log-probabilities."""
        assert self._lines is not None
        if self._walk is None:
            rng = np.random.default_rng((*self.seed, self.begun))
            liking = np.nan_to_num(score.astype(np.float64), nan=FAINT, neginf=FAINT, posinf=0)
            self._walk = walk.begin(self._lines, np.clip(liking, FAINT, 0) + rng.gumbel(size=len(score)), rng)
            self.begun += 1
        before = int(self._walk.counts[walk.LOOKS])
        walk.advance(self._lines, self._walk, budget)
        self.looks += int(self._walk.counts[walk.LOOKS]) - before
        return bool(self._walk.counts[walk.LEAST] == 0)

    def hand_over(self, m: Memory) -> None:
        """The best state as phases of a search: what it tries first."""
        assert self._lines is not None
        assert self._walk is not None
        m.best[:] = 0
        m.best[walk.literals(self._lines, self._walk)] = 1
        m.counts[arrays.FURTHEST] = arrays.NEVER


FAINT = -20.0
