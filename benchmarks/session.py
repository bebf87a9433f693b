"""Sessions against fresh calls: the same questions, the same answers, CPU time.

    python benchmarks/session.py [--calls 1000] [--seed 0] [--seconds 300] [--kinds "dig 16" "toggle 25"]

dig: from a full grid, givens go in random order as long as the solution stays unique. A session is asked whether there
is a solution with another value in the cell; fresh calls are `dibs.is_unique`. Grids above 16x16
are dug down to `LEFT` givens: below that single fresh calls take minutes.
toggle: a puzzle with one solution; in each call a random given is off, or its cell has another value, and the question
is whether there is a solution (`dibs.solve`).
New puzzles are taken until there are so many calls. Either side stops after so many seconds: then it is compared on the
calls that both have done.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Annotated

import cyclopts
import numpy as np
from cyclopts import Parameter

import dibs
from dibs import Session, Sudoku, generate
from dibs.problem.words import words_for

BOXES = {16: (4, 4), 20: (4, 5), 25: (5, 5)}
KINDS = [f"{kind} {size}" for kind in ("dig", "toggle") for size in BOXES]
LEFT = {16: 0, 20: 175, 25: 295}  # givens that stay


def full_grid(size: int, seed: int) -> Sudoku:
    [grid] = generate.sudoku(1, box=BOXES[size], kept=1.0, seed=seed, workers=1)
    return grid


def named(grid: Sudoku, cell: int, value: int) -> str:
    return str(words_for(grid, cell * grid.size + value - 1))


class Dig:
    """One grid, dug by one side: each step is a call, and says whether the given went."""

    def __init__(self, size: int, seed: int) -> None:
        self.full = full_grid(size, seed)
        self.order = np.random.default_rng((seed, 1)).permutation(size * size).tolist()
        self.least = LEFT[size]

    def session(self) -> Iterator[bool]:
        values = self.full.values.tolist()
        session = Session(Sudoku(np.zeros(len(values), int), self.full.box))
        for cell in reversed(self.order):  # what goes first comes last
            session.add(named(self.full, cell, values[cell]))
        left = len(values)
        for cell in self.order:
            if left <= self.least:
                return
            given = named(self.full, cell, values[cell])
            session.remove(given)
            gone = session.solve(assume=[given.replace("=", "!=")]).status == "UNSAT"
            if gone:
                left -= 1
            else:
                session.add(given)
            yield gone

    def fresh(self) -> Iterator[bool]:
        values = self.full.values.copy()
        for cell in self.order:
            if np.count_nonzero(values) <= self.least:
                return
            trial = values.copy()
            trial[cell] = 0
            gone = dibs.is_unique(Sudoku(trial, self.full.box))
            if gone:
                values = trial
            yield gone


class Toggle:
    """One puzzle, 250 calls."""

    def __init__(self, size: int, seed: int) -> None:
        full = full_grid(size, seed)
        rng = np.random.default_rng((seed, 2))
        self.box, self.size = full.box, size
        values = full.values.copy()
        values[rng.random(size * size) > (0.48 if size == 16 else 0.55)] = 0
        self.puzzle = Sudoku(values, full.box)
        cells = rng.choice(np.flatnonzero(values), 250).tolist()
        others = ((values[cells] + rng.integers(0, size - 1, 250)) % size + 1).tolist()
        self.steps = [(cell, other if i % 2 else 0) for i, (cell, other) in enumerate(zip(cells, others, strict=True))]

    def session(self) -> Iterator[bool]:
        session = Session(self.puzzle)
        for cell, other in self.steps:
            given = named(self.puzzle, cell, int(self.puzzle.values[cell]))
            session.remove(given)
            yield session.solve(assume=[named(self.puzzle, cell, other)] if other else []).status == "SAT"
            session.add(given)

    def fresh(self) -> Iterator[bool]:
        for cell, other in self.steps:
            values = self.puzzle.values.copy()
            values[cell] = other
            yield dibs.solve(Sudoku(values, self.box)).status == "SAT"


def timed(steps: Iterator[bool], seconds: float) -> tuple[list[bool], list[float]]:
    """Answers, and the CPU time of each; no more after so many seconds."""
    answers, times = [], []
    begin = process_time()
    for answer in steps:
        now = process_time()
        answers.append(answer)
        times.append(now - begin)
        if sum(times) > seconds:
            break
        begin = process_time()
    return answers, times


def compare(kind: str, size: int, calls: int, seed: int, seconds: float) -> None:
    ours, theirs = [0.0], [0.0]
    done, slowest = 0, [0.0, 0.0]
    while done < calls and max(sum(ours), sum(theirs)) < seconds:
        made: Dig | Toggle = Dig(size, seed) if kind == "dig" else Toggle(size, seed)
        seed += 1
        said, mine = timed(made.session(), seconds - sum(ours))
        fresh, other = timed(made.fresh(), seconds - sum(theirs))
        both = min(len(said), len(fresh), calls - done)
        assert said[:both] == fresh[:both], "a session and a fresh call disagree"
        done += both
        ours.append(sum(mine[:both]))
        theirs.append(sum(other[:both]))
        slowest = [max(slowest[0], *mine[:both]), max(slowest[1], *other[:both])]
    share = sum(ours) / sum(theirs)
    print(
        f"{kind:6} {size}x{size} {done:5} calls {sum(ours):8.2f} s {sum(theirs):8.2f} s {share:7.3f}"
        f"   slowest call {slowest[0]:.3f} s, {slowest[1]:.3f} s",
        flush=True,
    )


def main(
    *,
    calls: int = 1000,
    seed: int = 0,
    seconds: float = 300.0,
    kinds: Annotated[list[str], Parameter(consume_multiple=True)] = KINDS,
) -> None:
    for made in (Dig(16, 99), Toggle(16, 99)):  # compiled, and tables built
        assert list(made.session()) == list(made.fresh())
    for size in BOXES:
        for steps in (Dig(size, 99).session(), Dig(size, 99).fresh()):
            next(steps)
    print("question    calls   session      fresh   ratio")
    for kind in kinds:
        name, side = kind.split()
        compare(name, int(side), calls, seed, seconds)


if __name__ == "__main__":
    cyclopts.run(main)
