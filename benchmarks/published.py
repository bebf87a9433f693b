"""What one core solves of published squares: `python benchmarks/published.py FILE ... [--seconds 10] [--policy auto]`.

A file is a class: Latin squares or Sudokus as dibs reads them. The limit is CPU seconds of one thread for each
instance, the guide's included, so that other work on the machine does not count.
Prints a row of a table for each class as soon as it is there, and with `--each` a line for each instance.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import thread_time
from typing import Literal

import cyclopts
import numpy as np

import dibs
import dibs.clock

Policy = Literal["auto", "plain"]
Family = Literal["sudoku", "latin"]


def main(
    *files: Path, seconds: float = 10.0, policy: Policy = "auto", family: Family = "latin", each: bool = False
) -> None:
    """`policy`: plain has no guide; `each`: a line for each instance, on standard error."""
    dibs.clock.perf_counter = thread_time  # type: ignore[attr-defined]
    print(f"| class, limit {seconds:g} s | solved | no solution | p50 | mean | longest |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for path in files:
        took, answers = [], []
        for place, (_, instance) in enumerate(dibs.read_instances(path, family=family), 1):
            if isinstance(instance, dibs.InputError):
                raise instance
            begin = thread_time()
            outcome = dibs.solve(instance, policy=policy, max_seconds=seconds)
            took.append(thread_time() - begin)
            answers.append(outcome.status)
            if each:
                print(f"{path.name}:{place} {outcome.status} {took[-1]:.2f} s", file=sys.stderr, flush=True)
        solved, refuted = answers.count(dibs.Status.SAT), answers.count(dibs.Status.UNSAT)
        figures = f"{np.median(took):.2f} | {np.mean(took):.2f} | {max(took):.2f}"
        print(f"| {path.stem} | {solved} of {len(answers)} | {refuted} | {figures} |", flush=True)


if __name__ == "__main__":
    cyclopts.run(main)
