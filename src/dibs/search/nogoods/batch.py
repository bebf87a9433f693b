"""The nogood search as a `Searcher`: each instance by itself, and the guide asked about all that wait at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock, never
from dibs.problem.structure import Instance
from dibs.search.contract import Asks, Searcher, checked
from dibs.search.drat import Drat
from dibs.search.nogoods import arrays
from dibs.search.nogoods.enumeration import Enumeration
from dibs.search.nogoods.search import Bools, Search, label
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, verified
from dibs.search.root import Root, locked_out, roots

TOGETHER = 32  # searches that are under way, and ask the guide, at once


class NogoodSearch(Searcher):
    """Searches of instances that share one structure; `places` as for the tree search.

    `guided`: the guide is asked; `static`: no more than once. Another `variant` is the same search with other random
    numbers. `over` [literals]: solutions differ in these literals, each combination is found once. `count`: only the
    first solution is kept. `proof`: gets what the search of the only instance learns, and its solutions. `make`: what
    is called for each search, in place of `Search` or `Enumeration`.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        options: Options,
        *,
        guided: bool = False,
        static: bool = False,
        places: Sequence[int] | None = None,
        variant: int = 0,
        over: Bools | None = None,
        count: bool = False,
        proof: Drat | None = None,
        make: Callable[..., Search] | None = None,
    ) -> None:
        if proof is not None and len(instances) > 1:
            raise ValueError("a proof is about one instance")
        self._several = options.max_solutions > 1 or over is not None
        self.instances, self.options = instances, options
        self.structure = instances[0].structure
        self.places = range(len(instances)) if places is None else places
        self._asks = 0 if not guided else 1 if static else arrays.NEVER
        self._root, self._outcomes, self._seconds = begun(instances, options, label(guided))
        self._variant, self._over, self._count, self._proof = variant, over, count, proof
        self._make: Callable[..., Search] = make or (Enumeration if self._several else Search)
        if proof is not None:
            proof.false(locked_out(instances[0], options.level) if options.root == "locked" else np.zeros(0, np.int64))
            proof.solutions = [np.flatnonzero(self._root.true[0])] if self._outcomes[0] else []
        self._next = 0  # the first instance whose search has not begun
        self._live: dict[int, Search] = {}  # by the place of the instance
        self._waiting: tuple[Asks, list[Search]] | None = None  # the last asks, and the searches they are of
        self._answered: list[Search] = []
        self._handing = 0.0  # seconds that it took to put the last asks together

    def _fill(self) -> None:
        """Begin searches until enough are under way."""
        while self._next < len(self.instances) and len(self._live) < TOGETHER:
            i = self._next
            self._next += 1
            if self._outcomes[i] is None:
                open_, true = self._root.open[i], self._root.true[i]
                of = self.instances[i], self.options, open_, true, self.places[i], self._seconds, self._asks
                several: dict[str, Any] = {"over": self._over, "count": self._count} if self._several else {}
                self._live[i] = self._make(*of, self._variant, proof=self._proof, **several)

    def advance(self, stopped: Callable[[], bool] = never) -> Asks | None:
        while not stopped():
            self._fill()
            if not self._live:
                return None
            waiting: list[Search] = []
            for i, search in list(self._live.items()):
                if search.advance(stopped):
                    waiting.append(search)
                elif stopped():
                    return None
                else:
                    self._outcomes[i] = search.outcome()
                    if self._proof is not None:
                        self._proof.solutions = search.solved()[0]
                    del self._live[i]
            if waiting:
                return self._asked(waiting)
        return None

    def _asked(self, searches: list[Search]) -> Asks:
        begin = clock()
        open_, true = (np.array(part) for part in zip(*(search.literals() for search in searches), strict=True))
        depth = np.array([m.counts[arrays.LEVEL] - m.counts[arrays.ASSUMED] for m in (s.memory for s in searches)])
        asks = Asks.of(self.structure, [search.instance for search in searches], open_, true, depth=depth)
        self._waiting = asks, searches
        self._handing = clock() - begin
        return asks

    def answer(self, asks: Asks, scores: NDArray[Any]) -> None:
        if self._waiting is None or asks is not self._waiting[0]:
            raise ValueError("these asks were answered already")
        self._answered = self._waiting[1]
        scores = checked(scores, (len(self._answered), self.structure.literals))
        self._waiting = None
        for search, mine in zip(self._answered, scores, strict=True):
            search.answer(mine)

    def charge(self, seconds: float, passes: int) -> None:
        for search in self._answered:
            search.calls += passes
            search.guide_seconds += (seconds + self._handing) / len(self._answered)

    def wait(self, seconds: float) -> None:
        for search in self._live.values():
            search.elsewhere += seconds

    def patience(self) -> float:
        if self._waiting is None or self.options.max_seconds is None:
            return inf
        searches = self._waiting[1]
        used = min(search.used for search in searches)
        return (self.options.max_seconds - used) * len(searches)

    @property
    def ready(self) -> bool:
        return any(isinstance(search, Enumeration) and search.found for search in self._live.values())

    def take(self) -> list[Any]:
        [search] = self._live.values()
        assert isinstance(search, Enumeration)
        found, search.found = search.found, []
        return verified([search.instance] * len(found), found)

    def outcomes(self) -> list[Outcome | None]:
        return list(self._outcomes)


def begun(
    instances: Sequence[Instance], options: Options, search: str = "nogoods"
) -> tuple[Root, list[Outcome | None], float]:
    """The roots of instances that share a structure, the outcomes of those that are decided there, and seconds of each.

    `search`: how the outcomes call it.
    """
    begin = clock()
    root = roots(instances, options.level, locked=options.root == "locked")
    seconds = (clock() - begin) / len(instances)
    outcomes: list[Outcome | None] = []
    for instance, open_, true, consistent in zip(instances, *root, strict=True):
        if not consistent:
            outcomes.append(Outcome(Status.UNSAT, seconds=seconds, search=search))
        elif open_.any():
            outcomes.append(None)
        else:
            [solution] = verified([instance], [np.flatnonzero(true)])
            outcomes.append(Outcome(Status.SAT, solution, seconds=seconds, solutions=1, search=search))
    return root, outcomes, seconds
