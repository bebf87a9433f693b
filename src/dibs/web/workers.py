"""Where work is done for a page: threads that share the cores, cancelled when the page goes away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from typing import Any, TypeVar

from dibs.bench.experiment import Row
from dibs.guide.lazy import LazyGuide, lazy_guide
from dibs.problem import CNF, InputError, Sudoku
from dibs.search.guidance import Guidance
from dibs.search.stream import cores
from dibs.web import limits
from dibs.web.scheduling import Cancelled, Exclusive, Job, Slots

T = TypeVar("T")

COMPILING = "The search is being prepared: the first start compiles it, which takes a minute or so."


class Workers:
    """The work of one server."""

    def __init__(self) -> None:
        self.slots = Slots(cores())
        self.seats = asyncio.Semaphore(limits.ACTIVE)
        self.heavy = asyncio.Semaphore(limits.HEAVY)
        self.making = asyncio.Semaphore(limits.MAKING)
        self.squares = asyncio.Semaphore(limits.SQUARES)
        self.ready = Event()  # the kernel is compiled and the usual guide is loaded
        self.all_ready = Event()  # and what large squares need
        self._guides: dict[str, Slots] = {}  # one slot for each guide
        self._lock = Lock()

    def warm_up(self) -> None:
        """Compile or load what searches need, in the background."""
        threading.Thread(target=self._warm_up, name="dibs web: warming up", daemon=True).start()

    def _warm_up(self) -> None:
        from dibs.warm import warm

        try:
            for name, _ in warm(playing=True):
                if name == "guides":
                    self.ready.set()
        finally:  # whatever failed will be said to whoever asks for it
            self.ready.set()
            self.all_ready.set()

    async def until(self, ready: Event) -> None:
        while not ready.is_set():
            await asyncio.sleep(limits.BEAT)

    def guide(self, row: Row, instance: Sudoku | CNF) -> LazyGuide | None:
        """The guide of a search, which can take the instance; InputError says why it cannot."""
        if row.guidance.guide is None:
            return None
        guide = lazy_guide(row.guidance)
        if row.options.guide_after is None and (reason := guide.refusal(instance.structure)):
            raise InputError(reason)
        return guide

    def asking(self, guidance: Guidance, job: Job) -> Exclusive:
        """To be held while a guide is asked."""
        with self._lock:
            one = self._guides.setdefault(guidance.guide or "", Slots(1))
        return Exclusive(one, job)

    async def run(self, work: Callable[[Job], T], seats: asyncio.Semaphore | None = None) -> T:
        """`work(job)` on a thread of its own, with a core; cancelled with the coroutine that waits for it.

        `seats`: how many of its kind there may be; a seat is free when the thread has ended, wanted or not.
        """
        job, seats = Job(self.slots), seats or self.seats

        def body() -> T:
            with job:
                if job.cancelled:
                    raise Cancelled
                return work(job)

        await seats.acquire()
        try:
            return await aside(body, seats.release)
        except asyncio.CancelledError:
            job.cancel()
            raise


async def aside(work: Callable[[], T], ended: Callable[[], None] = lambda: None) -> T:
    """`work()` on a thread that nobody waits for when the server ends; `ended` is called even if nobody wants it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        ended()
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def body() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the server has gone
            loop.call_soon_threadsafe(finish, result, failure)

    try:
        threading.Thread(target=body, name="dibs web", daemon=True).start()
    except RuntimeError:  # the system has no more threads
        ended()
        raise
    return await done
