"""The lines of shell in pages, and how they are run: in a folder with the files that they speak of.

Lines of `dibs` that end soon are run to their end, in this process; those with pipes and the like by a shell. Commands
that take minutes (servers, training, experiments) are started at a terminal, must say that they work, and end by Ctrl-C
without a traceback. Where a page has trained a guide for minutes and then uses it, another guide is put in its place.
`make` and `pip` are looked up: CI runs them.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from select import select
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory
from time import monotonic

import pytest

from dibs import lists
from dibs.cli import main
from dibs.lists import LISTS
from documented import ROOT, blocks, write_desk

LONG = re.compile(r"\bdibs (serve|train|bench)\b|\bdoubted 5000\b|eval .* hard300")
WORKS = re.compile(r"http://|reading instances|\d instances|making data|searches, |looked at|searched|timings")
READS = re.compile("getting the instances ready")
ENDED = (0, 1, 10, 20)  # 1: some puzzles are not unique; 10 and 20: formulas
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PATIENCE = 240  # seconds; a first start may have to compile
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def lines(page: Path) -> list[str]:
    """Without their comments."""
    text = "".join(block.text for block in blocks(page, "sh") if block.runs)
    return [line for found in text.splitlines() if (line := re.split(r"(?:^|\s+)# ", found)[0].strip())]


@cache
def _desk() -> TemporaryDirectory[str]:
    """Made once; removed when Python ends."""
    found = TemporaryDirectory(prefix="pages")
    write_desk(Path(found.name) / "desk")
    return found


def sit_down(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in `folder`, a copy of the desk, whose lists are what they are taken for."""
    copytree(Path(_desk().name) / "desk", folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("DIBS_DATA", str(folder / "lists"))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    for name in ("royle17", "top1465"):
        puzzles = (folder / "lists" / f"{name}.txt").read_text().split()
        monkeypatch.setitem(LISTS, name, replace(LISTS[name], sha256=lists.checksum(puzzles)))


def run(line: str) -> None:
    first, *rest = line.split()
    if first == "make":
        assert rest[0] in TARGETS, line
    elif first == "pip":
        assert set(re.findall(r"\w+", ",".join(re.findall(r"\[([\w,]+)\]", line)))) <= EXTRAS, line
    elif line == "dibs --install-completion":
        _shell(f"HOME=$PWD SHELL=/bin/bash {line}")
    else:
        _put_results(line)
        if LONG.search(line):
            _started_and_stopped(line)
        elif first == "dibs" and not re.search(r"[|;&]", line):
            _run_here(shlex.split(line))
        else:
            _shell(line)


def _run_here(words: list[str]) -> None:
    if "--from" in words and words[3] in LISTS:
        LISTS[words[3]].path.unlink()  # to be taken from the file
    words = words[: words.index(">")] if ">" in words else words
    assert main(words[1:]) in ENDED, words


def _shell(line: str) -> None:
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in ENDED, (line, done.stdout, done.stderr)


def _put_results(line: str) -> None:
    """What a page would have by now, had the lines above that take long come to their end."""
    if "bench families" in line:
        line += " --guide runs/families"
    used = re.findall(r"(?:--guide|model \w+) (my-guide|runs/[\w-]+)", line)
    used += re.findall(r"runs/[\w-]+", line) if "dibs report" in line else []
    for name in used:
        rmtree(name, ignore_errors=True)
        copytree(f"done/{name}", name)


def _started_and_stopped(line: str) -> None:
    if "--cluster" in line and find_spec("ray") is None:
        pytest.skip("needs Ray")
    if re.search(r"\bserve$", line):
        line += " --port 0"  # somebody else may have the usual one
    works = READS if "bench families" in line else WORKS  # it makes 144 of them first
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    said = ""
    try:
        for piece in _read(terminal):
            said += piece
            if works.search(said):
                os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
                break
        said += "".join(_read(terminal))
        code = process.wait(PATIENCE)
    finally:
        os.close(terminal)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert works.search(said), (line, said)
    assert code in (0, 130), (line, said)
    assert "Traceback" not in said, (line, said)


def _read(terminal: int) -> Iterator[str]:
    """What is written there, until nobody writes any more."""
    until = monotonic() + PATIENCE
    while select([terminal], [], [], max(0.0, until - monotonic()))[0]:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            return
        if not piece or monotonic() > until:
            return
        yield CONTROL.sub("", piece.decode(errors="replace"))
