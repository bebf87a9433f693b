"""States of instances with several solutions: of any family (`own_states`), or of the formulas of a configuration.

Each solution is a right answer. So several are found for each instance, by searches with random orders, and the target
of a state is how many of those that agree with it have a literal true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dibs.generate.formulas import sat
from dibs.guide.features import GROUP_KINDS, NO_FEATURES, OwnFeatures
from dibs.guide.graph import network_groups
from dibs.model.config import Data
from dibs.model.labelled import Labelled, State, reduced
from dibs.model.own_states import known_of
from dibs.problem import CNF
from dibs.problem.structure import Level
from dibs.search.options import Options, Tie

Bools = NDArray[np.bool_]

LEVEL: dict[str, Level] = {"cnf": "naked", "latin": "hidden", "sudoku": "hidden"}  # as policy `auto` has it
TIES: tuple[Tie, ...] = ("index", "index", "random", "impact")  # of the searches whose states are taken
WALKS = 3  # solutions of a formula that are walked to


@dataclass(frozen=True)
class ManySolutions:
    """States of many instances; the first `held` are of instances that are held out for validation."""

    family: str
    states: Sequence[Labelled]
    held: int
    kinds: tuple[str, ...] = GROUP_KINDS  # of groups
    bounds: bool = False  # whether what groups need and have room for is among the features
    even: bool = False  # small states are drawn more often, so that they get as much time as large ones
    features: OwnFeatures = NO_FEATURES  # of the user's own

    def fingerprint(self) -> str:
        """SHA-256 over all states: two runs with the same one were trained on the same data."""
        digest = hashlib.sha256()
        for state in self.states:
            for array in (*state.groups, state.candidates, state.target):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def load(data: Data, progress: Callable[[str, int, int], None]) -> ManySolutions:
    """The states of `data`'s formulas; they depend on the seed only."""
    states: list[State] = []
    held, last = 0, round(data.formulas * data.held)
    for number in range(data.formulas):
        states += states_of(data, number)
        if number + 1 == last:
            held = len(states)
        progress("formulas", number + 1, data.formulas)
    return ManySolutions("cnf", states, held)


def states_of(data: Data, number: int) -> Iterator[State]:
    """The states on the ways to some solutions of one formula."""
    rng = np.random.default_rng(np.random.SeedSequence((data.seed, number)))
    least, most = np.log(data.variables)
    variables = round(float(np.exp(rng.uniform(least, most))))
    [formula] = sat(1, variables=variables, satisfiable=True, distinct=True, seed=int(rng.integers(2**40)))
    known = known_of(formula, data.solutions, int(rng.integers(2**40))).solutions
    groups = network_groups(formula.structure)
    for solution in known[rng.permutation(len(known))[:WALKS]]:
        tie = TIES[rng.integers(len(TIES))]
        for open_, true, candidates in _walk(formula, solution, tie, int(rng.integers(2**40))):
            agreeing = known[~(true & ~known).any(axis=1)]
            target = agreeing[:, open_].mean(axis=0, dtype=np.float32)
            yield State(reduced(groups, open_, true), candidates[open_], target)


def _walk(formula: CNF, solution: Bools, tie: Tie, seed: int) -> Iterator[tuple[Bools, Bools, Bools]]:
    """(open, true, candidates) [L] of every state that a search branches on if it is told the solution."""
    from dibs.search.tree.search import TreeSearch

    engine = TreeSearch([formula], Options(level=LEVEL["cnf"], tie=tie, seed=seed), guided=True)
    while asks := engine.advance():
        yield asks.open[0].copy(), asks.true[0].copy(), asks.candidates[0].copy()
        engine.answer(asks, solution[None])
