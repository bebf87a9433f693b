"""A nogood search that is asked again and again: every call has its assumptions, and groups may come and go.

Literals are numbered as in the structure, with nothing cut away: givens are assumptions like all others. `~literal` is
its negation; where one is needed, the search gets a literal for it, a *complement*. Groups that may go again are
switched on by a literal of their own, a *selector*. Nogoods, weights, scores and phases stay from call to call, and
so do some of the answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock
from dibs.problem.structure import Instance
from dibs.search.nogoods import arrays, assume
from dibs.search.nogoods.arrays import Memory, Problem
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.nogoods.dives import Dives
from dibs.search.nogoods.layout import extended
from dibs.search.nogoods.search import NEVER, Bools, Search, label
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status
from dibs.search.slices import MOST

KEPT = 32  # answers of each kind that are looked at before a search
SHORT = 24  # assumptions of a failure that is kept, at most
DEAD = 1000  # so many more selectors out of use than in use: then numbers are given anew, without nogoods
NOGOODS = ("arena", "place", "length", "levels", "use", "link")  # arrays that do not grow with literals or groups
PER_CALL = [arrays.NODES, arrays.CONFLICTS, arrays.DEPTH, arrays.WORK, arrays.FURTHEST]
FOR_GOOD = [arrays.RUN, arrays.RUN_END, arrays.NOGOODS, arrays.USED, arrays.ROOM, arrays.CONFLICTS]

Group = tuple[int, int, Sequence[int]]  # least, most, literals


@dataclass(eq=False)
class Switch:
    """Groups that are switched on together."""

    groups: list[Group]
    selector: int


class Incremental(Search):
    """One search for many calls. `instance` has no givens; `asks`: how often the guide may be asked in a call."""

    completes = False  # it numbers complements itself

    def __init__(self, instance: Instance, options: Options, asks: int = 0) -> None:
        every = np.ones(instance.structure.literals, bool)
        super().__init__(instance, options, every, ~every, 0, 0.0, asks)
        self.filters = False  # it would exclude what these assumptions exclude
        self._asks = asks
        self._base = self.problem
        self._switches: list[Switch] = []
        self._dead: list[int] = []  # selectors out of use
        self._complement: dict[int, int] = {}
        self._negates: dict[int, int] = {}  # the other way round
        self._top = instance.structure.literals  # numbers given to literals
        self._changed = False
        self._solved: deque[tuple[frozenset[int], Any]] = deque(maxlen=KEPT)  # all that is true, and the solution
        self._failed: deque[frozenset[int]] = deque(maxlen=KEPT)
        self._answer: Outcome | None = None  # of this call, where it was known before
        self.failing: list[int | Switch] = []  # of the last call, where it has no solution
        none = np.zeros(0, np.int64)
        if self.memory.counts[arrays.PHASE] == arrays.RUNNING:
            assume.settle(self.problem, self.memory, none, none)

    # What the problem is

    def _number(self, literal: int) -> int:
        """Of a literal or a negation."""
        if literal >= 0:
            return literal
        if literal not in self._complement:
            self._complement[literal] = self._top
            self._negates[self._top] = literal
            self._top += 1
            self._changed = True
        return self._complement[literal]

    def _numbers(self, literals: Iterable[int]) -> list[int]:
        return [literal if literal >= 0 else self._number(literal) for literal in literals]

    def expect(self, literals: Iterable[int]) -> None:
        """Make room for the negations of these literals at once: each time costs as much as a short search."""
        for literal in literals:
            self._number(~literal)

    def add(self, groups: Iterable[Group]) -> Switch:
        """Groups that hold in the calls that switch them on."""
        switch = Switch(list(groups), self._top)
        self._top += 1
        self._switches.append(switch)
        self._changed = True
        return switch

    def tighten(self, switch: Switch, least: int) -> None:
        """The first group of a switch needs more than before; what was learnt with it still follows."""
        switch.groups[0] = least, *switch.groups[0][1:]
        kept = [(true - {switch.selector}, solution) for true, solution in self._solved]
        self._solved = deque(kept, KEPT)
        self._changed = True

    def remove(self, switch: Switch) -> None:
        """No call will switch it on any more."""
        self._switches.remove(switch)
        self._dead.append(switch.selector)

    def _grow(self) -> None:
        """Lay the problem out anew, and take over what is known: nogoods hold whatever is added."""
        anew = len(self._dead) > DEAD + len(self._switches)
        if anew:
            self._renumber()
        guarded = [
            (switch.selector, least, most, self._numbers(members))
            for switch in self._switches
            for least, most, members in switch.groups
        ]
        pairs = [(~literal, number) for literal, number in self._complement.items()]
        before, old = self.problem, self.memory
        self.problem = extended(self._base, self._top, pairs, guarded)
        self.memory = arrays.memory(self.problem)
        self.open = np.arange(self._top)
        known = old.state * (old.level == 0)
        if anew:
            known = known[: self.instance.structure.literals]
        else:
            hand_over(before, old, self.problem, self.memory)
            self.memory = self.memory._replace(**{name: getattr(old, name) for name in NOGOODS})
        if self.memory.counts[arrays.PHASE] == arrays.RUNNING:
            false = np.concatenate([np.flatnonzero(known == arrays.FALSE), np.array(self._dead, np.int64)])
            assume.settle(self.problem, self.memory, np.flatnonzero(known == arrays.TRUE), false)
        self._changed = False

    def _renumber(self) -> None:
        """Give numbers beyond those of the structure anew."""
        self._solved.clear()
        self._failed.clear()
        self._dead.clear()
        self._complement.clear()
        self._negates.clear()
        self._top = self.instance.structure.literals
        for switch in self._switches:
            switch.selector = self._top
            self._top += 1

    # One call

    def begin(
        self, switches: Sequence[Switch], assumed: Sequence[int], options: Options, prefer: Sequence[int] = ()
    ) -> None:
        """Begin a call with these groups and literals, in this order: calls that begin alike share the way there.

        `prefer`: literals that are tried first, in place of those that were true where a call got furthest.
        """
        began = clock()
        liked, literals = self._numbers(prefer), self._numbers(assumed)
        while self._changed:
            self._grow()
            liked, literals = self._numbers(prefer), self._numbers(assumed)  # they may have been given anew
        selectors = [switch.selector for switch in switches]
        self.options = options
        self.asks = self.calls = 0
        self.guide_seconds = 0.0
        self._most = MOST if options.max_nodes is None else min(options.max_nodes, MOST)
        self._at_root, self._walker = False, None
        most = self._asks if options.max_asks is None else min(self._asks, options.max_asks)
        self._dives = Dives(len(self.open), most, min(options.guide_after or 0, NEVER))
        self.failing = []
        self._answer = self._known(frozenset([*selectors, *literals]))
        counts = self.memory.counts
        counts[arrays.RUN_END] = max(0, counts[arrays.RUN_END] - counts[arrays.CONFLICTS])
        counts[PER_CALL] = 0
        self.memory.stamp.fill(-1)
        if self._answer is None and not self._hopeless:
            order = [*selectors, *([-1] if selectors else []), *literals]
            assume.resume(self.problem, self.memory, np.array(order, np.int32))
        if prefer:
            self.memory.best[:] = 0
            self.memory.best[liked] = 1
            counts[arrays.FURTHEST] = NEVER
        self.seconds = clock() - began

    @property
    def _hopeless(self) -> bool:
        """Whether there is no solution, whatever is assumed."""
        counts = self.memory.counts
        return bool(counts[arrays.PHASE] == arrays.UNSAT and counts[arrays.LENGTH] == 0)

    def _known(self, wanted: frozenset[int]) -> Outcome | None:
        """An answer of an earlier call that is one of this call."""
        for failed in self._failed:
            if failed <= wanted:
                self.failing = self._words(failed)
                return Outcome(Status.UNSAT, None, 0, 0, 0, 0, 0.0, 0, search=label(self._guided))
        for true, solution in self._solved:
            if wanted <= true:
                return Outcome(Status.SAT, solution, 0, 0, 0, 0, 0.0, 1, search=label(self._guided))
        return None

    def _words(self, numbers: Iterable[int]) -> list[int | Switch]:
        """Literals, negations and switches from what the search calls them."""
        first = self.instance.structure.literals
        switches = {switch.selector: switch for switch in self._switches}
        return [n if n < first else self._negates[n] if n in self._negates else switches[n] for n in numbers]

    def _going(self) -> bool:
        return self._answer is None and super()._going()

    def literals(self) -> tuple[Bools, Bools]:
        state = self.memory.state[: self.instance.structure.literals]
        return state == arrays.OPEN, state == arrays.TRUE

    def answer(self, scores: NDArray[Any]) -> None:
        """A guide knows the literals of the structure; those beyond go by what they negate."""
        more = np.zeros(self._top)
        more[: len(scores)] = scores
        for number, literal in self._negates.items():
            more[number] = -more[~literal]
        super().answer(more)

    def outcome(self) -> Outcome | None:
        """None where it was stopped."""
        if self._answer is not None:
            return self._answer
        m = self.memory
        m.counts[arrays.DEPTH] = max(0, m.counts[arrays.DEPTH] - m.counts[arrays.ASSUMED])  # of decisions alone
        outcome = super().outcome()
        if outcome is None:
            return None
        if outcome.status is Status.SAT:
            self._solved.appendleft((frozenset(self._true_now()), outcome.solution))
        elif outcome.status is Status.UNSAT:
            failed = m.learnt[: m.counts[arrays.LENGTH]].tolist()
            if len(failed) <= SHORT:
                self._failed.appendleft(frozenset(failed))
            self.failing = self._words(failed)
        return outcome

    def _true_now(self) -> list[int]:
        """All that is true in the solution, and the selectors of all groups that it satisfies, switched on or not."""
        p, m = self.problem, self.memory
        true = m.state == arrays.TRUE
        true[p.selector[p.selector >= 0]] = True
        held = m.held[len(p.need) :]
        wrong = (held < p.least) | (held > p.most)
        true[p.selector[wrong & (p.selector >= 0)]] = False
        found: list[int] = np.flatnonzero(true).tolist()
        return found


class Call(NogoodSearch):
    """One call of an incremental search, as a `Searcher`."""

    def __init__(self, search: Incremental, instance: Instance) -> None:
        self.instances, self.options = [instance], search.options
        self.structure = instance.structure
        self._live = {0: search}
        self._outcomes = [None]
        self._next = 1
        self._waiting = None
        self._answered = []
        self._handing = 0.0
        self._proof = None


def hand_over(before: Problem, old: Memory, after: Problem, new: Memory) -> None:
    """What a search has learnt about literals and groups, for a problem that has more of both."""
    for name in ("score", "best", "head"):
        getattr(new, name)[: len(old.state)] = getattr(old, name)
    new.counts[FOR_GOOD] = old.counts[FOR_GOOD]
    new.real[:] = old.real
    special = len(before.need)
    new.weight[:special] = old.weight[:special]
    always = int(np.count_nonzero(before.selector < 0))
    new.weight[len(after.need) :][:always] = old.weight[special:][:always]
    weight = dict(zip(before.selector.tolist(), old.weight[special:].tolist(), strict=True))
    for g, selector in enumerate(after.selector.tolist()):
        if selector >= 0:
            new.weight[len(after.need) + g] = weight.get(selector, old.real[0])
