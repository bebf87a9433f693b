"""The examples of the documentation do what they say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import dibs
import engine as by_hand
from cars import CAPACITY, CLASSES, cars
from colouring import PETERSEN, colouring
from dibs.bench.instances import load
from guide import Rarest
from pentominoes import PIECES, drawing, orientations, pentominoes
from queens import queens
from timetable import ABSENT, TEACHER, WEEK, timetable


def test_queens() -> None:
    assert [dibs.count_solutions(queens(n).problem()) for n in (1, 4, 5, 6, 7, 8)] == [1, 2, 10, 4, 40, 92]
    assert queens(3).solve().status == "UNSAT"
    outcome = queens(20).solve(tie="degree")
    assert outcome.status == "SAT"
    assert len(outcome.solution) == 20


def test_colouring() -> None:
    """The chromatic polynomial of the Petersen graph says 0, 0, 120 and 12,960."""
    counts = [dibs.count_solutions(colouring(PETERSEN, list("abcd"[:n])).problem(), limit=20_000) for n in (1, 2, 3, 4)]
    assert counts == [0, 0, 120, 12960]


def test_pentominoes() -> None:
    outcome = pentominoes(5, 12).solve(strategy="nogoods")
    drawn = drawing(outcome.solution, 5, 12)
    assert {name: drawn.count(name) for name in PIECES} == dict.fromkeys(PIECES, 5)
    assert [len(orientations(drawn)) for drawn in PIECES.values()] == [8, 2, 8, 8, 8, 4, 4, 4, 4, 1, 8, 4]


def test_cars() -> None:
    outcome = cars(CLASSES, CAPACITY).solve()
    line = [outcome[f"place {i}"] for i in range(sum(count for count, _ in CLASSES.values()))]
    assert {kind: line.count(kind) for kind in CLASSES} == {kind: count for kind, (count, _) in CLASSES.items()}
    for option, (most, window) in enumerate(CAPACITY):
        having = [CLASSES[kind][1][option] == "1" for kind in line]
        assert all(sum(having[i : i + window]) <= most for i in range(len(line)))
    more = {**CLASSES, 0: (4, "10110")}
    assert cars(more, CAPACITY).solve().status == cars(more, CAPACITY).solve(engine="cadical195").status == "UNSAT"


def test_timetable() -> None:
    found = timetable().solve().solution
    for c in ("1a", "1b"):
        hours = [slot for (of, _, _), slot in found.items() if of == c]
        assert len(set(hours)) == len(hours) == sum(WEEK.values())
    for teacher, day in ABSENT:
        assert not any(TEACHER[subject] == teacher and slot.startswith(day) for (_, subject, _), slot in found.items())


def test_guide() -> None:
    puzzles = load("hard300", 20)
    guided = list(dibs.solve_many(puzzles, guide=Rarest()))
    assert [o.solution for o in guided] == [o.solution for o in dibs.solve_many(puzzles)]
    assert all(o.asks == o.nodes for o in guided)


def test_torch_guide() -> None:
    pytest.importorskip("torch")
    from torch_guide import guide

    puzzles = load("hard300", 10)
    guided = list(dibs.solve_many(puzzles, guide=guide, trigger="binary"))
    assert [o.solution for o in guided] == [o.solution for o in dibs.solve_many(puzzles)]
    assert all(0 < o.calls == o.asks for o in guided)
    assert dibs.solve(puzzles[0], guide=dibs.DiBS(guide.denoiser, steps=2)).solution == guided[0].solution


def test_engine_by_hand() -> None:
    assert [o and o.status for o in by_hand.outcomes] == ["SAT"] * 300
    assert by_hand.batches[0] > 100


def test_first_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """As in the README."""
    import first  # noqa: F401

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SAT ")
    assert set(lines[1].split()) <= {"left", "right"}
    assert lines[2].startswith("5 ")
    assert "row 1: 4" in lines[3]


def test_own_network(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    trained = dibs.train(
        "dibs.generate.timetable:family", 0.1, tmp_path / "run", instances=12, steps=4, network="own_network:Mine"
    )
    assert str(trained.verdict)


def test_own_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands, but for seconds in place of minutes."""
    train, asked = dibs.train, []

    def quick(family: str, *, minutes: float, out: str) -> Any:
        asked.append((family, minutes))
        return train(family, 0.1, tmp_path / out, instances=12, steps=4, workers=1)

    monkeypatch.setattr(dibs, "train", quick)
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_guide.py"))
    assert asked == [("dibs.generate.timetable:family", 4)]
    assert "use this guide" in capsys.readouterr().out.lower()
