"""What one core solves of published squares: `python benchmarks/published.py FILE ... [--seconds 10] [--policy auto]`.

A file is a class: Latin squares or Sudokus as dibs reads them. The limit is CPU seconds of one thread for each
instance, the guide's included, so that other work on the machine does not count.
Prints a row of a table for each class as soon as it is there, and with `--each` a line for each instance.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import thread_time

import numpy as np

import dibs
import dibs.clock

FAMILIES = ("sudoku", "latin")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--policy", choices=("auto", "plain"), default="auto", help="plain has no guide")
    parser.add_argument("--family", choices=FAMILIES, default="latin")
    parser.add_argument("--each", action="store_true", help="a line for each instance, on standard error")
    given = parser.parse_args()
    dibs.clock.perf_counter = thread_time  # type: ignore[attr-defined]
    print(f"| class, limit {given.seconds:g} s | solved | no solution | p50 | mean | longest |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for path in given.file:
        took, answers = [], []
        for place, (_, instance) in enumerate(dibs.read_instances(path, family=given.family), 1):
            if isinstance(instance, dibs.InputError):
                raise instance
            begin = thread_time()
            outcome = dibs.solve(instance, policy=given.policy, max_seconds=given.seconds)
            took.append(thread_time() - begin)
            answers.append(outcome.status)
            if given.each:
                print(f"{path.name}:{place} {outcome.status} {took[-1]:.2f} s", file=sys.stderr, flush=True)
        solved, refuted = answers.count(dibs.Status.SAT), answers.count(dibs.Status.UNSAT)
        figures = f"{np.median(took):.2f} | {np.mean(took):.2f} | {max(took):.2f}"
        print(f"| {path.stem} | {solved} of {len(answers)} | {refuted} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
