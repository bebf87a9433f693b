"""What a run over many puzzles adds up to, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from time import perf_counter

from dibs.search import Outcome, Status
from dibs.wording import plural


class Tally:
    """Counts of outcomes. Node counts are kept as "how many puzzles had so many", so a million puzzles fit."""

    def __init__(self) -> None:
        self.begin = perf_counter()
        self.done = 0
        self.bad = 0
        self.line = 0  # where the last finished puzzle begins
        self.status: Counter[Status] = Counter()
        self.nodes: Counter[int] = Counter()
        self.asks = self.calls = 0
        self.guide_seconds = 0.0

    @property
    def seconds(self) -> float:
        return perf_counter() - self.begin

    def add(self, line: int, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            self.status[outcome.status] += 1
            self.nodes[outcome.nodes] += 1
            self.asks += outcome.asks
            self.calls += outcome.calls
            self.guide_seconds += outcome.guide_seconds
            self.done += 1
        self.line = line

    def summary(self, interrupted: bool = False) -> str:
        """One line. A puzzle that met its limit counts with the nodes it had by then."""
        found = ", ".join(f"{self.status[status]} {status}" for status in Status)
        parts = [f"{'interrupted, ' if interrupted else ''}{plural(self.done, 'puzzle')}: {found}, {self.bad} bad"]
        if self.done:
            mean = sum(nodes * times for nodes, times in self.nodes.items()) / self.done
            median = (self._ranked(0.5) + self._ranked(0.5, above=True)) / 2
            parts.append(f"nodes mean {mean:.1f}, median {median:g}, p95 {self._ranked(0.95)}, max {max(self.nodes)}")
        if self.asks:
            calls = f", calls mean {self.calls / self.done:.1f}" if self.calls else ""
            parts.append(f"asks mean {self.asks / self.done:.1f}{calls}, guide {self.guide_seconds:.2f} s")
        seconds = self.seconds
        parts.append(f"{seconds:.2f} s, {self.done / seconds:.0f} puzzles/s")
        return "; ".join(parts)

    def _ranked(self, share: float, above: bool = False) -> int:
        """The least node count that this share of the puzzles does not exceed (or, `above`, that it falls short of)."""
        seen = 0
        for nodes in sorted(self.nodes):
            seen += self.nodes[nodes]
            if seen > share * self.done or (seen == share * self.done and not above):
                return nodes
        return 0


def duration(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
