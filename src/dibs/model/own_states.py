"""Solutions of any instance, and states on the way to them: what a guide for an own family learns from.

An instance has several right answers: some are found, by searches with random orders, and the target of a state is how
many of those that agree with it have a literal true. A state is what follows from the givens and a part of a solution.

Where no solution is known, what fails early teaches too: literals that a short search refutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.features import NO_FEATURES, OwnFeatures
from dibs.guide.graph import network_groups
from dibs.guide.relations import CellLists, relations
from dibs.model.labelled import OwnState
from dibs.problem.structure import Instance, Level, Structure
from dibs.search.outcome import Outcome, Status
from dibs.search.root import roots, settle

Bools = NDArray[np.bool_]

SAME = 3  # searches that find the same solution: it is taken for the only one
DEEPER = 9  # states on the way to some solution of an instance, besides the root
DEEPEST = 0.7  # share of the cells that such a state is told, at most
TRIED, SHORT = 96, 64  # literals of an instance without a known solution that are tried, and nodes of each search
UNKNOWN = 0.5  # the target of a literal outside all decision groups that was not tried


class AsLiterals(Instance):
    """An instance whose solutions are its true literals; they are checked as its own are. `more` are given as well."""

    __slots__ = ("more", "whole")

    def __init__(self, whole: Instance, more: tuple[int, ...] = ()) -> None:
        self.whole, self.more = whole, more

    @property
    def structure(self) -> Structure:
        return self.whole.structure

    @property
    def given(self) -> NDArray[np.int64]:
        return np.append(self.whole.given, np.array(self.more, np.int64))

    def decode(self, literals: NDArray[np.int64]) -> NDArray[np.int64]:
        return literals

    def violation(self, solution: NDArray[np.int64]) -> str | None:
        return self.whole.violation(self.whole.decode(solution))


@dataclass(frozen=True)
class Known:
    """What is known of an instance: some of its solutions, or that it has none."""

    solutions: Bools  # [k, L] different ones
    refuted: bool
    failed: (
        Bools  # [2, L] where there are none: literals that were tried, and those of them that a short search refutes
    )

    @property
    def solved(self) -> bool:
        return len(self.solutions) > 0


def known_of(instance: Instance, count: int, seed: int, **options: Any) -> Known:
    """At most `count` different solutions, from searches with random orders; `options` as `dibs.solve` takes them.

    The first search says whether there is any. The others begin only then, and no more than SAME of them where all
    find the same one.
    """
    from dibs.solving import solve_together

    as_literals = AsLiterals(instance)
    how = {"strategy": "nogoods", "order": "random", "seed": seed, **options}
    outcomes: list[Outcome] = []
    for until in sorted({min(1, count), min(SAME, count), count}):
        places = range(len(outcomes), until)
        outcomes += solve_together([as_literals] * len(places), places=places, **how)
        found = {tuple(one.solution) for one in outcomes if one.solution is not None}
        if not found or (until == SAME and len(found) == 1):
            break
    true = np.zeros((len(outcomes), instance.structure.literals), bool)
    for row, outcome in zip(true, outcomes, strict=True):
        if outcome.solution is not None:
            row[outcome.solution] = True
    solved = true[[outcome.solution is not None for outcome in outcomes]]
    tried = np.zeros((2, true.shape[1]), bool) if len(solved) else _failed(instance, seed)
    return Known(np.unique(solved, axis=0), outcomes[0].status is Status.UNSAT, tried)


def _failed(instance: Instance, seed: int) -> Bools:
    """[2, L] literals of some cells, and those of them that a search of SHORT nodes refutes."""
    from dibs.solving import solve_together

    structure = instance.structure
    root, cells = roots([instance]), relations(structure).cells
    found = np.zeros((2, structure.literals), bool)
    if not root.consistent[0]:
        return found  # there is no state to learn from
    for cell in np.random.default_rng(seed).permutation(len(cells.start) - 1).tolist():
        literals = cells.item[cells.start[cell] : cells.start[cell + 1]]
        literals = literals[root.open[0, literals]]
        if found[0].sum() + len(literals) <= TRIED:
            found[0, literals] = True
    tried = np.flatnonzero(found[0])
    some = [AsLiterals(instance, (literal,)) for literal in tried.tolist()]
    outcomes = solve_together(some, strategy="nogoods", max_nodes=SHORT) if some else []
    found[1, tried] = [one.status is Status.UNSAT for one in outcomes]
    return found


def failed_state(
    instance: Instance, failed: Bools, kinds: tuple[str, ...], level: Level, own: OwnFeatures = NO_FEATURES
) -> Iterator[OwnState]:
    """The root with what failed there: the literals of a cell that were not refuted are alike; nothing is said of cells
    that were not tried, or of which nothing, or all, was refuted.
    """
    structure = instance.structure
    cells = relations(structure).cells
    root = roots([instance], level)
    open_, (tried, refuted) = root.open[0], failed & root.open[0]
    cell = np.zeros(structure.literals, np.int64)
    cell[cells.item] = np.repeat(np.arange(len(cells.start) - 1), np.diff(cells.start))
    lost, left = (np.bincount(cell[some], minlength=len(cells.start) - 1) for some in (refuted, tried & ~refuted))
    target = np.where(tried & ~refuted & (lost[cell] > 0), 1 / np.maximum(left[cell], 1), 0.0)
    target = np.where(cells.free[cell] & ~refuted, UNKNOWN, target).astype(np.float32)
    if target[open_].any() and refuted.any():
        groups = network_groups(structure, kinds, own)
        yield OwnState(groups, open_, root.true[0], _fewest(open_, cells)[open_], target[open_])


def states_of(
    instance: Instance,
    known: Bools,
    kinds: tuple[str, ...],
    level: Level,
    rng: np.random.Generator,
    own: OwnFeatures = NO_FEATURES,
) -> Iterator[OwnState]:
    """The root, and states on the way to some of the known solutions [k, L]; those that are decided are left out."""
    structure = instance.structure
    groups, cells = network_groups(structure, kinds, own), relations(structure).cells
    chosen = np.zeros((1 + DEEPER, structure.literals), bool)
    chosen[:, instance.given] = True
    for row, solution in zip(chosen[1:], np.resize(rng.permutation(len(known)), DEEPER).tolist(), strict=True):
        true = np.flatnonzero(known[solution])
        share = rng.uniform(0, DEEPEST) ** 2
        row[rng.permutation(true)[: round(share * len(true))]] = True
    root = settle(structure, chosen, level)
    for open_, true in zip(root.open, root.true, strict=True):
        if open_.any():
            agreeing = known[~(true & ~known).any(axis=1)]
            target = agreeing[:, open_].mean(axis=0, dtype=np.float32)
            yield OwnState(groups, open_, true, _fewest(open_, cells)[open_], target)


def _fewest(open_: Bools, cells: CellLists) -> Bools:
    """[L] the open literals of a cell that has the fewest; one that may stay empty counts as having one more."""
    count = np.add.reduceat(open_[cells.item].astype(np.int64), cells.start[:-1]) * (np.diff(cells.start) > 0)
    count = np.where(count > 0, count + cells.free, np.iinfo(np.int64).max)
    cell = int(count.argmin())
    found = np.zeros(len(open_), bool)
    found[cells.item[cells.start[cell] : cells.start[cell + 1]]] = True
    return found & open_
