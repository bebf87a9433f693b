"""Instances with several solutions, formulas and grids with many holes, and the states on the way to them.

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
from dibs.generate.squares import latin
from dibs.generate.sudokus import sudoku
from dibs.guide.card import NO_FEATURES, OwnFeatures
from dibs.guide.graph import KINDS, groups_of
from dibs.model.config import Data
from dibs.model.labelled import Labelled, State, reduced
from dibs.model.states import truth
from dibs.problem import CNF, Latin, Sudoku
from dibs.problem.structure import Level
from dibs.search.options import Options, Tie

Bools = NDArray[np.bool_]

LEVEL: dict[str, Level] = {"cnf": "naked", "latin": "hidden", "sudoku": "hidden"}  # as policy `auto` has it
TIES: tuple[Tie, ...] = ("index", "index", "random", "impact")  # of the searches whose states are taken
WALKS = 3  # solutions of an instance that are walked to
DEEPER = 8  # states of a walk in a grid that are taken, besides the root
NODES = 6_000  # of a search for a solution of a grid: one that takes longer goes without
FAMILY = 4  # solutions of a grid that come from one search: the others keep a random part of its values


@dataclass(frozen=True)
class ManySolutions:
    """States of many instances; the first `held` are of instances that are held out for validation."""

    family: str
    states: Sequence[Labelled]
    held: int
    kinds: tuple[str, ...] = KINDS  # of groups
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
    """The states of `data`'s formulas, Latin squares or Sudokus; they depend on the seed only."""
    states: list[State] = []
    assert data.many_solutions is not None
    family, wanted = data.many_solutions
    what = {"cnf": "formulas", "latin": "squares", "sudoku": "Sudokus"}[family]
    held, last = 0, round(wanted * data.held)
    for number in range(wanted):
        states += states_of(data, number)
        if number + 1 == last:
            held = len(states)
        progress(what, number + 1, wanted)
    return ManySolutions(family, states, held)


def instance_of(data: Data, rng: np.random.Generator) -> CNF | Latin | Sudoku:
    """One instance of the kind that `data` asks for."""
    if data.formulas:
        least, most = np.log(data.variables)
        variables = round(float(np.exp(rng.uniform(least, most))))
        return next(sat(1, variables=variables, satisfiable=True, distinct=True, seed=int(rng.integers(2**40))))
    if data.squares:
        order, holes = int(rng.integers(data.orders[0], data.orders[1] + 1)), float(rng.uniform(*data.holes))
        balanced = bool(rng.random() < 0.75)
        return next(latin(1, order=order, holes=holes, balanced=balanced, seed=int(rng.integers(2**40))))
    side, holes = int(rng.integers(data.sides[0], data.sides[1] + 1)), float(rng.uniform(*data.holes))
    return next(iter(sudoku(1, box=(side, side), kept=1 - holes, seed=int(rng.integers(2**40)), workers=1)))


def states_of(data: Data, number: int) -> Iterator[State]:
    """The states on the ways to some solutions of one instance."""
    rng = np.random.default_rng(np.random.SeedSequence((data.seed, number)))
    instance = instance_of(data, rng)
    level = LEVEL[instance.structure.family]
    known = solutions(instance, level, data.solutions, int(rng.integers(2**40)))
    groups = groups_of(instance.structure)
    for solution in known[rng.permutation(len(known))[:WALKS]]:
        tie = TIES[rng.integers(len(TIES))]
        walk = list(_walk(instance, level, solution, tie, int(rng.integers(2**40))))
        if not data.formulas and len(walk) > DEEPER:
            walk = [walk[0], *(walk[i] for i in rng.choice(np.arange(1, len(walk)), DEEPER, replace=False))]
        for open_, true, candidates in walk:
            agreeing = known[~(true & ~known).any(axis=1)]
            target = agreeing[:, open_].mean(axis=0, dtype=np.float32)
            yield State(reduced(groups, open_, true), candidates[open_], target)


def solutions(instance: CNF | Latin | Sudoku, level: Level, count: int, seed: int) -> Bools:
    """[k, L] different solutions, at most `count`, from searches with random orders.

    For a grid a search can be long: each solution that is found leads to others, which keep a part of its values.
    """
    from dibs.search.tree.search import TreeSearch

    how = Options(level=level, tie="impact", order="random", seed=seed)
    if isinstance(instance, CNF):
        engine = TreeSearch([instance] * count, how)
        engine.run()
        return _distinct(engine.true())
    rng = np.random.default_rng(seed)
    grids = [instance] * -(-count // FAMILY)
    found = []
    for _ in range(FAMILY):
        values = _solved(grids, seed)
        found.append(truth(instance.shape, values))
        if not len(values):
            break
        grids = [_partly(instance, one, rng) for one in values]
    return _distinct(np.concatenate(found))[:count]


def _solved(grids: Sequence[Latin | Sudoku], seed: int) -> NDArray[np.uint8]:
    """[k, cells] solutions of those grids for which one is found soon enough, with values in a random order."""
    from dibs.solving import solve_together

    outcomes = solve_together(grids, strategy="nogoods", order="random", restart_base=256, max_nodes=NODES, seed=seed)
    lines = [one.solution for one in outcomes if one.solution is not None]
    read = [Sudoku.parse(line, grids[0].shape.box) if grids[0].shape.box else Latin.parse(line) for line in lines]
    return np.array([grid.values for grid in read], np.uint8).reshape(len(read), -1)


def _distinct(true: Bools) -> Bools:
    """The rows [k, L] without those that are empty, once each."""
    found: Bools = np.unique(true, axis=0)
    return found[found.any(axis=1)]


def _partly(instance: Latin | Sudoku, values: NDArray[np.uint8], rng: np.random.Generator) -> Latin | Sudoku:
    """The instance with a random part of its holes filled as in the solution `values` [cells]."""
    filled = (instance.values > 0) | (rng.random(len(values)) < rng.uniform(0.1, 0.4))
    return type(instance)._of(instance.shape, np.where(filled, values, 0).astype(np.uint8))


def _walk(
    instance: CNF | Latin | Sudoku, level: Level, solution: Bools, tie: Tie, seed: int
) -> Iterator[tuple[Bools, Bools, Bools]]:
    """(open, true, candidates) [L] of every state that a search branches on if it is told the solution."""
    from dibs.search.tree.search import TreeSearch

    engine = TreeSearch([instance], Options(level=level, tie=tie, seed=seed), guided=True)
    while asks := engine.advance():
        yield asks.open[0].copy(), asks.true[0].copy(), asks.candidates[0].copy()
        engine.answer(asks, solution[None])
