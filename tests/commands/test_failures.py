"""One instance that cannot be solved never ends a file: it has its line, and the others are solved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dibs import CNF, Outcome, Sudoku, solve_many
from dibs.commands.answer import failure
from dibs.commands.source import Place
from dibs.problem import InputError, Instance
from dibs.search.outcome import WrongSolution
from dibs.search.solver import Solver
from dibs.search.stream import solve_batches
from dibs.solving import solver
from shell import PUZZLE, SEARCHED, SOLUTION, Run, runner

GOOD, BAD = Sudoku.parse(PUZZLE), Sudoku.parse(SEARCHED)
RAISED = [
    (ValueError("too large"), "too large"),
    (InputError("refused"), "refused"),
    (MemoryError(), "there is not enough memory for it"),
    (WrongSolution("r1c1"), "WrongSolution: r1c1"),
    (RuntimeError("two\nlines"), "RuntimeError: two lines"),
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def break_on(monkeypatch: pytest.MonkeyPatch, bad: Instance, error: Exception) -> None:
    """A search that raises whenever `bad` is in its batch."""
    searched = Solver.run

    def broken(self: Solver, problems: Any, *rest: Any, **more: Any) -> Any:
        if bad in problems:
            raise error
        return searched(self, problems, *rest, **more)

    monkeypatch.setattr(Solver, "run", broken)


@pytest.mark.parametrize(("error", "said"), RAISED)
def test_one_of_many(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    break_on(monkeypatch, BAD, error)
    path = tmp_path / "list"
    path.write_text("".join(f"{SEARCHED if i in (5, 77) else PUZZLE}\n" for i in range(1, 301)))
    result = run("solve", path, "--workers", 2)
    assert result.code == 2
    assert result.out == "".join(f"{i} SAT {SOLUTION}\n" for i in range(1, 301) if i not in (5, 77))
    *reports, summary = result.err.splitlines()
    assert reports == [f"{path}:5: {said}", f"{path}:77: {said}"]
    assert summary.startswith("298 puzzles: 298 SAT, 0 UNSAT, 0 LIMIT, 2 bad; ")
    answers = run("solve", path, "--json")
    assert (answers.code, answers.out.count("\n")) == (2, 298)


@pytest.mark.parametrize(("error", "said"), RAISED)
def test_the_only_one(run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    break_on(monkeypatch, BAD, error)
    assert run("solve", SEARCHED).complaint == f"<argument>:1: {said}"


def test_all_of_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    break_on(monkeypatch, BAD, RuntimeError("no"))
    result = run("solve", stdin=f"{SEARCHED}\n".encode() * 20)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[:-1] == [f"<stdin>:{i}: RuntimeError: no" for i in range(1, 21)]


def test_a_clause_that_is_too_large(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "f.cnf"
    CNF(8192, [range(1, 8193)]).write(path)
    assert run("solve", path).code == 10, "the nogood search takes it"
    complaint = run("solve", path, "--policy", "plain").complaint
    assert complaint.startswith(f"{path}:1: a group of 8192 literals is too large: at most 8191 members")
    CNF(8191, [range(1, 8192)]).write(path)
    assert run("solve", path, "--policy", "plain").code == 10


def test_so_many_variables(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "f.cnf"
    path.write_text("p cnf 2147483647 1\n1 0\n")
    assert run("solve", path).complaint == f"{path}:1:7: more than 1,000,000 variables; --max-variables N allows more"


class Moody:
    """A guide that raises in the search of one puzzle."""

    def rank(self, asks: Any) -> Any:
        if asks.structure.shape and asks.structure.decisions == 16:
            raise RuntimeError("not in the mood")
        return np.zeros(asks.open.shape)


def test_a_guide_that_raises() -> None:
    small = Sudoku([0] * 16)
    problems = [BAD, small, BAD, small, BAD]
    moody = solver(Moody(), None, {"level": "naked"})
    found = [one for batch in solve_batches(enumerate(problems), moody) for one in batch]
    assert [tag for tag, _, _ in found] == [0, 1, 2, 3, 4]
    assert [isinstance(one, Outcome) for _, _, one in found] == [True, False, True, False, True]
    assert str(found[1][2]) == "not in the mood"


@pytest.mark.parametrize("place", [0, 1, 60, 199])
def test_in_python_it_raises_after_the_outcomes_before_it(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    break_on(monkeypatch, BAD, WrongSolution("r1c1"))
    outcomes: list[Outcome] = []
    with pytest.raises(WrongSolution, match="r1c1"):
        outcomes.extend(solve_many([BAD if i == place else GOOD for i in range(200)], workers=2))
    assert [outcome.solution for outcome in outcomes] == [SOLUTION] * place


def test_another_engine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pysat")
    from dibs.search.external.search import EngineSearch

    solve = EngineSearch._solve

    def broken(self: EngineSearch, i: int, *rest: Any) -> Outcome:
        if self.instances[i] == BAD:
            raise MemoryError
        return solve(self, i, *rest)

    monkeypatch.setattr(EngineSearch, "_solve", broken)
    result = run("solve", "-", "--engine", "glucose4", stdin=f"{PUZZLE}\n{SEARCHED}\n{PUZZLE}\n".encode())
    assert (result.code, result.out) == (2, f"1 SAT {SOLUTION}\n3 SAT {SOLUTION}\n")
    assert result.err.splitlines()[0] == "<stdin>:2: there is not enough memory for it"


def test_words_of_failures() -> None:
    assert str(failure(KeyError(), Place("f", 3))) == "f:3: KeyError"
    assert str(failure(ValueError(), Place("f", 3))) == "f:3: ValueError"
    assert str(failure(InputError("is damaged", "weights"), Place("f", 3))) == "f:3: weights: is damaged"
