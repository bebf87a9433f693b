"""One server on one socket, until Ctrl-C."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from dibs.errors import Refused
from dibs.web.app import build
from dibs.web.protocol import Protocol
from dibs.web.workers import Workers


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; Refused says in a line what to do about one that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise Refused(f"dibs: host = {host!r}: no such address on this machine") from None
    bound = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise Refused(f"dibs: {_why(error, host, port)}") from None
    return bound


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use: give another with --port, or --port 0 for any that is free"
    if error.errno == errno.EACCES:
        return f"port {port} is not for this user: give one above 1023 with --port, or --port 0 for any that is free"
    return f"host = {host!r}, port = {port}: {error.strerror or error}"


def address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Server(uvicorn.Server):
    """It does not wait for streams when it ends."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served; `Protocol` counts connections itself."""
    return uvicorn.Config(
        app,
        http=Protocol,
        access_log=False,
        log_level="critical",
        server_header=False,
        date_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=30,
    )


def serve(bound: socket.socket, host: str, ready: Callable[[], None] = lambda: None) -> None:
    """Serve the page on a socket until Ctrl-C; `ready` is called when it answers."""
    workers = Workers()

    def up() -> None:
        workers.warm_up()
        ready()

    Server(configured(build(host, workers)), up).run(sockets=[bound])
