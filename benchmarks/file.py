"""Solving a file of a million puzzles: time, both cores, constant memory. `make bench-file` (about a minute).

The file is made of the bundled lists and of random images of them (digits relabelled), so that no two batches are
alike; then `dibs solve` reads it, and its memory is looked at while it runs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from dibs.bench.instances import load

LINES = 1_000_000


def main() -> None:
    rng = np.random.default_rng(1)
    lines = [puzzle.line() for name in ("sample17", "hard300") for puzzle in load(name)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.txt"
        with path.open("w") as file:
            for i in range(0, LINES, 50):
                table = str.maketrans("123456789", "".join(map(str, rng.permutation(9) + 1)))
                file.writelines(lines[j % len(lines)].translate(table) + "\n" for j in range(i, i + 50))
        for count in (LINES // 10, LINES):
            part = Path(folder) / "part.txt"
            with path.open() as source, part.open("w") as target:
                target.writelines(line for line, _ in zip(source, range(count), strict=False))
            begin = perf_counter()
            with (Path(folder) / "out.txt").open("w") as out:
                subprocess.run([sys.executable, "-m", "dibs", "solve", str(part)], stdout=out, check=True)
            took = perf_counter() - begin
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            print(
                f"{count:,} puzzles: {took:.1f} s, {count / took:,.0f} a second; since the start of this benchmark "
                f"{used.ru_utime + used.ru_stime:.1f} s of processor time, at most {used.ru_maxrss / 1024:.0f} MB"
            )


if __name__ == "__main__":
    main()
