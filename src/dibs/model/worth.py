"""What a mistake costs and how often a guide is right, as small regressions: the coefficients of trigger `worth`.

Records are the states on solution paths. At each, the nodes of its failing siblings are counted by searching them, and
the guide's first value is held against the solution. The cost is a Poisson regression (its mean is what is wanted, and
its mean is what that fits), the hit rate a logistic one; both on 1, log(open literals), depth and log(values).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.generate.canonical import shuffled
from dibs.guide.codec import from_true
from dibs.guide.steps import LogProbabilities
from dibs.model.cost import sibling_nodes
from dibs.model.puzzles import solve
from dibs.model.states import solution_paths, truth
from dibs.problem.structure import Level
from dibs.problem.sudoku import Sudoku
from dibs.search.options import Tie
from dibs.study.judge import judge

Floats = NDArray[np.float64]

LIMIT = 20_000  # nodes of one failing sibling; a larger one counts as this much
BLOCK = 128  # puzzles whose paths are walked at once
BINS = 8  # of the check
ROUNDS = 60  # of Newton's method
RIDGE = 1e-3


@dataclass(frozen=True)
class Bin:
    """An eighth of the held-out states, by prediction: what was predicted and what was measured, on average."""

    states: int
    predicted: float
    measured: float


@dataclass(frozen=True)
class Fit:
    cost: tuple[float, ...]
    gain: tuple[float, ...]
    states: int  # that the coefficients are fitted to
    cost_check: tuple[Bin, ...]  # on states of other puzzles
    gain_check: tuple[Bin, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def fit(
    denoiser: LogProbabilities,
    puzzles: Sequence[Sudoku],
    *,
    level: Level,
    tie: Tie = "degree",
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fit:
    """Fit both to every second puzzle and check them on the others. Puzzles have one shape and one solution each."""
    of = puzzles[0].shape
    values = shuffled(np.array([puzzle.values for puzzle in puzzles], np.uint8), np.random.default_rng(seed), of)
    solutions = solve(of, values)
    parts: list[tuple[Floats, Floats, Floats, NDArray[np.int64]]] = []
    for at in range(0, len(values), BLOCK):
        some = slice(at, at + BLOCK)
        right = truth(of, solutions[some])
        for asks in solution_paths(of, values[some], solutions[some], level, tie, seed + at):
            judged = judge(denoiser, asks, right[asks.rows])[0]
            grids = from_true(asks.true[judged.state], of.size)
            nodes, _ = sibling_nodes(of, grids, judged.literal, level, tie, LIMIT)
            wrong = np.bincount(judged.state, minlength=len(asks))
            mean = np.bincount(judged.state, nodes, len(asks)) / np.maximum(wrong, 1)
            parts.append(
                (
                    _features(asks.open, judged.depth, judged.arity),
                    mean,
                    judged.right.astype(np.float64),
                    at + asks.rows,
                )
            )
        progress(min(at + BLOCK, len(values)), len(values))
    x, nodes, hit, puzzle = (np.concatenate(part) for part in zip(*parts, strict=True))
    mine = puzzle % 2 == 0
    cost = _newton(x[mine], nodes[mine], np.exp, lambda mean: mean)
    gain = _newton(x[mine], hit[mine], _logistic, lambda mean: mean * (1 - mean))
    return Fit(
        tuple(cost.tolist()),
        tuple(gain.tolist()),
        int(mine.sum()),
        _check(np.exp(x[~mine] @ cost), nodes[~mine]),
        _check(_logistic(x[~mine] @ gain), hit[~mine]),
    )


def _features(open_: NDArray[np.bool_], depth: NDArray[np.int64], arity: NDArray[np.int64]) -> Floats:
    """[n, 4], as `kernel.worth` has them."""
    width = np.log(np.maximum(open_.sum(axis=1), 1))
    return np.stack([np.ones(len(depth)), width, depth, np.log(arity)], axis=1)


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _newton(x: Floats, y: Floats, mean_of: Callable[[Floats], Floats], slope: Callable[[Floats], Floats]) -> Floats:
    """Coefficients of a generalised linear model with its canonical link, by damped Newton steps."""
    at = np.zeros(x.shape[1])
    at[0] = np.log(max(y.mean(), 1e-3)) if mean_of is np.exp else 0.0
    for _ in range(ROUNDS):
        mean = mean_of(np.clip(x @ at, -30, 30))
        gradient = x.T @ (y - mean) - RIDGE * at
        curve = (x * slope(mean)[:, None]).T @ x + RIDGE * np.eye(len(at))
        step = np.linalg.solve(curve, gradient)
        at = at + step * min(1.0, 1.0 / max(np.abs(x @ step).max(), 1e-9))
    return at


def _check(predicted: Floats, measured: Floats) -> tuple[Bin, ...]:
    order = np.argsort(predicted, kind="stable")
    return tuple(
        Bin(len(rows), float(predicted[rows].mean()), float(measured[rows].mean()))
        for rows in np.array_split(order, BINS)
        if len(rows)
    )
