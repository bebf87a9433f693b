"""Sudokus of any size: a random full grid, from which clues go while the solution stays unique, or just at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Values
from dibs.generate.check import engine_of, uniqueness
from dibs.generate.digging import Digging
from dibs.generate.parallel import in_order
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.sudoku import Sudoku, check_box
from dibs.search.contract import Asks, Guide

Places = NDArray[np.int64]

LARGEST = 25
FEWEST = 18  # 17-clue puzzles are the test set of the learned guides: they come from `low_clue` only
REACHED = 21  # the fewest givens that digging into a random 9x9 grid reaches in reasonable time
ATTEMPTS = 200  # grids that are tried for one puzzle of a size whose reach we do not know
NODES = 3_000  # of one uniqueness check beyond 9x9: a clue that needs more to be judged is kept
NODES_MINIMAL = 300_000


@dataclass(frozen=True)
class _Wish:
    """What every puzzle of one call is to be."""

    shape: Shape
    low: int
    high: int
    minimal: bool
    symmetric: bool
    seed: int

    @property
    def nodes(self) -> int:
        return NODES_MINIMAL if self.minimal else NODES

    @property
    def attempts(self) -> int:
        return 10**9 if self.shape.size == 9 else ATTEMPTS


def sudoku(
    count: int,
    *,
    box: Box = (3, 3),
    givens: tuple[int, int] | None = None,
    minimal: bool = False,
    symmetric: bool = False,
    kept: int | float | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Iterator[Sudoku]:
    """Sudokus with one solution each (unless `kept`); puzzle i depends on the seed, i and the options only.

    Args:
        count: how many.
        box: rows and columns of a box; 25x25 is the largest size, with `kept` 36x36.
        givens: (least, most) clues. The number is drawn from the range and digging stops there; a grid that cannot be
            dug into the range is dropped. By default clues are dug out as long as any can go.
        minimal: no clue can be left out. Above 9x9 a grid where this is not proven within 300,000 nodes for each clue
            is dropped. Without it, puzzles above 9x9 keep a clue that 3,000 nodes do not judge, so they have one
            solution but may be a few clues from minimal.
        symmetric: the pattern of clues is symmetric under a half turn, clues go in pairs, and `minimal` means that no
            pair (nor the centre) can be left out; one clue of a pair might.
        kept: so many cells of a full grid stay, the others are blanked, at random: a number of cells (a whole
            number), or a fraction of them (0.0 < kept <= 1.0). Such a puzzle can be completed, in one way or in many.
            With the same seed a puzzle that keeps fewer cells is a part of one that keeps more; kept = 1.0 gives the
            full grids. It goes without `givens`, `minimal` and `symmetric`.
        seed: the same seed, the same instances.
        workers: processes.

    Returns:
        An iterator of puzzles.

    Examples:
        >>> from dibs.generate import sudoku
        >>> [puzzle] = sudoku(1, seed=1)
        >>> puzzle.structure.family
        'sudoku'
    """
    check_count(count)
    box = check_box(box)
    of = shape(box[0] * box[1], box)
    if kept is not None:
        if givens is not None or minimal or symmetric:
            raise ValueError(f"kept = {kept}: cells are kept at random, so without givens, minimal and symmetric")
        stay = _stay(of, kept)
        return in_order(lambda numbers: _thinned(of, stay, seed, numbers), count, 16, workers)
    if of.size > LARGEST:
        raise ValueError(f"{of.size}x{of.size}: the largest size is {LARGEST}x{LARGEST}, with kept 36x36")
    low, high = givens or (0, of.cells)
    if not 0 <= low <= high <= of.cells:
        raise ValueError(f"givens = {givens}: a range from least to most within 0..{of.cells}")
    if of.size == 9 and high < REACHED:
        raise ValueError(
            f"givens = {givens}: digging reaches {REACHED} givens at the least; "
            "for fewer use low_clue (dibs generate low-clue), which searches"
        )
    wish = _Wish(of, low, high, minimal, symmetric, seed)
    batch = 256 if of.size <= 9 else 4 if of.size <= 16 else 1  # a large one is handed over when it is made
    return in_order(lambda numbers: _batch(wish, numbers), count, batch, workers)


def check_count(count: int) -> None:
    if count < 0:
        raise ValueError(f"count = {count}: it must be 0 or more")


def _stay(of: Shape, kept: int | float) -> int:
    """The number of cells that are kept, checked."""
    if isinstance(kept, float):
        if not 0 < kept <= 1:
            raise ValueError(f"kept = {kept}: a fraction must be above 0 and at most 1")
        return round(kept * of.cells)
    if not 0 <= kept <= of.cells:
        raise ValueError(f"kept = {kept}: a {of.size}x{of.size} grid has 0..{of.cells} cells to keep")
    return kept


def _thinned(of: Shape, stay: int, seed: int, numbers: Sequence[int]) -> list[Sudoku]:
    """The puzzles with these numbers that keep `stay` cells."""
    random = [np.random.default_rng(np.random.SeedSequence((seed, i))) for i in numbers]
    puzzles = mixed_grids(of, random)
    for puzzle, rng in zip(puzzles, random, strict=True):
        puzzle[rng.permutation(of.cells)[stay:]] = 0
    return [Sudoku._of(of, puzzle) for puzzle in puzzles]


def _batch(wish: _Wish, numbers: Sequence[int]) -> list[Sudoku]:
    """The puzzles with these numbers, in lockstep: each round is one engine over all that are not finished."""
    random = [np.random.default_rng(np.random.SeedSequence((wish.seed, i))) for i in numbers]
    done: dict[int, Values] = {}
    waiting = list(range(len(numbers)))
    attempt = 0
    while waiting:
        attempt += 1
        if attempt > wish.attempts:
            raise ValueError(
                f"givens = ({wish.low}, {wish.high}): none of {wish.attempts} grids could be dug into this range"
                + (" and proven minimal" if wish.minimal else "")
                + "; ask for more givens (9x9 puzzles with few: low_clue)"
            )
        chosen = [random[i] for i in waiting]
        for i, puzzle in zip(waiting, _dig(wish, full_grids(wish.shape, chosen), chosen), strict=True):
            if puzzle is not None:
                done[i] = puzzle
        waiting = [i for i in waiting if i not in done]
    return [Sudoku._of(wish.shape, done[i]) for i in range(len(numbers))]


class _Scores(Guide):
    """A guide that ranks by random numbers, drawn from each search's own generator: the seed alone decides the grid."""

    static = True

    def __init__(self, random: Sequence[np.random.Generator]) -> None:
        self.random = random

    def rank(self, asks: Asks) -> NDArray[np.float32]:
        literals = asks.structure.literals
        return np.stack([self.random[row].random(literals, np.float32) for row in asks.rows.tolist()])


def full_grids(of: Shape, random: Sequence[np.random.Generator]) -> Values:
    """[k, cells] a random full grid from each generator: a search over the empty grid, values in random order.

    A search that runs into a bad corner is given up and started anew, each time with twice the nodes.
    """
    grids = np.zeros((len(random), of.cells), np.uint8)
    waiting = np.arange(len(random))
    nodes = of.cells
    while len(waiting):
        engine = engine_of(of, grids[waiting], guided=True, max_nodes=nodes)
        engine.run(_Scores([random[i] for i in waiting.tolist()]))
        found = engine.counters.solutions > 0
        for row in np.flatnonzero(found).tolist():
            grids[waiting[row]] = engine.choices(row)[0] + 1
        waiting = waiting[~found]
        nodes *= 2
    return grids


def mixed_grids(of: Shape, random: Sequence[np.random.Generator]) -> Values:
    """[k, cells] full grids as `full_grids` finds them, then mixed by n^3 random switches of two rows or columns.

    A search has less freedom in the rows that it fills last: in a pair of rows of the last band it leaves 0.48 pairs of
    columns where the two hold the same two values, in the other bands 0.57 (400 grids 25x25, +- 0.013). After the walk,
    in all bands and stacks alike, there are 0.60, as many as in a grid that a walk of 10 n^3 switches from a pattern
    grid ends in. No switch is likelier than its reverse, so the walk prefers no grid among those it can reach.
    """
    from dibs.generate.loops import mix_grid

    assert of.box is not None
    grids = full_grids(of, random)
    for grid, rng in zip(grids, random, strict=True):
        mix_grid(grid, *of.box, int(rng.integers(2**62)), of.size**3)
    return grids


def _diggings(wish: _Wish, grids: Values, orders: Places) -> list[Digging]:
    """Of each of `grids` [k, cells] above 9x9 a search that is asked about its clues in this order."""
    if wish.shape.size <= 9:
        return []
    last = wish.shape.cells - 1
    order = [[cell for one in row for cell in _pair(one, last)] if wish.symmetric else row for row in orders.tolist()]
    return [Digging(wish.shape, grid, row, wish.nodes) for grid, row in zip(grids, order, strict=True)]


def _pair(one: int, last: int) -> list[int]:
    """A cell and the one opposite, if that is another."""
    return list({one, last - one})


def _dig(wish: _Wish, grids: Values, random: Sequence[np.random.Generator]) -> list[Values | None]:
    """Dig each of `grids` [k, cells] in its own random order; None where it does not end as wished."""
    cells, rows = wish.shape.cells, len(grids)
    spots = (cells + 1) // 2 if wish.symmetric else cells
    orders = np.stack([rng.permutation(spots) for rng in random])
    # A minimal puzzle is dug to the end; the others stop at a number drawn from the range.
    target = np.array([0 if wish.minimal else rng.integers(wish.low, wish.high + 1) for rng in random])
    if wish.low == 0 and wish.high == cells:
        target[:] = 0
    if wish.shape.size == 9:
        target = np.maximum(target, FEWEST)
    puzzles = grids.copy()
    digging = _diggings(wish, grids, orders)
    proven = np.ones(rows, bool)
    kept = np.zeros(rows, np.int64)  # clues known to be needed: more than the range allows ends the attempt
    for turn in range(spots):
        spot = orders[:, turn]
        mirror = cells - 1 - spot if wish.symmetric else spot
        size = np.where(mirror == spot, 1, 2)
        hopeful = (proven | (not wish.minimal)) & (kept <= wish.high)
        alive = np.flatnonzero(hopeful & (np.count_nonzero(puzzles, axis=1) - size >= target))
        if not len(alive):
            break
        trial = puzzles[alive]
        trial[np.arange(len(alive)), spot[alive]] = 0
        trial[np.arange(len(alive)), mirror[alive]] = 0
        if digging:
            lost = (_pair(one, cells - 1) if wish.symmetric else [one] for one in spot[alive].tolist())
            answer = np.array([digging[row].without(out) for row, out in zip(alive.tolist(), lost, strict=True)])
        else:
            answer = uniqueness(wish.shape, trial)
        puzzles[alive[answer == 1]] = trial[answer == 1]
        kept[alive[answer != 1]] += size[alive[answer != 1]]
        proven[alive[answer < 0]] = False
    left = np.count_nonzero(puzzles, axis=1)
    right = (left >= wish.low) & (left <= wish.high) & (proven | (not wish.minimal))
    if wish.shape.size == 9:
        right &= left >= FEWEST
    return [puzzle if ok else None for puzzle, ok in zip(puzzles, right, strict=True)]
