"""What a useless guide costs policy `auto`: its time as a ratio to plain search, one run, taking turns.

    python benchmarks/adversaries.py [--puzzles FILE] [--sample N]

By default balanced Latin squares of order 28 with 40 % holes: plain search needs thousands of nodes, and the guided
side runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cyclopts
import numpy as np
from numpy.typing import NDArray

import dibs
from dibs import Asks, generate
from dibs.bench.instances import load

TURNS = 3
NODES = 200_000


class Scored:
    """A guide from a function of the asks."""

    def __init__(self, scores: Callable[[Asks], NDArray[Any]]) -> None:
        self.rank = scores


def _noise(asks: Asks, scale: float) -> NDArray[Any]:
    seeds = asks.true @ np.arange(1, asks.true.shape[1] + 1)
    return np.stack([np.random.default_rng(int(s)).normal(scale=scale, size=asks.true.shape[1]) for s in seeds])


ADVERSARIES: dict[str, Callable[[Asks], NDArray[Any]]] = {
    "random": lambda asks: _noise(asks, 1),
    "overconfident": lambda asks: _noise(asks, 100),
    "constant": lambda asks: np.zeros(asks.true.shape),
    "reversed": lambda asks: np.tile(np.arange(asks.true.shape[1], dtype=float), (len(asks), 1)),
}


def main(*, puzzles: str | None = None, sample: int = 16) -> None:
    if puzzles:
        instances: list[Any] = load(puzzles, sample)
    else:
        instances = list(generate.latin(sample, order=28, holes=0.4, balanced=True, seed=0))
    rows: dict[str, dict[str, Any]] = {"plain": {"policy": "plain"}}
    rows |= {name: {"policy": "auto", "guide": Scored(scores)} for name, scores in ADVERSARIES.items()}
    best: dict[str, float] = {}
    outcomes: dict[str, list[dibs.Outcome]] = {}
    for _ in range(TURNS):
        for name, settings in rows.items():
            found = [dibs.solve(one, nodes=NODES, **settings) for one in instances]
            took = sum(o.seconds + o.guide_seconds for o in found)
            best[name] = min(best.get(name, np.inf), took)
            outcomes[name] = found
    hard = sum(o.nodes > 1_000 for o in outcomes["plain"])
    print(f"{len(instances)} instances, {hard} of them above 1,000 nodes; best of {TURNS} turns; limit {NODES:,} nodes")
    for name, found in outcomes.items():
        nodes = sum(o.nodes for o in found) / len(found)
        limits = sum(o.status == "LIMIT" for o in found)
        ratio = best[name] / best["plain"]
        print(f"{name:14} time x{ratio:.2f}  nodes {nodes:,.0f}  asks {sum(o.asks for o in found):,}  LIMIT {limits}")


if __name__ == "__main__":
    cyclopts.run(main)
