"""What it takes to know that a solution is the only one, for what it takes to find it: CPU time. `make bench-unique`.

    python benchmarks/unique.py 25x25 --count 20 --seed 1
    python benchmarks/unique.py puzzles.txt

Generated puzzles: 25x25 and 16x16, minimal. Both calls take turns,
the best of `--rounds` counts. Each has one thread and the usual policy. Two readings: percentiles of the ratios, puzzle
by puzzle; and the ratio of the percentiles of the times, p50 to p50 and p95 to p95.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from time import process_time

import cyclopts
import numpy as np

import dibs
from dibs.commands.answer import verdict
from dibs.generate import sudoku

MADE = {
    "25x25": lambda count, seed: sudoku(count, box=(5, 5), minimal=True, seed=seed),
    "16x16": lambda count, seed: sudoku(count, box=(4, 4), minimal=True, seed=seed),
    "9x9": lambda count, seed: sudoku(count, minimal=True, seed=seed),
}


def took(call: Callable[[], dibs.Outcome]) -> tuple[float, dibs.Outcome]:
    begin = process_time()
    outcome = call()
    return process_time() - begin, outcome


def main(puzzles: str, *, count: int = 20, seed: int = 1, rounds: int = 3, seconds: float = 120) -> None:
    """`puzzles`: 9x9, 16x16 or 25x25, or a file of Sudokus that have solutions. `seconds`: the limit of a proof."""
    made = MADE[puzzles](count, seed) if puzzles in MADE else (i for _, i in dibs.read_instances(puzzles))
    some = [one for one in made if isinstance(one, dibs.Sudoku)]
    dibs.is_unique(some[0]) if puzzles in MADE else dibs.is_unique(dibs.Sudoku([0] * 625))
    ratios, firsts, boths = [], [], []
    words: Counter[str] = Counter()
    for number, puzzle in enumerate(some):
        first, both, word = [], [], ""
        for _ in range(rounds):
            first.append(took(partial(dibs.solve, puzzle))[0])
            time, outcome = took(partial(dibs.solve, puzzle, max_solutions=2, max_seconds=seconds))
            both.append(time)
            word = verdict(outcome)
        words[word] += 1
        firsts.append(min(first))
        boths.append(min(both))
        ratios.append(min(both) / min(first))
        print(f"{number:4d}  first {min(first):8.3f} s  both {min(both):8.3f} s  {ratios[-1]:6.2f}  {word}", flush=True)
    p50, p95 = np.percentile(ratios, [50, 95])
    told = ", ".join(f"{n} {word}" for word, n in words.items())
    print(f"{len(some)} puzzles, {told}")
    print("                                       p50      p95      max")
    print(f"ratios, puzzle by puzzle          {p50:8.2f} {p95:8.2f} {max(ratios):8.2f}")
    quantiles = [[*np.percentile(times, [50, 95]), max(times)] for times in (firsts, boths)]
    for name, row in zip(("first solution, s", "the only one, s"), quantiles, strict=True):
        print(f"{name:33}" + "".join(f" {time:8.3f}" for time in row))
    of_times = np.divide(quantiles[1], quantiles[0])
    print("the lower times over the upper   " + "".join(f" {ratio:8.2f}" for ratio in of_times))


if __name__ == "__main__":
    cyclopts.run(main)
