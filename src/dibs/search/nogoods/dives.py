"""What a search does next: search on, ask the guide, dive or walk. Decided by counted work: counts are the same
on every machine.

A *dive* goes from the root down, and the guide is asked anew every few nodes until nothing is open, or until it has
failed too often. A *walk* (walker.py) looks for a solution by swaps. Search, asks and walks share the effort.
"""

from __future__ import annotations

from typing import Literal

from dibs.search.nogoods.arrays import NEVER

Step = Literal["search", "ask", "dive", "walk"]

PART = 48  # of the groups that need a literal: so many nodes until the next ask, fewer and fewer on the way down,
EVERY = 24  # but so many at least
ROOTS = 8  # what a dive costs, in asks about its root
DIVE = 256  # failures before the first dive, or walk, at least
START = 2.0  # effort of search and walks before the first dive, in dives
WALK_START = 0.25  # effort of the search before the first walk, in dives; more where walks have a small share
AGAIN = 4  # times as many failures before the next dive: each loses the weights that failures have made
FAILURES = 128  # of a dive, then it asks no more
CHECK = 64  # failures between two looks at the balance of efforts

# The unit of effort is a literal that is decided and taken back, about 40 ns.
GROUPS = 16  # groups that are looked at in a unit, to choose one
OPEN = 24  # units of each open literal of an ask
LOOKS = 160  # of a walk in a unit
LITERALS = 1800  # open: with so many, walks get as much effort as all else together. It grows with their cube:
LARGEST_SHARE = 10.0  # with few, the search proves what walks cannot; with many, walks find what the search does not
LEAST = 20_000  # units of a walk: less is not worth the start


class Dives:
    """The plan of one search with so many open `literals`; `most` asks at most, the first after `after` nodes."""

    def __init__(self, literals: int, most: int, after: int) -> None:
        self.most = most
        self.walks = True
        self.asks = 0
        self.ask_at = after if most else NEVER  # nodes
        self.pause_at = CHECK if not most else NEVER  # failures
        self._begun = 0  # dives; the first is an ask about the root alone
        self._dive_at = NEVER  # failures
        self._give_up = NEVER  # failures
        self._asked = self._walked = 0  # effort
        self._price = OPEN * ROOTS * literals  # of a dive
        self._share = min((literals / LITERALS) ** 3, LARGEST_SHARE)
        self._spend = 0  # effort of asks where this one ends

    def next(self, nodes: int, failures: int, effort: int) -> Step:
        """The next step of a search at its `ask_at` or `pause_at`, with so many units of effort of its own."""
        if nodes >= self.ask_at:
            if not self._begun:
                return self._dive(failures)
            if failures < self._give_up and self._asked < self._spend:
                return "ask"
            self.ask_at = NEVER
        if failures < self.pause_at:
            return "search"
        self.pause_at = failures + CHECK
        if failures < DIVE or effort < WALK_START * self._price or self.ask_at < NEVER:
            return "search"
        spent = effort + self._walked
        if failures >= self._dive_at and spent >= max(START * self._price, self._asked):
            return self._dive(failures)
        late = effort * min(self._share, 1.0) >= WALK_START * self._price
        return "walk" if self.walks and late and self.budget(effort) >= LOOKS * LEAST else "search"

    def _dive(self, failures: int) -> Step:
        self._dive_at = AGAIN * failures if self._begun else 0
        self._give_up = failures + FAILURES
        self._spend = self._asked + 2 * self._price
        self._begun += 1
        return "dive"

    def answered(self, nodes: int, failures: int, literals: int, groups: int) -> None:
        """The guide was asked about a state with so many open literals, in so many groups that need one."""
        self.asks += 1
        self._asked += OPEN * literals
        self.pause_at = failures + CHECK
        every = max(EVERY, groups // PART)
        self.ask_at = nodes + every if self._begun > 1 and self.asks < self.most else NEVER
        if self.asks >= self.most:
            self._dive_at = NEVER

    def budget(self, effort: int) -> int:
        """Looks that walks may use now."""
        return int(LOOKS * (self._share * (effort + self._asked) - self._walked))

    def walked(self, looks: int) -> None:
        self._walked += looks // LOOKS
