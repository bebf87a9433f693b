"""Kills real runs of `dibs bench` again and again, and compares their records: `make bench-resume`.

    python benchmarks/resume.py --kills 10 --seed 0 --puzzles 130

Three runs of one experiment: in one process, which is killed (SIGKILL) at random moments and begun again; with two
workers, one of which is killed again and again; on a Ray cluster that is started here, of which a worker is killed.
All records must be those of an undisturbed run, but for times. Then: what the runner takes besides the searches, and
how long the figures of 350,000 records take. Under five minutes; the kernel is compiled first.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, perf_counter, sleep

import cyclopts
import numpy as np
import polars as pl

from dibs.bench.records import Store
from dibs.bench.summary import COUNTS, summarise
from runs import SAME, children

FLOATS = pl.selectors.by_dtype(pl.List(pl.Float32))
RECORDS = 350_000
ROWS = 7

EXPERIMENT = """
title = "Killed and begun again"
puzzles = "sample17"
[[row]]
name = "index"
level = "eliminate"
[[row]]
name = "degree"
level = "eliminate"
tie = "degree"
[[row]]
name = "random"
level = "naked"
tie = "random"
order = "random"
seed = 7
[[row]]
name = "DiBS"
policy = "paper"
guide = "relational"
[[row]]
name = "auto"
policy = "auto"
level = "naked"
"""

# A real run, but shards come after each task: in five seconds, the usual pause, all of this would be over.
PROGRAM = """
import sys
import dibs.bench.runner as runner
from dibs.cli import main
runner.FLUSH, runner.BLOCK = 0.0, 8
if __name__ == "__main__":
    sys.exit(main())
"""


class Run:
    """A run in a folder of its own, as often as it takes."""

    def __init__(self, folder: Path, words: Sequence[str], places: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.words = [sys.executable, "-c", PROGRAM, "bench", *words, "--out", str(folder)]
        self.places = os.environ | (places or {})

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.places)

    def finish(self) -> None:
        subprocess.run(self.words, stdout=subprocess.DEVNULL, env=self.places, check=True)

    def shards(self) -> int:
        return len(list(self.folder.glob("[0-9]*.parquet")))

    def records(self) -> pl.DataFrame:
        """Without what depends on the clock; probabilities to six digits."""
        return Store.read(self.folder).records(SAME).with_columns(FLOATS.list.eval(pl.element().round(6)))


def kill_runner(run: Run, kills: int, rng: random.Random) -> int:
    """Kill the process of a run at random moments, the first seconds of loading included; how often it was alive."""
    done = 0
    for _ in range(kills):
        process = run.start()
        before = run.shards()
        if rng.random() < 0.8:  # most of them while it writes
            _until(lambda p=process, n=before: run.shards() > n or p.poll() is not None)  # type: ignore[misc]
            sleep(rng.random() * 0.5)
        else:
            sleep(rng.random() * 2)
        done += process.poll() is None
        process.kill()
        process.wait()
        print(f"  killed: {run.shards() - before} more shards, {_kept(run):,} records", flush=True)
    return done


def kill_workers(run: Run, name: str, kills: int, rng: random.Random) -> int:
    """Kill workers of a run that goes on, one after the other; how many there were to be killed."""
    process, done = run.start(), 0
    while process.poll() is None and done < kills:
        before = run.shards()
        _until(lambda n=before: run.shards() > n or process.poll() is not None)  # type: ignore[misc]
        workers = sorted(child for child, line in children(process.pid).items() if name in line)
        if workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
            done += 1
            print(f"  worker killed at {_kept(run):,} records", flush=True)
    assert process.wait() == 0, "the run failed"
    return done


def _until(what: Callable[[], bool]) -> None:
    while not what():
        sleep(0.01)


def _kept(run: Run) -> int:
    return len(Store.read(run.folder).records(())) if run.shards() else 0


def compare(run: Run, wanted: pl.DataFrame, deaths: int) -> bool:
    found = run.records()
    twice = len(found) - found.select("row", "instance").n_unique()
    same = found.equals(wanted)
    verdict = "equal to the undisturbed run" if same else "DIFFERENT from the undisturbed run"
    print(f"  {deaths} deaths, {len(found):,} of {len(wanted):,} records, {twice} twice: {verdict}\n", flush=True)
    return same


def overhead(run: Run) -> None:
    """How much of an undisturbed run is searches."""
    begin = perf_counter()
    run.finish()
    took = perf_counter() - begin
    records = Store.read(run.folder).records(("search_seconds", "model_seconds"))
    spent = float((records["search_seconds"] + records["model_seconds"]).to_numpy().sum())
    print(f"undisturbed run: {took:.1f} s, of which {spent:.1f} s are searches and models", flush=True)


def figures() -> float:
    """Seconds that the summaries of many records take."""
    rng = np.random.default_rng(0)
    count = RECORDS // ROWS
    nodes = rng.lognormal(6, 1.5, RECORDS).astype(np.int64)
    records = pl.DataFrame(
        {
            "row": np.repeat([f"row {i}" for i in range(ROWS)], count),
            "instance": np.tile(np.arange(count, dtype=np.int32), ROWS),
            "status": ["SAT"] * RECORDS,
            "nodes": nodes,
            "backtracks": 2 * nodes,
            "asks": nodes // 9,
            "calls": nodes // 9,
            "depth": nodes % 60,
            "search_seconds": nodes * 1e-6,
            "model_seconds": nodes * 1e-5,
            "path_place": pl.Series([[0] * 12] * RECORDS, dtype=pl.List(pl.UInt8)),
            "options": ["{}"] * RECORDS,
            "version": ["1"] * RECORDS,
            "machine": ["x"] * RECORDS,
        }
    )
    assert set(COUNTS) == set(records.columns)
    begin = perf_counter()
    summarise(records)
    return perf_counter() - begin


def main(*, kills: int = 10, seed: int = 0, puzzles: int = 130) -> None:
    """Kill, resume, compare; exit code 1 if any record differs."""
    rng = random.Random(seed)
    begin = monotonic()
    folder = Path(tempfile.mkdtemp(prefix="dibs"))  # short: Ray's sockets need that
    try:
        equal = _all(folder, kills, puzzles, rng)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"figures of {RECORDS:,} records: {figures():.2f} s")
    print(f"{'all equal' if equal else 'NOT EQUAL'}; {monotonic() - begin:.0f} s")
    if not equal:
        raise SystemExit(1)


def _all(folder: Path, kills: int, puzzles: int, rng: random.Random) -> bool:
    plan = folder / "x.toml"
    plan.write_text(EXPERIMENT)
    Run(folder / "warm", [str(plan), "--sample", "1"]).finish()  # compiles the kernel
    words = [str(plan), "--sample", str(puzzles), "--relabel", "1"]
    undisturbed = Run(folder / "undisturbed", words)
    overhead(undisturbed)
    wanted = undisturbed.records()

    print(f"one process, killed {kills} times:", flush=True)
    run = Run(folder / "one", words)
    deaths = kill_runner(run, kills, rng)
    run.finish()
    equal = compare(run, wanted, deaths)

    print("two workers, one of which is killed three times:", flush=True)
    run = Run(folder / "two", [*words, "--workers", "2"])
    equal &= compare(run, wanted, kill_workers(run, "spawn_main", 3, rng))

    if importlib.util.find_spec("ray") is None:
        print("no Ray here: pip install 'dibs[cluster]'")
        return equal
    print("a Ray cluster with two workers, one of which is killed:", flush=True)
    places = {"HOME": str(folder), "RAY_TMPDIR": str(folder)}
    run = Run(folder / "ray", [*words, "--workers", "2", "--cluster", "local"], places)
    return equal & compare(run, wanted, kill_workers(run, "ray::_perform", 1, rng))


if __name__ == "__main__":
    cyclopts.run(main)
