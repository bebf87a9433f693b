"""One nogood search: an instance, from the state of its root on.

A guide is asked about the root, at once or after `guide_after` nodes, and the search begins again with what it says:
its scores order the members of the groups, and groups of which it is sure go first. Where that does not end soon, the
search *dives*: it begins again at the root, and the guide is asked anew every few nodes on the way down, so that each
choice is made in view of those before it. What was learned from failures stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock
from dibs.problem.structure import Instance
from dibs.search.drat import Drat
from dibs.search.nogoods import arrays, loop
from dibs.search.nogoods.alldifferent import unmatched
from dibs.search.nogoods.dives import GROUPS, Dives
from dibs.search.nogoods.layout import completed, ordered, reduced
from dibs.search.nogoods.lemmas import room
from dibs.search.nogoods.lines import walkable
from dibs.search.nogoods.walker import Walker
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, verified
from dibs.search.slices import LONGEST, MOST, fitted

Bools = NDArray[np.bool_]

SLICE = 400  # failures, and NODES nodes, between two looks at the clock, at most
NODES = 100_000
FIRST_NODES = 400  # of the first slice: nobody knows yet what a node takes
SURE = 3.0  # weight of a group that has a certain member; a failure adds 1
VARIETY = 0.2  # by which the weights of variants differ
FAINT = -20.0  # log-probabilities below count as this one
NEVER = arrays.NEVER
HANDED = 1 << 14  # numbers of the log that go to a proof at once, or more
WALK = 32_000_000  # looks of a walk between two looks at the clock
_STATUS = {arrays.SAT: Status.SAT, arrays.UNSAT: Status.UNSAT, arrays.LIMIT: Status.LIMIT}


def label(guided: bool) -> str:
    """How outcomes call this search."""
    return "nogoods + guide" if guided else "nogoods"


class Search:
    """One instance, from its root on; the guide may be asked `asks` times, and no more often than the options say."""

    completes = True  # literals get complements where groups have bounds
    names: tuple[Any, ...] = ()  # of what fails together, where it was assumed

    def __init__(
        self,
        instance: Instance,
        options: Options,
        open_: Bools,
        true: Bools,
        place: int,
        seconds: float,
        asks: int = 0,
        variant: int = 0,
        proof: Drat | None = None,
    ) -> None:
        begin = clock()
        self.instance, self.options = instance, options
        self.asks = self.calls = 0
        self.guide_seconds = self.elsewhere = 0.0  # elsewhere: went by outside, and is on the limit
        self._true = np.flatnonzero(true)
        self.problem, self.open = reduced(instance.structure, open_, true, options.level)
        if self.completes and instance.structure.bounded:
            self.problem = completed(self.problem)
            # A proof cannot have the reasons of an order; a guide, or chance, has one of its own.
            if proof is None and not asks and options.order == "ascending":
                self.problem = ordered(self.problem)
        self.memory = arrays.memory(self.problem)
        if options.order == "random":
            self.memory.score[: len(self.open)] = np.random.default_rng((options.seed, place)).random(len(self.open))
        self._unit = min(options.restart_base, LONGEST)
        self._slice = FIRST_NODES  # nodes until the next look at the clock
        self._most = MOST if options.max_nodes is None else min(options.max_nodes, MOST)
        self._walker: Walker | None = None
        self._variant = variant
        self._vary()
        most = asks if options.max_asks is None else min(asks, options.max_asks)
        self._dives = Dives(len(self.open), most, min(options.guide_after or 0, NEVER))
        self._guided = most > 0
        self._at_root = False  # the next answer is about the root
        self.filters = proof is None  # all-different filtering: a proof cannot have its reasons
        self.excluded: list[int] = []  # literals that filtering has made false: no unit propagation shows why
        self._proof = proof
        self._hand_over()
        self._filtered = -1  # literals that the root had decided when it was last filtered
        self.seconds = seconds + clock() - begin

    @property
    def _nodes(self) -> int:
        return int(self.memory.counts[arrays.NODES])

    @property
    def _failures(self) -> int:
        return int(self.memory.counts[arrays.CONFLICTS])

    @property
    def used(self) -> float:
        """Seconds, of those that `max_seconds` limits."""
        return self.seconds + self.guide_seconds + self.elsewhere

    def _going(self) -> bool:
        """Whether it is neither decided nor at a limit."""
        limit = self.options.max_seconds
        late = limit is not None and self.used >= limit
        undecided = self.memory.counts[arrays.PHASE] in (arrays.RUNNING, arrays.LIMIT)
        return bool(undecided and self._nodes < self._most and not late)

    def allow(self, nodes: int) -> None:
        """So many more, for a search that is at its limit."""
        self._most = min(self._nodes + nodes, MOST)

    def advance(self, stopped: Callable[[], bool]) -> bool:
        """Search on; True where the guide is to be asked about the state, False at the end or when `stopped()`."""
        while True:
            self._run(min(self._dives.ask_at, self._most), self._dives.pause_at, stopped)
            if stopped() or not self._going():
                return False
            step = self._dives.next(self._nodes, self._failures, self._effort)
            if step == "walk":
                self._walk(stopped)
            elif step == "dive":
                self._to_root(stopped)
                self._at_root = True
            if step in ("ask", "dive"):
                return self._going()

    @property
    def _effort(self) -> int:
        return int(self.memory.counts[arrays.WORK]) + self._nodes * len(self.problem.need) // GROUPS

    def _to_root(self, stopped: Callable[[], bool]) -> None:
        """Begin a run."""
        self.memory.counts[arrays.RUN_END] = 0
        self._run(self._nodes, NEVER, stopped)

    def filter(self) -> None:
        """At the root: exclude what is in no perfect matching, until nothing more follows."""
        m, counts = self.memory, self.memory.counts
        while self.filters and counts[arrays.LEVEL] == 0 and counts[arrays.TRAIL] > self._filtered and self._going():
            begin = clock()
            self._filtered = int(counts[arrays.TRAIL])
            out = unmatched(self.problem, m.state == arrays.OPEN)
            if out is None:
                counts[[arrays.PHASE, arrays.LENGTH]] = arrays.UNSAT, 0
            else:
                self.excluded += out.tolist()
                loop.exclude(self.problem, m, out)
            self.seconds += clock() - begin

    def _walk(self, stopped: Callable[[], bool]) -> None:
        """Walk for a while, a slice of time after the other. What a walk has solved, the search follows."""
        if not walkable(self.problem):
            self._dives.walks = False
            return
        begin = clock()
        if self._walker is None:
            self._to_root(stopped)
            self.filter()
            begin = clock()
            self._walker = Walker(self.problem, self.memory.state == arrays.OPEN, (self.options.seed, self._variant))
            self._dives.walks = self._walker.able
        left = self._dives.budget(self._effort) if self._dives.walks else 0
        while left > 0 and self._going() and not stopped():
            looks = self._walker.advance(self.memory.score, min(left, WALK))
            left -= looks
            self._dives.walked(looks)
            self.seconds, begin = self.seconds + clock() - begin, clock()
            if self._walker.solved:
                self._dives.walks = False
                self._walker.hand_over(self.memory)
                self._to_root(stopped)
                break

    def _run(self, nodes: int, failures: int, stopped: Callable[[], bool]) -> None:
        """Go on until it is decided, has so many nodes or failures or no time left, or `stopped()`."""
        while self._going() and self._failures < failures and not stopped():
            counts = self.memory.counts
            counts[arrays.MOST] = most = min(nodes, self._nodes + self._slice)
            counts[arrays.PHASE] = arrays.RUNNING
            begin = clock()
            budget = min(SLICE, 1 + self._slice // 4, failures - self._failures)
            self._step(budget)
            self._hand_over()
            counts = self.memory.counts  # of another search, where a call turned out to be hard
            if counts[arrays.FULL]:
                self.memory = arrays.grown(self.memory)
            took = clock() - begin
            self.seconds += took
            self._slice = fitted(self._slice, took, NODES)
            if counts[arrays.PHASE] == arrays.LIMIT and most == nodes:
                break

    def _step(self, budget: int) -> None:
        loop.advance(self.problem, self.memory, self._unit, budget)

    def _signed(self) -> NDArray[np.int64]:
        """Its literals as the formula of the proof writes them; complements come last."""
        assert self._proof is not None
        signed = self._proof.signed[self.open]
        return np.append(signed, -signed[self._complemented()])

    def _complemented(self) -> NDArray[np.int32]:
        """The literals of the complements that it has added."""
        return self.problem.pair[len(self.open) :]

    def _hand_over(self) -> None:
        """What was learned since the last time goes to the proof, if one is wanted; the log has room again."""
        m = self.memory
        if self._proof is None:
            return
        noted = int(m.counts[arrays.LOGGED])
        if noted >= HANDED or m.counts[arrays.PHASE] == arrays.UNSAT:
            self._proof.clauses(m.log[:noted], self._signed())
            m.counts[arrays.LOGGED] = 0
        if len(m.log) < 2 * (least := HANDED + int(room(m))):
            log = np.zeros(4 * least, np.int32)
            log[: len(m.log)] = m.log
            self.memory = m._replace(log=log)

    def literals(self) -> tuple[Bools, Bools]:
        """[literals of the structure] which are open, and which are true."""
        state = self.memory.state[: len(self.open)]
        open_, true = np.zeros((2, self.instance.structure.literals), bool)
        open_[self.open[state == arrays.OPEN]] = True
        true[self._true] = True
        true[self.open[state == arrays.TRUE]] = True
        return open_, true

    def _vary(self) -> None:
        """Other weights of groups than those of other variants; the first is as it is."""
        if self._variant:
            rng = np.random.default_rng((self.options.seed, self._variant, self.asks))
            self.memory.weight[:] *= rng.uniform(1 - VARIETY, 1 + VARIETY, len(self.memory.weight))

    def answer(self, scores: NDArray[Any]) -> None:
        """Take a guide's scores of the state, [literals of the structure], for what is open there.

        At the root groups get their weights by them: the probability of the surest member, its root taken so that few
        members still count for more.
        """
        m = self.memory
        open_ = m.state == arrays.OPEN
        open_[len(self.open) :] = False
        with np.errstate(over="ignore"):
            m.score[open_] = scores[self.open[np.flatnonzero(open_)]]
        if self._at_root:
            member = self.problem.group_member
            sure = np.append(np.where(open_, m.score, -np.inf)[member], -np.inf)  # the last group may be empty
            surest = np.fmax.reduceat(sure, self.problem.group_start[:-1])
            m.weight[:] = SURE * np.exp(np.clip(np.nan_to_num(surest, nan=FAINT), FAINT, 0) / 2)
            self._vary()
            m.real[0] = 1
            m.best[:] = 0
            m.counts[[arrays.FURTHEST, arrays.LOOKED]] = 0
        self._at_root = False
        self.asks += 1
        groups = int(np.count_nonzero(self.problem.need & (m.held[: len(self.problem.need)] == 0)))
        self._dives.answered(self._nodes, self._failures, int(np.count_nonzero(open_)), groups)

    def lemmas(self, levels: int) -> list[NDArray[np.int64]]:
        """What cannot be true together, as the structure numbers it: false at the root, or a nogood of few levels.

        Not for structures with bounds: there a search may break symmetries, and what it learns holds up to these.
        """
        m = self.memory
        short = np.flatnonzero(m.levels[: m.counts[arrays.NOGOODS]] <= levels)
        ends = zip(m.place[short].tolist(), (m.place + m.length)[short].tolist(), strict=True)
        false = np.flatnonzero((m.state == arrays.FALSE) & (m.level == 0))
        return [*self.open[false][:, None], *(self.open[m.arena[first:end]] for first, end in ends)]

    def outcome(self) -> Outcome | None:
        """None where it was stopped."""
        phase = int(self.memory.counts[arrays.PHASE])
        if self._going():
            return None
        true, count = self.solved()
        solutions = verified([self.instance] * len(true), true) if true else [None]
        status = Status.SAT if phase == arrays.UNSAT and count else _STATUS.get(phase, Status.LIMIT)
        return self.cost(status, count, solutions)

    def cost(self, status: Status, count: int, solutions: Sequence[Any] = (None,)) -> Outcome:
        """An outcome with these solutions, and what the search has used so far."""
        nodes, depth = self._nodes, int(self.memory.counts[arrays.DEPTH])
        return Outcome(
            status, solutions[0], nodes, self._failures, self.asks, depth, self.seconds,
            count, self.calls, self.guide_seconds, nodes, label(self._guided), self.names, tuple(solutions[1:]),
        )  # fmt: skip

    def solved(self) -> tuple[list[NDArray[np.int64]], int]:
        """The true literals of solutions, and how many were found."""
        if self.memory.counts[arrays.PHASE] != arrays.SAT:
            return [], 0
        return [np.flatnonzero(self.literals()[1])], 1
