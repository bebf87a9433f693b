"""Two workers on one instance against one: time to the answer; `make bench-workers`.

    python benchmarks/workers.py [--kinds squares formulas ...] [--count 12] [--seed 1] [--workers 2] [--seconds 60]

Kinds: `squares`, order 50, 70 % filled, with solutions, and `squares-42`, order 42, 69 %; `formulas`, random 3-SAT
without one; `no-squares`, squares in which one cell more has a value that is in no solution; `bounds`, pigeons of which
some holes take several. Both run one after the other on each instance. Times are wall-clock: the machine has to be
quiet. `busiest` is the CPU time of the thread that had most of it, for one that is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from time import perf_counter, thread_time
from typing import Any

import cyclopts
import numpy as np

import dibs
from dibs import Instance, Latin, Problem, generate
from dibs.search.contract import Searcher

Rng = np.random.Generator

_busy: dict[int, float] = {}  # CPU seconds of threads
_run = Searcher.run


def _timed(self: Searcher, *of: Any, **rest: Any) -> None:
    begin = thread_time()
    try:
        _run(self, *of, **rest)
    finally:
        thread = threading.get_ident()
        _busy[thread] = _busy.get(thread, 0.0) + thread_time() - begin


def squares(seed: int, order: int = 50, holes: float = 0.3) -> Iterator[Instance]:
    for number in range(10**6):
        yield from generate.latin(1, order=order, holes=holes, seed=1000 * seed + number)


def formulas(seed: int) -> Iterator[Instance]:
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(200, 251))
        [found] = generate.sat(1, variables=n, clauses=int(4.6 * n), seed=int(rng.integers(2**40)))
        yield found


def no_squares(seed: int) -> Iterator[Instance]:
    """A value that is open after singles, but in no solution, goes to a random cell; kept if that is hard to see."""
    rng = np.random.default_rng(seed)
    while True:
        order = int(rng.integers(30, 34))
        [square] = generate.latin(1, order=order, holes=0.41, balanced=True, seed=int(rng.integers(2**40)))
        values = np.array(square.values)
        for cell in rng.permutation(np.flatnonzero(values == 0))[:6].tolist():
            grid = values.copy()
            grid[cell] = rng.integers(1, order + 1)
            text = " ".join(map(str, grid.tolist()))
            try:
                other = Latin.parse(text)
            except ValueError:
                continue
            found = dibs.solve(other, strategy="nogoods", max_nodes=20_000, max_seconds=20)
            if found.status != "SAT" and found.backtracks >= 1000:
                yield other
                break


def bounds(seed: int) -> Iterator[Instance]:
    """Pigeons that go to some of the holes each; holes take one to three, together one too few; the easy ones go."""
    rng = np.random.default_rng(seed)
    while True:
        holes = int(rng.integers(5, 7))
        room = rng.integers(1, 4, holes)
        pigeons = int(room.sum()) + 1
        goes = rng.random((pigeons, holes)) < 0.8
        goes[goes.sum(axis=1) < 2] = True
        number = np.where(goes, np.cumsum(goes).reshape(goes.shape) - 1, -1)
        groups = [(1, 1, [z for z in row if z >= 0]) for row in number.tolist()]
        groups += [
            (0, int(r), [z for z in column if z >= 0]) for r, column in zip(room, number.T.tolist(), strict=True)
        ]
        found = Problem(int(goes.sum()), groups=groups)
        if dibs.solve(found, max_nodes=20_000).status == "LIMIT":
            yield found


KINDS: dict[str, tuple[Callable[[int], Iterator[Instance]], dict[str, Any]]] = {
    "squares": (squares, {}),
    "squares-42": (lambda seed: squares(seed, 42, 0.31), {}),
    "formulas": (formulas, {"strategy": "nogoods"}),
    "no-squares": (no_squares, {}),
    "bounds": (bounds, {}),
}


def measured(instance: Instance, workers: int, seconds: float, how: dict[str, Any]) -> tuple[float, float, Any]:
    _busy.clear()
    begin = perf_counter()
    outcome = dibs.solve(instance, workers=workers, max_seconds=seconds, **how)
    return perf_counter() - begin, max(_busy.values(), default=0.0), outcome


def main(
    *, kinds: list[str] | None = None, count: int = 12, seed: int = 1, workers: int = 2, seconds: float = 60.0
) -> None:
    Searcher.run = _timed  # type: ignore[method-assign]
    for warm in (1, 2):
        for square in generate.latin(1, order=30, holes=0.4, seed=0):
            dibs.solve(square, workers=warm)
    for kind in kinds or KINDS:
        make, how = KINDS[kind]
        times = []
        for instance in islice(make(seed), count):
            one, alone, first = measured(instance, 1, seconds, how)
            two, busiest, second = measured(instance, workers, seconds, how)
            times.append((one, two, alone, busiest))
            print(
                f"{kind} {first.status.value} {second.status.value} {one:.2f} s {two:.2f} s: {two / one:.2f}; busiest"
                f" {busiest / alone:.2f}; failures {first.backtracks:,} {second.backtracks:,}",
                flush=True,
            )
        wall, beside, alone_, busy = np.array(times).T
        print(
            f"{kind}: {workers} workers / 1, p50 of times {np.median(beside) / np.median(wall):.2f}, p50 of ratios"
            f" {np.median(beside / wall):.2f}, busiest {np.median(busy) / np.median(alone_):.2f}"
            f" {np.median(busy / alone_):.2f}, all together {beside.sum() / wall.sum():.2f}"
        )


if __name__ == "__main__":
    cyclopts.run(main)
