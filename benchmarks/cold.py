"""One square in a fresh process: what a user waits for who solves a single one, everything loaded on the clock.

    python benchmarks/cold.py [--order 33] [--holes 0.394] [--count 20] [--seed 0] [--repeat 3]

`dibs solve FILE` and the same with each engine, one process after the other on each square, best of `--repeat`: Python,
imports, compiled code from the cache, weights, formula, search, check. `start` is a square of order 4 that needs
no search. Prints p50 / p95 in seconds, and ours over the best peer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from dibs.generate import latin

WAYS: dict[str, list[str]] = {
    "ours": [],
    "Glucose4": ["--engine", "glucose4"],
    "CaDiCaL": ["--engine", "cadical195"],
    "Kissat": ["--engine", "kissat"],
    "CP-SAT": ["--engine", "cp-sat"],
}
POINTS = (50, 95)


def seconds(file: Path, words: list[str]) -> float:
    begin = perf_counter()
    command = [sys.executable, "-m", "dibs", "solve", str(file), "--family", "latin", *words]
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--order", type=int, default=33)
    parser.add_argument("--holes", type=float, default=0.394)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    squares = list(latin(given.count, order=given.order, holes=given.holes, balanced=True, seed=given.seed))
    squares[:0] = latin(1, order=4, holes=0.25, seed=given.seed)  # needs no search
    best = np.full((len(WAYS), len(squares)), np.inf)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "square.txt"
        for number, square in enumerate(squares):
            file.write_text(square.line() + "\n")
            for _ in range(given.repeat):
                for row, words in enumerate(WAYS.values()):
                    best[row, number] = min(best[row, number], seconds(file, words))
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(squares)} squares", end="", file=sys.stderr)
    points = np.percentile(best[:, 1:], POINTS, axis=1).T  # [ways, points]
    told = f"{given.count} squares of order {given.order}, {given.holes:.1%} holes"
    print(f"\n| {told} | start | p50 / p95, s |\n|---|---:|---:|")
    for name, start, found in zip(WAYS, best[:, 0], points, strict=True):
        print(f"| {name} | {start:.2f} | {found[0]:.2f} / {found[1]:.2f} |")
    ratio = points[0] / points[1:].min(axis=0)
    print(f"\nours / best peer: {ratio[0]:.2f} / {ratio[1]:.2f}")


if __name__ == "__main__":
    main()
