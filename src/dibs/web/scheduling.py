"""The cores, shared fairly: a search runs for a moment, then goes to the end of the queue if others wait.

A search asks `Job.stopped()` between two calls of the kernel, which is every millisecond or so. That is where it is
cancelled, where it lets others run, and where it hands over what it has found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock
from time import monotonic
from types import TracebackType
from typing import Self

from dibs.web import limits


class Slots:
    """So many may run at once; the others wait in the order they came."""

    def __init__(self, slots: int) -> None:
        self._lock = Lock()
        self._free = slots
        self._waiting: deque[Event] = deque()
        self.running = 0  # pieces of work that are not done, whether they have a core or wait for one

    @property
    def crowded(self) -> bool:
        return bool(self._waiting)

    def count(self, change: int) -> None:
        with self._lock:
            self.running += change

    def take(self) -> None:
        """Wait for a core."""
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            mine = Event()
            self._waiting.append(mine)
        mine.wait()

    def try_take(self) -> bool:
        """A core, if one is free and nobody waits."""
        with self._lock:
            if self._waiting or not self._free:
                return False
            self._free -= 1
            return True

    def give(self) -> None:
        """Hand the core to the one who has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


class Cancelled(Exception):
    """Nobody wants the answer any more."""


class Job:
    """One piece of work; within it, this thread has a core whenever `stopped` returns.

    `each` is called between two steps of the work, with this thread's core.
    """

    def __init__(self, slots: Slots) -> None:
        self.each: Callable[[], None] = lambda: None
        self._slots = slots
        self._cancelled = Event()
        self._since = 0.0

    def cancel(self) -> None:
        """From any thread; the work ends at its next step."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def __enter__(self) -> Self:
        self._slots.count(1)
        self._slots.take()
        self._since = monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._slots.give()
        self._slots.count(-1)

    def stopped(self) -> bool:
        """For `TreeSearch.run`: whether to end here. Others may run before it returns."""
        self.each()
        if self._slots.crowded and monotonic() - self._since >= limits.SLICE:
            self.pause(lambda: None)
        return self.cancelled

    def check(self) -> None:
        if self.stopped():
            raise Cancelled

    def pause(self, wait: Callable[[], object]) -> None:
        """Let others run while this work waits for something, and then until it is its turn again."""
        self._slots.give()
        try:
            wait()
        finally:
            self._slots.take()
            self._since = monotonic()


class Exclusive:
    """Held by one at a time, in the order they came: a guide that is asked. Who waits for it lets others run."""

    def __init__(self, one: Slots, job: Job) -> None:
        self._one = one  # with a single slot
        self._job = job

    def __enter__(self) -> None:
        if not self._one.try_take():
            self._job.pause(self._one.take)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._one.give()
