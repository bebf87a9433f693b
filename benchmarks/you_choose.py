"""The search that the playground opens with: `make replay` writes src/dibs/web/static/replay.json.

A generated 16x16 Sudoku whose first cell to branch on has two values: the network leads from the right one straight to
the solution, and below the wrong one there is a large tree that fails. `--seeds 0-240` looks for such puzzles and
prints them. SEED is the one with the largest failing tree of those where the smaller value is the wrong one, the
network gives the right one at least 60 %, and plain search with hidden singles needs more nodes than the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cyclopts
import numpy as np
from numpy.typing import NDArray

from dibs import __version__, solve
from dibs.generate import sudoku
from dibs.guide.lazy import lazy_guide
from dibs.problem import Sudoku
from dibs.search.outcome import Status
from dibs.search.tree import state
from dibs.search.tree.search import TreeSearch
from dibs.study.siblings import Sibling, measure
from dibs.web import catalogue
from dibs.web.node import at_node
from dibs.web.scheduling import Job, Slots
from dibs.web.trace import TracedSearch
from dibs.writing import write

FILE = Path(__file__).parent.parent / "src" / "dibs" / "web" / "static" / "replay.json"
GIVENS, SEED = 100, 53
SHORT = 150  # nodes of the guided search, at most
LONG = 20_000_000  # nodes of the failing tree, at most
ENTRIES = 2_500  # of the picture, at most
DIBS, PLAIN = (catalogue.search_for("sudoku", name, nodes=SHORT) for name in ("dibs", "fc"))


class Found(NamedTuple):
    puzzle: Sudoku
    solution: NDArray[np.int64]  # [cells]
    path: list[int]  # nodes of the guided search that lead to the solution
    nodes: int  # all of its nodes
    root: dict[str, Any]  # what the page shows of its first node

    @property
    def right(self) -> int:
        return int(self.solution[self.root["domain"]])

    @property
    def values(self) -> list[int]:
        """The values of the first cell, in order."""
        return sorted(row["value"] + 1 for row in self.root["tried"])

    @property
    def belief(self) -> list[float]:
        """What the network says of them."""
        chances = {row["value"] + 1: row["probability"] for row in self.root["tried"]}
        return [round(chances[value], 4) for value in self.values]

    @property
    def wrong(self) -> int:
        [value] = {*self.values} - {self.right}
        return value


def node(puzzle: Sudoku, number: int) -> dict[str, Any]:
    job = Job(Slots(1))
    with job:
        return at_node(puzzle, DIBS, lazy_guide(DIBS.guidance), number, job, nullcontext())


def found(seed: int) -> Found | None:
    """The puzzle of a seed, if the network leads to its solution and its first cell has two values."""
    try:
        [puzzle] = sudoku(1, box=(4, 4), givens=(GIVENS, GIVENS), seed=seed, workers=1)
    except ValueError:  # none could be dug so far
        return None
    job = Job(Slots(1))
    with job:
        search = TracedSearch(puzzle, DIBS, lazy_guide(DIBS.guidance), job, nullcontext())
        outcome = search.run()
    if outcome.status is not Status.SAT or outcome.nodes < 2:
        return None
    one = Found(puzzle, outcome.solution.array.reshape(-1), search.path(), outcome.nodes, node(puzzle, 0))
    return one if len(one.values) == 2 else None


def looked(seeds: range) -> Iterator[str]:
    for seed in seeds:
        one = found(seed)
        if one is None:
            continue
        literal = one.root["domain"] * one.puzzle.size + one.wrong - 1
        [failing] = measure([Sibling(one.puzzle, 0, (literal,))], PLAIN.options, LONG)
        order = "smaller" if one.wrong < one.right else "larger"
        more = "+" if failing.cut else ""
        yield (
            f"seed {seed}: {failing.nodes:,}{more} nodes fail, the {order} value is wrong; DiBS {one.nodes} nodes, "
            f"{len(one.path)} on the path; belief {one.belief}; hidden singles {stronger(one.puzzle)}"
        )


def stronger(puzzle: Sudoku) -> int:
    """Nodes of plain search that finds hidden singles, too."""
    outcome = solve(puzzle, policy="plain", max_nodes=LONG)
    assert outcome.status is Status.SAT
    return outcome.nodes


def depths(puzzle: Sudoku) -> NDArray[np.uint8]:
    """The depth of every node of the failing search, in the order entered."""
    engine = TreeSearch([puzzle], replace(PLAIN.options, max_nodes=LONG, max_seconds=None), traced=True)
    parts: list[NDArray[np.uint8]] = []
    last, level = state.BEGUN, 0

    def each() -> bool:
        nonlocal last, level
        kinds, _ = engine.take_events(0)
        if len(kinds):
            before = np.concatenate([[last], kinds[:-1]])
            entered = kinds == state.ENTERED
            left = (kinds == state.FAILED) & (before != state.TRIED)  # a value that fails at once changes no depth
            open_ = level + np.cumsum(entered.astype(np.int64) - left)
            parts.append((open_[entered] - 1).astype(np.uint8))
            last, level = int(kinds[-1]), int(open_[-1])
        return False

    engine.run(stopped=each)
    each()
    [outcome] = engine.outcomes()
    assert outcome is not None
    assert outcome.status is Status.UNSAT
    all_depths = np.concatenate(parts)
    assert len(all_depths) == outcome.nodes
    return all_depths


def picture(depth: NDArray[np.uint8]) -> dict[str, Any]:
    """The tree with its small branches as one entry each: what can be seen of it."""
    end = np.zeros(len(depth), np.int64)
    for level in range(int(depth.max()) + 1):
        bounds = np.append(np.flatnonzero(depth <= level), len(depth))
        mine = np.flatnonzero(depth == level)
        end[mine] = bounds[np.searchsorted(bounds, mine) + 1]
    least = len(depth) // ENTRIES
    while True:
        entries = []
        i = 0
        while i < len(depth):
            whole = end[i] - i < least
            stop = int(end[i]) if whole else i + 1
            entries.append((int(depth[i]), stop - i, int(depth[i:stop].max())))
            i = stop
        if len(entries) <= ENTRIES:
            break
        least = least * 5 // 4 + 1
    names = ("depth", "nodes", "deepest")
    columns = {name: list(column) for name, column in zip(names, zip(*entries, strict=True), strict=True)}
    return {"nodes": len(depth), "tree": columns}


def replay(seed: int) -> dict[str, Any]:
    one = found(seed)
    if one is None or one.wrong > one.right:
        raise SystemExit(f"seed {seed}: not such a puzzle; --seeds 0-240 looks for them")
    cell, puzzle = one.root["domain"], one.puzzle
    steps = np.full(puzzle.size**2, len(one.path))
    for k, number in reversed(list(enumerate(one.path))):
        steps[np.array(node(puzzle, number)["values"]) > 0] = k
    values = puzzle.values.reshape(-1).copy()
    values[cell] = one.wrong
    return {
        "made": f"benchmarks/you_choose.py --seed {seed}, dibs {__version__}",
        "size": puzzle.size,
        "box": list(puzzle.box),
        "givens": puzzle.line(),
        "solution": Sudoku(one.solution.reshape(puzzle.size, -1).astype(np.uint8), puzzle.box).line(),
        "cell": cell,
        "values": one.values,
        "right": one.right,
        "belief": one.belief,
        "path": len(one.path),
        "nodes": one.nodes,
        "steps": steps.tolist(),
        "stronger": stronger(puzzle),
        "wrong": picture(depths(Sudoku(values.reshape(puzzle.size, -1), puzzle.box))),
    }


def main(*, seed: int = SEED, seeds: str | None = None) -> None:
    """`seeds`: look for puzzles among these, such as 0-240."""
    if seeds:
        first, _, last = seeds.partition("-")
        for line in looked(range(int(first), int(last))):
            print(line, flush=True)
        return
    found = replay(seed)
    write(FILE, (json.dumps(found, separators=(",", ":")) + "\n").encode())
    about = {name: found[name] for name in ("cell", "values", "right", "belief", "path", "nodes", "stronger")}
    print(about, f"{found['wrong']['nodes']:,} nodes fail; {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    cyclopts.run(main)
