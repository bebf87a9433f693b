"""What the compiled core costs, as ratios in one run: `make bench-core` (or `python benchmarks/core.py PUZZLES`).

Contenders take turns, each figure is the best of several rounds, and only ratios are worth comparing between
machines. Default puzzles: the bundled 17-clue list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from time import perf_counter

import numpy as np
from numba.core.runtime import _nrt_python as _nrt
from numba.core.runtime import rtsys
from numpy.typing import NDArray
from pysat.solvers import Solver

import dibs
import yardstick
from dibs.bench.instances import load
from dibs.problem import Instance
from dibs.search.tree import state
from dibs.search.tree.loop import advance
from dibs.search.tree.search import TreeSearch
from dibs.solving import BATCH, BLOCK

ROUNDS = 7


def best(*contenders: Callable[[], Callable[[], object]]) -> list[float]:
    """Seconds of each, best of ROUNDS, taking turns. A contender prepares a run, untimed, and returns it.

    A first round warms up and is not counted.
    """
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(ROUNDS + 1):
        for contender, kept in zip(contenders, times, strict=True):
            run = contender()
            begin = perf_counter()
            run()
            kept.append(perf_counter() - begin)
    return [min(kept[1:]) for kept in times]


def search(puzzles: Sequence[Instance], level: str) -> NDArray[np.int64]:
    """[puzzles, 4] phase, nodes, backtracks and solutions, from batches of the size that `solve_many` uses."""
    counters = []
    for i in range(0, len(puzzles), BATCH):
        engine = TreeSearch(puzzles[i : i + BATCH], dibs.Options(level=level), block=BLOCK)  # type: ignore[arg-type]
        engine.run()
        counters.append(np.stack(engine.counters, axis=1))
    return np.concatenate(counters)


def naked(puzzles: Sequence[dibs.Sudoku]) -> None:
    counts = search(puzzles, "naked")
    nodes = int(counts[:, 1].sum())
    walked = [(int(c[1]), int(c[2])) for c in counts]
    for plain in (yardstick.solve_table, yardstick.solve_masks):
        assert [plain(p.values) for p in puzzles] == walked, "a yardstick must walk the same tree"
    ours, table, masks = best(
        lambda: lambda: search(puzzles, "naked"),
        lambda: lambda: [yardstick.solve_table(p.values) for p in puzzles],
        lambda: lambda: [yardstick.solve_masks(p.values) for p in puzzles],
    )
    each = 1e9 / nodes
    print(f"level naked, {nodes:,} nodes, ns a node: dibs {ours * each:.0f}; copy-the-state searches: ", end="")
    print(f"plain table {table * each:.0f} ({table / ours:.2f}x), bit masks {masks * each:.0f} ({masks / ours:.2f}x)")


def hidden(puzzles: Sequence[dibs.Sudoku]) -> None:
    """Against CaDiCaL: one solver for the whole list, clues as assumptions; a new one each round, or it would remember
    the answers. Building it is not timed; building our engine is."""
    structure = puzzles[0].structure
    clauses = []
    for group in range(structure.groups):
        members = [int(literal) + 1 for literal in structure.members(group)]
        clauses += [members, *([-a, -b] for a, b in combinations(members, 2))]
    assumptions = [[int(literal) + 1 for literal in p.given] for p in puzzles]

    def cadical() -> Callable[[], object]:
        solver = Solver("cadical195", bootstrap_with=clauses)
        return lambda: [solver.solve(assumptions=clues) for clues in assumptions]

    ours, whole, theirs = best(
        lambda: lambda: search(puzzles, "hidden"),
        lambda: lambda: list(dibs.solve_many(puzzles, level="hidden", workers=1)),
        cadical,
    )
    each = 1e6 / len(puzzles)
    print(
        f"level hidden, us a puzzle: dibs {ours * each:.1f} ({whole * each:.1f} with answers decoded and checked), ",
        end="",
    )
    print(f"cadical195 {theirs * each:.0f}: {theirs / ours:.1f}x ({theirs / whole:.1f}x) less time, one thread each")


def allocations(puzzles: Sequence[dibs.Sudoku]) -> None:
    engine = TreeSearch(puzzles[:20], dibs.Options(level="naked"), block=20)
    engine.advance(stopped=lambda: True)
    _nrt.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    engine.run()
    made = rtsys.get_allocation_stats().alloc - before
    print(f"allocations in the kernel: {made} for {int(engine.counters.nodes.sum()):,} nodes")


def memory(puzzle: dibs.Sudoku) -> None:
    for level in ("naked", "hidden"):
        engine = TreeSearch([puzzle] * 10_000, dibs.Options(level=level), guided=True)  # type: ignore[arg-type]
        held = sum(array.nbytes for array in engine._searches)
        print(f"10,000 suspended 9x9 searches at level {level}: {held / 1e6:.0f} MB")


def sizes() -> None:
    """Nodes a second on larger grids. A literal touched is one taken off or put on: the unit of the kernel's work."""
    print("size     level    nodes/s   ns a node   literals touched a node   ns a literal")
    for n, kept in ((9, 0.28), (16, 0.42), (25, 0.5)):
        root = round(n**0.5)
        grid = np.array([[(root * r + r // root + c) % n + 1 for c in range(n)] for r in range(n)], np.uint8)
        rng = np.random.default_rng(1)
        puzzles = []
        for _ in range(40):
            values = rng.permutation(np.arange(1, n + 1, dtype=np.uint8))[grid - 1].ravel()
            values[rng.random(n * n) > kept] = 0
            values[rng.choice(np.flatnonzero(values))] = rng.integers(1, n + 1)  # mostly unsatisfiable: long searches
            puzzles.append(dibs.Sudoku(values))
        for level in ("naked", "hidden"):
            options = dibs.Options(level=level, max_nodes=2000)  # type: ignore[arg-type]
            TreeSearch(puzzles, options).run()
            engine = TreeSearch(puzzles, options, block=64)
            begin = perf_counter()
            engine.run()
            took = perf_counter() - begin
            nodes = int(engine.counters.nodes.sum())
            touched = touches(engine)
            print(
                f"{n}x{n:<5} {level:8} {nodes / took:9,.0f} {1e9 * took / nodes:11,.0f} {touched / nodes:25,.1f} "
                f"{1e9 * took / touched:14.1f}"
            )


def touches(engine: TreeSearch) -> int:
    """Literals chosen or killed, by running the same searches again step by step and looking at the trail."""
    again = TreeSearch(engine.instances, engine.options)
    total = 0
    live = again._live
    while len(live):
        mark = again._searches.counts[live, state.TRAIL].copy()
        advance(again._tables, again._searches, live, again._rules, 1, again._queue, again._keys, again._bits)
        for row, before in zip(live, mark, strict=True):
            after = int(again._searches.counts[row, state.TRAIL])
            lost = again._searches.lost[row, min(int(before), after) : after]
            total += int(np.bitwise_count(lost).sum())
        live = live[again._searches.counts[live, state.PHASE] < state.SAT]
    return total


def main() -> None:
    puzzles = [p for p in load(sys.argv[1] if len(sys.argv) > 1 else "sample17", 1000) if isinstance(p, dibs.Sudoku)]
    print(f"{len(puzzles)} puzzles, best of {ROUNDS} rounds, contenders take turns")
    naked(puzzles[:150])
    hidden(puzzles)
    allocations(puzzles)
    memory(puzzles[0])
    sizes()


if __name__ == "__main__":
    main()
