"""`dibs serve`: the address it prints, what it refuses, and that Ctrl-C ends it at once."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shell import Run, runner, start

LARGE = "." * 256


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@contextmanager
def serving(*words: object) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server of its own process, and the address that it printed."""
    process = start("serve", *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.match(r"(http://\S+/) \(Ctrl-C stops it\)\n", line)
        assert found, line
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_it_with_streams_open() -> None:
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    with serving("--port", 0) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        about = json.load(urllib.request.urlopen(f"{address}api/about"))
        assert about["searches"]
        body = json.dumps(
            {"family": "sudoku", "text": LARGE, "searches": [{"search": "mrv"}], "nodes": 250_000}
        ).encode()
        request = urllib.request.Request(f"{address}api/race", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as stream:
            assert stream.readline().startswith(b"event: ")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) == (130, b"", b"")


def test_only_this_machine_unless_told(run: Run) -> None:
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    with serving("--port", 0, "--host", "0.0.0.0") as (process, address):
        assert address.startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert err.decode().count("\n") == 1
    assert "everybody who can reach 0.0.0.0 can use this page" in err.decode()


def test_a_port_that_is_in_use(run: Run) -> None:
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        words = f"dibs: port {port} is in use: give another with --port, or --port 0 for any that is free"
        assert run("serve", "--port", port).complaint == words


def test_what_is_refused(run: Run) -> None:
    for port in (-1, 65536):
        words = f"dibs: port = {port}: it must be a whole number from 0 to 65535"
        assert run("serve", f"--port={port}").complaint == words
    assert "1.5 is not a whole number" in run("serve", "--port", "1.5").complaint
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    words = "dibs: host = 'no.such.host.invalid': no such address on this machine"
    assert run("serve", "--host", "no.such.host.invalid").complaint == words
    assert run("serve", "--host", "192.0.2.1").complaint.startswith("dibs: host = '192.0.2.1'")


def test_the_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dibs.web")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("fastapi", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("serve").complaint == "dibs: the playground needs fastapi and uvicorn: pip install 'dibs[web]'"


def test_help_needs_none_of_it() -> None:
    code = "import sys, dibs.cli; print([m for m in ('fastapi', 'uvicorn', 'numba', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"
