"""Hard minimal 9x9 puzzles, by local search for the cost of solving them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Values
from dibs.generate.canonical import NINE, canonical_forms, nine, shuffled
from dibs.generate.check import engine_of
from dibs.generate.moves import completions, reduced, rests
from dibs.generate.sudokus import FEWEST, check_count, sudoku
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku

SIZE = 24  # puzzles in one population
RESTS = 12  # ways of taking clues away from a parent that one step looks at
TRIED = 120  # children whose cost is looked at once
KEPT = 6  # of these, the hardest are made minimal and measured
IMAGES = 8  # images under random symmetries that one measurement takes the mean of
PROOF = 24  # fresh images that a puzzle is judged by before it is handed out
HARVEST = 60  # puzzles taken from one population: more would be ever closer relatives
PATIENCE = 250  # steps without a new hard puzzle before a population is dropped


def hard(
    count: int,
    *,
    nodes: float = 60,
    level: Level = "hidden",
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sudoku]:
    """Essentially different minimal 9x9 puzzles that cost many nodes.

    The cost is the mean over 24 random images of the puzzle under the symmetries of Sudoku, so that it is no accident
    of the order of cells and digits; it varies a lot from image to image. Puzzles have 18 clues or more; up to 60 in
    a row are relatives.

    Args:
        count: how many.
        nodes: at least so many.
        level: of propagation.
        seed: the same seed, the same instances.
        progress: called after every step with the number of puzzles that were looked at.

    Returns:
        An iterator of puzzles.
    """
    check_count(count)
    return _search(count, nodes, level, seed, progress or (lambda examined: None))


def _search(count: int, nodes: float, level: Level, seed: int, progress: Callable[[int], None]) -> Iterator[Sudoku]:
    known: set[bytes] = set()  # canonical forms of what was handed out
    # Relatives lie the same way; a random image of each keeps a list from sharing one lucky order of cells.
    images = np.random.default_rng(np.random.SeedSequence((seed, 0, 1)))
    turn = examined = 0
    while count > 0:
        herd = _Population(level, np.random.SeedSequence((seed, turn)))
        turn += 1
        taken = 0
        while taken < HARVEST and herd.idle < PATIENCE:
            for puzzle in herd.step(nodes):
                form = canonical_forms(puzzle[None])[0]
                if form in known:
                    continue
                known.add(form)
                assert np.count_nonzero(puzzle) >= FEWEST
                herd.idle = 0
                yield Sudoku._of(NINE, shuffled(puzzle[None], images)[0])
                taken += 1
                count -= 1
                if count == 0:
                    return
            progress(examined + herd.examined)
        examined += herd.examined


class _Population:
    """Puzzles that breed: a parent loses a clue and gets another; the hardest children oust the easiest puzzles."""

    def __init__(self, level: Level, seed: np.random.SeedSequence) -> None:
        self.level = level
        self.rng = np.random.default_rng(seed)
        grown = sudoku(SIZE, minimal=True, seed=int(seed.generate_state(1)[0]), workers=1)
        self.puzzles = nine(grown)
        self.cost = self.measure(self.puzzles, IMAGES)
        self.weight = np.ones(SIZE)  # measurements that stand behind each cost
        self.met = {puzzle.tobytes() for puzzle in self.puzzles}
        self.examined = SIZE
        self.idle = 0

    def measure(self, puzzles: Values, images: int) -> NDArray[np.float64]:
        """[k] mean nodes over random images of `puzzles` [k, 81]."""
        engine = engine_of(NINE, shuffled(np.repeat(puzzles, images, axis=0), self.rng), level=self.level)
        engine.run()
        mean: NDArray[np.float64] = engine.counters.nodes.reshape(-1, images).mean(axis=1)
        return mean

    def step(self, nodes: float) -> list[Values]:
        """Breed once; the children that cost `nodes` or more."""
        self.idle += 1
        drawn = self.rng.integers(SIZE, size=3)
        parent = int(drawn[self.cost[drawn].argmax()])
        self.judge_again(parent)
        children = self.children(self.puzzles[parent])
        if not len(children):
            return []
        cost = self.measure(children, IMAGES)
        found = []
        for child, value in zip(children, cost, strict=True):
            easiest = int(self.cost.argmin())
            if value > self.cost[easiest]:
                self.puzzles[easiest], self.cost[easiest], self.weight[easiest] = child, value, 1
            # A high cost is partly luck, so that a fresh measurement decides.
            if value >= nodes and self.measure(child[None], PROOF)[0] >= nodes:
                found.append(child)
        return found

    def judge_again(self, place: int) -> None:
        """One more measurement: without it the luckiest cost would rule the population."""
        again = self.measure(self.puzzles[place : place + 1], IMAGES)[0]
        self.weight[place] += 1
        self.cost[place] += (again - self.cost[place]) / self.weight[place]

    def children(self, parent: Values) -> Values:
        """[k, 81] minimal puzzles, at most KEPT, that differ from `parent` [81] in one clue or a few."""
        young = np.concatenate(completions(rests(parent, RESTS, self.rng), 1))
        young = np.array([child for child in young if child.tobytes() not in self.met], np.uint8).reshape(-1, 81)
        if not len(young):
            return young
        young = self.rng.permutation(young)[:TRIED]
        self.examined += len(young)
        hardest = np.argsort(-self.measure(young, 1), kind="stable")[:KEPT]
        young = reduced(young[hardest], self.rng)
        fresh = {child.tobytes(): child for child in young if np.count_nonzero(child) >= FEWEST}
        chosen = [child for form, child in fresh.items() if form not in self.met]
        self.met |= fresh.keys()
        return np.array(chosen, np.uint8).reshape(-1, 81)
