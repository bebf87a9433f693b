"""A nogood search that is looked over at every failure: for tests, and for whoever changes it.

Each nogood is verified by *reverse unit propagation*: with its literals all true, the groups and the nogoods before it
must fail by unit propagation alone. MiniSat propagates (python-sat), so that nothing is shared with the search. The
state of the groups is counted anew from the state of the literals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance
from dibs.search.nogoods import arrays, loop
from dibs.search.nogoods.arrays import Memory, Problem, grown
from dibs.search.nogoods.batch import begun
from dibs.search.nogoods.search import Search
from dibs.search.outcome import Outcome

KEPT = 5000  # nogoods that the judge keeps beyond twice those of the search


class Unsound(AssertionError):
    """A nogood that does not follow, or a state that is not what its literals say."""


def watched(
    instance: Instance,
    *,
    conflicts: int,
    restart_base: int = 256,
    seed: int = 0,
    every: int = 64,
    verify: bool = True,
    filters: bool = False,
    report: Callable[[int], None] | None = None,
) -> tuple[Outcome | None, int]:
    """Search one instance without a guide; the outcome, None after so many `conflicts`, and the nogoods verified.

    `every`: conflicts between two looks at the state of the groups. Without `verify` nogoods are not looked at.
    `filters`: begin with all-different filtering. What that excludes has no short reason: MiniSat has to refute it.
    Raises Unsound at the first fault, WrongSolution for a wrong solution.
    """
    from dibs.search.options import Options

    options = Options(strategy="nogoods", order="random", restart_base=restart_base, root="locked", seed=seed)
    root, [outcome], _ = begun([instance], options)
    if outcome is not None:
        return outcome, 0
    search = Search(instance, options, root.open[0], root.true[0], 0, 0.0)
    judge = Judge(search.problem) if verify else None
    counts = search.memory.counts
    counts[arrays.MOST] = arrays.NEVER
    if filters:
        search.filter()
        if judge:
            judge.exclude(search.excluded)
    looked = 0
    while counts[arrays.PHASE] == arrays.RUNNING and counts[arrays.CONFLICTS] < conflicts:
        before, run = int(counts[arrays.CONFLICTS]), int(counts[arrays.RUN])
        loop.advance(search.problem, search.memory, options.restart_base, 1 if verify else every)
        if judge:
            if counts[arrays.RUN] != run:
                judge.anew(search.memory)
            if counts[arrays.CONFLICTS] > before and counts[arrays.PHASE] == arrays.RUNNING:
                judge.verify(search.memory.learnt[: counts[arrays.LENGTH]])
        if counts[arrays.CONFLICTS] >= looked:
            check_state(search.problem, search.memory)
            looked = int(counts[arrays.CONFLICTS]) + every
            if report:
                report(int(counts[arrays.CONFLICTS]))
        if counts[arrays.FULL]:
            search.memory = grown(search.memory)
            counts = search.memory.counts
    verified = judge.verified if judge else 0
    if judge and counts[arrays.PHASE] == arrays.UNSAT:
        judge.verify(np.zeros(0, np.int32))
    return (None if counts[arrays.PHASE] == arrays.RUNNING else search.outcome()), verified


def check_state(p: Problem, m: Memory) -> None:
    """Raise Unsound where a group's counts, the trail or the watches are not what the literals' states say."""
    groups, special = len(p.group_start) - 1, len(p.need)
    owner = np.repeat(np.arange(groups), np.diff(p.group_start))
    state = m.state[p.group_member]
    trail = m.trail[: m.counts[arrays.TRAIL]]
    alive, true = state != arrays.FALSE, state == arrays.TRUE
    holding = [c for c in _holding(m) if c != m.counts[arrays.BROKEN]]  # with the broken one a call has ended
    watches = [] if m.counts[arrays.DETACHED] else sorted(_watches(m))
    watched = {watch >> 1 for watch in watches}
    void = {c for c in holding if (m.state[_literals(m, c)] == arrays.FALSE).any()} if len(m.gathered) else set()
    faults = {
        "left": (np.bincount(owner[alive], minlength=groups) != m.left).any(),
        "total": (np.bincount(owner[alive], p.group_member[alive], groups) != m.total)[:special].any(),
        "held": (np.bincount(owner[true], minlength=groups) != m.held).any(),
        "position": (m.trail[m.position[trail]] != trail).any(),
        "trail": len(set(trail.tolist())) != len(trail) or (m.state != arrays.OPEN).sum() != len(trail),
        "weight": not (np.isfinite(m.weight) & (m.weight > 0)).all(),
        "watches": watches != [2 * c + side for c in sorted(watched) for side in range(2)],
        "nogoods": any((m.state[_literals(m, c)] == arrays.TRUE).all() for c in holding),
        "nogoods that are watched": not set(holding) - void <= watched,
    }
    for name, wrong in faults.items():
        if wrong:
            raise Unsound(f"{name} is not what the literals say, after {m.counts[arrays.CONFLICTS]} failures")


def _literals(m: Memory, number: int) -> NDArray[np.int32]:
    """The literals of a nogood, without assumptions that it needs."""
    literals: NDArray[np.int32] = m.arena[m.place[number] : m.place[number] + m.length[number]]
    return literals


def _holding(m: Memory) -> list[int]:
    """The nogoods that hold where the search stands: all that they need is assumed."""
    nogoods = range(int(m.counts[arrays.NOGOODS]))
    if m.counts[arrays.DETACHED]:
        return []
    return [c for c in nogoods if m.counts[arrays.CUT] or not (m.needs[c] & ~m.present).any()]


def premises(m: Memory, needs: NDArray[np.int64]) -> list[int]:
    """The assumptions of a set of them, as bits [words]."""
    held = [w * arrays.BITS + b for w, word in enumerate(needs.tolist()) for b in range(arrays.BITS) if word >> b & 1]
    return [int(m.bearer[bit]) - 1 for bit in held]


def _nogood(m: Memory, number: int) -> list[int]:
    """The literals of a nogood, and the assumptions that it needs."""
    return list(dict.fromkeys([*_literals(m, number).tolist(), *premises(m, m.needs[number])]))


def _watches(m: Memory) -> list[int]:
    """All watches that hang on the literal that they watch."""
    found = []
    for literal, watch in enumerate(m.head.tolist()):
        while watch >= 0:
            if m.arena[m.place[watch >> 1] + (watch & 1)] != literal:
                raise Unsound(f"watch {watch} hangs on literal {literal}, which it does not watch")
            found.append(watch)
            watch = int(m.link[watch])
    return found


class Judge:
    """The groups and the nogoods so far as clauses, in a solver that is only ever asked to propagate."""

    def __init__(self, p: Problem) -> None:
        self.verified = 0
        self._groups: list[list[int]] = []
        for g in range(len(p.need)):
            members = (p.group_member[p.group_start[g] : p.group_start[g + 1]] + 1).tolist()
            if p.need[g]:
                self._groups.append(members)
            if p.exclusive[g]:
                self._groups += [[-a, -b] for i, a in enumerate(members) for b in members[:i]]
        self._bound(p)
        self._root: set[int] = set()  # literals that the root has decided, as clauses have them
        self._known: set[frozenset[int]] = set()  # nogoods that were verified since it began
        self._solver: Any = None
        self._begin([])

    def _bound(self, p: Problem) -> None:
        """Groups with bounds, by encodings in which unit propagation finds all that they say."""
        from dibs.search.external.formula import cardinality

        variables = len(p.literal_start) - 1
        for b, (least, most) in enumerate(zip(p.least.tolist(), p.most.tolist(), strict=True)):
            first, end = p.group_start[len(p.need) + b], p.group_start[len(p.need) + b + 1]
            clauses, variables = cardinality(least, most, (p.group_member[first:end] + 1).tolist(), variables)
            switch = [] if p.selector[b] < 0 else [-int(p.selector[b]) - 1]
            self._groups += [[*clause, *switch] for clause in clauses]

    def _begin(self, nogoods: list[list[int]]) -> None:
        from pysat.solvers import Minisat22

        if self._solver:
            self._solver.delete()
        self._solver = Minisat22(bootstrap_with=self._groups)
        self._solver.append_formula([[literal] for literal in self._root])
        self._solver.append_formula([[-literal - 1 for literal in nogood] for nogood in nogoods])
        self._known = set(map(frozenset, nogoods))

    def take(self, m: Memory) -> None:
        """Take what a search knows already for granted."""
        known = m.state * (m.level == 0)
        self._root = {int(v) + 1 if known[v] == arrays.TRUE else -int(v) - 1 for v in np.flatnonzero(known)}
        self._begin([_nogood(m, c) for c in range(int(m.counts[arrays.NOGOODS]))])

    def verify(self, nogood: NDArray[np.int32]) -> None:
        """Literals [n] that cannot all be true; an empty one: there is no solution."""
        self._follows([literal + 1 for literal in nogood.tolist()])
        self._solver.add_clause([-literal - 1 for literal in nogood.tolist()])
        self._known.add(frozenset(nogood.tolist()))
        self.verified += 1

    def exclude(self, literals: list[int]) -> None:
        """Literals that are said to be in no solution: not by propagation, so each is refuted by a whole search."""
        for literal in literals:
            if self._solver.solve(assumptions=[literal + 1]):
                raise Unsound(f"literal {literal} is said to be in no solution, but there is one with it")
            self._groups.append([-literal - 1])
            self._solver.add_clause([-literal - 1])

    def anew(self, m: Memory) -> None:
        """A run has begun: nogoods were forgotten, and others lost what the root decided. What is there follows."""
        root = m.trail[: m.counts[arrays.TRAIL] if m.counts[arrays.LEVEL] == 0 else m.mark[0]]
        decided = {int(v) + 1 if m.state[v] == arrays.TRUE else -int(v) - 1 for v in root}
        for literal in decided - self._root:
            self._follows([-literal])
            self._solver.add_clause([literal])
        self._root = decided
        nogoods = [_nogood(m, c) for c in range(int(m.counts[arrays.NOGOODS]))]
        for nogood in nogoods:
            if frozenset(nogood) not in self._known:
                self._follows([literal + 1 for literal in nogood])
        if len(self._known) > 2 * len(nogoods) + KEPT:
            self._begin(nogoods)
        else:
            self._known.update(map(frozenset, nogoods))

    def _follows(self, assumed: list[int]) -> None:
        consistent, _ = self._solver.propagate(assumptions=assumed)
        if consistent:
            raise Unsound(f"{len(assumed)} literals are said to fail together, but propagation does not show it")
