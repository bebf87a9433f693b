"""The families that guides which come with dibs have learned, or may learn: one instance for each seed.

dibs train dibs.generate.shipped:latin --minutes 20 --out runs/latin
"""

from __future__ import annotations

import lzma
from functools import cache
from importlib.resources import files

import numpy as np

from dibs.generate import squares, sudokus
from dibs.generate.formulas import sat as random_sat
from dibs.problem import CNF, Latin, Sudoku

PLACES = 2**40  # seeds of the generators


def latin(seed: int) -> Latin:
    """Latin squares of order 14 to 30 with 36 to 46 % holes, around the peak; three quarters of them balanced."""
    rng = np.random.default_rng((seed, 1))
    order, holes, balanced = int(rng.integers(14, 31)), float(rng.uniform(0.36, 0.46)), bool(rng.random() < 0.75)
    return next(squares.latin(1, order=order, holes=holes, balanced=balanced, seed=int(rng.integers(PLACES))))


def small_sudoku(seed: int) -> Sudoku:
    """9x9 Sudokus with more than 17 givens: two in five are minimal, the others are of the list `doubted`."""
    rng = np.random.default_rng((seed, 4))
    easy, place = bool(rng.random() < 0.4), int(rng.integers(PLACES))
    if easy:
        return next(iter(sudokus.sudoku(1, minimal=True, seed=place, workers=1)))
    puzzles = doubted()
    return Sudoku.parse(puzzles[place % len(puzzles)])


@cache
def doubted() -> list[str]:
    """The list of 9x9 puzzles that earlier guides doubted (`dibs generate doubted`), which comes with dibs."""
    with lzma.open(str(files("dibs") / "data" / "doubted.txt.xz"), "rt") as lines:
        return [line.strip() for line in lines if not line.startswith("#")]


def large_sudoku(seed: int) -> Sudoku:
    """Sudokus of 16x16 and 25x25 of which 38 to 52 % of the cells are given, around the peak."""
    rng = np.random.default_rng((seed, 2))
    side, kept = int(rng.integers(4, 6)), float(rng.uniform(0.38, 0.52))
    return next(iter(sudokus.sudoku(1, box=(side, side), kept=kept, seed=int(rng.integers(PLACES)), workers=1)))


def sat(seed: int) -> CNF:
    """Satisfiable random 3-SAT formulas at the threshold with 5 to 200 variables, evenly on a log scale."""
    rng = np.random.default_rng((seed, 3))
    variables = round(float(np.exp(rng.uniform(np.log(5), np.log(200)))))
    return next(random_sat(1, variables=variables, satisfiable=True, distinct=True, seed=int(rng.integers(PLACES))))
