"""Exact: nodes and backtracks are those of the definitions, in any batch, and add up as the theory says."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, Sudoku
from dibs.problem import Instance
from dibs.search.tree import search as engine_module
from dibs.search.tree.search import TreeSearch
from guides import BAD, Scored
from judge import PlainSearch
from randoms import latin, mixture, sudoku

LEVELS = ("eliminate", "naked", "hidden")
HARD = ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6..."  # 17 givens


def grids(seed: int, count: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for i in range(count):
        made.append(sudoku(rng, (3, 3), int(rng.integers(21, 34))))
        made.append(sudoku(rng, (2, 3) if i % 2 else (2, 2), int(rng.integers(2, 9))))
        made.append(latin(rng, 5, int(rng.integers(0, 15))))
    return made


@pytest.mark.parametrize(("tie", "order"), list(product(("index", "degree", "impact"), ("ascending", "lcv", "mcv"))))
def test_counters_equal_a_plain_search(tie: str, order: str) -> None:
    puzzles = grids(seed=1, count=30)
    for level in LEVELS:
        outcomes = list(dibs.solve_many(puzzles, level=level, tie=tie, order=order))
        for puzzle, outcome in zip(puzzles, outcomes, strict=True):
            plain = PlainSearch(puzzle, level, tie, order)
            assert (outcome.nodes, outcome.backtracks) == (plain.nodes, plain.backtracks), (puzzle, level)
            assert (outcome.status == "SAT") == plain.solved
            if plain.solution:
                cells = np.array([plain.solution[c] for c in range(puzzle.size**2)], np.uint8)
                assert outcome.solution == type(puzzle)(cells, *([puzzle.box] if hasattr(puzzle, "box") else [])).line()


UNIQUE = [
    Sudoku.parse(line)
    for line in (
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
        "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
        "..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
        HARD,
    )
]  # three puzzles known for being hard, and one with 17 givens


class Recorder:
    """Any guide, with a note of every state at which it was asked."""

    static = False

    def __init__(self, scores: Any) -> None:
        self.scores = scores
        self.seen: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def rank(self, asks: Asks) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            scores = np.asarray(self.scores(asks), np.float32)
        scores[~(asks.candidates & (scores != -np.inf)).any(axis=1)] = 0  # who gives up is not asked again below
        self.seen += zip(asks.true, asks.candidates, scores, strict=True)
        return scores


@pytest.mark.parametrize("name", ["random", "reversed", "constant", "wild"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("tie", ["index", "degree"])
def test_node_identity(name: str, level: str, tie: str) -> None:
    """nodes(run) = decisions on the solution path + nodes of the failing siblings that were entered (Theorem 3)."""
    entered = 0
    for puzzle in UNIQUE:
        guide = Recorder(BAD[name])
        outcome = dibs.solve(puzzle, guide=guide, level=level, tie=tie)
        solution = np.zeros(729, bool)
        solution[[9 * cell + int(v) - 1 for cell, v in enumerate(outcome.solution)]] = True
        path = [ask for ask in guide.seen if not (ask[0] & ~solution).any()]
        wasted = 0
        for true, candidates, scores in path:
            literals = np.flatnonzero(candidates)
            keys = np.where(np.isnan(scores[literals]), -np.inf, scores[literals])
            for literal in literals[np.argsort(-keys, kind="stable")]:
                if solution[literal]:
                    break
                values = np.zeros(81, np.uint8)
                for given in [*np.flatnonzero(true), literal]:
                    values[given // 9] = given % 9 + 1
                failed = dibs.solve(Sudoku(values), level=level, tie=tie)
                assert failed.status == "UNSAT"
                wasted += failed.nodes
                entered += 1
        single = outcome.nodes - wasted - len(path)
        # a domain with one open value, which only `eliminate` leaves, is a node without anything to rank
        assert single == 0 if level != "eliminate" else single >= 0
        if level == "eliminate":
            assert len(path) + single == 81 - np.count_nonzero(puzzle.values)
    assert entered or name == "constant"


def test_value_order_cannot_change_the_cost_of_failing() -> None:
    bad: list[Sudoku] = []
    for puzzle in UNIQUE[:3]:
        solution = dibs.solve(puzzle).solution
        for cell in np.flatnonzero(puzzle.values == 0)[::8]:
            values = puzzle.values.copy()
            values[cell] = int(solution[cell]) % 9 + 1  # any other digit: the puzzle has one solution
            bad.append(Sudoku(values))
    assert all(outcome.status == "UNSAT" for outcome in dibs.solve_many(bad))
    assert sum(outcome.nodes for outcome in dibs.solve_many(bad)) > 100
    for level, tie in product(LEVELS[1:], ("index", "degree")):
        runs = [
            [(o.nodes, o.backtracks) for o in dibs.solve_many(bad, level=level, tie=tie, order=order)]
            for order in ("ascending", "lcv", "mcv", "random")
        ]
        assert all(run == runs[0] for run in runs)


def counters(outcomes: Any) -> list[tuple[Any, ...]]:
    return [(o.status, o.solution, o.nodes, o.backtracks, o.asks, o.depth, o.solutions) for o in outcomes]


@pytest.mark.parametrize("guided", [False, True])
def test_suspending_and_batching_change_nothing(guided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[Instance] = [*mixture(seed=2, count=150), *grids(seed=2, count=25)]
    options: dict[str, Any] = {"level": "naked", "tie": "degree", "count": 3}
    if guided:
        options |= {"guide": Scored(BAD["random"]), "trigger": "binary"}
    alone = counters(dibs.solve(problem, **options) for problem in problems)
    assert counters(dibs.solve_many(problems, workers=1, **options)) == alone
    assert counters(dibs.solve_many(problems, workers=3, **options)) == alone
    backwards = counters(dibs.solve_many(problems[::-1], **options))
    assert backwards[::-1] == alone
    monkeypatch.setattr(engine_module, "SLICE", 1)  # suspended after every single step
    assert counters(dibs.solve_many(problems, **options)) == alone


def test_random_choices_follow_seed_and_place() -> None:
    puzzles = [Sudoku.parse(HARD)] * 3
    options: dict[str, Any] = {"level": "naked", "tie": "random", "order": "random"}
    first = counters(dibs.solve_many(puzzles, seed=1, **options))
    assert first == counters(dibs.solve_many(puzzles, seed=1, workers=1, **options))
    assert len({row[2] for row in first}) > 1, "three places in the list, three different searches"
    assert first != counters(dibs.solve_many(puzzles, seed=2, **options))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzle = Sudoku.parse(HARD)
    whole = dibs.solve(puzzle, level="naked")
    assert whole.nodes > 50
    for nodes in (0, 1, 17, whole.nodes - 1):
        cut = dibs.solve(puzzle, level="naked", nodes=nodes)
        assert (cut.status, cut.solution, cut.nodes) == ("LIMIT", None, nodes)
    assert dibs.solve(puzzle, level="naked", nodes=whole.nodes).nodes == whole.nodes
    monkeypatch.setattr(engine_module, "SLICE", 100)
    late = dibs.solve(puzzle, level="naked", seconds=1e-9)
    assert (late.status, late.solution) == ("LIMIT", None)
    assert late.nodes < whole.nodes


def test_propagation_alone_has_no_nodes() -> None:
    solved = dibs.solve(Sudoku.parse(HARD)).solution
    outcome = dibs.solve(Sudoku.parse(solved))
    assert (outcome.status, outcome.nodes, outcome.backtracks, outcome.depth) == ("SAT", 0, 0, 0)


def test_ten_thousand_suspended_searches_fit_in_300_mb() -> None:
    engine = TreeSearch([UNIQUE[0]] * 10_000, dibs.Options(level="hidden", trigger="always"), guided=True)
    held = sum(array.nbytes for array in engine._searches)
    asks = engine.advance()
    assert asks is not None
    assert len(asks) == 10_000
    assert held < 300e6
    for level in LEVELS[:2]:
        other = TreeSearch([UNIQUE[0]] * 10, dibs.Options(level=level), guided=True)  # type: ignore[arg-type]
        assert sum(array.nbytes for array in other._searches) * 1000 < 300e6


REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "royle17_counts.csv"
ROWS: dict[str, dict[str, Any]] = {
    "mrv": {"level": "eliminate"},
    "mrv_degree": {"level": "eliminate", "tie": "degree"},
    "fc": {"level": "naked"},
    "fc_lcv": {"level": "naked", "order": "lcv"},
    "fc_mcv": {"level": "naked", "order": "mcv"},
    "fc_degree": {"level": "naked", "tie": "degree"},
    "fc_lcv_degree": {"level": "naked", "tie": "degree", "order": "lcv"},
    "fc_mcv_degree": {"level": "naked", "tie": "degree", "order": "mcv"},
    "fc_oracle_binary": {"level": "naked", "order": "oracle", "trigger": "binary"},
    "fc_oracle_always": {"level": "naked", "order": "oracle"},
    "hidden": {"level": "hidden"},
    "hidden_degree": {"level": "hidden", "tie": "degree"},
}


# What other implementations do not have: these counts are dibs' own, and must stay.
OWN_ROWS: dict[str, dict[str, Any]] = {
    "impact": {"level": "naked", "tie": "impact", "order": "mcv"},
    "restarts": {"level": "naked", "tie": "random", "strategy": "restarts", "seed": 3},
    "nogoods": {"level": "naked", "strategy": "nogoods", "restart_base": 4},
}
BUNDLED = Path(__file__).with_name("reference_counts.csv")


@pytest.mark.parametrize("row", [*ROWS, *OWN_ROWS])
def test_bundled_counts(row: str) -> None:
    """50 puzzles that come with dibs; `python tests/search/test_counters.py` made the file, when all of the reference
    counts beside the checkout were met."""
    check_counts(BUNDLED, row)


@pytest.mark.shared_data
@pytest.mark.skipif(not REFERENCE.exists(), reason="an extra: the reference counts are not beside this checkout")
@pytest.mark.parametrize("row", ROWS)
def test_reference_counts(row: str) -> None:
    check_counts(REFERENCE, row)


def check_counts(path: Path, row: str) -> None:
    with path.open() as file:
        reference = list(csv.DictReader(file))
    assert len(reference) >= 50
    puzzles = [Sudoku.parse(line["puzzle"]) for line in reference]
    for line, outcome in zip(reference, dibs.solve_many(puzzles, **(ROWS | OWN_ROWS)[row]), strict=True):
        assert outcome.nodes == int(line[f"{row}_nodes"])
        assert outcome.backtracks == int(line[f"{row}_backtracks"])
        assert outcome.solution == line["solution"]


def write_counts() -> None:
    """The bundled counts, anew."""
    lists = [list(dibs.read_instances(str(files("dibs") / "data" / name))) for name in ("sample17.txt", "hard300.txt")]
    puzzles = [puzzle for _, puzzle in lists[0][::4][:30] + lists[1][::14][:20] if isinstance(puzzle, Sudoku)]
    lines: list[dict[str, Any]] = [{"puzzle": "".join(str(v or ".") for v in puzzle.values)} for puzzle in puzzles]
    for row, options in (ROWS | OWN_ROWS).items():
        for line, outcome in zip(lines, dibs.solve_many(puzzles, **options), strict=True):
            line |= {
                "solution": outcome.solution,
                f"{row}_nodes": outcome.nodes,
                f"{row}_backtracks": outcome.backtracks,
            }
    with BUNDLED.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


@pytest.mark.parametrize("trigger", ["always", "binary"])
def test_a_guide_that_gives_up_is_not_asked_again_below(trigger: str) -> None:
    """It says so with minus infinity for all candidates; where there is no solution below, no count depends on it."""
    oracle = dibs.Oracle()

    class Knowing:
        """Knows the solution; elsewhere it gives up, or says nothing."""

        def __init__(self, elsewhere: float) -> None:
            self.elsewhere = elsewhere
            self.lost: list[NDArray[Any]] = []

        def rank(self, asks: Asks) -> NDArray[Any]:
            right = oracle.rank(asks) > 0
            on = ~np.any(asks.true & ~right, axis=1, keepdims=True)
            for true in asks.true[~on.ravel()]:
                assert not any((true >= above).all() for above in self.lost), "asked below a state that it gave up"
                if self.elsewhere == -np.inf:
                    self.lost.append(true)
            return np.where(on, -right.astype(float), self.elsewhere)  # the solution last: there is much to fail

    saved = 0
    for puzzle in UNIQUE:
        runs = [dibs.solve(puzzle, guide=Knowing(e), level="naked", trigger=trigger) for e in (-np.inf, 0.0)]
        (a, b) = [(o.status, o.solution, o.nodes, o.backtracks, o.depth) for o in runs]
        assert a == b
        assert runs[0].asks <= runs[1].asks
        saved += runs[1].asks - runs[0].asks
    assert saved > 100


if __name__ == "__main__":
    write_counts()
