"""Two versions of dibs on the kinds of an experiment: CPU time of `dibs.solve`, p50 and p95, and their ratios.

    git worktree add ../before COMMIT
    python benchmarks/versions.py ../before/src [--experiment large] [--sample 24] [--seed 0] [--runs 2]

Each version runs in a process of its own, and both solve an instance one after the other, the other one first each
time. Instances are made by the version that this file belongs to, and read by both. Of several runs the quickest
counts. Reading the instance, compiling, and loading the guide are off the clock.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import process_time
from typing import Any

import cyclopts
import numpy as np

HERE = Path(__file__).resolve().parents[1] / "src"
BEFORE = 4  # throw-away instances of each kind
SECONDS = 10.0


def work() -> None:
    """A version: instances come on standard input, milliseconds go to standard output."""
    import dibs

    parse: dict[str, Callable[[str], Any]] = {
        "latin": dibs.Latin.parse, "sudoku": dibs.Sudoku.parse, "cnf": dibs.CNF.parse,
    }  # fmt: skip
    limit: dict[str, Any] = {"seconds" if dibs.__version__ == "0.1.0" else "max_seconds": SECONDS}
    print(json.dumps(str(Path(dibs.__file__).parents[1])), flush=True)
    for line in sys.stdin:
        family, text = json.loads(line)
        instance = parse.get(family, read_problem)(text)
        assert instance.structure
        gc.collect()
        gc.disable()
        begin = process_time()
        outcome = dibs.solve(instance, policy="auto", **limit)
        took = process_time() - begin
        gc.enable()
        print(json.dumps([1e3 * took, str(outcome.status)]), flush=True)


def read_problem(text: str) -> Any:
    """A problem of one's own as its JSON file has it."""
    import dibs

    with NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return dibs.read_problem(file.name)


class Version:
    """A process that solves what it is given."""

    def __init__(self, source: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        )
        assert self._heard() == str(source)

    def _heard(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def solve(self, family: str, text: str) -> float:
        """Milliseconds; infinite where it ended at its limit."""
        assert self.process.stdin is not None
        print(json.dumps([family, text]), file=self.process.stdin, flush=True)
        took, status = self._heard()
        return float("inf") if status == "LIMIT" else float(took)


def main(before: Path, /, *, experiment: str = "large", sample: int = 24, seed: int = 0, runs: int = 2) -> None:
    """`before`: the folder `src` of another version."""
    from dibs import Problem
    from dibs.bench.experiment import Experiment
    from dibs.problem.stored import to_json

    versions = [Version(before.resolve()), Version(HERE)]
    print("| kind | before, ms | now, ms | ratio |\n|---|---:|---:|---:|")
    for kind in Experiment.read(experiment).choice.kind or ():
        made = kind.made(sample + BEFORE, kind.seed(seed))
        texts = [(one.family, to_json(one) if isinstance(one, Problem) else one.format()) for one in made]
        for text in texts[sample:]:
            for version in versions:
                version.solve(*text)
        took = np.full((2, sample), np.inf)
        for run in range(runs):
            for i, text in enumerate(texts[:sample]):
                for at in (0, 1) if (run + i) % 2 else (1, 0):
                    took[at, i] = min(took[at, i], versions[at].solve(*text))
        old, new = np.percentile(took, [50, 95], axis=1).T
        cells = [" / ".join(f"{value:.3g}" for value in pair) for pair in (old, new)]
        print(f"| {kind.label} | {' | '.join(cells)} | {' / '.join(f'{r:.2f}' for r in new / old)} |", flush=True)


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else cyclopts.run(main)
