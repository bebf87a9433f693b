"""What a guide costs: calls, its time, time limits that count it, and how full its batches are."""

from __future__ import annotations

import threading
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, Options, Problem, Sudoku, WrongSolution
from dibs.bench.instances import load
from dibs.search.stream import GUIDED_LEAST, solve_batches
from dibs.search.tree.search import TreeSearch
from dibs.solving import solve_together, solver

PUZZLE = Sudoku.parse("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..")


class Slow:
    """Scores nothing, and takes its time."""

    passes = 3

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    def rank(self, asks: Asks) -> NDArray[Any]:
        self.sizes.append(len(asks))
        if self.seconds:
            sleep(self.seconds)
        return np.zeros(asks.open.shape)


def test_calls_are_asks_times_passes() -> None:
    outcome = dibs.solve(PUZZLE, guide=Slow(), level="naked", trigger="binary")
    assert 0 < outcome.asks <= outcome.nodes
    assert outcome.calls == 3 * outcome.asks
    assert outcome.guide_seconds > 0
    plain = dibs.solve(PUZZLE, level="naked")
    assert (plain.asks, plain.calls, plain.guide_seconds) == (0, 0, 0)
    assert (plain.nodes, plain.solution) == (outcome.nodes, outcome.solution)
    oracle = dibs.solve(PUZZLE, level="naked", order="oracle")
    assert (oracle.asks, oracle.calls) == (1, 0)
    assert oracle.guide_seconds > 0


def test_the_guides_time_is_shared_equally_and_kept_apart() -> None:
    guide = Slow(0.02)
    engine = TreeSearch(load("sample17", 10), Options(level="naked", max_nodes=4), guided=True)
    begin = perf_counter()
    engine.run(guide)
    took = perf_counter() - begin
    outcomes = [outcome for outcome in engine.outcomes() if outcome]
    assert len(outcomes) == 10
    spent = sum(outcome.guide_seconds for outcome in outcomes)
    assert spent >= 0.02 * len(guide.sizes)
    assert sum(outcome.seconds for outcome in outcomes) + spent <= took, "nothing is counted twice"
    first = outcomes[0]
    assert first.guide_seconds >= sum(0.02 / size for size in guide.sizes) * first.asks / len(guide.sizes) * 0.99


def test_batches_and_occupancy() -> None:
    puzzles = [PUZZLE, *load("hard300", 9)]
    engine = TreeSearch(puzzles, Options(level="naked"), guided=True)
    assert engine.occupancy == 0
    guide = Slow()
    engine.run(guide)
    assert engine.batches == len(guide.sizes)
    assert engine.asked == sum(guide.sizes) == sum(o.asks for o in engine.outcomes() if o)
    assert guide.sizes[0] == 10
    assert guide.sizes == sorted(guide.sizes, reverse=True), "every unfinished search is in every batch"
    assert engine.occupancy == pytest.approx(np.mean(guide.sizes) / 10)
    same = TreeSearch([PUZZLE] * 5, Options(level="naked"), guided=True)
    same.run(Slow())
    assert same.occupancy == 1


def test_the_time_limit_counts_the_guide() -> None:
    """0.05 s a query and a tenth of a second: the search alone takes some milliseconds."""
    assert dibs.solve(PUZZLE, level="naked", seconds=5).status == "SAT"
    late = dibs.solve(PUZZLE, guide=Slow(0.05), level="naked", seconds=0.1)
    assert late.status == "LIMIT"
    assert 1 <= late.asks <= 2
    assert late.calls == 3 * late.asks
    assert late.seconds < 0.1 <= late.seconds + late.guide_seconds


def test_a_search_out_of_time_has_not_asked() -> None:
    guide = Slow()
    none = dibs.solve(PUZZLE, guide=guide, level="naked", seconds=0)
    assert (none.status, none.asks, none.calls, guide.sizes) == ("LIMIT", 0, 0, [])


def test_waiting_for_ones_turn_is_nobodys_time() -> None:
    turn = threading.Lock()
    engine = TreeSearch([PUZZLE], Options(level="naked", max_nodes=1), guided=True)
    turn.acquire()
    threading.Timer(0.3, turn.release).start()
    engine.run(Slow(), turn=turn)
    [outcome] = engine.outcomes()
    assert outcome
    assert outcome.seconds + outcome.guide_seconds < 0.25


@pytest.mark.parametrize("guided", [False, True])
def test_a_slow_guide_is_still_asked_about_many(guided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a stream shrink while they are slow, but not to single searches if a guide is asked."""
    monkeypatch.setattr("dibs.search.stream.QUICK", 0)
    monkeypatch.setattr("dibs.search.stream.SLOW", 0)  # every batch is slow
    puzzles = load("sample17") * 2
    guide = Slow() if guided else None
    how = solver(guide, None, {"max_nodes": 0, "level": "naked"})
    batches = solve_batches(enumerate(puzzles), how, workers=1)
    sizes = [len(batch) for batch in batches]
    assert sum(sizes) == 260
    assert max(sizes) == (GUIDED_LEAST if guided else 1)


def test_solve_together_is_solve_for_each() -> None:
    puzzles = [*load("hard300", 5), Sudoku.parse("1..............."), *load("hard300", 8)[5:]]
    guide = Slow()
    together = solve_together(puzzles, guide=guide, level="naked")
    assert guide.sizes[0] == 8
    for puzzle, outcome in zip(puzzles, together, strict=True):
        alone = dibs.solve(puzzle, guide=Slow(), level="naked")
        assert (outcome.solution, outcome.nodes, outcome.calls) == (alone.solution, alone.nodes, alone.calls)


class _Suspicious(Problem):
    """Its checker takes no solution."""

    def violation(self, solution: Any) -> str | None:
        return "not this one"


@pytest.mark.parametrize("options", [{"policy": "plain"}, {"strategy": "nogoods"}], ids=str)
def test_every_solution_is_checked(options: dict[str, Any]) -> None:
    problem = _Suspicious(6, exactly_one=[[0, 1, 2], [3, 4, 5]], at_most_one=[[0, 3]])
    with pytest.raises(WrongSolution, match="not this one"):
        dibs.solve(problem, **options)
