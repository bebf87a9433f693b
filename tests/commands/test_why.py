"""`dibs why` in the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dibs.cli import main


def test_a_grid_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "..4....." + "..4....."]) == 20
    assert capsys.readouterr().out.splitlines()[:10] == [
        "UNSAT  2 givens and 1 constraint contradict each other",
        "  r1c3=4",
        "  r3c3=4",
        "  column 3: 4",
        "",
        "          v",
        "   .  . |[4] .",
        "   .  . | .  .",
        "  ------+------",
        "   .  . |[4] .",
    ]


def test_exit_codes_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "4.....1..3.....2"]) == 10
    assert "it has a solution" in capsys.readouterr().out
    file = tmp_path / "f.cnf"
    file.write_text("p cnf 2 3\n1 0\n-1 2 0\n-2 0\n")
    assert main(["why", str(file), "--json", "--smallest"]) == 20
    found = json.loads(capsys.readouterr().out)
    assert found["constraints"] == ["clause 1: 1", "clause 2: -1 2", "clause 3: -2"]
    assert (found["status"], found["minimal"], found["smallest"]) == ("UNSAT", True, True)
    assert main(["why", str(file), "--max-seconds", "0"]) == 0
    assert capsys.readouterr().out.startswith("LIMIT  not decided after")
    assert main(["why", "-4....1..3....4-"]) in (10, 20)


def test_an_interrupt_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dibs.why", interrupted)
    assert main(["why", "4.....1..3.....2"]) == 130
    assert capsys.readouterr().err == "interrupted; --max-seconds N says what is known by then\n"


def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for said, line in (
        (["123"], "expected a square number"),
        (["4.....1..3.....2", "--max-seconds", "-1"], "max_seconds = -1"),
        ([str(tmp_path / "none.cnf")], "no such file"),
        (["4.....1..3.....2", "--line", "3"], "no puzzle begins at line 3"),
    ):
        assert main(["why", *said]) == 2
        error = capsys.readouterr().err
        assert line in error
        assert error.count("\n") == 1
