"""HTTP itself: what uvicorn leaves open about slow, broken and too many connections.

The first lines of a request must arrive in time; a server that is full closes the connection that has waited longest
without a request; and whatever is no HTTP gets one line of JSON with the headers of every other answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dibs.web import limits
from dibs.web.gate import Refusal, full, refused


class Protocol(H11Protocol):
    """One connection."""

    _late: asyncio.TimerHandle | None = None
    _since = 0.0  # when it began to wait for a request

    @property
    def waiting(self) -> bool:
        """Whether no request has arrived, or only a part of its first lines."""
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > limits.CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, Protocol) and one is not self and one.waiting]
            if idle:
                oldest = min(idle, key=lambda one: one._since)
                self.connections.discard(oldest)
                oldest.transport.close()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        self.app: Any = full if len(self.connections) > limits.CONNECTIONS else self.config.loaded_app
        super().handle_events()
        if not self.waiting:
            self._arrived()
        elif self._late is None and self.conn.trailing_data[0]:  # the beginning of another request
            self._wait()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Refusal(400, "this is no HTTP request; the page is at http://, not https://"))

    def _wait(self) -> None:
        self._since = self.loop.time()
        self._late = self.loop.call_later(limits.HEAD_SECONDS, self._too_late)

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self.transport.is_closing() or not self.waiting:
            return
        if self.conn.trailing_data[0]:
            self._refuse(Refusal(408, "the request took too long to arrive"))
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        headers, body = refused(refusal)
        names = [header for header in headers if header[0] != b"connection"]
        answer = h11.Response(status_code=refusal.status, headers=[*names, (b"connection", b"close")])
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
