"""Smallest hitting sets: as few numbers as possible, one at least of every set. More sets may come at any time."""

from __future__ import annotations

from collections.abc import Iterable

from dibs.problem.own import Problem
from dibs.search.nogoods.incremental import Call, Incremental, Switch
from dibs.search.options import Options
from dibs.search.outcome import Status


class Hitting:
    """Numbers from 0 to `size` - 1. The bound on how many are taken only ever rises."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self.options = Options(strategy="nogoods", restart_base=64, seed=seed)
        self.least = 1  # no hitting set has fewer
        self._numbers = list(range(size))
        self._problem = Problem(size)
        self._search = Incremental(self._problem, self.options)
        self._sets: list[Switch] = []
        self._bound = self._bounded()

    def _bounded(self) -> Switch:
        return self._search.add([(0, min(self.least, len(self._numbers)), self._numbers)])

    def add(self, some: Iterable[int]) -> None:
        """One of them must be taken."""
        members = sorted(some)
        self._sets.append(self._search.add([(1, len(members), members)]))

    def smallest(self, options: Options) -> list[int] | None:
        """A hitting set of the least size, which is `least` from then on; None at a limit."""
        while True:
            self._search.begin([self._bound, *self._sets], [], options)
            call = Call(self._search, self._problem)
            call.run()
            [outcome] = call.outcomes()
            assert outcome is not None
            if outcome.status is Status.SAT:
                return list(outcome.solution)
            if outcome.status is Status.LIMIT:
                return None
            self.least += 1
            self._search.remove(self._bound)
            self._bound = self._bounded()
