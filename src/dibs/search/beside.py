"""A nogood search that goes on beside an engine: what one of the two finds is never lost to the other.

The engine searches in slices. Between two of them the nogood search has a turn, of so many nodes for each conflict of
the slice: few at first, so that what ends soon costs little more than the engine alone, and many where the engine is
long at it. A node takes as long as one or two conflicts of CaDiCaL's, and counts, unlike seconds, are the same on every
machine. The engine begins with what the nogood search has learned, so that the work before it is not lost either.
"""

from __future__ import annotations

from collections.abc import Callable

from dibs.problem.cnf import CNF
from dibs.problem.cover import Cover
from dibs.problem.structure import Instance
from dibs.search.external.formula import signed
from dibs.search.nogoods.batch import begun
from dibs.search.nogoods.search import Search
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status

SHARE = 0.05  # nodes for each conflict of the engine,
LATE = 400_000  # and after so many conflicts, when what is short is over
LATE_SHARE = 1.0
TURN = 100  # nodes, at least
LEVELS = 4  # of nogoods that the engine gets: more of them are as much a burden as a help


class BesideEngine:
    """The nogood search of one instance, with `options.max_nodes` nodes at first; a formula may be an exact cover."""

    def __init__(self, instance: Instance, options: Options, place: int, stopped: Callable[[], bool]) -> None:
        cover = Cover.of(instance) if isinstance(instance, CNF) else None
        instance = cover or instance
        self._late = LATE if cover is None else 0
        self._signed = signed(instance) if cover is None else cover.signed
        root, [self._outcome], seconds = begun([instance], options)
        self._stopped = stopped
        self._search: Search | None = None
        if self._outcome is None:
            self._search = Search(instance, options, root.open[0], root.true[0], place, seconds)
            self._search.advance(stopped)
        self._conflicts = 0  # of the engine
        self._due = 0.0  # nodes
        self._begun = self._used

    @property
    def _used(self) -> float:
        return 0.0 if self._search is None else self._search.seconds

    @property
    def outcome(self) -> Outcome | None:
        """None where it was stopped."""
        return self._outcome if self._search is None else self._search.outcome()

    @property
    def seconds(self) -> float:
        """Of its turns."""
        return self._used - self._begun

    @property
    def lemmas(self) -> list[list[int]]:
        """Clauses that follow from the formula, for the engine; none where groups have bounds."""
        if self._search is None or self._search.instance.structure.bounded:
            return []
        return [(-self._signed[literals]).tolist() for literals in self._search.lemmas(LEVELS)]

    def turn(self, conflicts: int) -> bool:
        """The engine has had a slice of so many conflicts, without an answer; whether there is one now."""
        if self._search is None:
            return True
        self._due += (SHARE if self._conflicts < self._late else LATE_SHARE) * conflicts
        self._conflicts += conflicts
        if self._due >= TURN:
            self._search.allow(int(self._due))
            self._due = 0.0
            self._search.advance(self._stopped)
        found = self._search.outcome()
        return found is not None and found.status is not Status.LIMIT
