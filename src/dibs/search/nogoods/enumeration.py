"""One nogood search for several solutions: the first as ever, the others from what it knows by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock
from dibs.search.nogoods import arrays, every
from dibs.search.nogoods.arrays import Memory, Problem, memory
from dibs.search.nogoods.every import Aim
from dibs.search.nogoods.loop import exclude
from dibs.search.nogoods.search import Bools, Search
from dibs.search.slices import MOST

BLOCKED = 4  # solutions that are blocked; those after them are left by backtracking
_KEPT = ("arena", "place", "length", "levels", "use", "link", "log")  # arrays of nogoods
_GOES_ON = (
    arrays.NODES, arrays.CONFLICTS, arrays.DEPTH, arrays.RUN, arrays.NOGOODS, arrays.USED, arrays.ROOM, arrays.WORK,
    arrays.LOGGED,
)  # fmt: skip
ROWS = 256  # solutions that the kernel finds before Python takes them, at most
BYTES = 1 << 20  # of them, at most


class Enumeration(Search):
    """`options.max_solutions` solutions, or all; `over` [literals of the structure]: only what differs there counts.

    `found` has the true literals of each; whoever takes them away makes room. With `count` it has only the first.
    """

    completes = False  # every literal gets a partner, once there is a solution
    blocks = True  # the first few solutions, where that is possible

    def __init__(self, *of: Any, over: Bools | None = None, count: bool = False, **rest: Any) -> None:
        self.found: list[NDArray[np.int64]] = []
        self._over, self._count = over, count
        self._aim: Aim | None = None
        super().__init__(*of, **rest)

    @property
    def solutions(self) -> int:
        return 0 if self._aim is None else int(self._aim.counts[every.SOLUTIONS])

    def advance(self, stopped: Callable[[], bool]) -> bool:
        if self._aim is None:
            if super().advance(stopped):
                return True
            if self.memory.counts[arrays.PHASE] != arrays.SAT:
                return False
            self._enumerate()
        self._run(self._most, arrays.NEVER, stopped)
        return False

    def _enumerate(self) -> None:
        """From the root again, with a partner for every literal: the first solution is found once more."""
        begin = clock()
        state = self.memory.state
        over = np.ones(len(self.open), bool) if self._over is None else self._over[self.open]
        blocked = BLOCKED if self.blocks and self._over is None and not (state == arrays.OPEN).any() else 0
        wanted = min(self.options.max_solutions, MOST)
        rows = min(wanted, ROWS, max(1, BYTES // max(1, len(over))))
        if self._count:
            self.found.append(self._true_literals(state == arrays.TRUE))
            rows = 0
        self.problem, partner = doubled(self.problem)
        self.memory = carried(self.memory, self.problem)
        self._hand_over()
        self._aim = aim(self.problem, partner, over, rows, wanted, blocked)
        self.seconds += clock() - begin

    def _true_literals(self, true: Bools) -> NDArray[np.int64]:
        return np.sort(np.concatenate([self._true, self.open[true]]))

    def _step(self, budget: int) -> None:
        if self._aim is None:
            super()._step(budget)
            return
        every.advance(self.problem, self.memory, self._aim, self._unit, budget)
        rows = int(self._aim.counts[every.ROWS])
        self.found += [self._true_literals(row.astype(bool)) for row in self._aim.found[:rows]]
        self._aim.counts[every.ROWS] = 0

    def _complemented(self) -> NDArray[np.int32]:
        return super()._complemented() if self._aim is None else self._aim.partner[len(self.open) :]

    def solved(self) -> tuple[list[NDArray[np.int64]], int]:
        return self.found, self.solutions


def doubled(p: Problem) -> tuple[Problem, NDArray[np.int32]]:
    """The problem with partners, which are in no group, and the partner of each: of two that must differ, the other."""
    literals, sizes = len(p.literal_start) - 1, np.diff(p.group_start)
    pairs = np.flatnonzero(p.need & p.exclusive & (sizes[: len(p.need)] == 2))
    partner = np.full(literals, -1, np.int32)
    one, other = p.group_member[p.group_start[pairs]], p.group_member[p.group_start[pairs] + 1]
    partner[one], partner[other] = other, one
    alone = np.flatnonzero(partner < 0).astype(np.int32)
    partner[alone] = literals + np.arange(len(alone))
    more = {name: getattr(p, name) for name in ("literal_start", "bound_start")}
    more = {name: np.append(start, np.full(len(alone), start[-1], np.int32)) for name, start in more.items()}
    return p._replace(**more, pair=np.append(p.pair, np.full(len(alone), -1, np.int32))), np.append(partner, alone)


def carried(m: Memory, p: Problem) -> Memory:
    """A search of a doubled problem at its root, with the nogoods of one that has solved it without partners."""
    literals = len(m.state)
    new = memory(p)._replace(**{name: getattr(m, name) for name in _KEPT}, weight=m.weight, real=m.real)
    new.counts[list(_GOES_ON)] = m.counts[list(_GOES_ON)]
    new.score[:literals] = m.score
    new.best[:literals] = m.state == arrays.TRUE
    exclude(p, new, np.flatnonzero((m.state == arrays.FALSE) & (m.level == 0)))
    return new


def aim(p: Problem, partner: NDArray[np.int32], over: Bools, rows: int, wanted: int, blocked: int) -> Aim:
    """`over` [literals of the problem before it was doubled]: those that say what differs."""
    among = np.zeros(len(partner), np.uint8)
    among[np.flatnonzero(over)] = among[partner[: len(over)][over]] = 1
    needs = np.concatenate([p.need, p.least > 0])
    within = np.logical_and.reduceat(np.append(among[p.group_member] > 0, True), p.group_start[:-1])
    counts = np.zeros(every.AIMS, np.int64)
    counts[[every.WANTED, every.BLOCKED, every.WIDTH]] = wanted, blocked, len(over)
    return Aim(
        partner, np.flatnonzero(needs & within & (np.diff(p.group_start) > 0)).astype(np.int32),
        np.flatnonzero(over).astype(np.int32), among, np.zeros((rows, len(over)), np.uint8), counts,
    )  # fmt: skip
