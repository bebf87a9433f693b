"""Calling the command line from tests: in this process where possible, which is quick, else in one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from dibs.cli import main

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
SEARCHED = ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6..."  # needs nodes
BLANK = "." * 81
UNSAT = "5168497323.76.5...8.97...65135.6.9.7472591..696837..5.253186.746842.75..791.5.6.8"  # no two givens clash


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line of a refusal: exit code 2, one line on standard error, nothing on standard output."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err[:-1]


Run = Callable[..., Result]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("solve", ..., stdin=...)` in this process."""

    def run(*argv: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(word) for word in argv])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def start(*argv: object) -> subprocess.Popen[bytes]:
    """The same in a process of its own, with pipes; unbuffered, so that `communicate` gets what `readline` left."""
    words = [sys.executable, "-m", "dibs", *map(str, argv)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
