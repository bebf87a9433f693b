"""`dibs solve`: what it prints, and what it refuses."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.commands.source import count_lines, looks_like_path
from dibs.commands.tally import Tally
from dibs.guide import Guidance
from dibs.search import Outcome, Status
from shell import BLANK, PUZZLE, SEARCHED, SOLUTION, UNSAT, Run, runner

FIELDS = [
    "id", "status", "solution", "nodes", "backtracks", "asks", "calls", "depth", "seconds", "guide_seconds", "search",
    "plan",
]  # fmt: skip
DOUBLE = PUZZLE[:2] + "5" + PUZZLE[3:]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def test_one_puzzle(run: Run) -> None:
    result = run("solve", PUZZLE)
    assert (result.code, result.err) == (0, "")
    *grid, summary = result.out.splitlines()
    assert grid == dibs.Sudoku.parse(SOLUTION).format().splitlines()
    assert re.fullmatch(r"SAT  0 nodes, 0 backtracks, depth 0, [0-9.]+ ms", summary)


@pytest.mark.parametrize("text", [PUZZLE, PUZZLE.replace(".", "-"), "-" + PUZZLE.replace("5", "-", 1)[1:]])
def test_a_puzzle_may_be_written_with_dashes(run: Run, text: str) -> None:
    [answer] = [json.loads(line) for line in run("solve", "--json", text).out.splitlines()]
    assert answer["solution"] == SOLUTION


def test_json_has_exactly_the_fields(run: Run) -> None:
    result = run("solve", SEARCHED, "--json", "--level", "naked")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("}\n")
    assert ", " not in result.out
    answer = json.loads(result.out)
    outcome = dibs.solve(dibs.Sudoku.parse(SEARCHED), level="naked")
    assert list(answer) == FIELDS
    assert [answer[name] for name in FIELDS if name != "seconds"] == [
        1,
        "SAT",
        outcome.solution,
        outcome.nodes,
        outcome.backtracks,
        0,
        0,
        outcome.depth,
        0,
        "tree",
        "tree",
    ]
    assert outcome.nodes > 0


def test_every_option_reaches_the_search(run: Run) -> None:
    flags: dict[str, Any] = {"level": "naked", "tie": "degree", "order": "oracle", "trigger": "binary", "seed": 3}
    words = [word for name, value in flags.items() for word in (f"--{name}", value)]
    answer = json.loads(run("solve", SEARCHED, "--json", *words).out)
    outcome = dibs.solve(dibs.Sudoku.parse(SEARCHED), **flags)
    assert (answer["nodes"], answer["backtracks"], answer["asks"]) == (outcome.nodes, outcome.backtracks, outcome.asks)
    assert outcome.asks == 1


def test_unsat_is_an_answer(run: Run) -> None:
    result = run("solve", UNSAT)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("UNSAT  ")
    assert json.loads(run("solve", UNSAT, "--json").out)["solution"] is None


def test_limit_has_its_counters(run: Run) -> None:
    result = run("solve", SEARCHED, "--level", "eliminate", "--nodes", 7)
    assert result.code == 0
    assert result.out.startswith("LIMIT  7 nodes, ")
    answer = json.loads(run("solve", BLANK, "--count", 10**12, "--seconds", 0, "--json").out.splitlines()[-1])
    assert answer["status"] == "LIMIT"
    assert answer["solutions"] > 0
    assert dibs.Sudoku.parse(BLANK).violation(answer["solution"]) is None


def test_counting(run: Run) -> None:
    several = "." * 9 + PUZZLE[9:]
    assert "SAT  at least 2 solutions, " in run("solve", several, "--count", 2).out
    assert "SAT  1 solution, " in run("solve", PUZZLE, "--count", 2).out
    *each, last = run("solve", several, "--count", 2, "--json").out.splitlines()
    answer = json.loads(last)
    assert json.loads(each[0])["solution"] == answer["solution"]
    assert list(answer) == [*FIELDS, "solutions"]
    assert answer["solutions"] == 2
    assert run("solve", "-", "--count", 2, stdin=f"{PUZZLE}\n{PUZZLE}".encode()).out == (
        f"1 SAT 1 {SOLUTION}\n2 SAT 1 {SOLUTION}\n"
    )


def test_grid_over_lines_and_other_families(run: Run) -> None:
    grid = "\n".join(PUZZLE[i : i + 9] for i in range(0, 81, 9))
    assert run("solve", grid).out.startswith("5 3 4 | 6 7 8 | 9 1 2\n")
    assert json.loads(run("solve", "1...", "--family", "latin", "--json").out)["solution"] == "1221"
    assert json.loads(run("solve", "." * 36, "--box", "3x2", "--json").out)["status"] == "SAT"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_a_file_of_many(run: Run, tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "list"
    path.write_bytes(pack(f"# list\n{PUZZLE}\n\n{UNSAT}\n{PUZZLE}\n".encode()))
    result = run("solve", path)
    assert (result.code, result.out) == (0, f"2 SAT {SOLUTION}\n4 UNSAT\n5 SAT {SOLUTION}\n")
    assert result.err.startswith("3 puzzles: 2 SAT, 1 UNSAT, 0 LIMIT, 0 bad; nodes mean ")
    assert result.err.count("\n") == 1


def test_a_formula_is_searched_as_from_python(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core, unless several are asked for: the nogood search goes on beside CaDiCaL, as the plan says."""
    monkeypatch.setattr("dibs.commands.solve.cores", lambda: 2)
    path = tmp_path / "x.cnf"
    path.write_text("p cnf 6 2\n1 2 0\n-1 3 0\n")
    answer = json.loads(run("solve", path, "--json").out)
    assert answer["nodes"] == dibs.solve(dibs.CNF.read(path)).nodes
    assert answer["plan"] == "cadical195"
    assert run("solve", path, "--workers", 2).code == 10


def test_bad_lines_among_good_ones(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{PUZZLE}\n{PUZZLE[:80]}\n{PUZZLE}\n  {DOUBLE}\n{PUZZLE[:80]}x\n{PUZZLE}\n")
    result = run("solve", path, "--json", "--workers", 2)
    assert result.code == 2
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == [1, 3, 6]
    *reports, summary = result.err.splitlines()
    assert reports == [
        f"{path}:2:80: 80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9)",
        f"{path}:4:5: r1c1 and r1c3 are both 5",
        f"{path}:5:81: 'x' is not a value of a 9x9 Sudoku (1-9, or . for a blank)",
    ]
    assert summary.startswith("3 puzzles: 3 SAT, 0 UNSAT, 0 LIMIT, 3 bad; ")


def test_a_file_that_breaks_off(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress(f"{PUZZLE}\n".encode() * 3000)[:-12])
    result = run("solve", path)
    assert result.code == 2
    assert {line.split(" ", 1)[1] for line in result.out.splitlines()} == {f"SAT {SOLUTION}"}
    report, summary = result.err.splitlines()
    assert report.startswith(f"{path}: is damaged")
    assert " SAT, 0 UNSAT, 0 LIMIT, 0 bad; " in summary


def test_long_list_keeps_its_order(run: Run) -> None:
    result = run("solve", stdin=f"{PUZZLE}\n{UNSAT}\n".encode() * 2000)
    assert result.out == "".join(f"{2 * i + 1} SAT {SOLUTION}\n{2 * i + 2} UNSAT\n" for i in range(2000))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PUZZLE[:80], "1:80: 80 cells; expected a square number of a Sudoku size, e.g. 81 (9x9)"),
        (PUZZLE[:40] + "!" + PUZZLE[41:], "1:41: '!' is not a value of a 9x9 Sudoku (1-9, or . for a blank)"),
        ("." * 49, "1:49: a 7x7 grid has no boxes of at least 2 rows; if it is a Latin square, use --family latin"),
        (DOUBLE, "1:3: r1c1 and r1c3 are both 5"),
        ("..5...5.." + "." * 72, "1:7: r1c3 and r1c7 are both 5"),
        ("p cnf 2 2\n1 -2 0\n", "1:1: header says 2 clauses, file has 1"),
        ("p cnf 2 1\n1 -3 0\n", "2:3: literal -3 is out of range: the header says 2 variables"),
    ],
)
def test_a_bad_puzzle_is_refused_in_one_line(run: Run, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    for words in ([], ["--json"]):
        assert run("solve", path, *words).complaint == f"{path}:{message}"
        assert run("solve", "-", *words, stdin=text.encode()).complaint == f"<stdin>:{message}"
        assert run("solve", text, *words).complaint == f"<argument>:{message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"# c\n", "has no puzzle"),
        (b"\0\1", "is not a text file"),
        (b"\xff\xfe", "is not a text file"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(run: Run, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    assert run("solve", path).complaint == f"{path}: {message}"


def test_neither_file_nor_puzzle(run: Run, tmp_path: Path) -> None:
    assert run("solve", tmp_path).complaint == f"{tmp_path}: is a directory"
    assert run("solve", tmp_path / "none").complaint == f"{tmp_path / 'none'}: no such file"
    assert run("solve", "none.txt").complaint == "none.txt: no such file"
    assert run("solve", "abc").complaint == "abc: no such file"
    assert run("solve", "123").complaint.startswith("<argument>:1:3: 3 cells; ")
    assert looks_like_path("hard-17.v2.txt.gz")
    assert not any(map(looks_like_path, [PUZZLE, PUZZLE.lower(), "....a", "1.2\n3./", "12345", BLANK, "1" * 16]))
    assert all(map(looks_like_path, ["puzzles_17", "abc", "lists/easy"]))


def test_no_argument_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.commands.source.sys", type("Sys", (), {"stdin": _Terminal()}))
    assert "dibs solve --help" in run("solve").complaint


class _Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nodes", "-1"], "max_nodes = -1: it must be a whole number, 0 or more"),
        (["--nodes", "1.5"], "Invalid value for --nodes: 1.5 is not a whole number"),
        (["--seconds", "-0.5"], "max_seconds = -0.5: it must be a number, 0 or more"),
        (["--seconds", "nan"], "max_seconds = nan: it must be a number, 0 or more"),
        (["--seconds", "soon"], 'Invalid value for --seconds: unable to convert "soon" into float.'),
        (["--count", "0"], "max_solutions = 0: it must be a whole number, 1 or more"),
        (["--seed", "-3"], "seed = -3: it must be a whole number, 0 or more"),
        (["--workers", "0"], "workers = 0: it must be a whole number, 1 or more"),
        (
            ["--level", "most"],
            'Invalid value "most" for --level. Choose from: "eliminate", "naked", "hidden".',
        ),
        (
            ["--level", "none"],
            "Invalid value for --level: none is not a value of it: leave the flag out for what goes without it",
        ),
        (["--lvel", "naked"], "Unknown option: --lvel. Did you mean --level?"),
        (["--box", "3"], "--box 3: write rows x columns of a box, e.g. 3x3"),
        (["--box", "1x9"], "a box of 1 rows and 9 columns: both must be at least 2, with 36 cells at most"),
        (["--box", "3x3", "--family", "latin"], "box is for Sudokus, not for family 'latin'"),
    ],
)
def test_options_out_of_range(run: Run, words: list[str], message: str) -> None:
    assert run("solve", PUZZLE, *words).complaint == f"dibs: {message}"


def test_unknown_command(run: Run) -> None:
    assert run("sovle").complaint.startswith('dibs: Unknown command "sovle". Did you mean "solve"?')


def test_help_teaches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # a flag's names stay on one line, and so does its help
    top = run("--help")
    assert top.code == 0
    assert top.out.count("\n  dibs ") == 7
    assert run().out == top.out
    text = " ".join(run("solve", "--help").out.replace("│", " ").split())
    for field in [*fields(dibs.Options), *fields(Guidance)]:
        assert f"--{field.name.replace('_', '-')}" in text
        assert field.metadata["help"] in text
        assert ", ".join(field.metadata["choices"]) in text
    assert run("--version").out == f"{dibs.__version__}\n"


@pytest.mark.parametrize(
    ("text", "words", "code", "verdict"),
    [
        ("p cnf 2 2\n1 -2 0\n2 0\n", [], 10, "s SATISFIABLE\nv 1 2 0\n"),
        ("p cnf 1 2\n1 0 -1 0\n", [], 20, "s UNSATISFIABLE\n"),
        ("p cnf 3 1\n1 2 3 0\n", ["--nodes", "0"], 0, "s UNKNOWN\n"),
    ],
)
def test_cnf(run: Run, tmp_path: Path, text: str, words: list[str], code: int, verdict: str) -> None:
    path = tmp_path / "f.cnf"
    path.write_text(text)
    result = run("solve", path, *words)
    comment, rest = result.out.split("\n", 1)
    assert (result.code, rest, result.err) == (code, verdict, "")
    assert re.match(r"c (SAT|UNSAT|LIMIT)  \d+ nodes?, \d+ backtracks?, depth \d+, ", comment)
    answer = run("solve", path, *words, "--json")
    assert answer.code == code
    assert list(json.loads(answer.out)) == FIELDS
    assert json.loads(answer.out)["solution"] == ([1, 2] if code == 10 else None)


def test_cnf_with_a_solution_is_satisfiable_whatever_ends_the_count(run: Run) -> None:
    result = run("solve", "p cnf 6 1\n1 2 0\n", "--count", 40, "--nodes", 6)
    assert result.code == 10
    assert result.out.startswith("v ")
    assert "\nc LIMIT  at least " in result.out
    assert result.out.endswith("\ns SATISFIABLE\n")


def test_tally() -> None:
    tally = Tally()
    assert tally.summary().startswith("0 puzzles: 0 SAT, 0 UNSAT, 0 LIMIT, 0 bad; ")
    tally.add(100, [Outcome(Status.SAT, "", nodes, 0, 0, 0, 0.0, 1) for nodes in range(1, 101)])
    assert "; nodes mean 50.5, median 50.5, p95 95, max 100; " in tally.summary()
    tally.add(101, [Outcome(Status.LIMIT, None, 1000, 0, 0, 0, 0.0, 0)])
    assert "100 SAT, 0 UNSAT, 1 LIMIT" in tally.summary()
    assert "; nodes mean 59.9, median 51, p95 96, max 1000; " in tally.summary()
    assert "guide" not in tally.summary()
    tally.add(102, [Outcome(Status.SAT, "", 1, 0, 51, 0, 0.0, 1, 102, 1.5)])
    assert "max 1000; asks mean 0.5, calls mean 1.0, guide 1.50 s; " in tally.summary()


def test_lines_are_counted_where_it_is_cheap(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("a\nb\nc")
    assert count_lines(str(path)) == 3
    path.write_bytes(gzip.compress(b"a\nb\n"))
    assert [count_lines(source) for source in (str(path), str(tmp_path), "-", sys.stdin)] == [None] * 4


def test_several_files(run: Run, tmp_path: Path) -> None:
    """One stream of answers, each with the file and the line of its puzzle; one bad file does not end it."""
    first, second, bad = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    first.write_text(f"{PUZZLE}\n")
    second.write_text(f"# a comment\n{PUZZLE}\n{SEARCHED}\n")
    result = run("solve", first, second)
    assert result.code == 0
    assert [row.split()[:2] for row in result.out.splitlines()] == [
        [f"{first}:1", "SAT"],
        [f"{second}:2", "SAT"],
        [f"{second}:3", "SAT"],
    ]
    assert result.err.startswith("3 puzzles: 3 SAT")
    found = [json.loads(row) for row in run("solve", first, second, "--json").out.splitlines()]
    assert [one["id"] for one in found] == [f"{first}:1", f"{second}:2", f"{second}:3"]

    bad.write_text("nothing of that kind\n")
    result = run("solve", bad, first)
    assert (result.code, result.out) == (2, f"{first}:1 SAT {SOLUTION}\n")
    assert result.err.startswith(f"{bad}:1")
    assert run("solve", first, tmp_path / "missing.txt").complaint == f"{tmp_path / 'missing.txt'}: no such file"
    assert "several" in run("solve", first, second, "--proof", tmp_path / "p.drat").complaint
