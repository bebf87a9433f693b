"""All solutions, some of them, and whether there is just one, from the shell."""

from __future__ import annotations

import json

import pytest

import dibs
from shell import PUZZLE, SOLUTION, UNSAT, Run, runner

FEW = "1..............."  # 72 solutions
KNF = b"p knf 4 1\nk 2 1 2 3 4 0\n"  # 11


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def test_all_solutions_of_one(run: Run) -> None:
    code, out, _ = run("solve", FEW, "--all")
    *rows, last = out.splitlines()
    assert code == 0
    assert len(set(rows)) == len(rows) == 72
    assert set(rows) == set(dibs.solutions(dibs.Sudoku.parse(FEW)))
    assert last.startswith("SAT  72 solutions, ")
    *rows, last = run("solve", FEW, "--count", 5).out.splitlines()
    assert len(set(rows)) == 5
    assert last.startswith("SAT  at least 5 solutions, ")
    assert run("solve", UNSAT, "--all").out.startswith("UNSAT  0 solutions")


def test_formulas(run: Run) -> None:
    code, out, _ = run("solve", "-", "--all", stdin=KNF)
    assert code == 10
    rows = out.splitlines()
    assert len({row for row in rows if row.startswith("v ")}) == 11
    assert rows[-1] == "s SATISFIABLE"
    assert run("solve", "-", "--count", "2", "--strategy", "nogoods", stdin=KNF).out.count("v ") == 2


def test_rows_of_json(run: Run) -> None:
    *rows, last = map(json.loads, run("solve", FEW, "--all", "--json").out.splitlines())
    assert len({row["solution"] for row in rows}) == len(rows) == last["solutions"] == 72
    assert all(row.keys() == {"id", "solution"} for row in rows)
    assert last["status"] == "SAT"
    both = f"{FEW}\n{UNSAT}\n".encode()
    told = [json.loads(row) for row in run("solve", "-", "--count", "3", "--json", stdin=both).out.splitlines()]
    assert [row.get("solutions") for row in told] == [None, None, None, 3, 0]
    assert [row["id"] for row in told] == [1, 1, 1, 1, 2]


def test_several_of_many(run: Run) -> None:
    rows = run("solve", "-", "--count", "2", stdin=f"{PUZZLE}\n{FEW}\n{UNSAT}\n".encode()).out.splitlines()
    assert [row.split()[:3] for row in rows] == [["1", "SAT", "1"], *[["2", "SAT", "2"]] * 2, ["3", "UNSAT", "0"]]
    assert len(set(rows)) == 4


def test_unique(run: Run) -> None:
    code, out, _ = run("solve", PUZZLE, "--unique")
    assert (code, out.splitlines()[-1].split()[0]) == (0, "unique")
    assert out.splitlines()[:11] == dibs.Sudoku.parse(PUZZLE).format(SOLUTION).splitlines()
    code, out, _ = run("solve", FEW, "--unique")
    assert (code, out.splitlines()[-1].split()[0]) == (1, "several")
    assert len(out.splitlines()) == 12
    code, out, _ = run("solve", UNSAT, "--unique")
    assert code == 1
    assert out.startswith("none  UNSAT")
    code, out, _ = run("solve", "." * 81, "--unique", "--nodes", "1")
    assert (code, out.split()[0]) == (3, "unknown")
    code, out, _ = run("solve", "-", "--unique", "--json", stdin=KNF)
    told = json.loads(out)
    assert (code, told["unique"]) == (1, "several")
    assert told["solution"] != told["second"]


def test_unique_ones_of_many(run: Run) -> None:
    code, out, _ = run("solve", "-", "--unique", stdin=f"{PUZZLE}\n{FEW}\n{UNSAT}\n".encode())
    rows = [row.split() for row in out.splitlines()]
    assert code == 1
    assert [row[:2] for row in rows] == [["1", "unique"], ["2", "several"], ["3", "none"]]
    assert [len(row) for row in rows] == [3, 4, 2]
    assert run("solve", "-", "--unique", stdin=f"{PUZZLE}\n{PUZZLE}\n".encode()).code == 0


def test_how_many_is_said_once(run: Run) -> None:
    for flags in (("--all", "--unique"), ("--all", "--count", "3"), ("--unique", "--max-solutions", "2")):
        assert "give one" in run("solve", FEW, *flags).complaint
    assert "without unique" in run("generate", "sudoku", "--kept", "0.5", "--unique").complaint
