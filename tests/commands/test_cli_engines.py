"""`dibs solve --engine`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import dibs
from oddities import proves
from peers import EVERY, GUIDED, PROVERS, installed
from shell import PUZZLE, SOLUTION, UNSAT, Run, runner

CONTRADICTION = "p cnf 2 4\n1 2 0 -1 2 0\n1 -2 0 -1 -2 0\n"
FIELDS = {"id", "status", "solution", "nodes", "backtracks", "asks", "calls", "depth", "seconds", "guide_seconds"}
FIELDS |= {"search", "plan"}
OPEN = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."  # singles leave most open


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(params=EVERY)
def engine(request: pytest.FixtureRequest) -> str:
    return installed(request.param)


def test_a_puzzle(run: Run, engine: str) -> None:
    result = run("solve", PUZZLE, "--engine", engine)
    assert (result.code, result.err) == (0, "")
    *grid, summary = result.out.splitlines()
    assert grid == dibs.Sudoku.parse(SOLUTION).format().splitlines()
    assert re.fullmatch(rf"SAT  {engine}: \d+ decisions?, \d+ conflicts?, [0-9.]+ m?s", summary)
    assert run("solve", UNSAT, "--engine", engine).out.startswith(f"UNSAT  {engine}: ")


def test_a_formula(run: Run, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "f.cnf"
    path.write_text("p cnf 2 2\n1 -2 0\n2 0\n")
    result = run("solve", path, "--engine", engine)
    assert (result.code, result.err) == (10, "")
    assert result.out.split("\n", 1)[1] == "s SATISFIABLE\nv 1 2 0\n"
    path.write_text(CONTRADICTION)
    result = run("solve", path, "--engine", engine)
    assert (result.code, result.out.split("\n", 1)[1]) == (20, "s UNSATISFIABLE\n")
    assert result.out.startswith(f"c UNSAT  {engine}: ")
    result = run("solve", path, "--engine", engine, "--seconds", 0)
    assert (result.code, result.out.split("\n", 1)[1]) == (0, "s UNKNOWN\n")
    answer = run("solve", path, "--engine", engine, "--json")
    assert answer.code == 20
    assert json.loads(answer.out).keys() >= FIELDS


def test_a_file_of_many(run: Run, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{PUZZLE}\n{PUZZLE[:80]}\n{UNSAT}\n")
    result = run("solve", path, "--engine", engine)
    assert (result.code, result.out) == (2, f"1 SAT {SOLUTION}\n3 UNSAT\n")
    report, summary = result.err.splitlines()
    assert report.startswith(f"{path}:2:80: 80 cells")
    assert summary.startswith("2 puzzles: 1 SAT, 1 UNSAT, 0 LIMIT, 1 bad; ")


def test_a_guide(run: Run, engine: str, shipped: Path) -> None:
    if engine not in GUIDED:
        return
    words = ["solve", OPEN, "--engine", engine, "--guide", "relational"]
    answer = json.loads(run(*words, "--json").out)
    assert (answer["status"], answer["asks"], answer["calls"]) == ("SAT", 1, 1)
    assert answer["guide_seconds"] > 0
    assert (answer["search"], answer["plan"]) == (f"{engine} + guide", f"{engine} + relational")
    assert re.search(r", 1 ask, 1 call, .* guide ", run(*words).out)
    refused = run("solve", CONTRADICTION, "--engine", engine, "--guide", "relational")
    assert refused.complaint.startswith("<argument>:1: ")


@pytest.mark.parametrize("engine", ["own", *PROVERS])
def test_proofs(run: Run, engine: str, tmp_path: Path) -> None:
    path, proof = tmp_path / "f.cnf", tmp_path / "f.drat"
    path.write_text(CONTRADICTION)
    result = run("solve", path, "--engine", engine, "--proof", proof)
    assert (result.code, result.err) == (20, f"{proof}: a DRAT proof\n")
    assert proves(dibs.CNF.parse(CONTRADICTION), proof.read_text())
    proof.unlink()
    path.write_text("p cnf 1 1\n1 0\n")
    result = run("solve", path, "--engine", engine, "--proof", proof, "--json")
    assert (result.code, result.err) == (10, f"{proof}: not written, the answer is SAT: a proof is for UNSAT\n")
    assert not proof.exists()
    result = run("solve", UNSAT, "--engine", engine, "--proof", proof)
    assert (result.code, result.err) == (0, f"{proof}: a DRAT proof of the formula in {proof}.cnf\n")
    assert proves(dibs.CNF.read(f"{proof}.cnf"), proof.read_text())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--engine cp-sat --proof p", "engine cp-sat writes no proofs: use own, glucose4, cadical195, kissat"),
        ("--count 10001 --proof p", "max_solutions = 10001: a proof excludes at most 10,000 solutions"),
        ("--engine glucose4 --nodes 5", "max_nodes = 5 is for dibs' own search, not for engine glucose4"),
        ("--engine glucose4 --count 2", "max_solutions = 2 is for dibs' own search, not for engine glucose4"),
        ("--all --proof p", "a proof excludes at most 10,000 solutions: give --count N in place of --all"),
        ("--engine glucose4 --all", "all solutions: that is for dibs' own search, not for engine glucose4"),
        ("--engine glucose4 --unique", "--unique is for dibs' own search, not for engine glucose4"),
        ("--engine glucose4 --policy auto", "policy = 'auto' is for dibs' own search, not for engine glucose4"),
        ("--engine glucose4 --level naked", "level = 'naked' is for dibs' own search, not for engine glucose4"),
        ("--engine glucose4 --order oracle", "order = 'oracle' is for dibs' own search, not for engine glucose4"),
        (
            "--engine glucose4 --guide relational --alpha 0.5",
            "alpha = 0.5 is for dibs' own search, not for engine glucose4",
        ),
        ("--engine glucose4 --threads 2", "threads = 2 is a setting of a guide: name one with guide"),
        ("--engine glucose4 --max-asks 3", "max_asks = 3 is for dibs' own search, not for engine glucose4"),
        (
            "--engine cadical195 --guide relational --reuse 0.5",
            "reuse = 0.5 is for dibs' own search, not for engine cadical195",
        ),
        ("--engine glucose4 --seconds -1", "max_seconds = -1.0: it must be a number, 0 or more"),
        (
            "--engine z3",
            'Invalid value "z3" for --engine. Choose from: "own", "glucose4", "cadical195", "kissat", "cp-sat".',
        ),
    ],
)
def test_refused(run: Run, words: str, message: str) -> None:
    assert run("solve", PUZZLE, *words.split()).complaint == f"dibs: {message}"


def test_files_of_proofs_that_make_no_sense(run: Run, tmp_path: Path) -> None:
    words = ["--engine", "glucose4", "--proof"]
    assert run("solve", UNSAT, *words, tmp_path).complaint == f"{tmp_path}: is a directory"
    missing = tmp_path / "none" / "p"
    assert run("solve", UNSAT, *words, missing).complaint == f"{missing}: cannot be written: No such file or directory"
    packed = tmp_path / "p.gz"
    assert run("solve", UNSAT, *words, packed).complaint == f"{packed}: a proof is packed as .xz, not as .gz"
    several = f"{UNSAT}\n{UNSAT}\n".encode()
    assert (
        run("solve", "-", *words, tmp_path / "p", stdin=several).complaint
        == "dibs: a proof is about one puzzle or formula, and there are several"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_proof_is_not_written_over_what_it_proves(run: Run, tmp_path: Path) -> None:
    formula, link, beside = tmp_path / "f.cnf", tmp_path / "f.drat", tmp_path / "f.drat.cnf"
    for path in (formula, beside):
        path.write_text(CONTRADICTION)
    link.symlink_to(formula)
    for path, proof, named in ((formula, formula, formula), (formula, link, link), (beside, link, beside)):
        said = f"{named}: what is to be solved is in this file: write to another one"
        assert run("solve", path, "--proof", proof).complaint == said
        assert path.read_text() == CONTRADICTION


def test_a_proof_beside_the_word_unique(run: Run, tmp_path: Path) -> None:
    for clauses, word, code, said in (
        ("1 2 0\n-1 0\n", "unique", 0, "a DRAT proof of the formula without the one solution in"),
        ("1 2 0\n", "several", 1, "not written, the answer is SAT: a proof is for no further solution"),
        ("1 0\n-1 0\n", "none", 1, "a DRAT proof"),
    ):
        formula, proof = tmp_path / "f.cnf", tmp_path / f"{word}.drat"
        formula.write_text(f"p cnf 2 {clauses.count(chr(10))}\n{clauses}")
        for words in ([], ["--json"]):
            result = run("solve", formula, "--unique", "--proof", proof, *words)
            assert (result.code, word in result.out) == (code, True)
            assert result.err.startswith(f"{proof}: {said}")
            assert proof.exists() == (word != "several")


def test_an_engine_that_is_not_installed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dibs.search.external.cpsat", raising=False)
    monkeypatch.delattr("dibs.search.external.cpsat", raising=False)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    complaint = run("solve", PUZZLE, "--engine", "cp-sat").complaint
    assert complaint == "dibs: engine cp-sat needs ortools: pip install 'dibs[cp]'"
