"""Where a guide is right, what a mistake costs and where it is asked, by depth: `make figure-depths [PUZZLES=file]`.

    python benchmarks/depths.py PUZZLES --sample 200 --seed 0 --output depths.svg

PUZZLES is a bundled list (default sample17) or a file of Sudokus of one shape with one solution each. The seed draws
the sample and relabels each puzzle at random. Level naked; the paths are those of MRV with ties by index, as in the
paper. Beside the SVG goes a JSON with all numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np
from numpy.typing import NDArray

import dibs
from dibs.bench.instances import load, relabelled
from dibs.generate.check import solved
from dibs.guide.codec import from_true
from dibs.guide.steps import LogProbabilities
from dibs.model.cost import NODES, sibling_nodes
from dibs.model.states import solution_paths, truth
from dibs.search.plan import Request
from dibs.search.stream import GUIDED_BATCH
from dibs.solving import solve_together
from dibs.study.judge import judge
from figures import COLOURS, FOLDER, GUIDE, LINES, MARKERS, changed, origin, write

BLOCK = 128  # puzzles whose paths are walked at once
LIMIT = 20_000  # nodes of one search: the paper's trigger would ask too often for a figure
FEWEST = 10  # states that a depth must have to be drawn; the JSON has all

PAPER = Request("paper").options
CONFIDENT = replace(PAPER, trigger="always", tie="impact", select="confident")
WAYS = {
    "2 values, MRV (the paper)": PAPER,
    "every node, confident": CONFIDENT,
    "kept at 0.95, restarts": replace(CONFIDENT, reuse=0.95, strategy="restarts"),
}


def along_the_path(denoiser: LogProbabilities, puzzles: Sequence[dibs.Sudoku]) -> list[dict[str, Any]]:
    """For each depth: states, how often the guide is right, and what a failing sibling costs on average."""
    of = puzzles[0].shape
    sums: dict[int, NDArray[np.int64]] = {}  # states, right, surest, siblings, their nodes, cut ones
    for some in _blocks(puzzles, BLOCK):
        values = _values(some)
        solutions = solved(of, values)[0]
        right = truth(of, solutions)
        for depth, asks in enumerate(solution_paths(of, values, solutions, "naked")):
            judged = judge(denoiser, asks, right[asks.rows])[0]
            grids = from_true(asks.true[judged.state], of.size)
            nodes, cut = sibling_nodes(of, grids, judged.literal, "naked", "index", NODES)
            found = len(judged), judged.right.sum(), judged.surest.sum(), len(nodes), nodes.sum(), cut
            sums[depth] = sums.get(depth, np.zeros(6, np.int64)) + np.array(found, np.int64)
    return [
        {
            "depth": depth,
            "states": states,
            "p_s": round(right / states, 5),
            "p_surest": round(surest / states, 5),
            "siblings": siblings,
            "sibling_nodes": round(nodes / siblings, 2),
            "siblings_cut": cut,
        }
        for depth, (states, right, surest, siblings, nodes, cut) in ((d, s.tolist()) for d, s in sums.items())
    ]


class Recorder:
    """Passes on a guide's scores, and counts the asks by depth, those on the way to the solution apart."""

    def __init__(self, guide: dibs.Guide) -> None:
        self.guide = guide
        self.truth: NDArray[np.bool_] | None = None  # [searches, L] the solutions of the searches that run
        self.asks = np.zeros((2, 0), np.int64)  # [all, on the path], by depth

    def rank(self, asks: dibs.Asks) -> NDArray[Any]:
        assert self.truth is not None
        on = ~(asks.true & ~self.truth[asks.rows]).any(axis=1)
        deepest = max(self.asks.shape[1], int(asks.depth.max()) + 1)
        self.asks = np.pad(self.asks, ((0, 0), (0, deepest - self.asks.shape[1])))
        self.asks += [np.bincount(asks.depth, minlength=deepest), np.bincount(asks.depth[on], minlength=deepest)]
        return self.guide.rank(asks)


def asked(guide: dibs.Guide, puzzles: Sequence[dibs.Sudoku], limit: int = LIMIT) -> list[dict[str, Any]]:
    """For each of WAYS: where the guide is asked, per puzzle."""
    found = []
    for name, way in WAYS.items():
        recorder = Recorder(guide)
        outcomes: list[dibs.Outcome] = []
        options = replace(way, max_nodes=limit)
        for some in _blocks(puzzles, GUIDED_BATCH):
            recorder.truth = truth(some[0].shape, solved(some[0].shape, _values(some))[0])
            outcomes += solve_together(some, guide=recorder, **changed(options))
        assert recorder.asks[0].sum() == sum(outcome.asks for outcome in outcomes)
        every, on = recorder.asks / len(puzzles)
        found.append(
            {
                "way": name,
                "options": changed(options),
                "LIMIT": sum(outcome.status == "LIMIT" for outcome in outcomes),
                "nodes": round(float(np.mean([outcome.nodes for outcome in outcomes])), 2),
                "asks": round(float(every.sum()), 3),
                "asks_on_path": round(float(on.sum()), 3),
                "asks_by_depth": every.round(4).tolist(),
                "asks_on_path_by_depth": on.round(4).tolist(),
            }
        )
    return found


def _values(puzzles: Sequence[dibs.Sudoku]) -> NDArray[np.uint8]:
    return np.array([puzzle.values for puzzle in puzzles], np.uint8)


def _blocks(puzzles: Sequence[dibs.Sudoku], size: int) -> list[Sequence[dibs.Sudoku]]:
    return [puzzles[at : at + size] for at in range(0, len(puzzles), size)]


def draw(figure: Any, found: dict[str, Any]) -> None:
    """Three panels over depth; in the upper two, depths with few states are left out."""
    top, middle, low = figure.subplots(3, 1, sharex=True, height_ratios=[1, 1, 1.3])
    path = [row for row in found["path"] if row["states"] >= min(FEWEST, found["path"][0]["states"])]
    depth = [row["depth"] for row in path]
    for key, name, style in (("p_s", "at the MRV cell", 1), ("p_surest", "at its surest cell", 2)):
        top.plot(depth, [row[key] for row in path], label=name, **_line(style))
    top.set(ylabel="right value first", title=f"{found['puzzles']:,} puzzles of {found['list']}, level naked")
    top.title.set_fontsize(8)
    middle.plot(depth, [max(row["sibling_nodes"], 0.01) for row in path], **_line(0))
    middle.set(yscale="log", ylabel="nodes of a\nfailing sibling")
    for style, row in enumerate(found["asks"]):
        asks = np.array(row["asks_by_depth"])
        asks[asks == 0] = np.nan
        low.plot(asks, label=f"{row['way']}: {row['asks']:,.3g} asks", **_line(style))
    low.set(yscale="log", xlabel="depth: decisions above the node", ylabel="asks per puzzle", xlim=(-0.5, None))
    low.xaxis.get_major_locator().set_params(integer=True)
    top.set_ylim(min(0.9, top.get_ylim()[0]), 1.01)
    top.legend(frameon=False, fontsize=7, loc="lower right")
    figure.legend(*low.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=7)


def _line(style: int) -> dict[str, Any]:
    """A line that can be told from the others in grey."""
    return {
        "color": COLOURS[style],
        "linestyle": LINES[style],
        "marker": MARKERS[style],
        "markersize": 3,
        "linewidth": 1,
    }


def measure(puzzles: Sequence[dibs.Sudoku]) -> dict[str, Any]:
    guide = dibs.load_guide(GUIDE)
    return {"path": along_the_path(guide.denoiser, puzzles), "asks": asked(guide, puzzles)}


def drawn(puzzles: str, sample: int | None, seed: int) -> list[dibs.Sudoku]:
    """The puzzles of a list, or a random sample of them in the list's order, relabelled."""
    every = load(puzzles)
    if sample is not None and sample < len(every):
        rows = np.random.default_rng(seed).choice(len(every), sample, replace=False)
        every = [every[row] for row in np.sort(rows).tolist()]
    return [one for one in relabelled(every, seed) if isinstance(one, dibs.Sudoku)]


def main(puzzles: str = "sample17", /, *, sample: int | None = None, seed: int = 0, output: Path | None = None) -> None:
    """Measure, and write the figure and its JSON: docs/figures/depths.svg, or depths-LIST.svg for another list."""
    some = drawn(puzzles, sample, seed)
    name = Path(puzzles).stem
    cut = f" --sample {sample}" if sample is not None else ""
    about = {
        "made": origin(f"python benchmarks/depths.py {Path(puzzles).name}{cut} --seed {seed}"),
        "list": name,
        "puzzles": len(some),
        "level": "naked",
        "tie": "index",
        "seed": seed,
        "sibling_limit": NODES,
    }
    own = FOLDER / ("depths.svg" if puzzles == "sample17" else f"depths-{name}.svg")
    write(output or own, about | measure(some), (4.6, 6.0), draw)


if __name__ == "__main__":
    cyclopts.run(main)
