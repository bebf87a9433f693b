"""Where the nodes of a search went: the decisions on the solution path, and what failed beside it.

    for ledger in ledgers(puzzles, Options(level="naked", trigger="binary"), guide):
        ledger.nodes == len(ledger.decisions) + ledger.lost  # exactly, see `Ledger`

A search that found a solution stands on a path of decisions. At each of them the values before the right one were
entered and failed; the values after it were spared. How large a failing subtree is does not depend on any value order
(with select `mrv`), so one that was spared can be measured by a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from dibs.clock import never
from dibs.dtypes import Bools, Ints
from dibs.guide.lazy import LazyGuide
from dibs.problem.structure import Instance, by_structure
from dibs.search.contract import Guide, Ranks, as_guide
from dibs.search.options import Options
from dibs.search.oracle import Oracle, foresee
from dibs.search.outcome import Outcome, Status
from dibs.search.tree import state
from dibs.search.tree.inspection import OpenNode
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.tables import DOMAIN, Tables, tables
from dibs.study.listener import Listener, Ranking
from dibs.study.siblings import Report, Sibling, SiblingCost, Stopped, measure

Ranked = Literal["asked", "kept", "no"]

LIMIT = 100_000  # nodes of one sibling that was not entered; a larger one is cut there
BATCH = 256  # searches whose events are held at once
BLOCK = 64  # searches that one call of the kernel advances


@dataclass(frozen=True)
class Decision:
    """A node on the solution path. Literals are the structure's; ~l stands for "l is false" where l is its own domain.

    `others` are the candidates without the right one, in the order tried; `siblings`, `cut` and `solvable` are about
    each of them, and empty if siblings were not measured.
    """

    depth: int  # decisions above it
    domain: int  # as the kernel numbers them: a cell, a variable
    candidates: tuple[int, ...]  # in the order tried; those after the right one were not needed
    right: int  # the candidate that the solution has
    ranked: Ranked  # the guide was asked here, an earlier ranking was kept, or none
    probability: tuple[float, ...] | None  # of each candidate, by the guide's denoiser; None if it has none
    score: tuple[float, ...] | None  # of each candidate: highest first is the order, but for what restarts have learned
    entered: tuple[int, ...]  # nodes below each candidate that was tried before the right one, as this search had them
    good: int  # nodes below the right candidate, in this search: T(s_g)
    siblings: tuple[int, ...]  # nodes below each of the others, by this search or by one of its own
    cut: tuple[bool, ...]  # that search met its limit: the sibling has more nodes
    solvable: tuple[bool, ...]  # there is a solution below it as well: it is no failing sibling

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(one for one in self.candidates if one != self.right)

    @property
    def mistakes(self) -> int:
        """Failing candidates that were tried before the right one."""
        return len(self.entered)

    @property
    def lost(self) -> int:
        """Nodes below them, as this search had them."""
        return sum(self.entered)

    @property
    def wrong(self) -> int:
        """Nodes of all failing siblings: T(s_w) where there is one. Cut ones count with their limit."""
        return self._sum(0)

    @property
    def saved(self) -> int:
        """Nodes of the failing siblings that were not entered."""
        return self._sum(self.mistakes)

    def _sum(self, first: int) -> int:
        return sum(nodes for nodes, no in list(zip(self.siblings, self.solvable, strict=True))[first:] if not no)


@dataclass(frozen=True)
class Tree:
    """All nodes of a search in the order entered: what a picture needs."""

    depth: Ints  # [nodes] decisions above it; its parent is the last node before it with one less, in the same run
    run: Ints  # [nodes] from 1
    on_path: Bools  # [nodes] the solution is below it

    def by_depth(self) -> Ints:
        """[deepest + 1] nodes at each depth, all runs together."""
        return np.bincount(self.depth)


@dataclass(frozen=True)
class Ledger:
    """A search that is over. The identity of SPEC section 6, with runs before the last one counted apart:

    nodes = decisions + lost (nodes of the failing siblings entered) + earlier_nodes + pathless_nodes

    `pathless_nodes` are those of a last run without a solution: all of it fails (UNSAT), or it was cut (LIMIT).
    """

    outcome: Outcome
    decisions: tuple[Decision, ...]  # on the way to the solution found, the root first
    runs: int  # 1 unless the strategy begins again
    earlier_nodes: int  # of all runs but the last
    pathless_nodes: int
    tree: Tree | None = None  # if it was wanted

    @property
    def status(self) -> Status:
        return self.outcome.status

    @property
    def nodes(self) -> int:
        return self.outcome.nodes

    @property
    def backtracks(self) -> int:
        return self.outcome.backtracks

    @property
    def lost(self) -> int:
        return sum(one.lost for one in self.decisions)

    @property
    def saved(self) -> int:
        """Against the worst order at each decision of this path: nodes of the failing siblings not entered."""
        return sum(one.saved for one in self.decisions)

    @property
    def cut(self) -> int:
        """Siblings that were given up at the limit: `saved` is a lower bound if there are any."""
        return sum(sum(one.cut) for one in self.decisions)

    @property
    def parts(self) -> tuple[int, int, int, int]:
        return len(self.decisions), self.lost, self.earlier_nodes, self.pathless_nodes

    def check(self) -> None:
        """Raise AssertionError unless the parts are the whole."""
        assert sum(self.parts) == self.nodes, f"{self.parts} do not add up to {self.nodes} nodes"


def ledgers(
    instances: Sequence[Instance],
    options: Options,
    guide: Ranks | None = None,
    *,
    siblings: bool = True,
    limit: int | None = LIMIT,
    trees: bool = False,
    report: Report = lambda done, total: None,
    stopped: Callable[[], bool] = never,
    turn: AbstractContextManager[Any] | None = None,
) -> list[Ledger]:
    """Search every instance, and say where its nodes went; all of them as `solve` would count.

    `siblings`: measure the failing siblings that were not entered, each up to `limit` nodes; `trees`: keep the shape of
    the search; `report(done, total)` hears how many siblings are measured; `turn` is held while the guide is asked.
    Once `stopped()` is true, it raises `Stopped`.
    """
    if options.max_solutions != 1:
        raise ValueError(f"max_solutions = {options.max_solutions}: a ledger is about the search for one solution")
    if options.guide_after is not None:
        raise ValueError(f"guide_after = {options.guide_after}: a ledger is about one search, and these would be two")
    asked = _guide(instances, options, None if guide is None else as_guide(guide))
    drafts: list[_Draft] = []
    for places in by_structure(instances).values():
        for at in range(0, len(places), BATCH):
            some = places[at : at + BATCH]
            drafts += _searched(instances, some, options, asked, trees, stopped, turn or nullcontext())
    if siblings:
        _measure(drafts, options, limit, report, stopped)
    found = {draft.place: draft.ledger() for draft in drafts}
    for ledger in found.values():
        ledger.check()
    return [found[place] for place in range(len(instances))]


def _guide(instances: Sequence[Instance], options: Options, guide: Guide | None) -> Guide | None:
    """The guide that `solve` would ask."""
    if options.order == "oracle":
        if guide is not None:
            raise ValueError("order = 'oracle' is a guide itself: give one or the other")
        guide = Oracle()
    if isinstance(guide, LazyGuide) and instances:
        guide = guide.load(instances[0].structure)
    return guide


class _Branch:
    """A decision that is being made up; see `Decision`."""

    def __init__(self, node: OpenNode, number: int, candidates: list[int], entered: list[int], good: int) -> None:
        self.ask = node.ask
        self.domain = node.domain
        self.number = number  # of all nodes in the order entered, from 1
        self.candidates = tuple(candidates)
        self.right = candidates[node.tried - 1]
        self.others = [one for one in candidates if one != self.right]
        self.entered = tuple(entered)
        self.good = good
        self.ranking: Ranking | None = None
        self.measured: list[SiblingCost] = []

    def decision(self, depth: int) -> Decision:
        ranking = self.ranking
        return Decision(
            depth=depth,
            domain=self.domain,
            candidates=self.candidates,
            right=self.right,
            ranked="no" if ranking is None else "asked" if ranking.node == self.number else "kept",
            probability=ranking and ranking.probability(self.candidates),
            score=ranking and ranking.score(self.candidates),
            entered=self.entered,
            good=self.good,
            siblings=tuple(one.nodes for one in self.measured),
            cut=tuple(one.cut for one in self.measured),
            solvable=tuple(one.solvable for one in self.measured),
        )


class _Draft(NamedTuple):
    place: int  # in the list of instances
    instance: Instance
    outcome: Outcome
    branches: list[_Branch]
    runs: int
    earlier: int
    pathless: int
    tree: Tree | None

    def ledger(self) -> Ledger:
        decisions = tuple(branch.decision(depth) for depth, branch in enumerate(self.branches))
        return Ledger(self.outcome, decisions, self.runs, self.earlier, self.pathless, self.tree)


def _searched(
    instances: Sequence[Instance],
    places: list[int],
    options: Options,
    guide: Guide | None,
    trees: bool,
    stopped: Callable[[], bool],
    turn: AbstractContextManager[Any],
) -> list[_Draft]:
    """Searches of instances that share a structure."""
    some = [instances[i] for i in places]
    static = guide is not None and guide.static
    engine = TreeSearch(some, options, guided=guide is not None, static=static, block=BLOCK, places=places, traced=True)
    if isinstance(guide, Oracle):
        guide, engine.guide_seconds[:] = foresee(some, options, block=BLOCK, stopped=stopped)
        engine.allow(lost := np.flatnonzero(~guide.decided), np.zeros_like(lost))
    listener = None if guide is None else Listener(guide, engine)
    engine.run(listener, stopped, turn)
    if stopped():
        raise Stopped
    of = tables(engine.structure, options.level)
    drafts = []
    for row, (place, outcome) in enumerate(zip(places, engine.outcomes(), strict=True)):
        assert outcome is not None
        drafts.append(_draft(place, engine, row, outcome, of, trees))
    if listener:
        ranked = [(row, branch) for row, draft in enumerate(drafts) for branch in draft.branches if branch.ask]
        with turn:
            rankings = listener.rankings([(row, branch.ask) for row, branch in ranked])
        for (_, branch), ranking in zip(ranked, rankings, strict=True):
            branch.ranking = ranking
    return drafts


def _draft(place: int, engine: TreeSearch, row: int, outcome: Outcome, of: Tables, trees: bool) -> _Draft:
    """What a search did, from its events."""
    kinds, whats = engine.events(row)
    depth, run = _depths(kinds)
    entering = kinds == state.ENTERED
    runs = int(run[-1]) if len(run) else 1
    last = int(np.searchsorted(run, runs))  # where the last run begins
    earlier = int(entering[:last].sum())
    on_path = np.zeros(len(kinds), bool)
    branches: list[_Branch] = []
    if outcome.status is Status.SAT:
        # A node is still open at the end if nothing after it is less deep.
        on_path[last:] = np.minimum.accumulate(depth[last:][::-1])[::-1] == depth[last:]
        branches = _branches(engine.open_nodes(row), on_path, kinds, whats, depth, of)
        assert len(branches) == int((on_path & entering).sum())
    pathless = 0 if outcome.status is Status.SAT else outcome.nodes - earlier
    tree = Tree(depth[entering] - 1, run[entering], on_path[entering]) if trees else None
    return _Draft(place, engine.instances[row], outcome, branches, runs, earlier, pathless, tree)


def _depths(kinds: Ints) -> tuple[Ints, Ints]:
    """[events] how many nodes are open after each event, and the number of its run.

    A value fails at once, or because the node below it has failed: then that node is closed.
    """
    before = np.concatenate([[state.BEGUN], kinds[:-1]])
    closing = (kinds == state.FAILED) & (before != state.TRIED)
    change = (kinds == state.ENTERED).astype(np.int64) - closing
    run = np.cumsum(kinds == state.BEGUN)
    total = np.cumsum(change)
    base = np.concatenate([[0], total[kinds == state.BEGUN]])
    return total - base[run], run


def _branches(path: list[OpenNode], on_path: Bools, kinds: Ints, whats: Ints, depth: Ints, of: Tables) -> list[_Branch]:
    """The decisions of the solution path; `on_path` [events] says at which events no node was open that failed."""
    tries = np.flatnonzero(on_path & (kinds == state.TRIED))
    below = np.cumsum(kinds == state.ENTERED)
    start = np.searchsorted(depth[tries], np.arange(1, len(path) + 2)).tolist()  # the path only goes down
    before, total = below[tries].tolist(), int(below[-1])
    tried = whats[tries].tolist()
    found = []
    for node, first, end in zip(path, start, start[1:], strict=False):
        assert tried[first:end] == node.values[: node.tried], "the trace is not that of the search"
        entered = [after - at for at, after in zip(before[first : end - 1], before[first + 1 : end], strict=True)]
        found.append(_Branch(node, before[first], _literals(node.values, of), entered, total - before[end - 1]))
    return found


def _literals(addresses: list[int], of: Tables) -> list[int]:
    """The structure's literals at these addresses; ~l for the complement of l."""
    found = []
    for address in addresses:
        first = int(of.base[address // DOMAIN])
        literal = int(of.outer[first + address % DOMAIN])
        found.append(literal if literal >= 0 else ~int(of.outer[first]))
    return found


def _measure(
    drafts: Sequence[_Draft], options: Options, limit: int | None, report: Report, stopped: Callable[[], bool]
) -> None:
    """Fill in the siblings of all decisions.

    In a depth-first search by MRV, an entered one has the nodes that were counted. Otherwise it is searched again: what
    this search did below it depends on its guide, on earlier runs or on a draw.
    """
    known = not options.guide_selects and options.strategy == "dfs" and options.tie != "random"
    wanted: list[tuple[_Branch, Sibling]] = []
    for draft in drafts:
        path: list[int] = []
        for branch in draft.branches:
            counted = branch.entered if known else ()
            branch.measured = [SiblingCost(nodes, cut=False, solvable=False) for nodes in counted]
            for literal in branch.others[len(counted) :]:
                wanted.append((branch, Sibling(draft.instance, draft.place, (*path, literal))))
            path.append(branch.right)
    found = measure([sibling for _, sibling in wanted], options, limit, report, stopped)
    for (branch, _), measured in zip(wanted, found, strict=True):
        branch.measured.append(measured)
