"""9x9 puzzles with few givens, by local search: take k clues away, put k - 1 or k others in, keep one solution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from dibs.dtypes import Values
from dibs.generate.canonical import NINE, canonical_forms, nine
from dibs.generate.moves import beginning, completions, reduced, subsets, without
from dibs.generate.sudokus import check_count, sudoku
from dibs.problem.sudoku import Sudoku

FEWEST = 17  # no puzzle with 16 clues has one solution (McGuire, Tugemann and Civario 2012)
# Moves (clues taken away, clues put in) of a puzzle above the wanted number, and of one that has reached it.
DOWN = ((2, 1), (1, 1), (3, 2), (2, 2))
ACROSS = ((1, 1), (1, 2), (2, 2))  # one more clue on the way: near a puzzle with 17 there are often others
RESTS = {1: 16, 2: 4}  # by clues put in: rests that one step looks at
SUBSETS = 400  # of one size that are tried for one puzzle
BREADTH = 6  # new puzzles that one step keeps above the wanted number, and ten times as many next to a wanted one
EAGER = 7  # steps of a wanted puzzle before others get a turn: all its moves that take one clue away
PATIENCE = 300  # steps without a smaller puzzle before a generated start is dropped


def low_clue(
    count: int,
    *,
    givens: int = 17,
    start: Iterable[Sudoku] = (),
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sudoku]:
    """Essentially different 9x9 puzzles with few clues, each minimal with one solution.

    From generated puzzles 20 givens take a second, 19 some seconds, 18 some seconds to minutes; 17 take minutes to
    hours until the first cluster of them is met, which then gives many at once.

    Args:
        count: how many.
        givens: at most so many.
        start: where the search begins; these are never handed out themselves. When they lead nowhere, or there are
            none, at generated ones.
        seed: the same seed, the same instances.
        progress: called after every step with the number of puzzles that were looked at.

    Returns:
        An iterator of puzzles.
    """
    check_count(count)
    if not FEWEST <= givens <= 81:
        raise ValueError(f"givens = {givens}: no Sudoku with fewer than {FEWEST} clues has one solution")
    return _search(count, givens, beginning(start), seed, progress or (lambda examined: None))


def _search(count: int, givens: int, start: Values, seed: int, progress: Callable[[int], None]) -> Iterator[Sudoku]:
    rng = np.random.default_rng(np.random.SeedSequence((seed, 17)))
    known = set(canonical_forms(start))
    fresh = 0  # generated starts so far
    examined = 0
    while count > 0:
        pool = _Pool(givens, rng, known)
        if len(start):
            pool.take(start)
            start = start[:0]
        else:
            grown = sudoku(
                1, minimal=True, seed=int(np.random.SeedSequence((seed, fresh)).generate_state(1)[0]), workers=1
            )
            pool.take(nine(grown))
            fresh += 1
        while pool.heap and pool.idle < pool.patience:
            for puzzle in pool.step():
                yield Sudoku._of(NINE, puzzle)
                count -= 1
                if count == 0:
                    return
            progress(examined + pool.examined)
        examined += pool.examined


@dataclass(order=True)
class _Node:
    """A puzzle and the moves that it has left; the pool takes the one with the least rank, then the least tried."""

    rank: int  # its givens; a wanted puzzle whose cheap moves are done goes behind the fresh ones with one clue more
    tried: int  # steps taken from it
    number: int  # in order of discovery
    puzzle: Values = field(compare=False)
    moves: Iterator[tuple[Values, int]] = field(compare=False)


class _Pool:
    """Puzzles that one start has led to."""

    def __init__(self, wanted: int, rng: np.random.Generator, known: set[bytes]) -> None:
        self.wanted = wanted
        self.rng = rng
        self.known = known  # canonical forms of all that were ever met, over all pools
        self.heap: list[_Node] = []
        self.least = 82
        self.idle = 0  # steps since `least` went down or a wanted puzzle was found
        self.number = 0
        self.examined = 0

    @property
    def patience(self) -> int:
        """Steps without progress that are worth waiting: more, the nearer it is."""
        return 10 * PATIENCE if self.least <= self.wanted + 1 else PATIENCE

    def take(self, puzzles: Values) -> None:
        for puzzle in puzzles:
            size = int(np.count_nonzero(puzzle))
            self.number += 1
            heappush(self.heap, _Node(size, 0, self.number, puzzle, self.moves(puzzle)))
            if size < self.least or size <= self.wanted:
                self.least, self.idle = min(size, self.least), 0

    def moves(self, puzzle: Values) -> Iterator[tuple[Values, int]]:
        """(rests [k, 81], clues to put in), small moves first, in random order within one size."""
        given = np.flatnonzero(puzzle)
        for take, put in ACROSS if len(given) <= self.wanted else DOWN:
            removed = self.rng.permutation(subsets(given, take))[:SUBSETS]
            for i in range(0, len(removed), RESTS[put]):
                yield without(puzzle, removed[i : i + RESTS[put]]), put

    def step(self) -> list[Values]:
        """One batch of moves from the best puzzle; new puzzles within the wanted number."""
        node = heappop(self.heap)
        move = next(node.moves, None)
        if move is None:
            return []
        wanted = np.count_nonzero(node.puzzle) <= self.wanted
        node.tried += 1
        if wanted and node.tried >= EAGER:
            node.rank = self.wanted + 1
        heappush(self.heap, node)
        self.idle += 1
        found = np.concatenate(completions(*move))
        self.examined += len(found)
        # The puzzle itself comes back too, with or without more clues.
        found = np.unique(found[((found != node.puzzle) & (node.puzzle > 0)).any(axis=1)], axis=0)
        if not len(found):
            return []
        if np.count_nonzero(found[0]) > self.wanted:
            found = self.rng.permutation(found)[: BREADTH * (10 if wanted else 1)]
        found = reduced(found, self.rng)
        fresh = []
        for puzzle, form in zip(found, canonical_forms(found), strict=True):
            if form not in self.known:
                self.known.add(form)
                fresh.append(puzzle)
        self.take(np.array(fresh, np.uint8).reshape(-1, 81))
        return [puzzle for puzzle in fresh if np.count_nonzero(puzzle) <= self.wanted]
