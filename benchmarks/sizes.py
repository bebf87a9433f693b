"""What a guide trained on 9x9 does to larger Sudokus: nodes and time of the policies by size. `make figure-sizes`.

    python benchmarks/sizes.py --count 20 --seed 0 --output sizes.svg

The puzzles are made here, by the seed. The policies take turns on each puzzle, one at a time, in one process; times are
of search and guide together, the best of three. Beside the SVG goes a JSON with all numbers. About five minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np
from numpy.typing import NDArray

import dibs
from dibs.generate import sudoku
from dibs.generate.sudokus import full_grids
from dibs.problem.shape import shape
from dibs.search.plan import Request
from figures import COLOURS, FOLDER, MARKERS, changed, origin, write

LIMIT = 20_000  # nodes
ROUNDS = 3  # the best counts: on a busy machine a search may have to wait for others
POLICIES = "plain", "guided", "auto"
Make = Callable[[int, int], Sequence[dibs.Sudoku]]


def half(count: int, seed: int) -> list[dibs.Sudoku]:
    """25x25: a random full grid with 312 of its 625 cells kept, at random; it may have other solutions."""
    of = shape(25, (5, 5))
    random = [np.random.default_rng((seed, number)) for number in range(count)]
    values = full_grids(of, random)
    for row, rng in zip(values, random, strict=True):
        row[rng.permutation(of.cells)[of.cells // 2 :]] = 0
    return [dibs.Sudoku(row) for row in values]


GROUPS: dict[str, tuple[Make, int]] = {  # how they are made, and how many times `count` of them
    "9x9\nminimal": (lambda count, seed: list(sudoku(count, minimal=True, seed=seed)), 5),
    "16x16\nminimal": (lambda count, seed: list(sudoku(count, box=(4, 4), minimal=True, seed=seed)), 1),
    "25x25\ndug to 45-50 %": (lambda count, seed: list(sudoku(count, box=(5, 5), givens=(281, 312), seed=seed)), 1),
    "25x25\n50 % at random": (half, 1),
}


def compare(puzzles: Sequence[dibs.Sudoku], limit: int = LIMIT) -> dict[str, list[dibs.Outcome]]:
    """Outcomes of each policy, of several that are equal but for time the quickest; policies take turns."""
    found: dict[str, list[dibs.Outcome]] = {policy: [] for policy in POLICIES}
    for policy in ("plain", "guided"):  # compile, load the guide; both policies that ask share one
        dibs.solve(puzzles[0], policy=policy, nodes=limit)
    for puzzle in puzzles:
        rounds = [[dibs.solve(puzzle, policy=policy, nodes=limit) for policy in POLICIES] for _ in range(ROUNDS)]
        for policy, same in zip(POLICIES, zip(*rounds, strict=True), strict=True):
            found[policy].append(min(same, key=lambda one: one.seconds + one.guide_seconds))
    return found


def summary(outcomes: Sequence[dibs.Outcome]) -> dict[str, Any]:
    """Figures of one policy; a run that ended at the limit stays in all of them."""
    nodes = np.array([one.nodes for one in outcomes])
    search, guide = (1e3 * np.array([getattr(one, key) for one in outcomes]) for key in ("seconds", "guide_seconds"))
    return {
        "LIMIT": sum(one.status == "LIMIT" for one in outcomes),
        "nodes": {"mean": round(float(nodes.mean()), 1), "median": float(np.median(nodes))},
        "asks": round(float(np.mean([one.asks for one in outcomes])), 2),
        "milliseconds": {
            "mean": round(float((search + guide).mean()), 3),
            "search": round(float(search.mean()), 3),
            "guide": round(float(guide.mean()), 3),
            "median": round(float(np.median(search + guide)), 3),
        },
        "each": {"nodes": nodes.tolist(), "milliseconds": (search + guide).round(3).tolist()},
    }


def measure(count: int, seed: int) -> list[dict[str, Any]]:
    found = []
    for name, (make, times) in GROUPS.items():
        puzzles = make(times * count, seed)
        givens = [int(np.count_nonzero(puzzle.values)) for puzzle in puzzles]
        policies = {policy: summary(outcomes) for policy, outcomes in compare(puzzles).items()}
        group = " ".join(name.split())
        found.append({"group": group, "puzzles": len(puzzles), "givens": [min(givens), max(givens)], **policies})
        for policy, row in policies.items():
            nodes, took = row["nodes"], row["milliseconds"]
            print(
                f"{group}, {policy}: {nodes['mean']:,} nodes (median {nodes['median']:,}), {row['asks']} asks, "
                f"{took['mean']} ms ({took['search']} + {took['guide']}), LIMIT {row['LIMIT']} of {len(puzzles)}"
            )
    return found


def draw(figure: Any, found: dict[str, Any]) -> None:
    """A dot for each puzzle, a bar for the mean; below each group its runs that ended at the limit."""
    top, low = figure.subplots(2, 1, sharex=True)
    for axes, key in ((top, "nodes"), (low, "milliseconds")):
        for side, policy in enumerate(POLICIES):
            for at, group in enumerate(found["groups"]):
                each = np.array(group[policy]["each"][key])
                x = at + (side - 1) * 0.27
                axes.plot(
                    _spread(x, len(each)),
                    each,
                    linestyle="none",
                    marker=MARKERS[side],
                    markersize=2.5,
                    color=COLOURS[side],
                    alpha=0.5,
                    markeredgewidth=0,
                )
                axes.plot([x - 0.12, x + 0.12], [group[policy][key]["mean"]] * 2, color=COLOURS[side], linewidth=2)
    top.set_yscale("symlog", linthresh=1)
    top.axhline(LIMIT, color="0.6", linewidth=0.6, linestyle="--", zorder=0)
    top.set(ylabel="nodes", ylim=(-0.3, 4 * LIMIT))
    low.set(yscale="log", ylabel="milliseconds")
    low.set_xticks(
        range(len(found["groups"])),
        [
            f"{name}\n{group['puzzles']} puzzles\nLIMIT "
            + ", ".join(str(group[policy]["LIMIT"]) for policy in POLICIES)
            for name, group in zip(GROUPS, found["groups"], strict=True)
        ],
    )
    marks = [
        top.plot([], [], linestyle="-", linewidth=2, marker=MARKERS[side], markersize=4, color=COLOURS[side])[0]
        for side in range(len(POLICIES))
    ]
    figure.legend(marks, POLICIES, loc="outside upper center", ncols=len(POLICIES), frameon=False)


def _spread(x: float, count: int) -> NDArray[np.float64]:
    """Places beside one another, so that equal numbers do not hide each other."""
    return np.asarray(x + 0.2 * (np.arange(count) * 0.618034 % 1 - 0.5))


def main(*, count: int = 20, seed: int = 0, output: Path = FOLDER / "sizes.svg") -> None:
    """Measure, and write the figure and its JSON."""
    about = {
        "made": origin(f"python benchmarks/sizes.py --count {count} --seed {seed}"),
        "seed": seed,
        "limit": LIMIT,
        "rounds": ROUNDS,
        "policies": {policy: changed(Request(policy).options) for policy in POLICIES},
    }
    write(output, about | {"groups": measure(count, seed)}, (5.4, 5.4), draw)


if __name__ == "__main__":
    cyclopts.run(main)
