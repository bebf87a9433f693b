"""Small experiments, and the records of their runs without what depends on the clock and the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from dibs.bench.experiment import Choice, Experiment, Row
from dibs.bench.instances import Instances, chosen
from dibs.bench.records import COLUMNS, Store
from dibs.bench.runner import Bench, described

CLOCK = ("search_seconds", "model_seconds", "machine")
SAME = tuple(name for name in COLUMNS if name not in CLOCK)

# `dibs` that writes after every task, and whose tasks are small: there is much to kill. It waits where a test wants it
# to be: after so many tasks until there is a file, and, on a cluster, before the tasks about later instances (a
# function of this script goes there by value).
SHORT = """
import sys
import time
from pathlib import Path
import dibs.bench.pool as pool
import dibs.bench.runner as runner
from dibs.cli import main

runner.FLUSH, runner.SHARDS, runner.BLOCK = 0.0, 10**9, 2
write_records = runner.write_records

def held(store, performed, report):
    tasks = 0
    def waits(records):
        nonlocal tasks
        report(records)
        tasks += 1
        while tasks in {gates} and not Path({gates}[tasks]).exists():
            time.sleep(0.01)
    write_records(store, performed, waits)

def _perform_held(key, what, task):
    import time
    from pathlib import Path
    from dibs.bench.pool import _perform_anywhere
    while task.instances[0] >= {later} and not Path({gate!r}).exists():
        time.sleep(0.01)
    return _perform_anywhere(key, what, task)

runner.write_records = held
if {later}:
    pool._perform_anywhere = _perform_held
if __name__ == "__main__":
    sys.exit(main())
"""
NEVER = "/dev/null/never"  # no gate that opens


def plan(rows: Sequence[Row], puzzles: str | Path = "hard300", **changes: Any) -> Experiment:
    """An experiment on a few puzzles; `changes` to its choice."""
    return Experiment("test", "Test", Choice(puzzles=str(puzzles), **changes), tuple(rows))


def ready(experiment: Experiment) -> tuple[Bench, Instances]:
    instances = chosen(experiment.choice)
    return Bench(experiment, instances), instances


def opened(folder: Path, experiment: Experiment, instances: Instances, **how: bool) -> Store:
    return Store.open(folder, described(experiment, instances), **how)


def same(folder: Path) -> list[dict[str, Any]]:
    """All that two runs of an experiment have in common, record by record; probabilities to six digits."""
    lists = pl.selectors.by_dtype(pl.List(pl.Float32))
    return Store.read(folder).records(SAME).with_columns(lists.list.eval(pl.element().round(6))).to_dicts()


def leftovers(folder: Path) -> list[str]:
    """Files of a folder that are no part of a finished run."""
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".part", ".partial"))


@contextmanager
def short(
    *argv: object,
    gates: Mapping[int, str | Path] | None = None,
    later: tuple[int, Path] | None = None,
    **environment: str,
) -> Iterator[subprocess.Popen[str]]:
    """`dibs` in a process of its own, and a group of its own as a terminal would give it, which ends with the test.

    `gates`: after so many tasks it waits until that file is there. `later`: workers of a cluster do so before tasks
    about that instance and all after it.
    """
    first, gate = later or (0, NEVER)
    closed = {tasks: str(path) for tasks, path in (gates or {}).items()}
    script = SHORT.format(gates=closed, later=first, gate=str(gate))
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | environment,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def children(pid: int) -> dict[int, str]:
    """The command lines of the processes that a process has started, and those have started; Linux only."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {child: line for child in found - {pid} if (line := command(child))}


def command(pid: int) -> str:
    """The command line of a process; empty once it has ended."""
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
