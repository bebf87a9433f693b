"""A local search beside the nogood search: from where it begins, and what becomes of its best state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.search.nogoods import arrays, walk
from dibs.search.nogoods.arrays import Memory, Problem
from dibs.search.nogoods.lines import lines

FAINT = -20.0  # log-probabilities below count as this one


class Walker:
    """A walk on a problem as far as literals are `open_` [L], from a state that is drawn from their scores."""

    def __init__(self, problem: Problem, open_: NDArray[np.bool_], seed: tuple[int, ...]) -> None:
        self.seed = seed
        self.begun = 0
        self.solved = False
        self._lines = lines(problem, open_)
        self._walk: walk.Walk | None = None

    @property
    def able(self) -> bool:
        """Whether the problem has lines."""
        return self._lines is not None

    def advance(self, score: NDArray[np.float32], budget: int) -> int:
        """Walk on for about so many looks; returns how many it had. `score` [L]: log-probabilities."""
        assert self._lines is not None
        if self._walk is None:
            rng = np.random.default_rng((*self.seed, self.begun))
            liking = np.nan_to_num(score.astype(np.float64), nan=FAINT, neginf=FAINT, posinf=0)
            self._walk = walk.begin(self._lines, np.clip(liking, FAINT, 0) + rng.gumbel(size=len(score)), rng)
            self.begun += 1
        before = int(self._walk.counts[walk.LOOKS])
        walk.advance(self._lines, self._walk, budget)
        self.solved = bool(self._walk.counts[walk.LEAST] == 0)
        return max(1, int(self._walk.counts[walk.LOOKS]) - before)

    def hand_over(self, m: Memory) -> None:
        """The best state as phases of a search: what it tries first."""
        assert self._lines is not None
        assert self._walk is not None
        m.best[:] = 0
        m.best[walk.literals(self._lines, self._walk)] = 1
        m.counts[arrays.FURTHEST] = arrays.NEVER
