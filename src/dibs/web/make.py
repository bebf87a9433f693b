"""New puzzles and formulas for the page, by seed. Wishes that could take long are refused."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from dibs.generate import sat, sudoku
from dibs.problem import InputError
from dibs.problem.sudoku import default_box
from dibs.web import requests
from dibs.web.scheduling import Job

# The fewest givens that are found in a second or two, and how many a puzzle has if nobody says.
FEWEST = {4: 4, 6: 9, 8: 18, 9: 23, 10: 32, 12: 46, 14: 74, 15: 88, 16: 100}
USUAL = {4: 5, 6: 12, 8: 22, 9: 26, 10: 36, 12: 60, 14: 92, 15: 112, 16: 120}


def make(of: requests.Generate) -> Callable[[Job], dict[str, Any]]:
    """What makes the puzzle that is wished for; InputError where the wish is not granted.

    Making a puzzle cannot be put aside: it takes no core from searches, and the server makes one at a time.
    """
    wish = _wish(of)

    def work(job: Job) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        job.pause(lambda: found.append(wish()))
        job.check()
        return found[0]

    return work


def _wish(of: requests.Generate) -> Callable[[], dict[str, Any]]:
    seed = secrets.randbelow(2**31) if of.seed is None else of.seed
    if of.family == "cnf":
        return lambda: _formula(of, seed)
    size = of.size
    if size not in FEWEST:
        raise InputError(f"size = {size}: choose one of {', '.join(map(str, FEWEST))}")
    givens = USUAL[size] if of.givens is None else of.givens
    if not FEWEST[size] <= givens <= size * size:
        raise InputError(f"givens = {givens}: for {size}x{size} from {FEWEST[size]} to {size * size}")
    return lambda: _sudoku(size, givens, seed)


def _sudoku(size: int, givens: int, seed: int) -> dict[str, Any]:
    box = default_box(size)
    assert box is not None
    try:
        [puzzle] = sudoku(1, box=box, givens=(givens, givens), seed=seed, workers=1)
    except ValueError as error:  # none could be dug so far
        raise InputError(str(error)) from None
    words = f"{size}x{size}, {givens} givens, seed {seed}: one solution"
    return {"family": "sudoku", "line": puzzle.line(), "seed": seed, "givens": givens, "words": words}


def _formula(of: requests.Generate, seed: int) -> dict[str, Any]:
    [formula] = sat(1, variables=of.variables, clauses=of.clauses, seed=seed)
    words = f"random 3-SAT, {formula.variables} variables, {len(formula.clauses)} clauses, seed {seed}"
    return {"family": "cnf", "line": formula.format(), "seed": seed, "words": words}
