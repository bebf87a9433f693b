"""The calls of the package: options in range, light imports, streams, and the same search without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Latin, Problem, Sudoku

PUZZLE = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"level": "strong"}, "level = 'strong': choose one of eliminate, naked, hidden"),
        ({"tie": None}, "tie = None: choose one of index, degree, impact, random"),
        ({"order": "best"}, "order = 'best': choose one of ascending, lcv, mcv, jw, random, oracle"),
        ({"trigger": "often"}, "trigger = 'often': choose one of always, binary, ternary"),
        ({"nodes": -1}, "max_nodes = -1: it must be a whole number, 0 or more"),
        ({"nodes": 1.5}, "max_nodes = 1.5: it must be a whole number, 0 or more"),
        ({"seconds": -0.5}, "max_seconds = -0.5: it must be a number, 0 or more"),
        ({"seconds": float("nan")}, "max_seconds = nan: it must be a number, 0 or more"),
        ({"count": 0}, "max_solutions = 0: it must be a whole number, 1 or more"),
        ({"seed": True}, "seed = True: it must be a whole number, 0 or more"),
    ],
)
def test_options_out_of_range(option: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match="=") as error:
        dibs.solve(Sudoku.parse(PUZZLE), **option)
    assert str(error.value) == says


def test_the_call_of_the_readme() -> None:
    outcome = dibs.solve(Sudoku.parse(PUZZLE), level="naked", tie="degree", order="mcv", nodes=10_000, seconds=5)
    assert outcome.status == "SAT"
    assert Sudoku.parse(PUZZLE).violation(outcome.solution) is None
    assert outcome.nodes > outcome.depth > 0
    assert outcome.asks == 0
    assert outcome.seconds > 0


def test_counting() -> None:
    assert dibs.count_solutions(Sudoku.parse("." * 16)) == 288
    assert dibs.count_solutions(Sudoku.parse("." * 16), limit=100) == 100
    assert dibs.count_solutions(Latin.parse("....." * 5), limit=200_000, level="naked") == 161_280
    assert dibs.is_unique(Sudoku.parse(PUZZLE))
    assert not dibs.is_unique(Sudoku.parse("." * 81))
    with pytest.raises(ValueError, match="wrong count"):
        dibs.count_solutions(Sudoku.parse(PUZZLE), nodes=5)


@pytest.mark.parametrize("seed", [0, 2**40, 2**70])
def test_any_seed_will_do(seed: int) -> None:
    first, again = (dibs.solve(Sudoku.parse(PUZZLE), tie="random", order="random", seed=seed) for _ in range(2))
    assert replace(first, seconds=0) == replace(again, seconds=0)


def test_limits_beyond_all_bounds() -> None:
    assert dibs.solve(Sudoku.parse(PUZZLE), nodes=2**80, count=2**80).solutions == 1


def test_a_text_is_not_an_instance() -> None:
    with pytest.raises(TypeError, match=r"parse a text with dibs\.Sudoku\.parse"):
        dibs.solve(PUZZLE)


def test_counting_keeps_backtracks_apart_from_solutions() -> None:
    """Every value of a blank 2x2 Latin square leads to a solution: nothing ever fails."""
    outcome = dibs.solve(Latin.parse("...."), count=10)
    assert (outcome.solutions, outcome.backtracks) == (2, 0)


def test_a_stream_of_mixed_shapes_stays_in_order() -> None:
    problems = [
        Sudoku.parse("." * 16),
        Latin.parse("....." * 5),
        Sudoku.parse(PUZZLE),
        Problem(3, exactly_one=[[0, 1, 2]]),
    ]
    outcomes = list(dibs.solve_many(problems * 20))
    for problem, outcome in zip(problems * 20, outcomes, strict=True):
        assert problem.violation(outcome.solution) is None


def test_a_failing_input_is_raised_after_what_came_before() -> None:
    def stream() -> Iterator[Sudoku]:
        for _ in range(5):
            yield Sudoku.parse(PUZZLE)
        raise OSError("disk gone")

    outcomes = dibs.solve_many(stream())
    assert [next(outcomes).status for _ in range(5)] == ["SAT"] * 5
    with pytest.raises(OSError, match="disk gone"):
        next(outcomes)


def test_large_groups_fit() -> None:
    """Domains of more than 64 values are decided literal by literal; watched groups span many words."""
    wide = Problem(200, exactly_one=[range(200)], at_most_one=[range(0, 200, 2)])
    assert dibs.count_solutions(wide) == 200
    assert dibs.count_solutions(Latin(np.zeros((3, 3), np.uint8))) == 12


@pytest.mark.parametrize("size", [16, 25, 36])
def test_big_sudokus(size: int) -> None:
    root = round(size**0.5)
    full = np.array([[(root * r + r // root + c) % size + 1 for c in range(size)] for r in range(size)], np.uint8)
    puzzle = full.copy()
    puzzle[np.random.default_rng(1).random(puzzle.shape) < 0.4] = 0
    for level in ("naked", "hidden"):
        outcome = dibs.solve(Sudoku(puzzle), level=level, nodes=100_000)
        assert outcome.status == "SAT"


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.strip()


def test_import_is_light() -> None:
    names = ("numba", "torch", "pysat", "onnxruntime")
    loaded = run(f"import sys, dibs, dibs.cli; print([m for m in {names} if m in sys.modules])")
    assert loaded == "[]"


def test_the_same_counters_without_the_compiler() -> None:
    code = f"""
import warnings; warnings.simplefilter("ignore", RuntimeWarning)  # wrap-around of 64-bit numbers is meant
import dibs
puzzles = [dibs.Sudoku.parse("{PUZZLE}"), dibs.Latin.parse("1..."+"...."+"...3"+"...."), dibs.CNF(3, [[1, 2], [-1, 3]])]
for level in ("eliminate", "naked", "hidden"):
    for tie, order in (("index", "ascending"), ("degree", "lcv"), ("random", "random"), ("degree", "mcv")):
        for o in dibs.solve_many(puzzles, level=level, tie=tie, order=order, nodes=60, workers=1):
            print(o.status, o.solution, o.nodes, o.backtracks, o.depth)
from dibs.generate import latin
puzzles += latin(2, order=12, holes=0.5, seed=1)
for o in dibs.solve_many(puzzles, strategy="nogoods", restart_base=3, nodes=200, workers=1):
    print(o.status, o.solution, o.nodes, o.backtracks, o.depth)
"""
    assert run(code, NUMBA_DISABLE_JIT="1") == run(code)
