"""Instances on a Ray cluster: batches of many, or one instance on all its cores.

One instance is searched in *turns*: a task is a search, in a cube or in the whole space, that begins with the nogoods
that all have told so far, and ends after some seconds with those that it has learned. A cube that is not decided by
then is split, or gets more time. If a worker dies, Ray replaces it and begins its task again.
"""

from __future__ import annotations

import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain, islice
from math import inf
from threading import Event
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dibs import __version__
from dibs.errors import InputError
from dibs.problem.structure import Instance
from dibs.search.nogoods.team import Cube
from dibs.search.outcome import Outcome, Status, together
from dibs.search.plan import Request
from dibs.search.solver import Solver
from dibs.search.stream import BATCH, Found, Solved, each
from dibs.search.workers import splits, take_turn
from dibs.solving import ready
from dibs.wording import one_line

Tag = TypeVar("Tag")

Task = tuple[Cube, int, float]  # of one instance: a cube, the variant of the search, seconds

AHEAD = 2  # tasks for each core that are handed out at once
DEATHS = 5  # workers that may die at a task before it is given up
KNOCK = 5.0  # seconds to wait at the address of a cluster: Ray itself would wait for minutes
TURN, LONGEST = 2.0, 60.0  # seconds of the first turns at one instance, and at most
TOLD = 1000  # lists of nogoods that are kept for tasks to come
PATIENCE = 0.1  # seconds between two looks at `stop`

_solvers: dict[str, Solver] = {}  # of a worker: guides are loaded once


@contextmanager
def connected(address: str, workers: int | None = None) -> Iterator[Any]:
    """Ray, with a cluster; `address` "local" starts one here, with `workers` cores."""
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise InputError("a cluster needs Ray: pip install 'dibs[cluster]'") from None
    _knock(address)
    cores = {"num_cpus": workers} if address == "local" else {}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that is started here tells nobody
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="error", **cores)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"no Ray cluster at {address}: {one_line(error)}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise if nobody listens at HOST:PORT."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return  # "local", "auto": Ray knows at once
    try:
        socket.create_connection((host.strip("[]"), int(port)), KNOCK).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address}: {getattr(error, 'strerror', None) or error}") from None


def fetched(ray: Any, one: Any) -> Any:
    """What a task has brought; what the worker refused, or its deaths, in one line."""
    try:
        return ray.get(one)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, InputError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(f"the cluster gave a task up after {DEATHS + 1} attempts: {first}") from None


def solve_batches(
    problems: Iterator[tuple[Tag, Instance]],
    request: Request,
    address: str,
    workers: int | None = None,
    stop: Event | None = None,
) -> Generator[list[Solved[Tag]]]:
    """As `search.stream.solve_batches`, on a cluster: `workers` of its cores, or all; "local" starts one here."""
    halted = (stop or Event()).is_set
    first = list(islice(problems, 2))
    with connected(address, workers) as ray:
        cores = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        if len(first) == 1:
            [(tag, instance)] = first
            found = _one(ray, instance, request, cores, halted)
            if found is not None:
                yield [(tag, instance, found)]
        else:
            yield from _many(ray, chain(first, problems), request, cores, halted)


def _many(
    ray: Any, problems: Iterator[tuple[Tag, Instance]], request: Request, cores: int, halted: Callable[[], bool]
) -> Generator[list[Solved[Tag]]]:
    perform = ray.remote(num_cpus=1, max_retries=DEATHS)(_some)
    sent = ray.put((request, __version__))
    waiting: dict[Any, list[tuple[Tag, Instance]]] = {}
    first, size = 0, 1
    while not halted():
        while len(waiting) < AHEAD * cores and (batch := list(islice(problems, size))):
            waiting[perform.remote(sent, [instance for _, instance in batch], first)] = batch
            first, size = first + len(batch), min(2 * size, BATCH)
        if not waiting:
            return
        for one in _done(ray, waiting):
            batch = waiting.pop(one)
            outcomes = fetched(ray, one)
            yield [(tag, i, found) for (tag, i), found in zip(batch, outcomes, strict=True) if found]


def _done(ray: Any, waiting: Iterable[Any]) -> Sequence[Any]:
    """Tasks that are done by now, or soon."""
    with redirect_stdout(sys.stderr):  # where Ray tells of workers that have died
        done: Sequence[Any] = ray.wait(list(waiting), num_returns=1, timeout=PATIENCE)[0]
    return done


# What a worker does


def _solver(sent: tuple[Request, str]) -> Solver:
    request, theirs = sent
    if __version__ != theirs:
        raise InputError(f"a worker has another dibs: {__version__}, not {theirs}")
    key = repr(request)
    if key not in _solvers:
        _solvers.clear()
        _solvers[key] = ready(request)
    return _solvers[key]


def _some(sent: tuple[Request, str], problems: Sequence[Instance], first: int) -> list[Found | None]:
    """Solve some instances of a list, from its place `first` on."""
    return each(problems, _solver(sent), range(first, first + len(problems)), Event())


@dataclass(frozen=True)
class Reply:
    """What a turn has brought: the outcome is LIMIT where its cube is not decided, or refuted for the reason `core`."""

    outcome: Outcome
    core: Cube | None
    told: list[NDArray[np.int32]]
    parts: list[Cube]


def _turn(sent: tuple[Request, str], instance: Instance, cube: Cube, variant: int, heard: Any, seconds: float) -> Reply:
    """Search in a cube for some seconds."""
    solver = _solver(sent)
    plan = solver.plan(instance)
    guide = solver.guide if plan.guided else None
    if guide is not None and guide.refusal(instance.structure):
        guide = None
    outcome, team, parts = take_turn(instance, plan.options, guide, cube, variant, heard, seconds)
    return Reply(outcome, team.core, team.told, parts)


# One instance


def _one(ray: Any, instance: Instance, request: Request, cores: int, halted: Callable[[], bool]) -> Found | None:
    """One instance on all cores, where the nogood search looks for one solution; otherwise on one of them."""
    sent = ray.put((request, __version__))
    plan = ready(request).plan(instance)
    options = plan.options
    if plan.search != "nogoods" or options.max_solutions > 1 or options.max_nodes is not None:
        alone = ray.remote(num_cpus=1, max_retries=DEATHS)(_some).remote(sent, [instance], 0)
        while not halted():
            if _done(ray, [alone]):
                found: Found | None = fetched(ray, alone)[0]
                return found
        return None
    perform = ray.remote(num_cpus=1, max_retries=DEATHS)(_turn)
    shared = ray.put(instance)
    end = inf if options.max_seconds is None else monotonic() + options.max_seconds
    open_: list[Task] = [((), variant, TURN) for variant in range(cores)]
    waiting: dict[Any, Task] = {}
    told: deque[NDArray[np.int32]] = deque(maxlen=TOLD)
    cost = Outcome(Status.LIMIT, search="nogoods")
    split = False
    while not halted():
        while open_ and len(waiting) < cores and monotonic() < end:
            cube, variant, seconds = task = open_.pop(0)
            waiting[perform.remote(sent, shared, cube, variant, list(told), min(seconds, end - monotonic()))] = task
        if not waiting:
            break
        for one in _done(ray, waiting):
            cube, variant, seconds = waiting.pop(one)
            reply: Reply = fetched(ray, one)
            cost = together(cost, reply.outcome)
            if reply.outcome.status is not Status.LIMIT:
                return cost
            told.extend(reply.told)
            if reply.core is not None:
                core = set(reply.core)
                told.append(np.array([len(core), 1, *core], np.int32))
                open_ = [task for task in open_ if not core <= set(task[0])]
            elif reply.parts and splits(instance) and (cube or not split):
                open_ = [task for task in open_ if task[0]] + [(part, variant, TURN) for part in reply.parts]
                split = True
            elif cube or not split:
                open_.append((cube, variant, min(2 * seconds, LONGEST)))
            if split and not open_ and not any(task[0] for task in waiting.values()):
                return replace(cost, status=Status.UNSAT)
    return None if halted() else cost
