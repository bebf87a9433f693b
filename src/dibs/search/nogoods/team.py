"""Searches of one instance that know of each other: they tell what they learn, and each has its part of the space.

A *cube* is a part of the space: literals that a search assumes. Whoever has refuted his gets a part of another's; what
all of them learn holds in all cubes. Of all solutions each has a part that it leaves by backtracking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from threading import Condition, Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock
from dibs.search.nogoods import arrays, assume, every
from dibs.search.nogoods.enumeration import Enumeration
from dibs.search.nogoods.search import Search
from dibs.search.outcome import Outcome, Status

Cube = tuple[int, ...]  # literals that are true in a part of the space, as the search numbers them

MAIL = 1 << 14  # numbers of nogoods that a search tells, or hears, at once
SPLIT_AFTER = 1000  # failures of a search before the space is split
LEAST = 200  # failures in a cube before it is split
PATIENCE = 0.02  # seconds between two looks at whether it is over


class Team:
    """What the searches know of each other. `splits`: cubes of a search for one solution; `shares`: nogoods."""

    def __init__(self, workers: int, splits: bool, shares: bool, wanted: int) -> None:
        self.splits, self.shares, self.wanted = splits, shares, wanted
        self.begin: Cube = ()  # where they begin
        self.ended = Event()
        self.searches: list[Member | None] = [None] * workers
        self._mail: list[deque[NDArray[np.int32]]] = [deque() for _ in range(workers)]
        self._changed = Condition()
        self._at: dict[int, Cube] = dict.fromkeys(range(workers), ())  # what each of them is at
        self._cubes: list[Cube] = []  # that nobody is at
        self._split = False  # nobody is at the whole space any more
        self._lost = False  # a part of the space is neither done nor can another begin with it
        self._idle = 0
        self.solved = False  # there is a solution, and the search for all others has begun

    @property
    def members(self) -> list[Member]:
        return [member for member in self.searches if member is not None]

    def tell(self, worker: int, nogoods: NDArray[np.int32]) -> None:
        for other, mail in enumerate(self._mail):
            if other != worker:
                mail.append(nogoods)

    def heard(self, worker: int) -> list[NDArray[np.int32]]:
        """What others have told since, as much as there is room for."""
        mail, room = self._mail[worker], MAIL
        found = []
        while mail and len(mail[0]) <= room:
            found.append(mail.popleft())
            room -= len(found[-1])
        return found

    @property
    def hungry(self) -> bool:
        """Whether somebody waits for a part of the space."""
        return self._idle > 0 and not self._cubes

    def wants(self, worker: int, failures: int) -> bool:
        """Whether a search with so many failures in its cube should split it, or has to leave the whole space."""
        if not self._split:
            return self.splits and failures >= SPLIT_AFTER
        return self._at.get(worker) == () or (self.hungry and failures >= LEAST)

    def split(self, worker: int, cubes: Sequence[Cube]) -> Cube | None:
        """The cube of a search falls into these: the first is its own. None: others have split it, or solved all."""
        with self._changed:
            if self.solved or (self._split and self._at[worker] == ()):
                self._at.pop(worker, None)
                return None
            self._split = True
            self._at[worker] = cubes[0]
            self._cubes += cubes[1:]
            self._changed.notify_all()
            return cubes[0]

    def first(self, worker: int) -> bool:
        """There is a solution: whoever has found the first is at all of them, the others at nothing yet."""
        with self._changed:
            mine = not self.solved
            if mine:
                self._at, self._cubes, self._split, self.solved = {worker: ()}, [], True, True
            return mine

    def post(self, cube: Cube) -> None:
        """A part of the space for whoever waits."""
        with self._changed:
            self._cubes.append(cube)
            self._changed.notify_all()

    def closed(self, worker: int, core: Sequence[int] | None = None) -> None:
        """A search is done with its cube. `core`: what cannot be true together, here or elsewhere."""
        with self._changed:
            self._at.pop(worker, None)
            if core is not None:
                self._cubes = [cube for cube in self._cubes if not set(core) <= set(cube)]
            self._changed.notify_all()

    def take(self, worker: int, stopped: Callable[[], bool]) -> Cube | None:
        """The largest part of the space that nobody is at; None where all is done, or once `stopped()`."""
        with self._changed:
            self._idle += 1
            try:
                while not self._cubes and self._at and not self.ended.is_set() and not stopped():
                    self._changed.wait(PATIENCE)
                if not self._cubes or self.ended.is_set() or stopped():
                    return None
                cube = min(self._cubes, key=len)
                self._cubes.remove(cube)
                self._at[worker] = cube
                return cube
            finally:
                self._idle -= 1

    def leave(self, worker: int) -> None:
        """A search will not go on: what it was at is for the others, unless solutions of it were found already."""
        with self._changed:
            cube = self._at.pop(worker, None)
            if cube is not None and self._split:
                self._cubes += [] if self.solved else [cube]
                self._lost |= self.solved
            self._changed.notify_all()

    @property
    def done(self) -> bool:
        """Whether nothing of the space is left."""
        return self._split and not self._at and not self._cubes and not self._lost

    def outcome(self, status: Status, solutions: int) -> Outcome:
        """What all of them have done, without solutions."""
        all_ = [member.cost(status, solutions) for member in self.members]
        first = max(all_, key=lambda one: one.seconds + one.guide_seconds)
        nodes = sum(one.nodes for one in all_)
        return replace(
            first,
            nodes=nodes,
            backtracks=sum(one.backtracks for one in all_),
            asks=sum(one.asks for one in all_),
            depth=max(one.depth for one in all_),
            calls=sum(one.calls for one in all_),
            tries=nodes,
        )

    @property
    def solutions(self) -> int:
        return sum(member.solutions for member in self.members if isinstance(member, Counter))


class Member(Search):
    """A nogood search that is one of a team."""

    def __init__(self, team: Team, worker: int, *of: Any, **rest: Any) -> None:
        super().__init__(*of, **rest)
        self.team, self.worker = team, worker
        self._entered = 0  # failures when it came to its cube
        team.searches[worker] = self
        if team.shares:
            self.memory = self.memory._replace(told=np.zeros(MAIL, np.int32), heard=np.zeros(MAIL, np.int32))
        if team.begin and self._going():
            self._enter(team.begin)

    def _step(self, budget: int) -> None:
        super()._step(budget)
        m = self.memory
        if told := int(m.counts[arrays.TOLD]):
            self.team.tell(self.worker, m.told[:told].copy())
            m.counts[arrays.TOLD] = 0
        if len(m.heard) and not m.counts[arrays.HEARD] and (heard := self.team.heard(self.worker)):
            nogoods = np.concatenate(heard)
            m.heard[: len(nogoods)] = nogoods
            m.counts[arrays.HEARD] = len(nogoods)

    def advance(self, stopped: Callable[[], bool]) -> bool:
        """As ever; UNSAT where no part of the space is left."""
        team = self.team

        def over() -> bool:
            return stopped() or team.wants(self.worker, self._failures - self._entered)

        while True:
            if super().advance(over):
                return True
            counts = self.memory.counts
            if counts[arrays.PHASE] == arrays.UNSAT and counts[arrays.LENGTH] > 0 and counts[arrays.ASSUMED] > 0:
                self._refuted()
                self._enter(self._taken(stopped))
            elif stopped() or not self._going():
                return False
            elif cubes := self.parts():
                cube = team.split(self.worker, cubes)
                self._enter(self._taken(stopped) if cube is None else cube)
            else:
                self._entered = self._failures  # nothing to choose from: some time later

    def _refuted(self) -> None:
        """Nothing is in its cube: what fails goes to the others as a nogood."""
        m = self.memory
        core = m.learnt[: m.counts[arrays.LENGTH]]
        if self.team.shares and len(core) + 2 <= MAIL:
            self.team.tell(self.worker, np.concatenate([[len(core), 1], core]).astype(np.int32))
        self.team.closed(self.worker, core.tolist())

    def _taken(self, stopped: Callable[[], bool]) -> Cube | None:
        """Another part of the space; waiting for it is on the clock."""
        begin, limit = clock(), self.options.max_seconds
        left = inf if limit is None else limit - self.seconds - self.guide_seconds
        cube = self.team.take(self.worker, lambda: stopped() or clock() - begin > left)
        self.seconds += clock() - begin
        return cube

    def _enter(self, cube: Cube | None) -> None:
        """Go on in a cube; None: there is none, or no time."""
        self._entered = self._failures
        self._walker, self._dives.walks = None, True
        counts = self.memory.counts
        if cube is not None:
            assume.resume(self.problem, self.memory, np.array(cube, np.int32))
        else:
            counts[[arrays.PHASE, arrays.LENGTH]] = arrays.UNSAT if self.team.done else arrays.LIMIT, 0

    def parts(self) -> list[Cube]:
        """The cubes that its own falls into: the two values of a literal that matters much, or members of a group."""
        p, m = self.problem, self.memory
        assumed = int(m.counts[arrays.ASSUMED])
        open_ = (m.state == arrays.OPEN) | (m.level > assumed)
        cube = tuple(m.assumed[:assumed].tolist())
        owner = np.repeat(np.arange(len(m.weight)), np.diff(p.group_start))
        pairs = np.flatnonzero(open_ & (p.pair > np.arange(len(p.pair))))
        if len(pairs):
            matters = np.bincount(p.group_member, m.weight[owner], len(open_))
            best = int(pairs[np.argmax(matters[pairs] * matters[p.pair[pairs]])])
            return [(*cube, best), (*cube, int(p.pair[best]))]
        left = np.bincount(owner, open_[p.group_member], len(m.weight))[: len(p.need)]
        met = np.bincount(owner, ((m.state == arrays.TRUE) & ~open_)[p.group_member], len(m.weight))[: len(p.need)]
        able = np.flatnonzero(p.need & (met == 0) & (left > 1))
        if not len(able):
            return []
        best = int(able[np.argmin(left[able] / m.weight[able])])
        members = p.group_member[p.group_start[best] : p.group_start[best + 1]]
        return [(*cube, literal) for literal in members[open_[members]].tolist()]


class Counter(Enumeration, Member):
    """A search for several solutions that is one of a team: all look for the first, then each has its part."""

    blocks = False  # nobody else would know what is blocked: all solutions are left by backtracking

    def __init__(self, *of: Any, **rest: Any) -> None:
        super().__init__(*of, **rest)
        self._placed = False  # it has a part of the solutions

    def advance(self, stopped: Callable[[], bool]) -> bool:
        team = self.team
        if self._aim is None:
            if Member.advance(self, lambda: stopped() or team.solved):
                return True
            if stopped() or not (team.solved or self.memory.counts[arrays.PHASE] == arrays.SAT):
                return False
            self._placed = self.memory.counts[arrays.PHASE] == arrays.SAT and team.first(self.worker)
            self._enumerate()
            if not self._placed:
                self.found.clear()
        while not stopped():
            counts = self.memory.counts
            if not self._placed:
                cube = self._taken(stopped)
                self._placed = cube is not None
                if cube is None:
                    counts[arrays.PHASE] = arrays.UNSAT if team.done else arrays.LIMIT
                    return False
                every.enter(self.problem, self.memory, self._aim, np.array(cube, np.int32))
            self._run(self._most, arrays.NEVER, lambda: stopped() or self._divisible)
            if counts[arrays.PHASE] == arrays.UNSAT:
                self._placed = False
                team.closed(self.worker)
            elif stopped() or not self._going():
                break
            elif self._divisible:
                team.post(self._divided())
        return False

    def _step(self, budget: int) -> None:
        super()._step(budget)
        if self._aim is not None and self.team.solutions >= self.team.wanted:
            self.team.ended.set()

    @property
    def _divisible(self) -> bool:
        assert self._aim is not None
        return self.team.hungry and bool(self._aim.counts[every.FLOOR] > self._aim.counts[every.BOTTOM])

    def _divided(self) -> Cube:
        """The part in which its first decision is false; its own is now the part in which that is true."""
        m, aim = self.memory, self._aim
        assert aim is not None
        bottom = int(aim.counts[every.BOTTOM])
        end = int(m.mark[bottom])
        before = m.trail[:end]
        fixed = before[(m.state[before] == arrays.TRUE) & (m.reason[before] == arrays.NONE)]
        aim.counts[every.BOTTOM] += 1
        return (*fixed.tolist(), int(aim.partner[m.trail[end]]))


class Turn(Team):
    """The team of a search in a cube that has others elsewhere: what they told comes first, what it tells is kept."""

    def __init__(self, cube: Cube, heard: Sequence[NDArray[np.int32]]) -> None:
        super().__init__(2, False, True, 1)
        self.begin = cube
        self.core: Cube | None = None  # what failed in the cube, where nothing is in it
        self._mail[0].extend(heard)

    @property
    def told(self) -> list[NDArray[np.int32]]:
        return list(self._mail[1])

    def closed(self, worker: int, core: Sequence[int] | None = None) -> None:
        self.core = tuple(core or ())
        self.ended.set()

    def take(self, worker: int, stopped: Callable[[], bool]) -> Cube | None:
        return None
