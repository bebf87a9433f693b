"""Limits on input: each holds, is named, can be raised, and is met in constant memory."""

from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dibs.problem import CNF, InputError, Latin, read_instances
from dibs.problem.limits import InputLimits
from shell import PUZZLE, Run, runner

MEGABYTE = 1_000_000


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def read(text: str, **limits: int) -> list[str]:
    items = read_instances(io.StringIO(text), name="f", limits=InputLimits(**limits))
    return [str(item) if isinstance(item, InputError) else item.line() for _, item in items]


def refused(text: str, **limits: int) -> str:
    with pytest.raises(InputError) as caught:
        read(text, **limits)
    return str(caught.value)


def test_lines() -> None:
    assert read(f"{PUZZLE}\n" * 3, max_line=81) == [PUZZLE] * 3
    assert read(PUZZLE, max_line=81) == [PUZZLE]
    said = "f:2: more than 81 characters in a line; --max-line N allows more"
    assert refused(f"# list\n{PUZZLE}#\n", max_line=81) == said
    assert refused(f"# list\n{PUZZLE}#", max_line=81) == said


def test_what_came_before_a_long_line_is_read() -> None:
    items = read_instances(io.StringIO(f"{PUZZLE}\n" * 10 + "#" * 100), limits=InputLimits(max_line=90))
    found: list[Any] = []
    with pytest.raises(InputError, match=r":11: more than 90 characters in a line"):
        found.extend(items)
    assert len(found) == 10


@pytest.mark.parametrize("line", ["# comment", "c comment", "", "-----+-----", "Grid 1", "|"])
def test_text_without_a_puzzle(line: str) -> None:
    said = "more than 500 characters in one formula, or without a puzzle; --max-text N allows more"
    junk = f"{line}\n" * 600
    assert said in refused(junk, max_text=500)
    assert read(f"{PUZZLE}\n" * 100, max_text=500) == [PUZZLE] * 100, "puzzles are progress, however many there are"


def test_one_formula() -> None:
    text = CNF(5, [[1, -2, 3]] * 50).format()
    assert read(text, max_text=len(text)) == [CNF.parse(text).line()]
    [error] = read(text, max_text=100)
    assert "more than 100 characters in one formula" in error


def test_variables_and_clauses() -> None:
    assert read("p cnf 7 0\n", max_variables=6) == ["f:1:7: more than 6 variables; --max-variables N allows more"]
    assert read("p cnf 2147483647 1\n1 0\n") == ["f:1:7: more than 1,000,000 variables; --max-variables N allows more"]
    long = "p cnf 9 2\n1 2 3 0\n1 2\n3 4 0\n"
    assert read(long, max_clause=4) == [CNF.parse(long).line()]
    assert read(long, max_clause=3) == ["f:4:3: more than 3 literals in a clause; --max-clause N allows more"]
    assert CNF.parse("p cnf 1000001 0", limits=InputLimits(max_variables=10**7)).variables == 1_000_001


@pytest.mark.parametrize(("field", "value"), [("max_line", 0), ("max_text", -1), ("max_variables", 2**31)])
def test_limits_have_ranges(run: Run, field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{field} = {value}: it must be a whole number"):
        InputLimits(**{field: value})
    flag = "--" + field.replace("_", "-")
    assert f"{field} = {value}: it must be" in run("solve", PUZZLE, flag, value).complaint


def test_flags(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text(f"{PUZZLE}\n" + " " * 100 + "\n")
    result = run("solve", path, "--max-line", 90)
    assert result.code == 2
    assert f"{path}:2: more than 90 characters in a line; --max-line N allows more\n" in result.err
    assert run("solve", path, "--max-line", 100).code == 0


def test_comments_of_dimacs_and_rows_with_a_twelve() -> None:
    """A line that begins with a lone c is one or the other; comments do not pile up, rows are not lost."""
    rows = [[(11 + r + c) % 16 + 1 for c in range(16)] for r in range(16)]  # a cyclic square that begins with 12
    text = "\n".join(" ".join("123456789abcdefg"[value - 1] for value in row) for row in rows)
    assert text.startswith("c d e f g 1 ")
    items = list(read_instances(io.StringIO(f"# square\n{text}\n"), "latin"))
    assert items == [(2, Latin([value for row in rows for value in row]))]
    formula = "c x\n" * 10_000 + "p cnf 1 1\n2 0\n"
    assert read(formula) == ["f:10002:1: literal 2 is out of range: the header says 1 variables"]


def test_blocks_that_never_end_are_cut() -> None:
    found = read("1 2 3\n" * 5000)
    assert 1 < len(found) < 5000


# Bombs: small files that unpack to a lot. Peak memory is that of a process of its own.

PEAK = """
import sys
from dibs.problem import InputError, read_instances
try:
    for _ in read_instances(sys.argv[1]):
        pass
except InputError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def packed(opened: Callable[..., Any], piece: bytes, times: int, path: Path) -> None:
    with opened(path, "wb") as file:
        for _ in range(times):
            file.write(piece)


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory as Linux tells it")
@pytest.mark.parametrize(
    ("opened", "piece", "times", "said"),
    [
        (partial(lzma.open, preset=0), b"." * MEGABYTE, 200, "characters in a line"),
        (gzip.open, (b"c " + b"x" * 997 + b"\n") * 1000, 200, "without a puzzle"),
        (gzip.open, (b"# " + b"x" * 997 + b"\n") * 1000, 200, "without a puzzle"),
        (open, b"1 " * (MEGABYTE // 2), 100, "characters in a line"),
    ],
    ids=["xz", "gzip-c", "gzip-hash", "line"],
)
def test_bombs(tmp_path: Path, opened: Callable[..., Any], piece: bytes, times: int, said: str) -> None:
    path = tmp_path / "bomb"
    packed(opened, piece, times, path)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, timeout=300, check=True
    )
    *lines, peak = done.stdout.splitlines()
    assert int(peak) < 80_000, f"{peak} kB"
    assert len(lines) == 1
    assert said in lines[0]


# Numbers.


@pytest.mark.parametrize("text", ["p cnf 3 1\n\u0661 0\n", "p cnf 3 1\n1 \uff12 0\n", "p cnf \u0663 1\n1 0\n"])
def test_digits_of_other_scripts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is not a whole number|the header must be"):
        CNF.parse(text)


def test_messages_show_no_more_than_the_beginning_of_a_number() -> None:
    for token in ("9" * 10_000, "x" * 10_000):
        with pytest.raises(InputError) as caught:
            CNF.parse(f"p cnf 3 1\n{token} 0\n")
        assert len(str(caught.value)) < 200
    with pytest.raises(InputError) as caught:
        CNF.parse(f"p cnf {'9' * 10_000} 1\n")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("literal", [1.5, 1.0, "1", None, np.float64(1)])
def test_literals_are_whole_numbers(literal: Any) -> None:
    with pytest.raises(ValueError, match="clause 1: literals are whole numbers"):
        CNF(2, [[literal]])
    with pytest.raises(ValueError, match="it must be a whole number"):
        CNF(literal, [])


def test_whole_numbers_of_numpy_are_taken() -> None:
    formula = CNF(np.int64(2), np.array([[1, -2], [2, 1]]))
    assert formula == CNF(2, [[1, -2], [2, 1]])
    assert formula.format() == "p cnf 2 2\n1 -2 0\n2 1 0\n"
    assert all(type(z) is int for clause in formula.clauses for z in clause)
