"""Policy `auto` on mixed large instances, against Glucose: every status must be the same. And the cost of UNSAT.

    python benchmarks/mixed.py [--count 2000] [--seed 0] [--seconds 20]

Latin squares of order 17 to 28 and Sudokus 9x9 to 25x25 around their peaks; in half of them one hole is filled with a
value that the givens allow, which often leaves no solution. What `auto` takes for a proof of UNSAT is compared with the
same search without a guide (`nogoods`), with plain restarts (MRV, random values, ties by impact), with
plain depth-first search and with Kissat, one after the other on each instance, best of three, where `auto` or plain
restarts need more than 100 nodes.
At the end: a square of order 40, and the most memory.
"""

from __future__ import annotations

import resource
import sys
from collections import Counter
from time import perf_counter
from typing import Any

import cyclopts
import numpy as np

import dibs
from dibs import Latin, Outcome, Sudoku, generate

TURNS = 3

WAYS: dict[str, dict[str, Any]] = {
    "auto": {"policy": "auto"},
    "no guide": {"strategy": "nogoods", "restart_base": 256},
    "plain restarts": {"level": "hidden", "tie": "impact", "order": "random", "strategy": "restarts"},
    "plain": {"policy": "plain"},
    "Kissat": {"engine": "kissat"},
}


def instance(rng: np.random.Generator) -> Latin | Sudoku:
    """One instance, perhaps with a wrong value in it."""
    found: Latin | Sudoku
    seed = int(rng.integers(2**40))
    if rng.random() < 0.6:
        order, balanced = int(rng.integers(17, 29)), bool(rng.random() < 0.7)
        [found] = generate.latin(1, order=order, holes=float(rng.uniform(0.33, 0.45)), balanced=balanced, seed=seed)
    else:
        side = int(rng.integers(3, 6))
        [found] = generate.sudoku(1, box=(side, side), kept=float(rng.uniform(0.4, 0.55)), seed=seed, workers=1)
    if rng.random() < 0.5:
        return found
    values, size = found.values.copy(), found.size
    cells = np.arange(size * size)
    hole = int(rng.choice(np.flatnonzero(values == 0)))
    peers = (cells // size == hole // size) | (cells % size == hole % size)
    if isinstance(found, Sudoku):
        rows, columns = found.box
        box = cells // size // rows * size + cells % size // columns
        peers |= box == box[hole]
    free = np.setdiff1d(np.arange(1, size + 1), values[peers])
    if len(free):
        values[hole] = rng.choice(free)
    return Latin(values) if isinstance(found, Latin) else Sudoku(values, found.box)


def proofs(one: Latin | Sudoku, seconds: float, late: Counter[str]) -> tuple[list[float], int]:
    """What each way takes at best, in seconds, and the nodes of the longer one of `auto` and plain restarts.

    The first turn is nobody's: it makes the tables of a new shape.
    """
    times = dict.fromkeys(WAYS, float("inf"))
    found: dict[str, Outcome] = {}
    for turn in range(TURNS + 1):
        for name, way in WAYS.items():
            start = perf_counter()
            found[name] = dibs.solve(one, max_seconds=seconds, **way)
            if turn:
                times[name] = min(times[name], perf_counter() - start)
    late.update(name for name, outcome in found.items() if outcome.status == "LIMIT")
    return list(times.values()), max(found["auto"].nodes, found["plain restarts"].nodes)


def main(*, count: int = 2000, seed: int = 0, seconds: float = 20.0) -> int:
    """`seconds`: limit of one search."""
    for way in WAYS.values():
        dibs.solve(Latin([0] * 289), max_seconds=1, **way)  # compiles, or loads, what the searches need
    statuses: Counter[tuple[str, str]] = Counter()
    spent: list[list[float]] = []
    late: Counter[str] = Counter()
    begin = perf_counter()
    for number in range(count):
        one = instance(np.random.default_rng((seed, number)))
        ours = dibs.solve(one, max_seconds=seconds)
        known = dibs.solve(one, engine="glucose4", max_seconds=seconds)
        statuses[str(ours.status), str(known.status)] += 1
        if ours.status == "UNSAT":
            times, longest = proofs(one, seconds, late)
            if longest > 100:
                spent.append(times)
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {count}, {perf_counter() - begin:.0f} s", end="", file=sys.stderr)
    print(f"\n{count} instances, seed {seed}: status of auto / of Glucose")
    for (ours_, known_), times_ in sorted(statuses.items()):
        print(f"  {ours_:5} / {known_:5} {times_:6}")
    wrong = sum(number for pair, number in statuses.items() if set(pair) == {"SAT", "UNSAT"})
    print(f"contradictions: {wrong}")
    if spent:
        table = np.array(spent)
        print(f"proofs of UNSAT of more than 100 nodes: {len(table)}; time of auto over that of")
        for i, name in enumerate(list(WAYS)[1:], start=1):
            ratio = table[:, 0] / table[:, i]
            print(
                f"  {name:15} median {np.median(ratio):.2f}, p95 {np.percentile(ratio, 95):.2f}, "
                f"sums {table[:, 0].sum() / table[:, i].sum():.2f}; at the limit: {late[name]} (auto {late['auto']})"
            )
    [square] = generate.latin(1, order=40, holes=0.375, balanced=True, seed=seed)
    outcome = dibs.solve(square, seconds=60)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = outcome.seconds + outcome.guide_seconds
    print(
        f"order 40: {outcome.status}, {outcome.nodes:,} nodes, {took:.1f} s; most memory of this process: {most:.0f} MB"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    cyclopts.run(main)
