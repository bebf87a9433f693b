"""Minimal 9x9 puzzles that a guide is unsure of: what it should be trained on next.

A search for puzzles that cost many nodes ends in few families, and a network soon knows them. What it does not know is
found by asking it: every random puzzle that it doubts is bred for a few steps, and its family is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from dibs.dtypes import Floats, Values
from dibs.generate.canonical import NINE, canonical_forms, nine, shuffled
from dibs.generate.check import engine_of
from dibs.generate.moves import beginning, completions, reduced, rests
from dibs.generate.sudokus import FEWEST, check_count, sudoku
from dibs.guide.steps import LogProbabilities
from dibs.problem.sudoku import Sudoku

LITTER = 4096  # random puzzles that one round begins with
COSTLY = 320  # of these, the ones that cost most nodes are shown to the guide
BRED = 384  # of these, the ones that it doubts most begin a family; all families together breed so many times
RESTS = 10  # ways of taking clues away from a parent that one step looks at
TRIED = 20  # children of a parent that are shown to the guide: those that cost most
KEPT = 4  # of these, the ones that it doubts most are made minimal
HARVEST = 12  # puzzles taken from one family: more would be ever closer relatives


def doubted(
    count: int,
    denoiser: LogProbabilities,
    *,
    doubt: float = 0.5,
    steps: int = 8,
    start: Iterable[Sudoku] = (),
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sudoku]:
    """Essentially different minimal 9x9 puzzles of which a guide knows little.

    Puzzles have 18 clues or more; up to 12 in a row are relatives. The guide is asked about the image that is handed
    out, so that one that knows places has doubts there as well.

    Args:
        count: how many.
        denoiser: anything with `log_probabilities`.
        doubt: at least so much: -log of the probability that the guide gives to the solution of the puzzle after
            hidden singles, a cell at a time and divided by 81; 0 for a guide that is right and sure of all cells.
        steps: how often a family breeds, 1 to 384. The more, the fewer families, and the more doubt.
        start: what families begin with, in place of random puzzles; these are never handed out themselves. Where
            random ones lead to nothing that the guide doubts, as with one that tries each value, they take it there.
        seed: the same seed, the same instances.
        progress: called after every step with the number of puzzles that were looked at.

    Returns:
        An iterator of puzzles.
    """
    check_count(count)
    if not 0 < doubt < np.inf:  # nan is neither
        raise ValueError(f"doubt = {doubt:g}: it must be a number above 0")
    if not 1 <= steps <= BRED:
        raise ValueError(f"steps = {steps}: it must be 1 to {BRED}")
    begin = beginning(start)
    if len(few := np.flatnonzero(np.count_nonzero(begin, axis=1) < FEWEST)):
        raise ValueError(f"start puzzle {few[0] + 1} has 17 givens: such puzzles are for testing guides only")
    return _search(count, denoiser, doubt, steps, begin, seed, progress or (lambda examined: None))


def _search(
    count: int,
    denoiser: LogProbabilities,
    doubt: float,
    steps: int,
    start: Values,
    seed: int,
    progress: Callable[[int], None],
) -> Iterator[Sudoku]:
    known = set(canonical_forms(start))  # and of what was handed out
    turn = examined = 0
    while count > 0:
        rng = np.random.default_rng(np.random.SeedSequence((seed, turn)))
        turn += 1
        if len(start):
            litter = rng.permutation(start)[: BRED // steps]
            examined += len(litter)
        else:
            litter = _costliest(nine(sudoku(LITTER, minimal=True, seed=int(rng.integers(2**62)), workers=1)), COSTLY)
            examined += LITTER
        doubts = doubts_of(denoiser, litter)
        families = [_Family(litter[i], doubts[i]) for i in np.argsort(-doubts, kind="stable")[: BRED // steps]]
        progress(examined)
        for _ in range(steps):
            examined += _breed(families, denoiser, rng)
            progress(examined)
        for family in families:
            good = np.array([p for value, p in family.puzzles if value >= doubt][:HARVEST], np.uint8).reshape(-1, 81)
            images = shuffled(good, rng)
            for form, puzzle, value in zip(canonical_forms(good), images, doubts_of(denoiser, images), strict=True):
                if value < doubt or form in known:
                    continue
                known.add(form)
                assert np.count_nonzero(puzzle) >= FEWEST
                yield Sudoku._of(NINE, puzzle)
                count -= 1
                if count == 0:
                    return


class _Family:
    """A puzzle and its descendants, the most doubted first."""

    def __init__(self, puzzle: Values, doubt: float) -> None:
        self.puzzles = [(doubt, puzzle)]
        self.met = {puzzle.tobytes()}

    def parent(self, rng: np.random.Generator) -> Values:
        """One of the three most doubted."""
        return self.puzzles[int(rng.integers(min(3, len(self.puzzles))))][1]

    def fresh(self, puzzles: Values) -> Values:
        """Those of `puzzles` [k, 81] that were not met before and may be kept."""
        found = [p for p in puzzles if np.count_nonzero(p) >= FEWEST and p.tobytes() not in self.met]
        return np.array(found, np.uint8).reshape(-1, 81)

    def add(self, puzzles: Values, doubts: Floats) -> None:
        self.met |= {puzzle.tobytes() for puzzle in puzzles}
        self.puzzles += zip(doubts.tolist(), puzzles, strict=True)
        self.puzzles.sort(key=lambda pair: -pair[0])


def _breed(families: list[_Family], denoiser: LogProbabilities, rng: np.random.Generator) -> int:
    """One step of each family, together: the guide sees the children of all in one batch. How many it was shown."""
    young: list[Values] = []
    for family in families:
        children = np.concatenate(completions(rests(family.parent(rng), RESTS, rng), 1))
        young.append(_costliest(family.fresh(children), TRIED))
    shown = np.concatenate(young)
    doubts = np.split(doubts_of(denoiser, shown), np.cumsum([len(some) for some in young])[:-1])
    for i, family in enumerate(families):
        chosen = young[i][np.argsort(-doubts[i], kind="stable")[:KEPT]]
        young[i] = family.fresh(np.unique(reduced(chosen, rng), axis=0)) if len(chosen) else chosen
    doubts = np.split(doubts_of(denoiser, np.concatenate(young)), np.cumsum([len(some) for some in young])[:-1])
    for i, family in enumerate(families):
        family.add(young[i], doubts[i])
    return len(shown)


def _costliest(puzzles: Values, most: int) -> Values:
    """[at most `most`, 81] those with 18 clues or more that cost most nodes with hidden singles: few doubt others."""
    puzzles = puzzles[np.count_nonzero(puzzles, axis=1) >= FEWEST]
    if len(puzzles) <= most:
        return puzzles
    engine = engine_of(NINE, puzzles, tie="degree")
    engine.run()
    costliest: Values = puzzles[np.argsort(-engine.counters.nodes, kind="stable")[:most]]
    return costliest


def doubts_of(denoiser: LogProbabilities, puzzles: Values) -> Floats:
    """[k] the doubt (see `doubted`) in each of `puzzles` [k, 81]; 0 where hidden singles leave nothing open."""
    found = np.zeros(len(puzzles))
    if not len(puzzles):
        return found
    engine = engine_of(NINE, puzzles)
    engine.run()
    true = engine.true()
    asks = engine_of(NINE, puzzles, guided=True).advance()
    if asks is not None:
        log_p = denoiser.log_probabilities(NINE.structure, asks.open, asks.true)
        right = asks.open & true[asks.rows]
        found[asks.rows] = -np.where(right, log_p, 0).sum(axis=1) / NINE.cells
    return found
