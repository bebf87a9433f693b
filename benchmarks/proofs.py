"""Proofs of dibs' own searches, each checked: `make proofs`.

    PYTHONPATH=tests/support python benchmarks/proofs.py [--answers 10000] [--seed 0] [--first 0] [--drat-trim FILE]

Random formulas, grids and problems with bounds and negation that have no solution, says another solver, are searched
under random options, policies and bad guides, a third of them with stores of nogoods that are too small. Every answer
must be UNSAT, and its proof must be accepted by dratify and, where its program is given, by drat-trim. One in ten is a
problem with few solutions, whose proof is that there are no others.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

import dibs
from judge import solutions
from proving import KINDS, accepted, drawn, small_stores, unsatisfiable, way

FEW = 20  # solutions that a proof excludes, at most


def main() -> int:
    given = _arguments()
    seen: Counter[str] = Counter()
    sizes: list[int] = []
    begin = told = monotonic()
    with TemporaryDirectory() as folder:
        for number in count(given.first):
            rng = np.random.default_rng((given.seed, number))
            kind, others = KINDS[number % len(KINDS)], number % 10 == 9
            instance = drawn(rng, kind) if others else unsatisfiable(rng, kind)
            options = way(rng)
            found = solutions(instance, FEW) if others else 0
            if others:
                options["max_solutions"] = found + 1 + int(rng.integers(3))
            path = Path(folder) / ("p.drat.xz" if number % 16 == 0 else "p.drat")
            try:
                with small_stores() if number % 3 == 0 else nullcontext():
                    outcome = dibs.solve(instance, proof=path, **options)
            except ValueError:
                seen["refused options"] += 1
                continue
            if found == FEW:
                seen["too many solutions"] += 1
                continue
            right = outcome.solutions == found and outcome.status is not dibs.Status.LIMIT
            if not right or not path.exists() or not accepted(instance, path, found, given.drat_trim):
                print(f"number {number}: {kind}, {options}, {outcome.status}", file=sys.stderr)
                return 1
            sizes.append(path.stat().st_size)
            seen[outcome.search] += 1
            seen[kind] += 1
            seen["no further solution" if found else "no solution"] += 1
            path.unlink()
            if monotonic() > told + 10:
                told = monotonic()
                print(f"\r{len(sizes):,} proofs, {told - begin:.0f} s", end="", file=sys.stderr, flush=True)
            if len(sizes) >= given.answers:
                break
    print(f"{len(sizes):,} answers, {len(sizes):,} proofs accepted, {sum(sizes):,} bytes, largest {max(sizes):,}")
    print(", ".join(f"{name} {times:,}" for name, times in seen.items()))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--drat-trim", default=None, help="the program drat-trim, where it is installed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
