"""What `dibs.solve(..., engine=...)` refuses, and what it does with the file of a proof."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.search.external.formula import encode
from dibs.search.external.registry import ENGINES
from guides import Scored, knowing
from oddities import proves
from peers import PROVERS
from shell import SEARCHED, UNSAT

CONTRADICTION = dibs.CNF(2, [[1, 2], [-1, 2], [1, -2], [-1, -2]])


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("minisat", {}, "engine = 'minisat': choose one of own, glucose4, cadical195, kissat, cp-sat"),
        ("cadical195", {"seconds": -1}, "max_seconds = -1: it must be a number, 0 or more"),
        ("cp-sat", {"proof": "p"}, "engine cp-sat writes no proofs: use own, glucose4, cadical195, kissat"),
    ],
)
def test_refused(engine: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        dibs.solve(CONTRADICTION, engine=engine, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("engine", "module", "message"),
    [
        ("glucose4", "pysat.solvers", "engine glucose4 needs python-sat: pip install 'dibs[sat]'"),
        ("cadical195", "pysat.solvers", "engine cadical195 needs python-sat: pip install 'dibs[sat]'"),
        ("cp-sat", "ortools", "engine cp-sat needs ortools: pip install 'dibs[cp]'"),
    ],
)
def test_an_engine_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, engine: str, module: str, message: str
) -> None:
    adapters = "dibs.search.external.c", "dibs.search.external.g", "ortools"
    for name in [name for name in sys.modules if name.startswith(adapters)]:
        monkeypatch.delitem(sys.modules, name)
        if name.startswith("dibs"):
            monkeypatch.delattr(name, raising=False)  # of the package
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(dibs.InputError) as caught:
        dibs.solve(CONTRADICTION, engine=engine)
    assert str(caught.value) == message


def test_kissat_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.delitem(sys.modules, "dibs.search.external.kissat", raising=False)
    monkeypatch.delattr("dibs.search.external.kissat", raising=False)
    monkeypatch.setattr("importlib.metadata.distribution", missing)
    with pytest.raises(dibs.InputError) as caught:
        dibs.solve(CONTRADICTION, engine="kissat")
    assert str(caught.value) == "engine kissat needs passagemath-kissat: pip install 'dibs[kissat]'"


def test_an_engine_that_takes_no_guide_refuses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "glucose4", ENGINES["glucose4"]._replace(takes=""))
    with pytest.raises(ValueError, match=r"^engine glucose4 takes no guide: use own, cadical195, kissat, cp-sat$"):
        dibs.solve(CONTRADICTION, engine="glucose4", guide=Scored(knowing))


def test_a_process_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither LIMIT nor UNSAT, and nothing is left behind."""
    kissat = pytest.importorskip("dibs.search.external.kissat", exc_type=ImportError)
    program = tmp_path / "kissat"
    program.write_text("#!/bin/sh\necho out of memory\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(kissat, "BINARY", program)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError, match="kissat ended with 1 and no answer: out of memory"):
        dibs.solve(CONTRADICTION, engine="kissat")
    program.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")  # does not want to end
    assert dibs.solve(CONTRADICTION, engine="kissat", seconds=0.1).status == "LIMIT"
    assert [file.name for file in tmp_path.iterdir()] == ["kissat"]


def test_a_wrong_solution_is_never_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dibs.CNF, "violation", lambda *_: "wrong")
    with pytest.raises(dibs.WrongSolution, match="wrong"):
        dibs.solve(dibs.CNF(1, [[1]]), engine="glucose4")


def test_not_an_instance() -> None:
    with pytest.raises(TypeError, match="is not an instance to solve"):
        dibs.solve("p cnf 0 0", engine="glucose4")


@pytest.mark.parametrize("engine", PROVERS)
def test_a_proof_of_a_formula(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "p.drat"
    assert dibs.solve(CONTRADICTION, engine=engine, proof=path).status == "UNSAT"
    assert [file.name for file in tmp_path.iterdir()] == ["p.drat"]
    assert path.read_text().endswith("\n0\n")
    assert proves(CONTRADICTION, path.read_text())
    odd: list[list[list[int]]] = [[[]], [[1], [], [-1]], [[1, 2], []]]
    for clauses in odd:
        dibs.solve(dibs.CNF(2, clauses), engine=engine, proof=path)
        assert path.read_text() == "0\n"
    dibs.solve(dibs.CNF(1, [[1], [-1]]), engine=engine, proof=path)
    assert path.read_text() == "0\n"


@pytest.mark.parametrize("engine", PROVERS)
def test_without_unsat_there_is_no_proof(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "p.drat"
    dibs.solve(dibs.CNF(1, [[1]]), engine=engine, proof=path)
    dibs.solve(CONTRADICTION, engine=engine, proof=path, seconds=0)
    assert list(tmp_path.iterdir()) == []
    path.write_text("another")
    dibs.solve(dibs.CNF(1, [[1]]), engine=engine, proof=path)
    assert path.read_text() == "another"


@pytest.mark.parametrize("engine", PROVERS)
def test_the_proof_of_a_puzzle_comes_with_its_formula(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "p.drat"
    pigeons = [[5 * p + hole for hole in range(5)] for p in range(6)]
    holes = [[5 * p + hole for p in range(6)] for hole in range(5)]
    for problem in (
        dibs.Sudoku.parse(UNSAT),
        dibs.Problem(30, exactly_one=pigeons, at_most_one=holes),
        dibs.Latin([1, 2, 0, 0, 0, 0, 0, 0, 3] + [0] * 7),
        dibs.Sudoku([1, 1] + [0] * 14),
    ):
        status = dibs.solve(problem, engine=engine, proof=path).status
        assert path.exists() == (status == "UNSAT")
        if status == "UNSAT":
            assert proves(dibs.CNF.read(tmp_path / "p.drat.cnf"), path.read_text())
            path.unlink()


def test_the_formula_of_a_puzzle_has_its_solution(tmp_path: Path) -> None:
    puzzle = dibs.Sudoku.parse(SEARCHED)
    formula = encode(puzzle).as_cnf()
    model = dibs.solve(formula, engine="cadical195").solution
    assert puzzle.decode(encode(puzzle).true(model)) == dibs.solve(puzzle).solution


def test_a_proof_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(dibs.InputError, match="is a directory"):
        dibs.solve(CONTRADICTION, engine="glucose4", proof=tmp_path)
    with pytest.raises(dibs.InputError, match="cannot be written: No such file or directory"):
        dibs.solve(CONTRADICTION, engine="glucose4", proof=tmp_path / "none" / "p")
