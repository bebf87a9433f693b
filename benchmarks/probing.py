"""What trying each value by itself does for a list of 9x9 Sudokus, without any network, and what it takes.

    python benchmarks/probing.py FILE [--sample N] [--seed N]

Printed: how many puzzles it solves at the root (after hidden singles), how many literals it leaves, CPU time, and p_s
on the way to the solution of a guide that knows nothing else: what is left in a cell is equally likely.
"""

from __future__ import annotations

from time import process_time

import cyclopts
import numpy as np
from numpy.typing import NDArray

from dibs.bench.instances import load
from dibs.model.evaluate import evaluate
from dibs.problem.structure import Structure
from dibs.problem.sudoku import Sudoku
from dibs.search.probe import probe
from dibs.search.root import roots

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


class Tried:
    """All that trying leaves in a cell is equally likely."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        left, certain = probe(structure, open_)
        possible = (left | certain).reshape(len(open_), structure.decisions, -1)
        with np.errstate(divide="ignore"):
            found = np.where(possible, -np.log(possible.sum(axis=2, keepdims=True)), -50.0).reshape(open_.shape)
        return np.where(true, 0, np.where(open_, found, -np.inf)).astype(np.float32)


def main(file: str, /, *, sample: int = 1000, seed: int = 0) -> None:
    puzzles = [puzzle for puzzle in load(file) if isinstance(puzzle, Sudoku)]
    chosen = np.random.default_rng(seed).permutation(len(puzzles))[:sample]
    puzzles = [puzzles[i] for i in chosen.tolist()]
    root = roots(puzzles, "hidden")
    probe(puzzles[0].structure, root.open[:1])  # compiled, or loaded
    begin = process_time()
    left, _ = probe(puzzles[0].structure, root.open)
    each = (process_time() - begin) / len(puzzles)
    print(f"{len(puzzles):,} puzzles: {1 - left.any(axis=1).mean():.4f} solved by trying, {each * 1e6:.0f} us each")
    after = [part.sum(axis=1).mean() for part in (root.open, left)]
    print(f"open literals: {after[0]:.1f} after singles, {after[1]:.1f} after trying")
    found = evaluate(Tried(), puzzles, level="hidden", seed=seed, costed=0, batches=())
    print(f"p_s without a network: {found.overall.p_s:.3f}, at the root {found.root.p_s:.3f}; ", end="")
    print(f"surest cell {found.overall.p_surest:.3f}, at the root {found.root.p_surest:.3f}")


if __name__ == "__main__":
    cyclopts.run(main)
