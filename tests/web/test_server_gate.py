"""Who may ask: a thousand requests that no page would send, other hosts and websites, files that are none of theirs."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")

import httpx

import pages
from dibs.web import limits
from dibs.web.app import static
from dibs.web.gate import ANYWHERE, HEADERS, Gate, Refusal
from pages import Site, told

HARD = ".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4"
READ = {"family": "sudoku", "text": HARD}
QUESTIONS: dict[str, dict[str, Any]] = {
    "/api/read": READ,
    "/api/generate": {"family": "sudoku", "size": 4, "seed": 1},
    "/api/marginals": {**READ, "guide": "relational", "steps": 1},
    "/api/race": {**READ, "searches": [{"search": "fc"}]},
    "/api/square": {"order": 6, "seed": 1},
    "/api/why": READ,
    "/api/node": {**READ, "search": "fc", "node": 0},
    "/api/export": {**READ, "searches": [{"search": "fc"}]},
}
FIELDS = [
    "family", "text", "box", "size", "givens", "variables", "clauses", "seed", "guide", "steps", "search", "nodes",
    "seconds", "node", "searches",
]  # fmt: skip


def refused(response: httpx.Response) -> str:
    """A 4xx in one line of JSON."""
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["content-type"] == "application/json"
    found = response.json()
    assert list(found) == ["error"]
    assert found["error"]
    assert found["error"].isprintable()
    assert len(found["error"]) <= 300
    assert "\n" not in response.text
    words: str = found["error"]
    return words


# One bad thing in a request that is otherwise good


def junk(rng: random.Random) -> Any:
    """No value of any field."""
    text = "".join(chr(rng.choice((0, 10, 34, 92, 0xD800, 0xFFFF, 0x1F600, rng.randrange(32, 127)))) for _ in range(9))
    return rng.choice(
        [
            None, True, False, -1, -(2**70), 2**70, 1e300, -0.5, 1.5, "", [], {}, [[]], {"a": 1}, "x" * 5000, text,
            "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "relational/../transformer", "$(id)", "1;ls",
            [1, 2, 3], [0, 0], [999, 999], ["3", "3"], "p cnf", "p cnf 99999999 1\n1 0\n", "p cnf 2 1\n1 2\n", "\x00",
            [{}], [{"search": "fc"}] * 3, {"search": "fc"}, "9" * 81, "." * 82, "1" * 81,
        ]
    )  # fmt: skip


# What is right for a field, though it looks like junk.
RIGHT: dict[str, Callable[[Any], bool]] = {
    "box": lambda value: value is None,
    "guide": lambda value: value is None,
    "seed": lambda value: value is None,
    "givens": lambda value: value is None,
    "clauses": lambda value: value is None,
    "nodes": lambda value: value is None,
    "seconds": lambda value: value is None or value == 1.5,
}


def wrong_value(rng: random.Random) -> dict[str, Any]:
    path = rng.choice(list(QUESTIONS))
    body = dict(QUESTIONS[path])
    field = rng.choice(FIELDS if rng.random() < 0.3 else list(body))
    value = junk(rng)
    if field in RIGHT and RIGHT[field](value):
        value = "none"
    if path in ("/api/read", "/api/why") and field == "text" and value in ("1" * 81, "9" * 81):
        value = "1" * 80  # clashes are shown there
    if field not in body and field not in ("box", "guide", "seed", "nodes", "seconds", "givens"):
        field += "?"  # a field that there is not
    body[field] = value
    return {"path": path, "content": json.dumps(body).encode()}


def missing(rng: random.Random) -> dict[str, Any]:
    path = rng.choice(list(QUESTIONS))
    body = dict(QUESTIONS[path])
    for field in ("guide", "steps", "size", "seed"):  # these have defaults
        body.pop(field, None)
    body.pop(rng.choice(list(body)))
    return {"path": path, "content": json.dumps(body).encode()}


def no_json(rng: random.Random) -> dict[str, Any]:
    good = json.dumps(READ).encode()
    content = rng.choice(
        [
            b"", b"null", b"[]", b"1", b'"x"', b"{", b"}{", good[:-1], good + b"x", b"\xff\xfe" + good, b"[" * 60_000,
            b'{"a":' * 10_000, b"NaN", b"1" * 10_000, rng.randbytes(200), good.replace(b'"sudoku"', b"sudoku"),
            good.decode().encode("utf-16"), b'{"family":"sudoku","text":NaN}', b'{"text":"\xed\xa0\x80"}',
        ]
    )  # fmt: skip
    return {"path": rng.choice(list(QUESTIONS)), "content": content}


def wrong_kind(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(
        [
            "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json",
            "application/jsonx", "application/json; charset=latin-1", "application/xml", "image/png", "*/*",
        ]
    )  # fmt: skip
    path = rng.choice(list(QUESTIONS))
    return {"path": path, "content": json.dumps(QUESTIONS[path]).encode(), "headers": {"content-type": kind}}


def too_large(rng: random.Random) -> dict[str, Any]:
    size = limits.BODY + rng.randrange(1, 3000)
    if rng.random() < 0.5:
        return {"path": rng.choice(list(QUESTIONS)), "content": b" " * size}

    def pieces() -> Iterator[bytes]:
        for _ in range(size // 1000 + 1):
            yield b" " * 1000

    return {"path": rng.choice(list(QUESTIONS)), "content": pieces()}


def wrong_method(rng: random.Random) -> dict[str, Any]:
    path = rng.choice([*QUESTIONS, "/", "/api/about", "/static/app.js"])
    good = "POST" if path in QUESTIONS else "GET"
    method = rng.choice([m for m in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW") if m != good])
    return {"path": path, "method": method}


def no_path(rng: random.Random) -> dict[str, Any]:
    path = rng.choice(
        [
            "/api", "/api/", "/api/read/", "/docs", "/redoc", "/openapi.json", "/static", "/static/", "/favicon.png",
            "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/....//app.py", "/static/%",
            "/static//etc/passwd", "/static/%00", "/static/app.js%00", "/static/app.js/", "/%2e%2e/%2e%2e/etc/passwd",
            "/static/index.html?x=1", "/?x=1", "/api/about?x", "/static/" + "a" * 3000, "/static/\\..\\app.py",
            "/etc/passwd", "/api/read%0d%0aX: y", "/static/__init__.py", "/static/.hidden", "/API/READ", "/Static/",
        ]
    )  # fmt: skip
    return {"path": path, "method": rng.choice(["GET", "POST"]), "content": json.dumps(READ).encode()}


def foreign(rng: random.Random) -> dict[str, Any]:
    headers = rng.choice(
        [
            {"host": "evil.example"}, {"host": "evil.example:8000"}, {"host": "127.0.0.1.evil.example"}, {"host": ""},
            {"host": "localhost.evil.example"}, {"host": "192.168.1.7"}, {"host": "[::2]"}, {"host": "127.0.0.2"},
            {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "https://127.0.0.1"}, {"origin": ""},
            {"origin": "http://127.0.0.1:1"}, {"origin": "file://"}, {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"}, {"host": "localhost@evil.example"}, {"host": "0.0.0.0"},
            {"content-encoding": "gzip"}, {"host": "127.0.0.1:evil.example"}, {"host": "[::1]evil.example"},
            {"host": "127.0.0.1:8000:1"}, {"host": "localhost:"},
        ]
    )  # fmt: skip
    path = rng.choice(list(QUESTIONS))
    return {"path": path, "content": json.dumps(QUESTIONS[path]).encode(), "headers": headers}


KINDS = [wrong_value] * 6 + [missing, no_json, no_json, wrong_kind, too_large, wrong_method, no_path, foreign]


def test_a_thousand_malformed_requests(served: Site, client: httpx.Client) -> None:
    rng = random.Random(7)
    for i in range(1000):
        wish = rng.choice(KINDS)(rng)
        headers = {"content-type": "application/json", **wish.get("headers", {})}
        path, method = wish["path"], wish.get("method", "POST")
        response = client.request(method, path, content=wish.get("content"), headers=headers)
        try:
            refused(response)
        except AssertionError as error:
            raise AssertionError(f"request {i}: {method} {str(wish)[:500]}") from error
    assert told(client, family="sudoku", text=HARD, search="fc").end["nodes"] == 985
    for path, body in QUESTIONS.items():
        assert client.post(path, json=body).status_code == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a browser that tries https
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00" * 1000 + b"\r\n\r\n",
        b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999999999999999\r\n"
        b"content-type: application/json\r\n\r\n",
        b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n"
        b"content-type: application/json\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    ],
)
def test_what_is_hardly_http(served: Site, client: httpx.Client, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        found, cut = b"", False
        try:
            line.sendall(raw)
            line.shutdown(socket.SHUT_WR)
            while piece := line.recv(65536):
                found += piece
        except OSError:  # it has heard enough
            cut = True
    assert found.startswith(b"HTTP/1.1 4") or (cut and not found), found[:100]
    if found:
        transported(found)
    assert client.get("/api/about").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/../../../../../../etc/passwd", "/../../etc/passwd", "//etc/passwd", "//", "/..",
        "/static/..%2f..%2fapp.py", "/static/%2e%2e/app.py", "/static/..\\app.py", "/static/index.html/../app.py",
        "/static/%2Fetc%2Fpasswd", "/static/index.html%00.js", "/static/", "/static", "/static/../static/index.html",
    ],
)  # fmt: skip
def test_no_path_leads_to_a_file(served: Site, path: str) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        found = b""
        while piece := line.recv(65536):
            found += piece
    assert found.startswith(b"HTTP/1.1 404"), found
    assert found.endswith(b'{"error":"no such page"}')


def transported(found: bytes) -> str:
    """What an answer says that comes before there is a request: it has the headers of all the others."""
    head, _, body = found.partition(b"\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:])
    for name, value in HEADERS.items():
        assert lines[name] == value.lower()
    assert lines["content-type"] == "application/json"
    words: str = json.loads(body)["error"]
    return words


def test_slow_headers_are_cut_off(served: Site, client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first request of a connection, and before the next one."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.2)
    whole = b"GET /api/about HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    for before in (b"", whole):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
            line.sendall(before + b"GET / HTTP/1.1\r\nhost: 127")
            found = b""
            while piece := line.recv(65536):
                found += piece
        *answers, last = found.split(b"HTTP/1.1 408")
        assert b"".join(answers).startswith(b"HTTP/1.1 200") == bool(before)
        assert "too long" in transported(last)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        assert line.recv(65536) == b"", "a connection without a word is closed without one"
    assert client.get("/api/about").status_code == 200


def test_a_full_server_closes_who_has_waited_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets that send no request cannot keep others out."""
    monkeypatch.setattr(limits, "CONNECTIONS", 4)
    monkeypatch.setattr(limits, "HEAD_SECONDS", 600.0)
    with pages.site() as site, ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=60)) for _ in range(12)]
        for line in slow:
            with suppress(OSError):  # it may be closed already
                line.sendall(b"GET / HTTP/1.1\r\nx: ")
        with httpx.Client(base_url=site.url, timeout=60) as client:
            assert client.get("/api/about").status_code == 200
        with suppress(ConnectionResetError):
            assert slow[0].recv(65536) == b""


def test_a_server_full_of_work_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pages.site(warm=False) as site, ExitStack() as stack:
        monkeypatch.setattr(limits, "CONNECTIONS", 2)
        for _ in range(2):  # they wait for the kernel, and have their requests
            client = stack.enter_context(httpx.Client(base_url=site.url, timeout=60))
            busy = stack.enter_context(client.stream("POST", "/api/race", json=QUESTIONS["/api/race"]))
            assert busy.status_code == 200
        with httpx.Client(base_url=site.url, timeout=60) as client:
            answer = client.get("/api/about")
        assert answer.status_code == 503
        assert "too many connections" in answer.json()["error"]
        assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_half_a_request_is_not_waited_for_forever(
    served: Site, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        line.sendall(b"POST /api/read HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        line.sendall(b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        assert line.recv(65536).startswith(b"HTTP/1.1 408")
    assert client.get("/api/about").status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:1234", "LOCALHOST:8000", "[::1]:8000"])
def test_this_machine_by_its_own_names(client: httpx.Client, host: str) -> None:
    for path in ("/", "/api/about"):
        assert client.get(path, headers={"host": host}).status_code == 200
    headers = {"host": host, "origin": f"http://{host.lower()}", "sec-fetch-site": "same-origin"}
    assert client.post("/api/read", json=READ, headers=headers).status_code == 200
    other = {"host": host, "origin": "http://localhost:9"}
    assert client.post("/api/read", json=READ, headers=other).status_code == 403


def test_another_website_may_link_here_and_no_more(client: httpx.Client) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code == 403
    preflight = client.options("/api/race", headers={"origin": "http://evil.example"})
    assert preflight.status_code == 403
    assert not any(name.startswith("access-control") for name in preflight.headers)


@pytest.mark.parametrize(
    ("host", "asked", "fine"),
    [
        ("127.0.0.1", "10.0.0.5", False),
        ("10.0.0.5", "10.0.0.5:8000", True),
        ("10.0.0.5", "10.0.0.6:8000", False),
        ("box.lan", "BOX.lan:8000", True),
        ("127.0.0.1", "127.0.0.1:evil.example", False),
        ("0.0.0.0", "10.0.0.5:evil.example", False),
        *((host, "10.0.0.5:8000", True) for host in ANYWHERE),
        *((host, "[fe80::1]:8000", True) for host in ANYWHERE),
        *((host, "rebound.example:8000", False) for host in ANYWHERE),
    ],
)
def test_hosts_that_are_served(host: str, asked: str, fine: bool) -> None:
    """Everywhere, an address is believed: a name that another website rebinds is never one."""

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    from starlette.datastructures import Headers

    gate = Gate(nothing, host, {})
    if fine:
        assert gate._host(Headers({"host": asked})) == asked.lower()
    else:
        with pytest.raises(Refusal):
            gate._host(Headers({"host": asked}))


def test_every_answer_has_the_headers(client: httpx.Client) -> None:
    answers = [
        client.get("/"),
        client.get("/api/about"),
        client.get("/nothing"),
        client.post("/api/read", json=READ),
        client.post("/api/read", content=b"{", headers={"content-type": "application/json"}),
        client.post("/api/race", json=QUESTIONS["/api/race"]),
    ]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers or "uvicorn" in answer.headers["server"]
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert "default-src 'self'" in HEADERS["content-security-policy"]


def test_the_page_and_its_files(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    table = static()
    assert "index.html" in table
    for name, file in table.items():
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.content == file.body
        if name.endswith(".js"):
            assert answer.headers["content-type"].startswith("text/javascript")
        again = client.get(f"/static/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert b"http://" not in file.body.replace(b"http://www.w3.org/", b"")  # nothing is fetched from outside
        assert b"https://" not in file.body


def refusal(method: str, headers: list[tuple[str, str]], body: list[bytes] | None = None) -> int | None:
    """The status with which the gate refuses a request to a path that takes POST; None if it lets it through."""
    sent: list[dict[str, Any]] = []
    parts = list(body or [b"{}"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def receive() -> dict[str, Any]:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": "/api/read",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(Gate(app, "127.0.0.1", {"/api/read": "POST"})(scope, receive, send))
    return sent[0]["status"] if sent else None


HERE, JSON = ("host", "127.0.0.1:8000"), ("content-type", "application/json")


def test_the_gate_itself_refuses() -> None:
    """Whatever would become of it behind the gate."""
    assert refusal("POST", [HERE, JSON]) is None
    assert refusal("GET", [HERE, JSON]) == 405
    assert refusal("POST", [HERE, ("content-type", "text/plain")]) == 415
    assert refusal("POST", [HERE]) == 415
    assert refusal("POST", [HERE, HERE, JSON]) == 400
    assert refusal("POST", [JSON]) == 400
    large = [b"x" * (limits.BODY // 2 + 1)] * 2
    assert refusal("POST", [HERE, JSON], large) == 413, "no length was told: what comes is counted"
    assert refusal("POST", [HERE, JSON, ("content-length", str(limits.BODY + 1))]) == 413
