"""`dibs explain` on its own JSON: the same searches again, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dibs
from shell import Run, runner

HARD = "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3.."
PIGEONS = "p cnf 6 9\n1 2 0\n3 4 0\n5 6 0\n-1 -3 0\n-1 -5 0\n-3 -5 0\n-2 -4 0\n-2 -6 0\n-4 -6 0\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def test_a_problem_of_your_own_is_json_too(run: Run, tmp_path: Path) -> None:
    model, stored = dibs.Model(), tmp_path / "run.json"
    model.all_different([model.choice(i, [1, 2, 3]) for i in range(3)])
    model.save(tmp_path / "mine.json")
    found = run("explain", tmp_path / "mine.json", "--policy", "plain", "--json")
    assert (found.code, found.err) == (0, "")
    assert json.loads(found.out)["family"] == "problem"
    stored.write_text(found.out)
    again = run("explain", stored)
    assert again.code == 2
    assert "explain the problem's file" in again.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HARD, ["--policy", "plain", "--compare", "mcv"]),
        (HARD, ["--policy", "auto", "--level", "naked", "--guide-after", "3", "--nodes", "2000"]),
        (HARD, ["--order", "oracle", "--compare", "random", "--seed", "3"]),
        (PIGEONS, ["--level", "naked"]),
        ("." * 144, ["--policy", "plain", "--box", "4x3"]),
        ("12..\n....\n....\n....\n", ["--policy", "plain", "--family", "latin"]),
    ],
)
def test_what_it_wrote_it_reads(run: Run, shipped: Path, tmp_path: Path, text: str, words: list[str]) -> None:
    puzzle, stored = tmp_path / "puzzle.txt", tmp_path / "run.json"
    puzzle.write_text(text)
    first = run("explain", puzzle, *words, "--json")
    assert (first.code, first.err) == (0, "")
    stored.write_text(first.out)
    again = run("explain", stored, "--json")
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out) == json.loads(first.out)


@pytest.fixture
def table(run: Run, tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("explain", HARD, "--policy", "plain", "--json").out)
    return found


def test_another_count_is_said(run: Run, tmp_path: Path, table: dict[str, Any]) -> None:
    table["searches"][0]["nodes"] += 1
    (tmp_path / "run.json").write_text(json.dumps(table))
    result = run("explain", tmp_path / "run.json", "--json")
    assert result.code == 0
    nodes = table["searches"][0]["nodes"]
    assert result.err.rstrip() == f"{tmp_path / 'run.json'}: plain had {nodes} nodes there and has {nodes - 1} here"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"searches": []}, "has no list 'searches'"),
        ({"searches": [1]}, "has no list 'searches'"),
        ({"searches": [{"name": "x"}]}, "search 1: it has no object 'options'"),
        ({"searches": [{"name": 3}]}, "search 1: it must have a text 'name'"),
        ({"family": "chess"}, "family = 'chess': choose one of sudoku, latin, cnf"),
        ({"puzzle": 5}, "has no text 'puzzle'"),
        ({"puzzle": "12345"}, "puzzle: line 1"),
        ({"box": "3x3"}, "box = '3x3': it must be a list"),
    ],
)
def test_what_is_wrong_with_a_file(
    run: Run, tmp_path: Path, table: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({**table, **change}))
    assert run("explain", tmp_path / "run.json").complaint.startswith(f"{tmp_path / 'run.json'}: {words}")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("level", "high", "search 1: level = 'high': choose one of"),
        ("max_nodes", "many", "search 1: max_nodes = 'many'"),
        ("max_solutions", 2, "search 1: max_solutions = 2: it must be 1"),
        ("levle", 1, "search 1: options: "),
    ],
)
def test_what_is_wrong_with_options(
    run: Run, tmp_path: Path, table: dict[str, Any], key: str, value: Any, words: str
) -> None:
    table["searches"][0]["plan"]["options"][key] = value
    (tmp_path / "run.json").write_text(json.dumps(table))
    assert words in run("explain", tmp_path / "run.json").complaint


def test_it_says_itself_how_to_search(run: Run, tmp_path: Path, table: dict[str, Any]) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(table))
    for flag, value in (("--level", "naked"), ("--compare", "lcv"), ("--policy", "plain"), ("--line", "3")):
        assert run("explain", path, flag, value).complaint == f"{path}: it says itself how to search: leave {flag} out"
    path.write_text("{not json")
    assert run("explain", path).complaint.startswith(f"{path}: is not JSON: ")
    path.write_text("[" * 5)
    assert "is not JSON" not in run("explain", path).complaint  # not one of ours: it is read as a puzzle
