"""What a traced search did, told again by a slow propagator that shares no code with the kernel.

`replay` follows the events of `TreeSearch.trace` one by one. It keeps its own state, propagates every tried value
itself, and asserts that each event is the one that has to come. What it returns are the nodes of the search, as a tree.
Only the numbering of domains and values is taken from the kernel's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import Asks, Options, Outcome
from dibs.problem.structure import Instance, Level, Need, Structure
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.select import DECIDES
from dibs.search.tree.tables import tables

Event = tuple[str, int]
FAILED, SOLVED = "failed", "solved"


class State(NamedTuple):
    """Sets of literals as the bits of whole numbers; literals are numbered domain by domain."""

    open: int  # neither killed nor refuted; the true ones stay in it
    true: int


class Slow:
    """Choosing, killing and forcing as defined: groups as bit masks, passes until nothing changes."""

    def __init__(self, structure: Structure, level: Level) -> None:
        of = tables(structure, level)
        self.base: list[int] = of.base.tolist()
        self.count = len(self.base) - 1
        self.domains: list[int] = [
            (1 << end) - (1 << first) for first, end in zip(self.base, self.base[1:], strict=False)
        ]
        self.number = [self.literal(address) for address in of.address.tolist()]
        self.lonely = [d for d in range(self.count) if (of.outer[self.base[d] : self.base[d + 1]] < 0).any()]
        self.mates = [0] * self.base[-1]  # what choosing a literal kills in other domains
        self.forced: list[int] = []
        self.checked: list[int] = []
        for g in range(structure.groups):
            members = [self.number[m] for m in structure.members(g).tolist()]
            mask = sum(1 << m for m in members)
            if structure.exclusive[g]:
                for m in members:
                    self.mates[m] |= mask
            need = Need(structure.need[g])
            branched = g < structure.decisions and mask in self.domains
            if level == "eliminate":
                if need == Need.REQUIRED and not branched:
                    self.checked.append(mask)
            elif need == Need.REQUIRED or (need == Need.IMPLIED and level == "hidden"):
                self.forced.append(mask)
        # Where every variable has two values, MRV is about the groups that only ask for at least one literal.
        self.clauses: list[list[int]] = []
        if of.values == 2:
            for g in range(structure.groups):
                if structure.need[g] == Need.REQUIRED and not structure.exclusive[g]:
                    self.clauses.append([self.number[m] for m in structure.members(g).tolist()])
        self.rivals = [0] * self.base[-1]  # and in its own
        self._watched: dict[int, list[int]] = {}  # the groups that have one of these literals
        for domain, mask in enumerate(self.domains):
            for m in range(self.base[domain], self.base[domain + 1]):
                self.mates[m] &= ~mask
                self.rivals[m] = mask & ~(1 << m)
        if of.sweeping:  # then a literal that is decided by itself is a domain like any other
            self.forced += [self.domains[d] for d in self.lonely]

    def literal(self, address: int) -> int:
        return self.base[address >> 6] + (address & 63)

    def start(self, instance: Instance) -> State | None:
        return self.follow(State((1 << self.base[-1]) - 1, 0), [self.number[g] for g in instance.given.tolist()])

    def follow(self, state: State, chosen: Iterable[int]) -> State | None:
        """The state after these choices and all that follows from them; None if it has no solution for sure."""
        open_, true = state
        todo = list(chosen)
        while True:
            for literal in todo:
                if not open_ >> literal & 1:
                    return None
                if not true >> literal & 1:
                    true |= 1 << literal
                    open_ &= ~(self.mates[literal] | self.rivals[literal])
            todo = []
            if not all(open_ & mask for mask in self.checked):
                return None
            for mask in self.forced:
                left = open_ & mask
                if not left:
                    return None
                if not left & (left - 1) and not left & true:
                    todo.append(left.bit_length() - 1)
            if not todo:
                return State(open_, true)

    def undecided(self, state: State) -> list[int]:
        return [d for d, mask in enumerate(self.domains) if not state.true & mask]

    def values(self, state: State, domain: int) -> list[int]:
        """The open literals of a domain, ascending."""
        return [m for m in range(self.base[domain], self.base[domain + 1]) if state.open >> m & 1]

    def size(self, state: State, domain: int) -> int:
        return int.bit_count(state.open & self.domains[domain])

    def fewest(self, state: State) -> list[int]:
        """The undecided domains with the fewest values, ascending."""
        sizes = {domain: self.size(state, domain) for domain in self.undecided(state)}
        return [domain for domain, size in sizes.items() if size == min(sizes.values())]

    def smallest(self, state: State) -> list[int]:
        """The open literals of the first of the open clauses that have the fewest; none if all are satisfied."""
        left = [
            [m for m in clause if state.open >> m & 1]
            for clause in self.clauses
            if not any(state.true >> m & 1 for m in clause)
        ]
        return min(left, key=len, default=[])

    def mrv(self, state: State) -> int:
        """The domain that MRV takes, ties by index."""
        if clause := self.smallest(state):
            return next(domain for domain, mask in enumerate(self.domains) if mask >> clause[0] & 1)
        return self.undecided(state)[0] if self.clauses else self.fewest(state)[0]

    def arity(self, state: State) -> int:
        """What triggers look at: the values of that domain, or the open literals of the clause, 0 if there is none."""
        return len(self.smallest(state)) if self.clauses else self.size(state, self.mrv(state))

    def reach(self, state: State, literal: int) -> int:
        """Options that a choice takes from other domains, and DECIDES for each domain of two among them."""
        hit = state.open & self.mates[literal]
        pairs = sum(self.domains[domain] for domain in self.undecided(state) if self.size(state, domain) == 2)
        return int.bit_count(hit) + DECIDES * int.bit_count(hit & pairs)

    def weight(self, state: State, literals: int) -> float:
        """In a formula: the sum of 4^-k over the open groups that have one of the literals (a bitset)."""
        if literals not in self._watched:
            self._watched[literals] = [mask for mask in self.forced + self.checked if mask & literals]
        watched = (mask for mask in self._watched[literals] if not mask & state.true)
        return sum(4.0 ** -int.bit_count(mask & state.open) for mask in watched)


@dataclass
class Node:
    number: int  # nodes are numbered as they are entered
    run: int
    depth: int  # decisions above it
    domain: int
    state: State
    values: list[int]  # its open literals, ascending
    above: tuple[Node, int] | None  # the node above it, and which of its tries led here
    tried: list[int] = field(default_factory=list)
    ends: list[str | None] = field(default_factory=list)  # of each try: FAILED, SOLVED, or cut
    inside: list[int] = field(default_factory=list)  # nodes below each try

    @property
    def left(self) -> set[int]:
        """Values that were not tried."""
        return set(self.values) - set(self.tried)

    @property
    def path(self) -> list[Node]:
        """The nodes from the root to this one."""
        return [*(self.above[0].path if self.above else []), self]


@dataclass
class Run:
    nodes: list[Node] = field(default_factory=list)
    cut: list[Node] | None = None  # the nodes that were open when it was cut, the root first


@dataclass
class Replay:
    nodes: list[Node]
    runs: list[Run]
    backtracks: int
    solutions: int
    depth: int
    stack: list[Node]  # open at the end
    refuted: bool  # the root's state has no solution by propagation alone


def replay(slow: Slow, instance: Instance, events: list[Event], strategy: str = "dfs") -> Replay:
    """Follow `events` and assert that each may come where it comes."""
    nodes: list[Node] = []
    runs: list[Run] = []
    stack: list[Node] = []
    backtracks = solutions = depth = 0
    last = ""
    root = slow.start(instance)
    state: State | None = root  # of the value just tried, or of the root
    if not events or events[0][0] != "run":
        events = [("run", 1), *events]

    def expected() -> set[str]:
        """Which events may follow a propagation."""
        if state is None:
            return {"fail"} if stack else set()
        if state.true.bit_count() == slow.count:
            return {"solution"}
        return {"node", "run"} if stack and strategy == "restarts" else {"node"}

    for kind, what in events:
        if last in ("try", "run"):
            assert kind in expected(), f"{kind} after {last}"
        else:
            assert kind != "node", "a node needs a value that was just tried"
        match kind:
            case "run":
                assert what == len(runs) + 1
                if runs:
                    assert strategy == "restarts"
                    assert last == "try"
                    runs[-1].cut = list(stack)
                    refuted = stack[0].tried[:-1]
                    assert all(end == FAILED for end in stack[0].ends[:-1])
                    old = stack[0].state
                    root = slow.follow(State(old.open & ~sum(1 << m for m in refuted), old.true), [])
                runs.append(Run())
                stack, state = [], root
            case "node":
                assert state is not None
                assert not state.true & slow.domains[what], "a decided domain"
                above = (stack[-1], len(stack[-1].tried) - 1) if stack else None
                node = Node(len(nodes), len(runs), len(stack), what, state, slow.values(state, what), above)
                for one in stack:
                    one.inside[-1] += 1
                nodes.append(node)
                runs[-1].nodes.append(node)
                stack.append(node)
                depth = max(depth, len(stack))
            case "try":
                while stack[-1].domain != what >> 6:  # a node that had solutions is left without a word
                    done = stack.pop()
                    assert SOLVED in done.ends
                    assert not done.left
                literal = slow.literal(what)
                node = stack[-1]
                assert literal in node.values, "a value that is not open"
                assert literal not in node.tried, "a value that was tried before"
                assert not node.tried or node.ends[-1], "the value before it is still open"
                node.tried.append(literal)
                node.ends.append(None)
                node.inside.append(0)
                state = slow.follow(node.state, [literal])
            case "fail":
                if last != "try":
                    done = stack.pop()
                    assert set(done.ends) <= {FAILED}
                    assert not done.left, "a node was left before its last value"
                assert stack
                assert stack[-1].ends[-1] is None
                stack[-1].ends[-1] = FAILED
                backtracks += 1
            case "solution":
                solutions += 1
                for node in stack:
                    node.ends[-1] = SOLVED
            case _:
                raise AssertionError(f"an event {kind!r}")
        last = kind
    return Replay(nodes, runs, backtracks, solutions, depth, stack, root is None)


def check(told: Replay, outcome: Outcome, strategy: str = "dfs") -> None:
    """The counters are those of the trace, and UNSAT is claimed of an exhausted search only."""
    assert outcome.nodes == len(told.nodes)
    assert outcome.backtracks == told.backtracks
    assert outcome.solutions == told.solutions
    assert outcome.depth == told.depth
    assert (outcome.status == "SAT") == (told.solutions > 0) or outcome.status == "LIMIT"
    if outcome.status == "UNSAT":
        assert told.refuted or len(told.stack) == 1
        for node in told.runs[-1].nodes if told.stack else []:
            assert not node.left, "a value was never tried"
            assert set(node.ends) <= {FAILED}


@dataclass
class Traced:
    """A search, its events, and what its guide was asked."""

    instance: Instance
    slow: Slow
    outcome: Outcome
    told: Replay
    asked: dict[int, NDArray[np.float32]]  # scores by the number of the node they were asked for, in the slow numbering
    events: list[Event]


def traced(
    instance: Instance,
    options: Options,
    scores: Callable[[Asks], NDArray[Any]] | None = None,
    static: bool = False,
) -> Traced:
    """Search, then replay and check."""
    engine = TreeSearch([instance], options, guided=scores is not None, static=static, traced=True)
    slow = Slow(instance.structure, options.level)
    asked: dict[int, NDArray[np.float32]] = {}
    while asks := engine.advance():
        assert scores is not None
        with np.errstate(over="ignore"):
            answer = np.asarray(scores(asks), np.float32)
        here = int(engine.counters.nodes[0]) - 1
        assert here not in asked
        asked[here] = np.zeros(slow.base[-1], np.float32)
        asked[here][slow.number] = answer[0]
        engine.answer(asks, answer)
    [outcome] = engine.outcomes()
    assert outcome is not None
    events = engine.trace(0)
    told = replay(slow, instance, events, options.strategy)
    check(told, outcome, options.strategy)
    assert outcome.asks == len(asked)
    return Traced(instance, slow, outcome, told, asked, events)
