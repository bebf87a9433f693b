"""A nogood search that is asked again and again: every call has its assumptions, and groups may come and go.

Literals are numbered as in the structure, with nothing cut away: givens are assumptions like all others. `~literal` is
its negation; where one is needed, the search gets a literal for it, a *complement*. Groups that may go again are
switched on by a literal of their own, a *selector*. Nogoods, weights, scores and phases stay from call to call, and
so do some of the answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock
from dibs.held import hold
from dibs.problem.structure import Instance
from dibs.search.nogoods import arrays, assume, cut
from dibs.search.nogoods.answers import Answers
from dibs.search.nogoods.arrays import Memory, Problem
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.nogoods.call import call
from dibs.search.nogoods.dives import Dives
from dibs.search.nogoods.layout import extended, unfilled
from dibs.search.nogoods.search import FIRST_NODES, NEVER, Bools, Search, label
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status
from dibs.search.slices import MOST

DEAD = 1000  # so many more selectors out of use than in use: then numbers are given anew, without nogoods
HARD = 60  # failures of a call, then what is assumed is cut away
SPARE = 2 * arrays.BITS  # bits for what comes and goes, beside what is assumed at once
NOGOODS = ("arena", "place", "length", "levels", "use", "link")  # arrays that do not grow with literals or groups
PREMISES = ("bearer", "needs", "gathered", "present", "freed", "freeing")  # nor these
FOR_GOOD = [
    arrays.RUN, arrays.RUN_END, arrays.NOGOODS, arrays.USED, arrays.ROOM, arrays.CONFLICTS, arrays.PENDING,
]  # fmt: skip

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
        self._meant = np.arange(instance.structure.literals)  # by number: the literal, or the negation
        self._top = instance.structure.literals  # numbers given to literals
        self._changed = False
        self._answers = Answers(self._top)
        self._answer: Outcome | None = None  # of this call, where it was known before
        self._failing = np.zeros(0, np.int32)  # of the last call, where it has no solution
        self._whole: tuple[Problem, Memory] | None = None  # in a hard call, which is searched without what is assumed
        self._state: NDArray[np.uint8] | None = None  # of literals, where a hard call has ended
        self._held: tuple[Any, Any, Any, Any] = (None, None, None, None)  # see `_hold`
        self.named: Callable[[list[int | Switch]], tuple[Any, ...]] = lambda _: ()  # how outcomes call them
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

    def _order(self, switches: Sequence[Switch], assumed: Sequence[int]) -> NDArray[np.int32]:
        """What is assumed as the search calls it: the selectors of switches and -1, if there are any, then literals."""
        order = np.frombuffer(array("i", assumed), np.int32)
        negations = (order < 0).nonzero()[0]
        if len(negations):
            order[negations] = self._numbers(order[negations].tolist())
        if not switches:
            return order
        return np.concatenate([np.array([*(switch.selector for switch in switches), -1], np.int32), order])

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
        self._answers.forget(switch.selector)
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
        self.memory = arrays.memory(self.problem, len(old.gathered))
        self.open = np.arange(self._top)
        self._meant = np.arange(self._top)
        self._meant[list(self._negates)] = list(self._negates.values())
        known = old.state * (old.level == 0)
        if anew:
            known = known[: self.instance.structure.literals]
            self._answers = Answers(self._top)
        else:
            hand_over(before, old, self.problem, self.memory)
            self._answers.grow(self._top)
            self.memory = self.memory._replace(**{name: getattr(old, name) for name in NOGOODS + PREMISES})
        if self.memory.counts[arrays.PHASE] == arrays.RUNNING:
            false = np.concatenate([np.flatnonzero(known == arrays.FALSE), np.array(self._dead, np.int64)])
            assume.settle(self.problem, self.memory, np.flatnonzero(known == arrays.TRUE), false)
        self._changed = False

    def _renumber(self) -> None:
        """Give numbers beyond those of the structure anew."""
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
        if self._whole is not None:  # it was stopped
            self.rejoin()
        self._state = None
        liked, order = self._numbers(prefer), self._order(switches, assumed)
        while self._changed:
            self._grow()
            liked, order = self._numbers(prefer), self._order(switches, assumed)  # they may have been given anew
        if len(order) + SPARE > len(self.memory.bearer):
            self.memory = widened(self.memory, len(order) + 2 * SPARE)
        self.options = options
        self.asks = self.calls = 0
        self.guide_seconds = 0.0
        self._most = MOST if options.max_nodes is None else min(options.max_nodes, MOST)
        self._at_root, self._walker = False, None
        most = self._asks if options.max_asks is None else min(self._asks, options.max_asks)
        self._dives = Dives(len(self.open), most, min(options.guide_after or 0, NEVER))
        self._failing, self.names = self._failing[:0], ()
        self._answer = None
        if (solution := self._answers.solution(order)) is not None:
            self._answer = self._answered(Status.SAT, solution)
        elif not self._hopeless:
            most = min(self._dives.ask_at, self._most, FIRST_NODES)
            waits = prefer or options.max_seconds == 0
            known = call(*self._hold(), order, self._answers.failures, self._unit, most, 0 if waits else HARD)
            if self.memory.counts[arrays.FULL]:
                self.memory = arrays.grown(self.memory)
            if known >= 0:
                failing = self._answers.failures[known]
                self._fails(failing[failing >= 0])
                self._answer = self._answered(Status.UNSAT)
        if prefer:
            self.memory.best[:] = 0
            self.memory.best[liked] = 1
            self.memory.counts[arrays.FURTHEST] = NEVER
        self.seconds = clock() - began

    def _hold(self) -> tuple[Any, Any]:
        """The arrays of the search as compiled code takes them."""
        if self._held[0] is not self.problem or self._held[1] is not self.memory:
            self._held = self.problem, self.memory, hold(self.problem), hold(self.memory)
        return self._held[2:]

    @property
    def _hopeless(self) -> bool:
        """Whether there is no solution, whatever is assumed."""
        counts = self.memory.counts
        return bool(counts[arrays.PHASE] == arrays.UNSAT and counts[arrays.LENGTH] == 0)

    def _answered(self, status: Status, solution: Any = None) -> Outcome:
        found = int(solution is not None)
        return Outcome(status, solution, 0, 0, 0, 0, 0.0, found, search=label(self._guided), failing=self.names)

    def _fails(self, assumed: NDArray[np.int32]) -> None:
        """What the call has assumed and cannot hold together."""
        self._failing = assumed
        self.names = self.named(self.failing)

    @property
    def failing(self) -> list[int | Switch]:
        """Of the last call, where it has no solution: literals, negations and switches that cannot hold together."""
        found: list[int] = self._meant[self._failing].tolist()
        switches = {switch.selector: switch for switch in self._switches}
        return [switches.get(one, one) for one in found] if switches else [*found]

    def _going(self) -> bool:
        return self._answer is None and super()._going()

    # A hard call

    def _step(self, budget: int) -> None:
        if self._whole is None and not len(self.problem.least):
            easy = HARD - self._failures
            if easy <= 0:
                self.cut_away()
            else:
                budget = min(budget, easy)
        super()._step(budget)

    def cut_away(self) -> None:
        """Search on without what is assumed."""
        p, m = self.problem, self.memory
        number, sizes = np.zeros(len(m.state), np.int32), np.zeros(4, np.int64)
        if not cut.ready(p, m, number, sizes):
            return
        rest = unfilled(*sizes.tolist())
        inner = arrays.memory(rest, len(m.gathered), cut=True)
        while len(inner.arena) < len(m.arena) or len(inner.place) < len(m.place):
            inner = arrays.grown(inner)
        inner.bearer[:] = m.bearer
        cut.divide(p, m, rest, inner, number)
        self._whole = p, m
        self.problem, self.memory, self.open = rest, inner, np.flatnonzero(number)

    def rejoin(self) -> None:
        """The call has ended, or was given up: what it has learnt is for all calls."""
        assert self._whole is not None
        n, open_ = self.memory, self.open
        (self.problem, m), self._whole = self._whole, None
        used, nogoods = m.counts[[arrays.USED, arrays.NOGOODS]] + n.counts[[arrays.USED, arrays.NOGOODS]]
        while len(m.arena) < used or len(m.place) < nogoods:
            m = arrays.grown(m)
        self._state = m.state.copy()
        self._state[open_] = n.state
        failing = 0
        if n.counts[arrays.PHASE] == arrays.UNSAT:
            assumed = m.assumed[: m.counts[arrays.ASSUMED]]
            fails = assumed[np.isin(assumed, bearers(n))]
            failing = len(fails)
            m.learnt[:failing] = fails
        elif n.counts[arrays.PHASE] == arrays.SAT and m.counts[arrays.FURTHEST] < arrays.SOLUTION:
            m.best[:] = self._state == arrays.TRUE
            m.counts[arrays.FURTHEST] = arrays.SOLUTION
        cut.rejoin(self.problem, m, n, open_, failing)
        self.memory, self.open = m, np.arange(self._top)

    def literals(self) -> tuple[Bools, Bools]:
        if self._whole is None:
            state = self.memory.state if self._state is None else self._state
        else:
            state = self._whole[1].state.copy()
            state[self.open] = self.memory.state
        state = state[: self.instance.structure.literals]
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
        if self._whole is not None and not self._going():
            self.rejoin()
        m = self.memory
        m.counts[arrays.DEPTH] = max(0, m.counts[arrays.DEPTH] - m.counts[arrays.ASSUMED])  # of decisions alone
        if m.counts[arrays.PHASE] == arrays.UNSAT:
            self._fails(m.learnt[: m.counts[arrays.LENGTH]].copy())
            self._answers.failed(self._failing)
        outcome = super().outcome()
        if outcome is not None and outcome.status is Status.SAT:
            self._answers.solved(self._true_now(), outcome.solution)
        return outcome

    def solved(self) -> tuple[list[NDArray[np.int64]], int]:
        if self.memory.counts[arrays.PHASE] != arrays.SAT:
            return [], 0
        return [self.literals()[1].nonzero()[0]], 1

    def _true_now(self) -> Bools:
        """[literals] what is true in the solution, and the selectors of all groups that it satisfies."""
        p, m = self.problem, self.memory
        true: Bools = (m.state if self._state is None else self._state) == arrays.TRUE
        if len(p.selector):
            true[p.selector[p.selector >= 0]] = True
            held = m.held[len(p.need) :]
            wrong = (held < p.least) | (held > p.most)
            true[p.selector[wrong & (p.selector >= 0)]] = False
        return true


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


def bearers(m: Memory) -> NDArray[np.int32]:
    """The assumptions that the new nogood needs."""
    bits = np.unpackbits(m.gathered.view(np.uint8), bitorder="little").reshape(-1, 64)[:, : arrays.BITS]
    found: NDArray[np.int32] = m.bearer[bits.ravel() == 1] - 1
    return found


def widened(m: Memory, bits: int) -> Memory:
    """The same with room for so many assumptions in sets of them."""
    words = -(-bits // arrays.BITS)
    more = words - len(m.gathered)
    wide = {
        name: np.pad(getattr(m, name), [(0, 0)] * (getattr(m, name).ndim - 1) + [(0, more)])
        for name in ("premises", "needs", "gathered", "present", "closed")
    }
    wide["bearer"] = np.pad(m.bearer, (0, words * arrays.BITS - len(m.bearer)))
    wide["freed"], freeing = np.zeros(arrays.FREED, np.int32), np.zeros((arrays.FREED, words), np.int64)
    wide["freed"][: len(m.freed)] = m.freed
    freeing[: len(m.freeing), : m.freeing.shape[1]] = m.freeing
    return m._replace(**wide, freeing=freeing)


def hand_over(before: Problem, old: Memory, after: Problem, new: Memory) -> None:
    """What a search has learnt about literals and groups, for a problem that has more of both."""
    for name in ("score", "best", "bit"):
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
