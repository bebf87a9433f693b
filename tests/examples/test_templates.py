"""The templates for contributors work as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest

import dibs
import dibs.commands.generate
import dibs.generate
from dibs.bench.instances import load
from dibs.bench.kinds import InstanceKind
from dibs.bench.records import Store
from dibs.cli import main
from dibs.generate.families import families
from dibs.search.external.registry import ENGINES, External
from dibs.solving import solver
from judge import solutions
from randoms import mixture
from templates.family import Assignment
from templates.generator import family as generator_family
from templates.generator import generator
from templates.guide import Template

TEMPLATES = Path(__file__).resolve().parents[2] / "examples" / "templates"


def test_a_family() -> None:
    assert [dibs.count_solutions(Assignment(n, {}), limit=200) for n in range(1, 6)] == [1, 2, 6, 24, 120]
    problem = Assignment(4, {0: 2, 3: 0})
    outcomes = list(dibs.solve_many([problem, Assignment(4, {1: 1})]))
    assert [outcome.status for outcome in outcomes] == ["SAT", "SAT"]
    assert problem.violation(outcomes[0].solution) is None
    assert dibs.solve(Assignment(3, {0: 1, 1: 1})).status == "UNSAT"
    assert (problem.line(), problem.line([2, 1, 3, 0])) == ("2 . . 0", "2 1 3 0")
    assert problem.violation([2, 1, 1, 0]) == "a task is done twice, or not at all"
    assert problem.violation([1, 2, 3, 0]) == "person 0 has another task"
    with pytest.raises(ValueError, match="person 4, task 0: both are numbers from 0 to 3"):
        Assignment(4, {4: 0})
    assert dibs.solve(problem, engine="cadical195").status == "SAT"


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The generator stands in the folder of generators."""
    copy(TEMPLATES / "generator.py", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(dibs.generate, "__path__", [*dibs.generate.__path__, str(tmp_path)])
        patch.delitem(sys.modules, dibs.commands.generate.__name__)  # to be made anew, and there again afterwards
        families.cache_clear()
        yield
    families.cache_clear()


def test_a_generator(added: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a command and a kind of instances, with nothing said elsewhere."""
    teams = tmp_path / "teams"
    assert main(["generate", "generator", "2", "--people", "9", "--seed", "3", "--output", str(teams)]) == 0
    made = [dibs.read_problem(teams / f"team-{i}.json") for i in (1, 2)]
    assert [one.given.tolist() for one in made] == [generator(seed, people=9).given.tolist() for seed in (3, 4)]
    assert main(["generate", "generator", "--help"]) == 0
    assert "--people INT   how many people, and tasks [default: 20]" in capsys.readouterr().out
    [default] = InstanceKind(family="generator").made(1, 5)
    assert isinstance(default, dibs.Problem)
    assert default.given.tolist() == generator(5).given.tolist()
    assert {dibs.solve(one).status for one in (default, *made, generator_family(1))} == {"SAT"}
    assert main(["generate", "generator", "--people", "1"]) == 2
    assert capsys.readouterr().err.startswith("dibs: people = 1")


def test_a_guide() -> None:
    puzzles = load("hard300", 5)
    guided = list(dibs.solve_many(puzzles, guide=Template()))
    assert [outcome.solution for outcome in guided] == [dibs.solve(puzzle).solution for puzzle in puzzles]
    assert all(outcome.asks for outcome in guided)


def test_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "template", External("templates.engine", "nothing", "none", ""))
    found = set()
    for problem in mixture(seed=5, count=60):
        if problem.structure.literals <= 64:
            status = dibs.solve(problem, engine="template").status
            assert status == ("SAT" if solutions(problem, 1) else "UNSAT")
            found.add(status)
    assert found == {"SAT", "UNSAT"}
    assert dibs.solve(dibs.Latin([0] * 9), engine="template", seconds=0).status == "LIMIT"
    stopped = solver(None, None, {"engine": "template"}).run([dibs.Latin([0] * 9)], stopped=lambda: True)
    assert stopped == [None]


def test_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(TEMPLATES / "table.toml"), "--out", str(tmp_path), "--markdown"]) == 0
    assert "**Template: 4 of hard300**" in capsys.readouterr().out
    assert len(Store.read(tmp_path).records(())) == 8
