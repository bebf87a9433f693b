"""Answers of earlier calls of a search that is asked again: some are answers of a later call as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 32  # answers of each kind that are looked at before a search
SHORT = 24  # assumptions of a failure that is kept, at most


class Answers:
    """Solutions and short failures, the last ones of each; numbers are those of the search, below `literals`."""

    def __init__(self, literals: int) -> None:
        self.failures = np.full((KEPT, SHORT), -1, np.int32)  # a row each, -1 behind it
        self._true = np.zeros((KEPT, literals + 1), bool)  # [solution, literal], the last one always
        self._true[:, -1] = True
        self._solutions: list[Any] = []  # of the first rows
        self._solved = self._failed = 0  # how many there were

    def grow(self, literals: int) -> None:
        """There are more literals, which are true in no solution that is known."""
        known, self._true = self._true[:, :-1], np.zeros((KEPT, literals + 1), bool)
        self._true[:, : known.shape[1]] = known
        self._true[:, -1] = True

    def forget(self, literal: int) -> None:
        """It need no longer be true in the solutions that are known."""
        if literal < self._true.shape[1] - 1:
            self._true[:, literal] = False

    def solved(self, true: NDArray[np.bool_], solution: Any) -> None:
        """Keep a solution, and what is true in it [literals]."""
        row = self._solved % KEPT
        self._true[row, :-1] = true
        self._solutions[row : row + 1] = [solution]
        self._solved += 1

    def failed(self, assumed: NDArray[np.int32]) -> None:
        """Keep what fails together, if it is short; nothing at all fails every call, and needs no place here."""
        if 0 < len(assumed) <= SHORT:
            row = self._failed % KEPT
            self.failures[row] = -1
            self.failures[row, : len(assumed)] = assumed
            self._failed += 1

    def solution(self, assumed: NDArray[np.int32]) -> Any:
        """One in which all that is assumed is true, or None; -1 is true in each."""
        last = assumed[-1] if len(assumed) else -1  # it is new most often
        for row in self._true[: len(self._solutions), last].nonzero()[0].tolist():
            if self._true[row][assumed].all():
                return self._solutions[row]
        return None
