"""By how much a limit of seconds is overshot: `python benchmarks/limits.py [--seconds 0.05 0.2 1 3]`.

The clock of the search is set to CPU time of its thread, so that other work on the machine does not count. Each problem
is new, so that laying it out is on the clock. Prints seconds above the limit; SAT where it was solved before. Engines
of others go by the wall, and are not here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from time import thread_time
from typing import Annotated

import cyclopts
import numpy as np
from cyclopts import Parameter

import dibs
import dibs.clock
from dibs.clock import clock
from dibs.generate import latin, sudoku
from dibs.problem import Instance

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from classic import queens

WAYS = ("auto", "plain", "guided")
VARIABLES, CLAUSES = 23_500, 100_000


def formula() -> dibs.CNF:
    rng = np.random.default_rng(5)
    variables = (rng.choice(VARIABLES, 3, replace=False) + 1 for _ in range(CLAUSES))
    return dibs.CNF(VARIABLES, [(some * rng.choice([-1, 1], 3)).tolist() for some in variables])


PROBLEMS: dict[str, Callable[[], Instance]] = {
    "queens 120": lambda: queens(120),
    "queens 200": lambda: queens(200),
    "25x25": lambda: next(iter(sudoku(1, box=(5, 5), kept=0.36, seed=3))),
    "Latin 40": lambda: next(iter(latin(1, order=40, holes=0.42, seed=9))),
    "Latin 60": lambda: next(iter(latin(1, order=60, holes=0.42, seed=9))),
    "100,000 clauses": formula,
}


def above(make: Callable[[], Instance], policy: str, limits: Sequence[float]) -> list[str]:
    """What is printed for each limit."""
    found = []
    for limit in limits:
        problem = make()
        begin = clock()
        outcome = dibs.solve(problem, policy=policy, max_seconds=limit)
        over = clock() - begin - limit
        found.append(f"{over:.3f}" if outcome.status == "LIMIT" else outcome.status)
    return found


def main(*, seconds: Annotated[tuple[float, ...], Parameter(consume_multiple=True)] = (0.05, 0.2, 1.0, 3.0)) -> None:
    dibs.clock.perf_counter = thread_time  # type: ignore[attr-defined]
    print(f"| problem | policy | {' | '.join(f'{limit:g} s' for limit in seconds)} |")
    print(f"|---|---|{'---:|' * len(seconds)}")
    for name, policy in chain.from_iterable([(name, policy) for policy in WAYS] for name in PROBLEMS):
        print(f"| {name} | {policy} | {' | '.join(above(PROBLEMS[name], policy, seconds))} |", flush=True)


if __name__ == "__main__":
    cyclopts.run(main)
