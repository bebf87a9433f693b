"""The search that learns (learning.py): each instance by itself, from the state of its root on.

Without a guide it goes on to its end. With one it is asked about the root, at once or after `after` nodes, and its
scores order the members of the groups from then on: what was learned stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.asks import Asks, Guide
from dibs.problem.structure import Instance, Level, Need, Structure
from dibs.search import learning
from dibs.search.engine import MOST, Engine, verified
from dibs.search.learning import Memory, Problem
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status

Bools = NDArray[np.bool_]

SLICE = 400  # conflicts between two looks at the clock
TOGETHER = 32  # searches that ask the guide at once
_ready: list[bool] = []  # True once the search is compiled
_STATUS = {learning.SAT: Status.SAT, learning.UNSAT: Status.UNSAT, learning.LIMIT: Status.LIMIT}


def learn(
    instances: Sequence[Instance],
    options: Options,
    guide: Guide | None,
    *,
    places: Sequence[int],
    stopped: Callable[[], bool],
    turn: AbstractContextManager[Any] | None = None,
) -> list[Outcome | None]:
    """Outcomes of instances that share a structure; None where the search was stopped.

    `turn` is held while the guide is asked.
    """
    _prepare()
    options = options.suited(instances[0].structure)
    refusal = getattr(guide, "refusal", None)
    roots = Engine(instances, replace(options, strategy="dfs", nodes=0))
    roots.run(stopped=stopped)
    outcomes = roots.outcomes()
    waiting = [i for i in range(len(instances)) if not roots.decided(np.array([i]))[0]]
    if stopped():
        return [None if i in waiting else outcome for i, outcome in enumerate(outcomes)]
    if guide is not None and waiting and (options.asks == 0 or (refusal and refusal(instances[0].structure))):
        guide = None
    for first in range(0, len(waiting), TOGETHER):
        rows = np.array(waiting[first : first + TOGETHER])
        open_, true = roots.literals(rows)
        searches = [
            Search(instances[i], options, o, t, places[i], float(roots.seconds[i]))
            for i, o, t in zip(rows, open_, true, strict=True)
        ]
        most = MOST if options.nodes is None else options.nodes
        for search in searches:
            search.run(most if guide is None else min(options.after or 0, most), stopped)
        if guide is not None:
            going = np.flatnonzero([search.going(most) for search in searches])
            if len(going) and not stopped():
                _ask([searches[i] for i in going], open_[going], true[going], guide, turn)
            for i in going:
                searches[i].run(most, stopped)
        for row, search in zip(rows, searches, strict=True):
            outcomes[row] = search.outcome(most)
    return outcomes


def _prepare() -> None:
    """Compile the search, or load what was compiled: nobody's time."""
    if not _ready:
        start, none, no = np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.bool_)
        one = Problem(start, none, start, none, no, no)
        learning.advance(one, memory(one), 1, 0)
        _ready.append(True)


def _ask(
    searches: Sequence[Search], open_: Bools, true: Bools, guide: Guide, turn: AbstractContextManager[Any] | None
) -> None:
    """Ask a guide about the roots of these searches; `open_`, `true` [searches, literals]."""
    asks = Asks(
        structure=searches[0].instance.structure,
        instances=[search.instance for search in searches],
        rows=np.arange(len(searches)),
        open=open_,
        true=true,
        candidates=open_.copy(),
        depth=np.zeros(len(searches), np.int64),
        selecting=True,
    )
    with turn or nullcontext():
        begin = perf_counter()
        scores = asks.checked(guide.rank(asks))
        took = perf_counter() - begin
    for search, mine in zip(searches, scores, strict=True):
        with np.errstate(over="ignore"):
            search.memory.score[:] = mine[search.literals]
        search.asks, search.calls = 1, int(getattr(guide, "passes", 0))
        search.guide_seconds += took / len(searches)


class Search:
    """One instance, from its root on."""

    def __init__(
        self, instance: Instance, options: Options, open_: Bools, true: Bools, place: int, seconds: float
    ) -> None:
        begin = perf_counter()
        self.instance, self.options = instance, options
        self.asks = self.calls = 0
        self.guide_seconds = 0.0
        self._true = np.flatnonzero(true)
        self._problem, self.literals = reduced(instance.structure, open_, true, options.level)
        self.memory = memory(self._problem)
        if options.order == "random":
            self.memory.score[:] = np.random.default_rng((options.seed, place)).random(len(self.literals))
        self.seconds = seconds + perf_counter() - begin

    def going(self, most: int) -> bool:
        """Whether it is neither decided nor at a limit."""
        counts = self.memory.counts
        limit = self.options.seconds
        late = limit is not None and self.seconds + self.guide_seconds >= limit
        undecided = counts[learning.PHASE] in (learning.RUNNING, learning.LIMIT)
        return bool(undecided and counts[learning.NODES] < most and not late)

    def run(self, most: int, stopped: Callable[[], bool]) -> None:
        """Go on until it is decided, has `most` nodes or no time left, or `stopped()`."""
        counts = self.memory.counts
        counts[learning.MOST] = most
        while self.going(most) and not stopped():
            counts[learning.PHASE] = learning.RUNNING
            begin = perf_counter()
            learning.advance(self._problem, self.memory, self.options.unit, SLICE)
            if counts[learning.FULL]:
                self.memory = grown(self.memory)
            self.seconds += perf_counter() - begin

    def outcome(self, most: int) -> Outcome | None:
        """None where it was stopped."""
        counts = self.memory.counts
        phase = int(counts[learning.PHASE])
        if self.going(most):
            return None
        solution = None
        if phase == learning.SAT:
            true = np.sort(np.concatenate([self.literals[self.memory.state == learning.TRUE], self._true]))
            [solution] = verified([self.instance], [true])
        nodes, conflicts, depth = (int(counts[i]) for i in (learning.NODES, learning.CONFLICTS, learning.DEPTH))
        return Outcome(
            _STATUS.get(phase, Status.LIMIT), solution, nodes, conflicts, self.asks, depth, self.seconds,
            int(phase == learning.SAT), self.calls, self.guide_seconds, nodes,
        )  # fmt: skip


def reduced(structure: Structure, open_: Bools, true: Bools, level: Level) -> tuple[Problem, NDArray[np.int64]]:
    """What a root leaves open, and its literals as the structure numbers them. `open_`, `true` [literals].

    At level `naked` nothing follows from needs that other groups imply.
    """
    literals = np.flatnonzero(open_)
    number = np.full(structure.literals, -1, np.int64)
    number[literals] = np.arange(len(literals))
    owner = np.repeat(np.arange(structure.groups), np.diff(structure.start))
    held = np.zeros(structure.groups, bool)
    held[owner[true[structure.member]]] = True
    there = open_[structure.member] & ~held[owner]
    needed = (structure.need >= (Need.REQUIRED if level == "naked" else Need.IMPLIED)) & ~held
    sizes = np.bincount(owner[there], minlength=structure.groups)
    left = needed | (~held & (sizes > 1))
    there &= left[owner]
    member = number[structure.member[there]]
    group = (np.cumsum(left) - 1)[owner[there]]
    order = np.argsort(member, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes[left])])
    spread = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(literals)))])
    i4 = np.int32
    return Problem(
        start.astype(i4), member.astype(i4), spread.astype(i4), group[order].astype(i4),
        structure.exclusive[left], needed[left],
    ), literals  # fmt: skip


def memory(p: Problem) -> Memory:
    """A search at its root."""
    literals, groups = len(p.literal_start) - 1, len(p.group_start) - 1
    sizes = np.diff(p.group_start)
    i4, i8, u1, f4 = np.int32, np.int64, np.uint8, np.float32
    owner = np.repeat(np.arange(groups), sizes)
    counts = np.zeros(learning.COUNTERS, i8)
    counts[[learning.FAILED, learning.BROKEN]] = -1
    counts[learning.ROOM] = learning.FIRST_ROOM
    if (p.need & (sizes == 0)).any():
        counts[learning.PHASE] = learning.UNSAT
    return Memory(
        np.zeros(literals, u1), np.zeros(literals, i4), np.zeros(literals, i4),
        sizes.astype(i4), np.bincount(owner, p.group_member, groups).astype(i8), np.zeros(groups, i4),
        np.ones(groups), np.zeros(literals, f4), np.zeros(literals, u1),
        np.zeros(literals, i4), np.zeros(literals + 1, i4), np.zeros(groups + 1, i4), np.zeros(groups + 1, i4),
        np.zeros(literals, u1), np.zeros(literals, i4), np.zeros(literals + 1, i4), np.zeros(literals + 1, i8),
        np.zeros(learning.ARENA, i4), np.zeros(learning.MANY, i4), np.zeros(learning.MANY, i4),
        np.zeros(learning.MANY, i4), np.zeros(learning.MANY, f4),
        np.full(literals, -1, i4), np.zeros(2 * learning.MANY, i4), counts, np.ones(1),
    )  # fmt: skip


def grown(m: Memory) -> Memory:
    """The same with twice the room for nogoods."""

    def twice(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros_like(array)])

    m.counts[learning.FULL] = 0
    return m._replace(
        **{name: twice(getattr(m, name)) for name in ("arena", "place", "length", "levels", "use", "link")}
    )
