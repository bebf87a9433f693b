"""Moves between 9x9 puzzles with one solution: take clues away, put others in.

What can be put in is found without trying it all. Let X be solutions of what is left. One or two new clues give a
puzzle with one solution if and only if exactly one solution holds them all; so whatever two members of X hold together
is out. If X is complete, the count in X decides. If there are too many solutions to list, every candidate that X leaves
is searched for two solutions, and those that the searches find join X and rule out other candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Values
from dibs.generate.canonical import NINE, nine
from dibs.generate.check import engine_of, solved, uniqueness
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku

if TYPE_CHECKING:
    from dibs.search.root import Root

Cells = NDArray[np.int64]

LISTED = {1: 32, 2: 512}  # by clues put in: solutions of the rest that are listed at first
CHECKED = 96  # candidates that are searched between two counts
DEAD, PROVEN = 2, 3  # entries of the tables; 0 and 1 count the solutions seen


def beginning(start: Iterable[Sudoku]) -> Values:
    """[k, 81] what a search is told to begin with; ValueError names the first that is no puzzle."""
    found = nine(start)
    if len(wrong := np.flatnonzero(uniqueness(NINE, found) != 1)):
        raise ValueError(f"start puzzle {wrong[0] + 1} does not have exactly one solution")
    return found


def subsets(cells: Cells, size: int) -> Cells:
    """[k, size] all subsets of `cells`."""
    return np.array(list(combinations(cells.tolist(), size)), np.int64).reshape(-1, size)


def without(puzzle: Values, removed: Cells) -> Values:
    """[k, 81] copies of `puzzle` [81] without each row of cells of `removed` [k, r]."""
    rests = np.repeat(puzzle[None], len(removed), axis=0)
    np.put_along_axis(rests, removed, 0, axis=1)
    return rests


def rests(parent: Values, count: int, rng: np.random.Generator) -> Values:
    """[count, 81] `parent` [81] without one clue, or with two others replaced by one that its solution has."""
    given, free = np.flatnonzero(parent), np.flatnonzero(parent == 0)
    single = without(parent, rng.permutation(subsets(given, 1))[: count // 2])
    double = without(parent, rng.permutation(subsets(given, 2))[: count - count // 2])
    extra = rng.choice(free, len(double))
    double[np.arange(len(double)), extra] = solved(NINE, parent[None])[0][0, extra]
    return np.concatenate([single, double])


def completions(rests: Values, add: int) -> list[Values]:
    """For each of `rests` [k, 81] the puzzles [m, 81] with one solution that `add` = 1 or 2 more clues make, sorted.

    The clues that were just taken away are among them.
    """
    listed = LISTED[add]
    engine = engine_of(NINE, rests, max_solutions=listed, answers=listed)
    engine.run()
    tables = [_Table(rest, add) for rest in rests]
    for i, table in enumerate(tables):
        table.see(engine.choices(i))
        table.whole = engine.counters.solutions[i] < listed
    # The tables go on together, so that one engine serves the candidates of all.
    waiting = [table for table in tables if not table.whole]
    while waiting:
        chosen = [table.candidates(-(-CHECKED // len(waiting))) for table in waiting]
        engine = engine_of(NINE, np.concatenate([puzzles for _, puzzles in chosen]), max_solutions=2, answers=2)
        engine.run()
        solutions = engine.counters.solutions
        end = 0
        for table, (places, _) in zip(waiting, chosen, strict=True):
            begin, end = end, end + len(places)
            table.flat[places] = np.where(solutions[begin:end] == 1, PROVEN, DEAD)
            found = [engine.choices(row) for row in range(begin, end) if solutions[row]]
            if found:
                table.see(np.concatenate(found))
        waiting = [table for table in waiting if (table.flat < DEAD).any()]
    return [table.puzzles() for table in tables]


class _Table:
    """What is known of the clues, or pairs of clues, that could be put into one rest."""

    def __init__(self, rest: Values, add: int) -> None:
        self.rest = rest
        self.free = np.flatnonzero(rest == 0)
        self.add = add
        self.seen: set[bytes] = set()
        self.whole = False  # all solutions were listed
        if add == 1:
            self.table = (~_open(rest)[self.free]).ravel().astype(np.uint8) * np.uint8(DEAD)
        else:
            self.table = _impossible(rest, self.free)
        self.flat = self.table.reshape(-1)

    def see(self, solutions: Values) -> None:
        """Count those of `solutions` [s, 81] (digits 0..8) that were not met before: a search may find one again."""
        from dibs.generate.loops import tally_pair, tally_single

        fresh = {solution.tobytes() for solution in solutions} - self.seen
        self.seen |= fresh
        if fresh:
            grids = np.frombuffer(b"".join(fresh), np.uint8).reshape(-1, 81)
            (tally_single if self.add == 1 else tally_pair)(grids, self.free, self.table)

    def candidates(self, most: int) -> tuple[Cells, Values]:
        """At most `most` places of the table that are still open, and their puzzles [m, 81]."""
        open_ = np.flatnonzero(self.flat < DEAD)
        # Spread over the whole table: neighbours in it are likely to die by the same solutions.
        places = open_[:: max(1, -(-len(open_) // most))]
        return places, _filled(self.rest, self.free, places, self.add)

    def puzzles(self) -> Values:
        return _filled(self.rest, self.free, np.flatnonzero(self.flat == (1 if self.whole else PROVEN)), self.add)


def _impossible(rest: Values, free: Cells) -> Values:
    """[9 f, 9 f] DEAD where propagation shows that two literals exclude each other, and below the diagonal; else 0.

    Most pairs that no solution holds are found here, by one propagation for each literal.
    """
    literals = (9 * free[:, None] + np.arange(9)).ravel()
    table: Values = _lower()[np.ix_(literals, literals)]
    open_ = np.flatnonzero(_open(rest)[free].ravel())
    found = _roots(_filled(rest, free, open_, 1), "hidden")
    possible = np.zeros((len(literals), len(literals)), bool)
    possible[open_] = ((found.open | found.true) & found.consistent[:, None])[:, literals]
    table[~(possible & possible.T)] = DEAD
    return table


def _filled(rest: Values, free: Cells, at: Cells, add: int) -> Values:
    """[m, 81] `rest` with the literals that the table's places `at` [m] name."""
    puzzles = np.repeat(rest[None], len(at), axis=0)
    rows = np.arange(len(at))
    for literal in (at,) if add == 1 else np.divmod(at, 9 * len(free)):
        puzzles[rows, free[literal // 9]] = literal % 9 + 1
    return puzzles


@cache
def _lower() -> Values:
    """[729, 729] DEAD for literals of one cell and below the diagonal, so that each pair stands in the table once."""
    cell = np.arange(729) // 9
    lower: Values = (cell[:, None] >= cell[None]).astype(np.uint8) * np.uint8(DEAD)
    return lower


def _open(puzzle: Values) -> NDArray[np.bool_]:
    """[81, 9] literals of blank cells that no given of `puzzle` [81] rules out."""
    return _roots(puzzle[None], "eliminate").open.reshape(81, 9)


def _roots(puzzles: Values, level: Level) -> Root:
    """The roots of `puzzles` [k, 81]."""
    from dibs.search.root import settle

    true = puzzles[:, :, None] == np.arange(1, 10, dtype=np.uint8)
    return settle(NINE.structure, true.reshape(len(puzzles), -1), level)


def minimal(puzzles: Values) -> NDArray[np.bool_]:
    """[k] whether no clue of `puzzles` [k, 81], each with one solution, can be left out."""
    row, cell = puzzles.nonzero()
    shorter = puzzles[row]
    shorter[np.arange(len(row)), cell] = 0
    redundant = uniqueness(NINE, shorter) == 1
    needed: NDArray[np.bool_] = np.bincount(row, weights=redundant, minlength=len(puzzles)) == 0
    return needed


def reduced(puzzles: Values, rng: np.random.Generator) -> Values:
    """Minimal puzzles [k, 81] within `puzzles` [k, 81], each with one solution: clues go in random order."""
    puzzles = puzzles.copy()
    # Most are minimal already, which one batch shows; only the others are dug.
    for row in np.flatnonzero(~minimal(puzzles)):
        for cell in rng.permutation(np.flatnonzero(puzzles[row])):
            shorter = puzzles[row : row + 1].copy()
            shorter[0, cell] = 0
            if uniqueness(NINE, shorter)[0] == 1:
                puzzles[row] = shorter[0]
    return puzzles
