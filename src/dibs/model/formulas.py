"""Random satisfiable formulas, and the states on the way to their solutions: what a guide for SAT learns from.

A formula has many solutions, and each of them is a right answer. So several are found for each formula, by searches
with random orders, and the target of a state is how many of those that agree with it have a literal true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dibs.generate.formulas import sat
from dibs.guide.graph import Groups, groups_of
from dibs.model.config import Data
from dibs.problem.cnf import CNF
from dibs.search.options import Options, Tie

Bools = NDArray[np.bool_]

TIES: tuple[Tie, ...] = ("index", "index", "random", "reach")  # of the searches whose states are taken
WALKS = 3  # solutions of a formula that are walked to


@dataclass(frozen=True)
class State:
    """One state of a formula with L literals."""

    groups: Groups  # of the formula
    open: Bools  # [L]
    true: Bools  # [L]
    candidates: Bools  # [L] of the variable to branch on
    target: NDArray[np.float32]  # [L] share of the known solutions that agree with the state


@dataclass(frozen=True)
class Formulas:
    """States of many formulas; the first `held` are of formulas that are held out for validation."""

    states: Sequence[State]
    held: int

    def fingerprint(self) -> str:
        """SHA-256 over all states: two runs with the same one were trained on the same data."""
        digest = hashlib.sha256()
        for state in self.states:
            for array in (*state.groups, state.open, state.true, state.target):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def load(data: Data, progress: Callable[[str, int, int], None]) -> Formulas:
    """The states of `data.formulas` formulas; they depend on the seed only."""
    states: list[State] = []
    held, last = 0, round(data.formulas * data.held)
    for number in range(data.formulas):
        states += states_of(data, number)
        if number + 1 == last:
            held = len(states)
        progress("formulas", number + 1, data.formulas)
    return Formulas(states, held)


def states_of(data: Data, number: int) -> Iterator[State]:
    """The states on the ways to some solutions of one formula."""
    rng = np.random.default_rng(np.random.SeedSequence((data.seed, number)))
    least, most = np.log(data.variables)
    variables = round(float(np.exp(rng.uniform(least, most))))
    [formula] = sat(1, variables=variables, satisfiable=True, distinct=True, seed=int(rng.integers(2**40)))
    known = solutions(formula, data.solutions, int(rng.integers(2**40)))
    groups = groups_of(formula.structure)
    for solution in known[rng.permutation(len(known))[:WALKS]]:
        tie = TIES[rng.integers(len(TIES))]
        for open_, true, candidates in _walk(formula, solution, tie, int(rng.integers(2**40))):
            agreeing = known[~(true & ~known).any(axis=1)]
            yield State(groups, open_, true, candidates, agreeing.mean(axis=0, dtype=np.float32))


def solutions(formula: CNF, count: int, seed: int) -> Bools:
    """[k, L] the different solutions that `count` searches with random orders find."""
    from dibs.search.engine import Engine

    found: dict[bytes, Bools] = {}
    for i in range(count):
        engine = Engine([formula], Options(level="naked", tie="reach", order="random", seed=seed + i))
        engine.run()
        true = engine.true()[0]
        found[true.tobytes()] = true
    return np.array(list(found.values()))


def _walk(formula: CNF, solution: Bools, tie: Tie, seed: int) -> Iterator[tuple[Bools, Bools, Bools]]:
    """(open, true, candidates) [L] of every state that a search branches on if it is told the solution."""
    from dibs.search.engine import Engine

    engine = Engine([formula], Options(level="naked", tie=tie, seed=seed), guided=True)
    while asks := engine.advance():
        yield asks.open[0].copy(), asks.true[0].copy(), asks.candidates[0].copy()
        engine.answer(asks, solution[None])


def joined(states: Sequence[State]) -> tuple[Groups, Bools, Bools]:
    """Many states as one state of one large formula: (groups, open [1, L], true [1, L])."""
    groups = np.cumsum([0, *(len(state.groups.kind) for state in states)])
    edges = np.cumsum([0, *(len(state.groups.group) for state in states)])
    union = Groups(
        np.concatenate([state.groups.group + at for state, at in zip(states, groups, strict=False)]),
        np.concatenate([[0], *(state.groups.begin[1:] + at for state, at in zip(states, edges, strict=False))]),
        np.concatenate([state.groups.kind for state in states]),
    )
    open_, true = (np.concatenate([getattr(state, name) for state in states])[None] for name in ("open", "true"))
    return union, open_, true
