"""The decisions on solution paths, of many records at once, and the paper's theorems as checks on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats, Ints

if TYPE_CHECKING:
    import polars as pl

ENVELOPE = 0.99  # of the states that the bound of Theorem 4 must cover
FEWEST = 30  # states of a depth from which a share is worth a figure


def enough(total: int) -> int:
    """Of so many items, those that a point of a figure must stand for: fewer say little."""
    return min(FEWEST, max(3, total // 50))


@dataclass(frozen=True)
class States:
    """Decisions of the searches of one row that found a solution, search by search and from the root down.

    Arrays of searches have S items, those of states n.
    """

    instance: Ints  # [S]
    nodes: Ints  # [S] of the whole search
    length: Ints  # [S] decisions on its path
    search: Ints  # [n] which search a state is of
    depth: Ints  # [n] decisions above it
    arity: Ints  # [n] values to choose from
    place: Ints  # [n] failing values that were tried before the right one
    entered: Ints  # [n] nodes below these
    wrong: Ints  # [n] nodes below all failing values: T(s_w) where there are two values
    cut: Bools  # [n] `wrong` is a lower bound
    good: Ints  # [n] nodes below the right value: T(s_g)
    limits: int  # searches that ended at a limit: they have no path and are not among these
    unsolvable: int  # nor are those that found that there is no solution

    @classmethod
    def of(cls, records: pl.DataFrame) -> States:
        solved = records.filter(records["status"] == "SAT")
        length = solved["ledger_arity"].list.len().to_numpy().astype(np.int64)
        start = np.cumsum(length) - length
        search = np.repeat(np.arange(len(length)), length)

        def items(what: str) -> NDArray[Any]:
            found: NDArray[Any] = solved[f"ledger_{what}"].explode(empty_as_null=False).to_numpy()
            return found

        arity, place, entered, wrong, good = (
            items(what).astype(np.int64) for what in ("arity", "place", "entered", "wrong", "good")
        )
        limits = int((records["status"] == "LIMIT").sum())
        return cls(
            instance=solved["instance"].to_numpy().astype(np.int64),
            nodes=solved["nodes"].to_numpy().astype(np.int64),
            length=length,
            search=search,
            depth=np.arange(len(search)) - start[search],
            arity=arity,
            place=place,
            entered=entered,
            wrong=wrong,
            cut=items("cut").astype(bool),
            good=good,
            limits=limits,
            unsolvable=len(records) - len(solved) - limits,
        )

    def __len__(self) -> int:
        return len(self.search)

    @property
    def binary(self) -> Bools:
        found: Bools = self.arity == 2
        return found

    @property
    def right(self) -> Bools:
        """The solution's value came first."""
        found: Bools = self.place == 0
        return found

    def lost(self) -> Ints:
        """[S] nodes of the failing siblings that were entered."""
        return np.bincount(self.search, self.entered, len(self.length)).astype(np.int64)

    def below(self) -> Ints:
        """[n] nodes from a state on, itself included: what is left of the search's nodes when the decisions above it
        and the failing siblings entered there are taken away."""
        before = np.cumsum(self.entered) - self.entered
        start = np.cumsum(self.length) - self.length
        first = before[start[self.search]] if len(self) else before
        found: Ints = self.nodes[self.search] - self.depth - (before - first)
        return found


def theorem_3(states: States) -> int:
    """Searches whose nodes are not the decisions on the path and the nodes of the failing siblings entered."""
    return int((states.nodes != states.length + states.lost()).sum())


def theorem_1(states: States) -> int:
    """Binary states from which on there are not 1 + T(s_g) + [wrong first] T(s_w) nodes."""
    cost = 1 + states.good + np.where(states.right, 0, states.wrong)
    return int((states.below() != cost)[states.binary].sum())


def changed_siblings(states: States, other: States) -> tuple[int, int]:
    """States that two rows share, and those whose failing siblings do not have as many nodes in both.

    Searches are shared where both rows found the solution along as many decisions; siblings that were cut say nothing.
    """
    _, own, others = np.intersect1d(states.instance, other.instance, assume_unique=True, return_indices=True)
    alike = states.length[own] == other.length[others]
    here = np.isin(states.search, own[alike])
    there = np.isin(other.search, others[alike])
    whole = ~(states.cut[here] | other.cut[there])
    return int(whole.sum()), int((states.wrong[here] != other.wrong[there])[whole].sum())


@dataclass(frozen=True)
class Fit:
    """T(s_w) = c b^(H - h): least squares on the logarithm, at binary states whose failing sibling has a node."""

    states: int
    empty: int  # binary states whose failing sibling fails at once: T = 0
    b: float
    c: float
    r2: float
    envelope: float  # the least c with which the bound holds at `ENVELOPE` of these states, for this b
    rho: float  # the least p_s of any depth that has enough states
    rho_depth: int

    def bound(self, binary_states: Ints) -> Floats:
        """[S] (1 - rho) c (b^H - 1) / (b - 1), for the numbers H of binary states on paths; with the envelope's c."""
        h = binary_states.astype(np.float64)
        terms: Floats = h if abs(self.b - 1) < 1e-9 else (self.b**h - 1) / (self.b - 1)
        return (1 - self.rho) * self.envelope * terms


def remaining(states: States) -> tuple[Ints, Ints]:
    """H [S], binary states on each path, and H - h [binary states]: how many of them come after each."""
    total = np.bincount(states.search[states.binary], minlength=len(states.length))
    seen = np.cumsum(states.binary)  # of all searches; h is what a search adds to what was before it
    before = np.concatenate([[0], np.cumsum(total)])[:-1]
    search = states.search[states.binary]
    return total, total[search] - (seen[states.binary] - before[search])


def fit(states: States) -> Fit | None:
    """None where there is nothing to fit: fewer than two numbers of remaining decisions."""
    _, rest = remaining(states)
    wrong = states.wrong[states.binary]
    some = wrong > 0
    x, y = rest[some].astype(np.float64), np.log(wrong[some])
    if len(np.unique(x)) < 2:
        return None
    slope, start = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    r2 = 1 - float(((y - start - slope * x) ** 2).sum()) / spread if spread else 1.0
    above = np.exp(np.quantile(y - slope * x, ENVELOPE, method="higher"))
    rho, depth = least_share(states.depth[states.binary], states.right[states.binary])
    count = int(some.sum())
    b, c = (float(np.exp(one)) for one in (slope, start))
    return Fit(count, len(wrong) - count, b, c, r2, float(above), rho, depth)


def least_share(depth: Ints, right: Bools) -> tuple[float, int]:
    """The least share of right ones at any depth with `FEWEST` states or more, and the depth; of all if none has."""
    count, hits = np.bincount(depth), np.bincount(depth, right)
    enough = np.flatnonzero(count >= FEWEST)
    if not len(enough):
        return float(right.mean()), -1
    shares = hits[enough] / count[enough]
    return float(shares.min()), int(enough[shares.argmin()])
