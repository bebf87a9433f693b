"""How good a denoiser is where it matters: at the states that a search branches on, on the way to the solution.

Puzzles of well-known lists are in canonical form. So each is relabelled at random first: digits, rows in a band, bands,
columns in a stack, stacks, transposition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.generate.canonical import shuffled
from dibs.generate.check import solved
from dibs.guide.steps import LogProbabilities, refusal
from dibs.model import cost, speed
from dibs.model.states import solution_paths, truth
from dibs.problem.shape import Shape
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku
from dibs.problem.text import InputError
from dibs.search.options import Tie
from dibs.study.judge import Accuracy, Judged, judge
from dibs.study.reliability import Reliability

Values = NDArray[np.uint8]
Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much

BLOCK = 256  # puzzles whose paths are walked at once
COSTED = 5000  # states whose failing siblings are searched, at most


@dataclass(frozen=True)
class Evaluation:
    puzzles: int
    level: Level
    tie: Tie
    seed: int
    overall: Accuracy
    root: Accuracy
    by_depth: dict[int, Accuracy]  # decisions above the state
    by_arity: dict[int, Accuracy]  # candidates at the cell that MRV branches on
    cells: Reliability  # of the likeliest value of every open cell
    branch: Reliability  # of the likeliest value of the cell that MRV branches on
    cost: cost.Cost | None
    speed: tuple[speed.Speed, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "puzzles": self.puzzles,
            "level": self.level,
            "tie": self.tie,
            "seed": self.seed,
            "overall": self.overall.as_dict(),
            "root": self.root.as_dict(),
            "by_depth": [{"depth": at} | found.as_dict() for at, found in self.by_depth.items()],
            "by_arity": [{"arity": at} | found.as_dict() for at, found in self.by_arity.items()],
            "calibration": {"cells": self.cells.as_dict(), "branch": self.branch.as_dict()},
            "cost": self.cost.as_dict() if self.cost else None,
            "speed": [found.as_dict() for found in self.speed],
        }


def evaluate(
    denoiser: LogProbabilities,
    puzzles: Sequence[Sudoku],
    *,
    level: Level = "naked",
    tie: Tie = "index",
    seed: int = 0,
    costed: int = COSTED,
    batches: Sequence[int] = speed.BATCHES,
    progress: Progress = lambda what, done, total: None,
) -> Evaluation:
    """Judge a denoiser on puzzles of one shape that have exactly one solution each; anything else is an InputError.

    `costed`: at most so many states are weighted by what a mistake costs, 0 for none; `batches`: batch sizes to be
    timed, one after the other, in this thread.
    """
    rng = np.random.default_rng(seed)
    of = _shape(denoiser, puzzles)
    values = shuffled(np.array([puzzle.values for puzzle in puzzles], np.uint8), rng, of)
    solutions = _solutions(of, values, progress)
    judged, cells, branch = _judged(denoiser, of, values, solutions, level, tie, seed, progress)
    losses = None
    if costed:
        report = partial(progress, "failing siblings searched")
        losses = cost.measure(of, judged, level, tie, most=costed, rng=rng, report=report)
    every = np.ones(len(judged), bool)
    return Evaluation(
        puzzles=len(puzzles),
        level=level,
        tie=tie,
        seed=seed,
        overall=Accuracy.of(judged, every),
        root=Accuracy.of(judged, judged.depth == 0),
        by_depth={at: Accuracy.of(judged, judged.depth == at) for at in np.unique(judged.depth).tolist()},
        by_arity={at: Accuracy.of(judged, judged.arity == at) for at in np.unique(judged.arity).tolist()},
        cells=cells,
        branch=branch,
        cost=losses,
        speed=speed.measure(denoiser, of.structure, judged, batches, rng, partial(progress, "timings")),
    )


def _shape(denoiser: LogProbabilities, puzzles: Sequence[Sudoku]) -> Shape:
    """What all puzzles share."""
    if not puzzles:
        raise InputError("there are no puzzles")
    of = puzzles[0].shape
    for number, puzzle in enumerate(puzzles, 1):
        if not isinstance(puzzle, Sudoku):
            raise InputError(f"puzzle {number} is no Sudoku: guides are judged on Sudokus")
        if puzzle.shape is not of:
            raise InputError(f"puzzle {number} has another size or box than puzzle 1: judge each shape by itself")
    if reason := refusal(denoiser, of.structure):
        raise InputError(reason)
    return of


def _solutions(of: Shape, values: Values, progress: Progress) -> Values:
    """[n, cells] the solution of each puzzle."""
    solutions = np.zeros_like(values)
    for at in range(0, len(values), BLOCK):
        solutions[at : at + BLOCK], counts = solved(of, values[at : at + BLOCK], 2)
        if len(others := np.flatnonzero(counts != 1)):
            many = "more than one solution" if counts[others[0]] else "no solution"
            raise InputError(f"puzzle {at + others[0] + 1} has {many}: guides are judged on puzzles with exactly one")
        progress("puzzles checked", min(at + BLOCK, len(values)), len(values))
    return solutions


def _judged(
    denoiser: LogProbabilities,
    of: Shape,
    values: Values,
    solutions: Values,
    level: Level,
    tie: Tie,
    seed: int,
    progress: Progress,
) -> tuple[Judged, Reliability, Reliability]:
    parts: list[tuple[Judged, Reliability, Reliability]] = []
    for at in range(0, len(values), BLOCK):
        some = slice(at, at + BLOCK)
        right = truth(of, solutions[some])
        for asks in solution_paths(of, values[some], solutions[some], level, tie, seed + at):
            parts.append(judge(denoiser, asks, right[asks.rows]))
            progress("states judged", sum(len(part[0]) for part in parts), 0)
    if not parts:
        raise InputError(f"propagation at level {level} solves all {len(values)} puzzles: there is no state to judge")
    states, cells, branch = zip(*parts, strict=True)
    return Judged.joined(list(states)), sum(cells[1:], cells[0]), sum(branch[1:], branch[0])
