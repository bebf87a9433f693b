"""What only a process of its own can show: quick starts, Ctrl-C, a reader that goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shell import BLANK, PUZZLE, SOLUTION, start

PATIENCE = 120  # seconds; a first start may have to compile the kernel
ENDLESS = ["--count", 10**12]  # a blank grid has more solutions than anybody waits for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


def test_help_and_import_are_light() -> None:
    script = """
import sys
import dibs, dibs.cli
for words in ["--help"], ["solve", "--help"], ["generate", "--help"], ["generate", "sudoku", "--help"]:
    assert dibs.cli.main(words) == 0
print(sorted({"numba", "torch", "llvmlite", "onnxruntime", "onnx"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("columns", ["0", "1", "abc"])
def test_a_terminal_that_says_it_has_no_columns(columns: str) -> None:
    words = [sys.executable, "-m", "dibs", "why", "--help"]
    environment = {**os.environ, "COLUMNS": columns}
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE, env=environment)
    assert "roster.json" in done.stdout


def test_ctrl_c_keeps_what_is_finished() -> None:
    process = start("solve", "-", *ENDLESS)
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n".join([PUZZLE, PUZZLE, PUZZLE, BLANK, PUZZLE]).encode())
    process.stdin.close()
    process.stdin = None
    rows = [process.stdout.readline() for _ in range(2)]  # the search of the blank grid may go on for ever
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    finished = (b"".join(rows) + out).decode().splitlines()
    assert finished[:2] == [f"{i} SAT 1 {SOLUTION}" for i in (1, 2)]
    assert set(finished) <= {f"{i} SAT 1 {SOLUTION}" for i in (1, 2, 3, 5)}
    assert err.decode().startswith(f"interrupted, {len(finished)} puzzles: {len(finished)} SAT, ")
    assert err.count(b"\n") == 1


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{PUZZLE}\n" * 20_000)
    process = start("solve", path, "--json")
    assert process.stdout
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("words", [["--help"], ["solve", "--help"], ["guides"]])
def test_nobody_reads_the_help(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "dibs", *words], stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of shell, in which `dibs` is this one."""
    dibs = f'dibs() {{ "{sys.executable}" -m dibs "$@"; }}; '
    return subprocess.run(["bash", "-c", dibs + line], capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed(closed: str) -> None:
    done = shell(f"dibs solve {PUZZLE} {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert shell(f"dibs solve nosuch.cnf {closed}").returncode == 2


def test_closed_standard_input_is_empty() -> None:
    done = shell("dibs solve - <&-")
    assert (done.returncode, done.stderr) == (2, "<stdin>: is empty\n")


def test_names_that_the_terminal_has_no_letters_for(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(r'{"dibs": "problem", "version": 1, "variables": [{"name": "\u65e5", "values": ["\ud800"]}]}')
    done = shell(f"PYTHONIOENCODING=ascii dibs solve {path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == r"\u65e5 = \ud800"
