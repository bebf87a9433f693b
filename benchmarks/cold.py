"""One square in a fresh process: what a user waits for who solves a single one, everything loaded on the clock.

    python benchmarks/cold.py [--order 33] [--holes 0.394] [--count 20] [--seed 0] [--repeat 3]
    python benchmarks/cold.py --first

`dibs solve FILE` and the same with each engine, one process after the other on each square, best of `--repeat`: Python,
imports, compiled code from the cache, weights, formula, search, check. `start` is a square of order 4 that needs
no search. Prints p50 / p95 in seconds, and ours over the best peer.

With `--first` nothing is compiled yet: CPU seconds of the first answer of each kind, each with an empty cache of its
own, then of commands of the README one after the other with one cache, and of a start once all is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import cyclopts
import numpy as np

from dibs.generate import latin, sat, sudoku

WAYS: dict[str, list[str]] = {
    "ours": [],
    "Glucose4": ["--engine", "glucose4"],
    "CaDiCaL": ["--engine", "cadical195"],
    "Kissat": ["--engine", "kissat"],
    "CP-SAT": ["--engine", "cp-sat"],
}
POINTS = (50, 95)
PUZZLE = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
README = (
    f"solve {PUZZLE}",
    "generate sudoku 20 --givens 24-28 --seed 1 --output puzzles.txt",
    "solve puzzles.txt --level naked --tie degree --order mcv --json",
    "solve formula.cnf",
    "solve square.txt --family latin --count 1000",
    "solve puzzles.txt --policy paper",
    "solve puzzles.txt --policy guided --level naked --reuse 0.95",
    "generate sudoku 2 --size 25 --kept 0.44 --seed 3",
    "explain puzzles.txt --line 12 --compare ascending --svg trees.svg",
)


def seconds(file: Path, words: list[str]) -> float:
    begin = perf_counter()
    command = [sys.executable, "-m", "dibs", "solve", str(file), "--family", "latin", *words]
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - begin


def cpu(words: str, folder: Path, cache: str) -> float:
    """CPU seconds of a command that runs in a folder, with a cache of that name."""
    before = os.times()
    command = [sys.executable, "-m", "dibs", *words.split()]
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / cache)}
    done = subprocess.run(command, check=False, capture_output=True, cwd=folder, env=env)
    if done.returncode not in (0, 10, 20):
        raise SystemExit(f"dibs {words}: {done.stderr.decode()}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def first_answers() -> None:
    """What has to be compiled before the first answer."""
    kinds = {
        "9x9": f"solve {PUZZLE}",
        "formula": "solve formula.cnf",
        "25x25": "solve large.txt",
        "Latin 30": "solve latin.txt --family latin",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "formula.cnf").write_text(next(iter(sat(1, variables=150, seed=1))).format())
        (folder / "large.txt").write_text(next(iter(sudoku(1, box=(5, 5), kept=0.44, seed=3))).line() + "\n")
        (folder / "latin.txt").write_text(next(iter(latin(1, order=30, holes=0.42, seed=3))).line() + "\n")
        (folder / "square.txt").write_text(next(iter(latin(1, order=6, holes=0.6, seed=3))).line() + "\n")
        print("| first answer | CPU s |\n|---|---:|")
        for kind, words in kinds.items():
            print(f"| {kind} | {cpu(words, folder, kind.replace(' ', '-')):.1f} |", flush=True)
        used = [cpu(words, folder, "one") for words in README]
        print(f"| {len(README)} commands of the README | {sum(used):.1f}: {', '.join(f'{one:.1f}' for one in used)} |")
        print(f"| 9x9, once all is compiled | {min(cpu(README[0], folder, 'one') for _ in range(5)):.2f} |")


def main(
    *, order: int = 33, holes: float = 0.394, count: int = 20, seed: int = 0, repeat: int = 3, first: bool = False
) -> None:
    """`first`: with nothing compiled."""
    if first:
        first_answers()
        return
    squares = list(latin(count, order=order, holes=holes, balanced=True, seed=seed))
    squares[:0] = latin(1, order=4, holes=0.25, seed=seed)  # needs no search
    best = np.full((len(WAYS), len(squares)), np.inf)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "square.txt"
        for number, square in enumerate(squares):
            file.write_text(square.line() + "\n")
            for _ in range(repeat):
                for row, words in enumerate(WAYS.values()):
                    best[row, number] = min(best[row, number], seconds(file, words))
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(squares)} squares", end="", file=sys.stderr)
    points = np.percentile(best[:, 1:], POINTS, axis=1).T  # [ways, points]
    told = f"{count} squares of order {order}, {holes:.1%} holes"
    print(f"\n| {told} | start | p50 / p95, s |\n|---|---:|---:|")
    for name, start, found in zip(WAYS, best[:, 0], points, strict=True):
        print(f"| {name} | {start:.2f} | {found[0]:.2f} / {found[1]:.2f} |")
    ratio = points[0] / points[1:].min(axis=0)
    print(f"\nours / best peer: {ratio[0]:.2f} / {ratio[1]:.2f}")


if __name__ == "__main__":
    cyclopts.run(main)
