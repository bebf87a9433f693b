"""What a wrong first value costs: the nodes of the subtree below it, which hold no solution.

A search tries the values of a state one after the other, and the subtree of a wrong one is searched to its end. Its
size does not depend on any value order. So the nodes of a whole run are the decisions on the solution path and the
nodes of the failing siblings that were tried before the right value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.guide.codec import from_true
from dibs.problem.shape import Shape
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku
from dibs.search.options import Options, Tie
from dibs.study import siblings
from dibs.study.judge import Judged
from dibs.study.siblings import Report, Sibling

Ints = NDArray[np.int64]

NODES = 20_000  # of one failing sibling; a larger one counts as this much
BATCH = 256  # states that are unpacked at once


@dataclass(frozen=True)
class Cost:
    """Failing siblings of states on solution paths, and which of them a denoiser's order would enter."""

    states: int  # that were measured: all, or a random sample
    siblings: int  # wrong candidates of these states
    capped: int  # siblings that were given up at `limit` nodes: the figures below count the limit for them
    limit: int
    nodes: int  # of all siblings
    right: int  # of the siblings of states where the right value comes first
    entered: int  # of the siblings that come before the right value

    @property
    def accuracy(self) -> float:
        """Cost-weighted: each state counts with the nodes of its failing siblings. 1 if there are none to lose."""
        return self.right / self.nodes if self.nodes else 1.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"accuracy": self.accuracy}


def measure(
    of: Shape,
    judged: Judged,
    level: Level,
    tie: Tie,
    *,
    most: int,
    rng: np.random.Generator,
    limit: int = NODES,
    report: Report = lambda done, total: None,
) -> Cost:
    """The cost of the failing siblings of all states, or of a random sample of `most` of them."""
    rows = np.arange(len(judged))
    if len(rows) > most:
        rows = np.sort(rng.choice(len(rows), most, replace=False))
    chosen = np.flatnonzero(np.isin(judged.state, rows))
    state, literal = judged.state[chosen], judged.literal[chosen]
    nodes, capped = np.zeros(len(chosen), np.int64), 0
    for at in range(0, len(chosen), BATCH):
        part = slice(at, at + BATCH)
        _, true = judged.unpacked(state[part], of.size**3)
        nodes[part], cut = sibling_nodes(of, from_true(true, of.size), literal[part], level, tie, limit)
        capped += cut
        report(at + len(true), len(chosen))
    return Cost(
        states=len(rows),
        siblings=len(chosen),
        capped=capped,
        limit=limit,
        nodes=int(nodes.sum()),
        right=int(nodes[judged.right[state]].sum()),
        entered=int(nodes[judged.ahead[chosen]].sum()),
    )


def sibling_nodes(
    of: Shape, values: NDArray[np.uint8], literal: Ints, level: Level, tie: Tie, limit: int | None
) -> tuple[Ints, int]:
    """[k] the nodes below each wrong choice, and how many of them met the limit.

    `values` [k, cells] are the cells that each state has assigned, forced ones included (propagation has one fixpoint,
    so it does not matter which of them were decided); `literal` [k] is the wrong choice.
    """
    path = [(int(one),) for one in literal]
    some = [Sibling(Sudoku._of(of, row), i, one) for i, (row, one) in enumerate(zip(values, path, strict=True))]
    found = siblings.measure(some, Options(level=level, tie=tie), limit)
    assert not any(one.solvable for one in found), "a wrong value led to a solution: the puzzle has several"
    return np.array([one.nodes for one in found], np.int64), sum(one.cut for one in found)
