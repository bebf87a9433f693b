"""Who may ask, and how: every request comes through here first, and every refusal is one line of JSON.

Another website can make a visitor's browser send requests to this machine. It cannot choose the Host that the browser
names, nor hide its Origin; so both are checked, and a request must say that it is JSON, which a foreign page cannot do
without asking first.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dibs.web import limits
from dibs.web.stream import as_json

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANYWHERE = ("0.0.0.0", "::")

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Refusal(Exception):
    """A 4xx in one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = shortened(words)


def shortened(text: str) -> str:
    """On one line, which a page can show."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."


class Gate:
    """Lets through what the page itself would send; answers all else."""

    def __init__(self, app: ASGIApp, host: str, paths: Mapping[str, str]) -> None:
        """`host`: what the server was told to listen at; `paths`: the method of each path."""
        self.app = app
        self.paths = paths
        self.anywhere = host in ANYWHERE
        self.hosts = {*LOOPBACK, *([] if self.anywhere else [host.lower()])}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        out = _Answer(send)
        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            body = await _body(headers, receive) if scope["method"] == "POST" else b""
            await self.app(scope, _replayed(body, receive), out)
        except Refusal as refusal:
            await out.refuse(refusal)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = self._host(headers)
        self._origin(headers, host)
        wanted = self.paths.get(scope["path"])
        if wanted is None:
            raise Refusal(404, "no such page")
        if scope["method"] != wanted:
            raise Refusal(405, f"use {wanted}")
        if scope["query_string"]:
            raise Refusal(400, "nothing may follow a ? in the address")
        if wanted == "POST":
            kind, _, more = headers.get("content-type", "").partition(";")
            if kind.strip().lower() != "application/json" or more.strip().lower() not in ("", "charset=utf-8"):
                raise Refusal(415, "the content type must be application/json")
            if headers.get("content-encoding", "identity") != "identity":
                raise Refusal(415, "the body must not be packed")

    def _host(self, headers: Headers) -> str:
        """The host that was asked for; only names that cannot be made to point here by others."""
        given = headers.getlist("host")
        if len(given) != 1:
            raise Refusal(400, "one Host header is needed")
        name = _name(given[0])
        if name not in self.hosts and not (self.anywhere and _is_address(name)):
            raise Refusal(403, "this host name is not served; use the address that dibs serve printed")
        return given[0].lower()

    def _origin(self, headers: Headers, host: str) -> None:
        for origin in headers.getlist("origin"):
            if origin.lower() != f"http://{host}":
                raise Refusal(403, "requests from other websites are refused")
        if headers.get("sec-fetch-site", "none") in ("cross-site", "same-site") and (
            headers.get("sec-fetch-mode") != "navigate"
        ):
            raise Refusal(403, "requests from other websites are refused")


def _name(host: str) -> str:
    """`[::1]:8000` -> `::1`; nothing if it is no host with or without a port."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _is_address(name: str) -> bool:
    """No other website can answer for a number: a name that is rebound is never one."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _body(headers: Headers, receive: Receive) -> bytes:
    """All of it, up to the limit, whether or not the request says how long it is."""
    large = Refusal(413, f"a request has at most {limits.BODY:,} bytes")
    if (length := headers.get("content-length", "0")).isdigit() and int(length[:20]) > limits.BODY:
        raise large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the request broke off")
                body += message.get("body", b"")
                if len(body) > limits.BODY:
                    raise large
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise Refusal(408, "the request took too long to arrive") from None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(400, "the body must be JSON in UTF-8") from None
    if 0 in body:  # JSON has none; UTF-16 has
        raise Refusal(400, "the body must be JSON in UTF-8")
    return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Answer:
    """`send` with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            for name, value in HEADERS.items():
                headers[name] = value
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self._started:
            return
        headers, body = refused(refusal)
        await self({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def refused(refusal: Refusal) -> tuple[list[Any], bytes]:
    """Headers and body of a refusal; where more may be on its way, it is not wanted."""
    body = as_json({"error": refusal.words})
    headers = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS}
    if refusal.status in (408, 413, 503):
        headers["connection"] = "close"
    return [(name.encode(), value.encode()) for name, value in headers.items()], body


async def full(scope: Scope, receive: Receive, send: Send) -> None:
    """The application of a server that has no room for another connection."""
    await _Answer(send).refuse(Refusal(503, "too many connections: try again in a moment"))
