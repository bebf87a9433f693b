"""From a working thread to a page: events as text, no faster than the page reads them."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Condition
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dibs.web import limits
from dibs.web.scheduling import Job


def as_json(value: Any) -> bytes:
    """In ASCII, whatever a request had in it; JSON has neither NaN nor infinity."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def as_event(name: str, fields: dict[str, Any]) -> bytes:
    return b"event: " + name.encode("ascii") + b"\ndata: " + as_json(fields) + b"\n\n"


class Channel:
    """Events that a thread puts in and a coroutine takes out."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._room = Condition()
        self._events: deque[bytes] = deque()
        self._closed = False

    def put(self, name: str, fields: dict[str, Any], job: Job | None = None) -> None:
        """Hand an event over. `job` rests while the reader is far behind; a reader who never reads cancels it."""
        event = as_event(name, fields)
        with self._room:
            self._events.append(event)
        self._wake()
        if job is not None and self._full():
            job.pause(lambda: self._wait(job))

    def part(self, **marks: int) -> ChannelPart:
        """The same channel for one of several that share it: its events carry the marks."""
        return ChannelPart(self, marks)

    def _full(self) -> bool:
        return len(self._events) > 2 * limits.UNREAD  # counters go with the nodes

    def _wait(self, job: Job) -> None:
        left = limits.PATIENCE
        with self._room:
            while self._full() and not job.cancelled and left > 0:
                self._room.wait(limits.BEAT)
                left -= limits.BEAT
        if left <= 0:
            job.cancel()

    def close(self) -> None:
        """No event will come."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the server has gone
            self._loop.call_soon_threadsafe(self._ready.set)

    async def get(self) -> bytes:
        """What is there, at least one event; nothing at the end."""
        while True:
            with self._room:
                found = b"".join(self._events)
                self._events.clear()
                self._room.notify_all()
            if found or self._closed:
                return found
            await self._ready.wait()
            self._ready.clear()


class ChannelPart:
    """One's own side of a channel that several share."""

    def __init__(self, channel: Channel, marks: dict[str, int]) -> None:
        self._channel, self._marks = channel, marks

    def put(self, name: str, fields: dict[str, Any], job: Job | None = None) -> None:
        self._channel.put(name, {**self._marks, **fields}, job)


async def gone(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(work: Awaitable[Any], receive: Receive) -> bool:
    """Await `work`, or give it up when the client goes away; whether it was done."""
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = tasks[0].done()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if done:
        await tasks[0]
    return done


class EventStream(Response):
    """`make(channel)` is awaited while its events go out; it is cancelled when the client goes away."""

    def __init__(self, make: Callable[[Channel], Awaitable[None]]) -> None:
        super().__init__(media_type="text/event-stream", headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self.make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(OSError):
            await unless_gone(self._write(send), receive)

    async def _write(self, send: Send) -> None:
        channel = Channel()
        work = asyncio.ensure_future(self.make(channel))
        work.add_done_callback(lambda _: channel.close())
        try:
            while events := await channel.get():
                await send({"type": "http.response.body", "body": events, "more_body": True})
            await work
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
