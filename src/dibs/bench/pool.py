"""Who performs the tasks of a run: this process, several on this machine, or a Ray cluster.

All of them are generators of (task, its columns) in any order. A worker that dies is replaced, and what it was at is
performed again; the counts do not depend on who performs a task.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from typing import Any

from dibs.bench.experiment import Experiment
from dibs.bench.instances import Instances
from dibs.bench.runner import Bench, Columns, Performed, Task, described
from dibs.cluster import AHEAD, DEATHS, connected, fetched
from dibs.interrupt import interrupts_later
from dibs.problem import InputError

# An experiment, its instances, and what the first process says of both: a worker must say the same.
What = tuple[Experiment, Instances, Mapping[str, Any]]

_what: What | None = None  # of a worker process
_benches: dict[str, Bench] = {}  # of a worker: guides are loaded once


def here(bench: Bench, tasks: Sequence[Task]) -> Performed:
    """In this process, one after the other."""
    for task in tasks:
        yield task, bench.perform(task)


def processes(experiment: Experiment, instances: Instances, tasks: Sequence[Task], workers: int) -> Performed:
    """In `workers` processes of this machine."""
    left = list(tasks)
    deaths = 0
    while left:
        before = len(left)
        try:
            for task, columns in _pooled(experiment, instances, tuple(left), workers):
                left.remove(task)
                yield task, columns
        except BrokenProcessPool:
            deaths = 1 if len(left) < before else deaths + 1
            if deaths >= DEATHS:
                raise InputError(f"{DEATHS} worker processes died one after the other: out of memory?") from None


def _pooled(experiment: Experiment, instances: Instances, tasks: Sequence[Task], workers: int) -> Performed:
    # Fresh processes: a copy of this one would inherit its threads' locks.
    context = multiprocessing.get_context("spawn")
    what = experiment, instances, described(experiment, instances)
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=what)
    try:
        yield from _handed_out(pool, tasks, AHEAD * workers)
    finally:
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.kill()  # nobody waits for the end of a task that nobody wants
        pool.shutdown(wait=True, cancel_futures=True)


def _handed_out(pool: ProcessPoolExecutor, tasks: Sequence[Task], ahead: int) -> Performed:
    waiting: dict[Future[Columns], Task] = {}
    more: Iterator[Task] = iter(tasks)
    while True:
        while len(waiting) < ahead and (task := next(more, None)):
            with interrupts_later():  # this may start a process: it never hears Ctrl-C, the first one ends it
                waiting[pool.submit(_perform, task)] = task
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), future.result()


def _begin(*what: Any) -> None:
    global _what
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    _what = what


def _end_with_parent() -> None:
    """A run that is killed cannot end its workers; they would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _perform(task: Task) -> Columns:
    assert _what is not None
    return _perform_anywhere("", _what, task)


def _perform_anywhere(key: str, what: What, task: Task) -> Columns:
    """In a process of its own, perhaps on another machine; `key` is that of the run."""
    if key not in _benches:
        experiment, instances, wanted = what
        for name, here in described(experiment, instances).items():
            if here != wanted[name]:
                raise InputError(f"a worker has other {name}: {here}, not {wanted[name]}")
        _benches.clear()
        _benches[key] = Bench(experiment, instances)
    return _benches[key].perform(task)


def cluster(
    experiment: Experiment,
    instances: Instances,
    tasks: Sequence[Task],
    address: str,
    workers: int | None = None,
    gpus_per_worker: float = 0.0,
) -> Performed:
    """On a Ray cluster; `address` "local" starts one here, with `workers` cores."""
    # Ray tells of workers that have died; the table goes to standard output.
    with redirect_stdout(sys.stderr), connected(address, workers) as ray:
        there = ray.cluster_resources()
        if gpus_per_worker > (gpus := there.get("GPU", 0)):
            raise InputError(f"the cluster has {gpus:g} GPUs: a worker cannot have {gpus_per_worker:g}")
        ahead = workers if workers and address != "local" else AHEAD * max(1, int(there.get("CPU", 1)))
        yield from _remote(ray, experiment, instances, tasks, gpus_per_worker, ahead)


def _remote(
    ray: Any, experiment: Experiment, instances: Instances, tasks: Sequence[Task], gpus: float, ahead: int
) -> Performed:
    # If a worker dies, Ray replaces it and begins its task again.
    perform = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=DEATHS)(_perform_anywhere)
    what = ray.put((experiment, instances, described(experiment, instances)))
    key = f"{experiment.name} {instances.digest} {id(tasks)}"
    waiting: dict[Any, Task] = {}
    more = iter(tasks)
    while True:
        while len(waiting) < ahead and (task := next(more, None)):
            waiting[perform.remote(key, what, task)] = task
        if not waiting:
            return
        done, _ = ray.wait(list(waiting), num_returns=1)
        for one in done:
            yield waiting.pop(one), fetched(ray, one)
