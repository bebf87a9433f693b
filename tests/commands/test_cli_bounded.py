"""`dibs solve` on files of formulas with bounds and of models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dibs
from shell import Run, runner

KNF = b"p knf 4 2\nk 2 1 2 3 4 0\n-1 -2 0\n"
OPB = b"* #variable= 3 #constraint= 1\n+1 x1 +1 x2 +1 x3 = 2 ;\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize(("name", "text"), [("a.knf", KNF), ("a.opb", OPB)])
@pytest.mark.parametrize("flags", [[], ["--engine", "cadical195"]])
def test_formulas(run: Run, name: str, text: bytes, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    for result in (run("solve", tmp_path / name, *flags), run("solve", "-", *flags, stdin=text)):
        assert result.code == 10
        assert "s SATISFIABLE" in result.out
    values = next(line for line in result.out.splitlines() if line.startswith("v ")).split()[1:]
    [(_, formula)] = dibs.read_instances(tmp_path / name)
    assert isinstance(formula, dibs.CNF)
    assert formula.violation([int(z) for z in values if z != "0"]) is None


def test_a_model(run: Run, tmp_path: Path) -> None:
    m = dibs.Model()
    seats = [m.choice(("guest", i), ["left", "right"]) for i in range(4)]
    m.exactly(2, [seat == "left" for seat in seats])
    m.save(tmp_path / "m.json")
    result = run("solve", tmp_path / "m.json")
    assert result.code == 0
    assert result.out.count("= left") == result.out.count("= right") == 2
    found = json.loads(run("solve", tmp_path / "m.json", "--json").out)
    assert sorted(found["solution"].values()) == ["left", "left", "right", "right"]


def test_refusals(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.opb").write_bytes(OPB + b"+1 x1 +2 x2 >= 1 ;\n")
    assert run("solve", tmp_path / "a.opb").complaint.endswith(
        "a.opb:3: x2: coefficient 2 differs from 1: all of a sum must be of one size"
    )
    (tmp_path / "m.json").write_text('{"dibs": "problem", "version": 2}')
    assert "is of version 2; this dibs reads version 1" in run("solve", tmp_path / "m.json").complaint
    assert "needs strategy nogoods" in run("solve", "-", "--strategy", "dfs", stdin=KNF).complaint
