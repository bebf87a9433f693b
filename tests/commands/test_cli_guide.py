"""`dibs solve --guide`: the same answers, what they cost, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dibs
import tiny
from shell import PUZZLE, SEARCHED, SOLUTION, UNSAT, Run, runner

PAPER = ["--level", "naked", "--trigger", "binary"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize("words", ["relational", "relational --runtime onnx", "transformer"])
def test_one_puzzle(run: Run, shipped: Path, words: str) -> None:
    result = run("solve", SEARCHED, "--guide", *words.split(), *PAPER)
    assert (result.code, result.err) == (0, "")
    *grid, summary = result.out.splitlines()
    assert grid == run("solve", SEARCHED).out.splitlines()[:-1]
    figures = re.fullmatch(
        r"SAT  (\d+) nodes, \d+ backtracks, (\d+) asks, (\d+) calls, depth \d+, [0-9.]+ m?s, guide [0-9.]+ m?s", summary
    )
    assert figures
    assert int(figures[1]) >= int(figures[2]) == int(figures[3]) > 0


@pytest.mark.parametrize("steps", [1, 3])
def test_json_says_what_the_guide_cost(run: Run, guides: Path, steps: int) -> None:
    words = ["--guide", guides / "relational", "--alpha", "0.5", "--steps", steps, *PAPER, "--json"]
    answer = json.loads(run("solve", SEARCHED, *words).out)
    guide = dibs.load_guide(guides / "relational", alpha=0.5, steps=steps)
    outcome = dibs.solve(dibs.Sudoku.parse(SEARCHED), guide=guide, level="naked", trigger="binary")
    assert (answer["nodes"], answer["asks"], answer["calls"]) == (outcome.nodes, outcome.asks, outcome.calls)
    assert answer["calls"] == steps * answer["asks"] > 0
    assert answer["guide_seconds"] > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_of_many(run: Run, guides: Path, tmp_path: Path, threads: int) -> None:
    path = tmp_path / "list"
    path.write_text(f"{SEARCHED}\n{UNSAT}\n{PUZZLE}\n" * 10)
    result = run("solve", path, "--guide", guides / "relational", "--threads", threads, *PAPER)
    plain = run("solve", path, "--level", "naked")
    assert (result.code, result.out) == (0, plain.out)
    assert re.search(r"max \d+; asks mean [0-9.]+, calls mean [0-9.]+, guide [0-9.]+ s; ", result.err)
    assert "guide" not in plain.err


def test_puzzles_of_another_shape_are_reported_and_the_others_solved(run: Run, guides: Path, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{PUZZLE}\n{'.' * 16}\n{PUZZLE}\n")
    result = run("solve", path, "--guide", guides / "transformer")
    assert (result.code, result.out) == (2, f"1 SAT {SOLUTION}\n3 SAT {SOLUTION}\n")
    report, summary = result.err.splitlines()
    assert report == f"{path}:2: these weights take 9x9 Sudokus; this puzzle is 4x4: use --guide relational"
    assert summary.startswith("2 puzzles: 2 SAT, 0 UNSAT, 0 LIMIT, 1 bad; ")
    says = "1: these weights take 9x9 Sudokus; this puzzle is 16x16: use --guide relational"
    large = "." * 256
    assert run("solve", large, "--guide", guides / "transformer").complaint == f"<argument>:{says}"
    assert run("solve", "-", "--guide", guides / "transformer", stdin=large.encode()).complaint == f"<stdin>:{says}"
    assert run("solve", large, "--guide", guides / "relational", "--nodes", 3).code == 0


def test_other_families(run: Run, guides: Path) -> None:
    answer = run("solve", "1...", "--family", "latin", "--guide", guides / "relational", "--json")
    assert json.loads(answer.out)["solution"] == "1221"
    complaint = run("solve", "p cnf 2 1\n1 2 0\n", "--guide", guides / "relational").complaint
    assert complaint == "<argument>:1: these weights take Sudokus and Latin squares, not the family cnf"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--guide", "rational"], "rational: no such guide; dibs comes with relational, transformer, or give a folder"),
        (  # a search that would never ask refuses it as well
            ["--guide", "rational", "--policy", "auto"],
            "rational: no such guide; dibs comes with relational, transformer, or give a folder",
        ),
        (["--guide", "relational", "--alpha", "1.5"], "dibs: alpha = 1.5: it must be a number from 0 to 1"),
        (["--guide", "relational", "--steps", "0"], "dibs: steps = 0: it must be a whole number from 1 to 64"),
        (["--guide", "relational", "--steps", "1.5"], "dibs: Invalid value for --steps: 1.5 is not a whole number"),
        (["--guide", "relational", "--threads", "0"], "dibs: threads = 0: it must be a whole number, 1 or more"),
        (
            ["--guide", "relational", "--order", "oracle"],
            "dibs: order = 'oracle' is a guide itself: give one or the other",
        ),
        (
            ["--guide", "relational", "--runtime", "torch"],
            'dibs: Invalid value "torch" for --runtime. Choose from: "auto", "onnx".',
        ),
        (
            ["--policy", "plain", "--runtime", "onnx"],
            "dibs: runtime = 'onnx' is a setting of a guide: name one with guide",
        ),
        (["--policy", "plain", "--alpha", "0.5"], "dibs: alpha = 0.5 is a setting of a guide: name one with guide"),
        (["--alpha", "0.5"], "dibs: alpha = 0.5 is about the cell that MRV takes: it needs select = 'mrv'"),
        (
            ["--policy", "guided", "--steps", "3"],
            "dibs: steps = 3 is about the cell that MRV takes: it needs select = 'mrv'",
        ),
        (
            ["--policy", "clever"],
            'dibs: Invalid value "clever" for --policy. Choose from: "auto", "guided", "paper", "plain".',
        ),
    ],
)
def test_refusals(run: Run, shipped: Path, words: list[str], message: str) -> None:
    assert run("solve", PUZZLE, *words).complaint == message


@pytest.mark.parametrize("runtime", ["auto", "onnx"])
def test_a_broken_model_is_one_line(run: Run, tmp_path: Path, runtime: str) -> None:
    folder = tiny.constant(tmp_path / "nan", float("nan"))
    complaint = run("solve", PUZZLE, "--guide", folder, "--runtime", runtime).complaint
    assert complaint == f"{folder}: the model returned a logit that is not a finite number"


def test_the_limit_is_on_search_and_guide(run: Run, guides: Path) -> None:
    guide, level = str(guides / "relational"), "eliminate"
    empty = dibs.Sudoku.parse("." * 81)
    outcome = dibs.solve(empty, guide=guide, level=level, max_solutions=10**9, max_seconds=0.2)
    assert outcome.status == "LIMIT"
    assert (
        outcome.seconds < 0.19 <= outcome.seconds + outcome.guide_seconds
    )  # a guide that would be late is not waited for
    # In the shell the time of printing is within the limit, too.
    words = ["--guide", guide, "--level", level, "--count", 10**9, "--seconds", "0.2", "--json"]
    answer = json.loads(run("solve", "." * 81, *words).out.splitlines()[-1])
    assert (answer["status"], answer["seconds"] < 0.19) == ("LIMIT", True)
