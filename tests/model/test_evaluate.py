"""Judging a denoiser: figures that are known beforehand, and costs that add up to the nodes of real searches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import InputError, Sudoku, generate
from dibs.bench.instances import load
from dibs.generate.canonical import canonical_forms, shuffled
from dibs.generate.check import engine_of, uniqueness
from dibs.guide.codec import from_true
from dibs.model import cost, speed
from dibs.model.evaluate import Evaluation, evaluate
from dibs.model.states import solution_paths, truth
from dibs.problem.shape import shape
from dibs.problem.structure import LEVELS, Level, Structure
from dibs.search.options import Tie
from dibs.study.judge import Judged, judge

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

NINE = shape(9, (3, 3))


class Uniform:
    """Every open value of a cell has the same probability."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
        cells = open_.reshape(len(open_), structure.decisions, -1)
        count = np.maximum(cells.sum(axis=2, keepdims=True), 1)
        p = np.where(cells, -np.log(count), -np.inf).reshape(open_.shape)
        return np.where(true, 0, p).astype(np.float32)


class Knowing:
    """Gives the solution's value of each open cell the probability `p`, and shares out the rest."""

    def __init__(self, p: float) -> None:
        self.p = p

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
        size = round(structure.literals ** (1 / 3))
        of = shape(size, (structure.shape[0], structure.shape[1]))
        engine = engine_of(of, from_true(true, size))
        engine.run()
        right = engine.true()
        cells = open_.reshape(len(open_), structure.decisions, -1)
        others = np.maximum(cells.sum(axis=2, keepdims=True) - 1, 1)
        rest = np.broadcast_to((1 - self.p) / others, cells.shape).reshape(open_.shape)
        with np.errstate(divide="ignore"):
            found = np.log(np.where(right, self.p, rest))
        return np.where(true, 0, np.where(open_, found, -np.inf)).astype(np.float32)


class First:
    """Certain of the lowest open value of every cell: wrong more often than not, and never in doubt."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
        cells = open_.reshape(len(open_), structure.decisions, -1)
        first = cells & (np.cumsum(cells, axis=2) == 1)
        return np.where(true | first.reshape(open_.shape), 0, -np.inf).astype(np.float32)


def bundled(name: str, count: int) -> list[Sudoku]:
    return [puzzle for puzzle in load(name, count) if isinstance(puzzle, Sudoku)]


def quick(denoiser: object, puzzles: Sequence[Sudoku], level: Level = "naked", costed: int = 0) -> Evaluation:
    return evaluate(denoiser, puzzles, level=level, costed=costed, batches=())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def puzzles() -> list[Sudoku]:
    return bundled("hard300", 12) + bundled("sample17", 12)


@pytest.mark.parametrize("level", ["naked", "hidden"])
def test_an_oracle_is_always_right(puzzles: list[Sudoku], level: Level) -> None:
    found = quick(Knowing(1.0), puzzles, level, costed=10**6)
    for part in (found.overall, found.root, *found.by_depth.values(), *found.by_arity.values()):
        assert part.p_s == part.p_surest == 1
    assert (found.cells.ece, found.branch.ece) == (0, 0)
    assert found.cells.accuracy == found.cells.mean_confidence == 1
    assert found.cost is not None
    assert (found.cost.accuracy, found.cost.entered) == (1, 0)
    assert found.cost.nodes == found.cost.right > 0


def test_tables_add_up(puzzles: list[Sudoku]) -> None:
    found = quick(Uniform(), puzzles, costed=10)
    for table in (found.by_depth, found.by_arity):
        parts = list(table.values())
        assert sum(part.states for part in parts) == found.overall.states == found.branch.predictions
        assert sum(part.right for part in parts) == found.overall.right
        assert sum(part.surest for part in parts) == found.overall.surest
    assert found.root == found.by_depth[0]
    assert found.root.states == len(puzzles) == found.puzzles
    assert min(found.by_arity) == 2
    assert found.cells.predictions > found.branch.predictions
    assert found.cost is not None
    assert found.cost.states == 10


def test_states_are_those_of_a_perfect_search(puzzles: list[Sudoku]) -> None:
    """Relabelling changes which of equal cells comes first, so the numbers are those of the relabelled puzzles."""
    found = quick(Uniform(), puzzles)
    values = shuffled(np.array([p.values for p in puzzles]), np.random.default_rng(0))
    searched = [dibs.solve(Sudoku(v), level="naked", order="oracle").nodes for v in values]
    assert found.overall.states == sum(searched)
    assert found.by_depth[3].states == sum(nodes > 3 for nodes in searched)


def test_a_uniform_denoiser_guesses() -> None:
    """After random relabelling the lowest of k values is the right one every k-th time, and 1/k is what it claims."""
    found = quick(Uniform(), bundled("sample17", 130))
    for arity, part in found.by_arity.items():
        spread = np.sqrt(part.states / arity * (1 - 1 / arity))
        assert abs(part.right - part.states / arity) < 4 * spread + 1
    assert found.branch.ece < 0.05
    assert abs(found.cells.mean_confidence - found.cells.accuracy) < 0.02


def test_an_over_confident_denoiser(puzzles: list[Sudoku]) -> None:
    """Certain and right at a share a of the cells: it is off by 1 - a, all of it in the last bin."""
    found = quick(First(), puzzles)
    for part in (found.cells, found.branch):
        assert 0.2 < part.accuracy < 0.6
        assert part.count[-1] == part.predictions
        assert part.ece == pytest.approx(1 - part.accuracy)
    assert found.branch.accuracy == found.overall.p_s


def test_an_under_confident_denoiser(puzzles: list[Sudoku]) -> None:
    found = quick(Knowing(0.7), puzzles)
    assert found.overall.p_s == found.overall.p_surest == 1
    assert found.cells.ece == found.branch.ece == pytest.approx(0.3)


def paths(puzzles: list[Sudoku], level: Level, tie: Tie = "index") -> Judged:
    values = np.array([puzzle.values for puzzle in puzzles])
    engine = engine_of(NINE, values)
    engine.run()
    solutions = np.concatenate([engine.choices(row) for row in range(len(puzzles))]) + np.uint8(1)
    right = truth(NINE, solutions)
    return Judged.joined(
        [judge(Uniform(), asks, right[asks.rows])[0] for asks in solution_paths(NINE, values, solutions, level, tie)]
    )


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("tie", ["index", "degree"])
def test_costs_add_up_to_the_nodes_of_a_search(level: Level, tie: Tie) -> None:
    """Theorem 3 in nodes. Equal scores are tried in ascending order, so `Uniform` is the order `ascending`."""
    for puzzle in bundled("hard300", 5) + bundled("sample17", 3):
        judged = paths([puzzle], level, tie) if dibs.solve(puzzle, level=level).nodes else None
        if judged is None:
            continue
        found = cost.measure(NINE, judged, level, tie, most=10**6, rng=np.random.default_rng(0), limit=10**9)
        assert found.capped == 0
        assert len(judged) + found.entered == dibs.solve(puzzle, level=level, tie=tie).nodes


def test_the_cost_of_one_sibling_by_hand() -> None:
    [puzzle] = bundled("hard300", 1)
    judged = paths([puzzle], "naked")
    _, true = judged.unpacked(judged.state[:1], 729)
    wrong = int(judged.literal[0])
    values = puzzle.values.copy()
    values[wrong // 9] = wrong % 9 + 1  # the first state is the root: the puzzle and one wrong value
    outcome = dibs.solve(Sudoku(values), level="naked")
    assert outcome.status == dibs.Status.UNSAT
    nodes, capped = cost.sibling_nodes(NINE, from_true(true, 9), judged.literal[:1], "naked", "index", None)
    assert (nodes.tolist(), capped) == ([outcome.nodes], 0)
    assert outcome.nodes > 1


def test_large_siblings_are_capped_and_counted() -> None:
    judged = paths(bundled("hard300", 5), "naked")
    found = cost.measure(NINE, judged, "naked", "index", most=10**6, rng=np.random.default_rng(0), limit=7)
    whole = cost.measure(NINE, judged, "naked", "index", most=10**6, rng=np.random.default_rng(0))
    assert found.capped > 0
    assert 7 * found.capped <= found.nodes < whole.nodes
    assert (found.siblings, whole.capped) == (whole.siblings, 0)


def test_costs_weigh_states(puzzles: list[Sudoku]) -> None:
    """A mistake is worth the siblings that it enters: right / nodes and entered / nodes are different things."""
    found = quick(First(), puzzles, costed=10**6).cost
    assert found is not None
    assert 0 < found.accuracy < 1
    assert 0 < found.entered <= found.nodes - found.right


def test_the_seed_decides(puzzles: list[Sudoku]) -> None:
    some = puzzles[:6]
    first, again, other = (
        evaluate(Uniform(), some, level="naked", seed=seed, batches=()).as_dict() for seed in (1, 1, 2)
    )
    assert first == again
    assert first["overall"] != other["overall"]


@pytest.mark.parametrize("box", [(2, 3), (3, 3), (4, 4), (2, 4)])
def test_relabelling_other_sizes(box: tuple[int, int]) -> None:
    of = shape(box[0] * box[1], box)
    values = np.array([p.values for p in generate.sudoku(3, box=box, givens=None if of.size < 16 else (110, 120))])
    moved = shuffled(values, np.random.default_rng(0), of)
    assert (uniqueness(of, moved) == 1).all()
    assert (np.count_nonzero(moved, axis=1) == np.count_nonzero(values, axis=1)).all()
    assert (moved != values).any(axis=1).all()
    if box == (3, 3):
        assert canonical_forms(moved) == canonical_forms(values)


def test_other_sizes_are_judged() -> None:
    found = quick(Uniform(), list(generate.sudoku(40, box=(2, 3), seed=3)), costed=100)
    assert found.overall.states > 3
    assert found.cost is not None
    assert found.cost.siblings >= found.overall.states


def test_timings() -> None:
    calls: list[int] = []

    class Counting(Uniform):
        def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
            calls.append(len(open_))
            return super().log_probabilities(structure, open_, true)

    told: list[tuple[str, int, int]] = []
    found = evaluate(
        Counting(), bundled("hard300", 3), costed=0, batches=(1, 4, 300), progress=lambda *now: told.append(now)
    )
    assert [(part.states, part.batch) for part in found.speed] == [
        (s, b) for s in ("root", "path") for b in (1, 4, 300)
    ]
    assert all(part.milliseconds > 0 for part in found.speed)
    assert found.speed[0].open > found.speed[3].open
    assert {1, 4, 300} <= set(calls)
    assert {"puzzles checked", "states judged", "timings"} == {now[0] for now in told}
    assert speed.BATCHES == (1, 16, 64, 256)


def test_what_cannot_be_judged() -> None:
    puzzle = bundled("hard300", 1)[0]
    blank, wrong = Sudoku([0] * 81), Sudoku([1, 1] + [0] * 79)
    small = next(iter(generate.sudoku(1, box=(2, 3))))
    for some, says in [
        ([], "there are no puzzles"),
        ([puzzle, blank], "puzzle 2 has more than one solution: guides are judged on puzzles with exactly one"),
        ([wrong], "puzzle 1 has no solution: guides are judged on puzzles with exactly one"),
        ([puzzle, small], "puzzle 2 has another size or box than puzzle 1: judge each shape by itself"),
        (list(generate.sudoku(2, box=(2, 2))), "propagation at level naked solves all 2 puzzles"),
        ([dibs.Latin([1, 0, 0, 0])], "puzzle 1 is no Sudoku: guides are judged on Sudokus"),
    ]:
        with pytest.raises(InputError) as error:
            quick(Uniform(), some)  # type: ignore[arg-type]
        assert str(error.value).startswith(says)


def test_what_a_denoiser_may_not_return(puzzles: list[Sudoku]) -> None:
    class Wrong(Uniform):
        def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
            return np.zeros((len(open_), 5), np.float32)

    with pytest.raises(ValueError, match="the model returned float32"):
        quick(Wrong(), puzzles[:1])


def test_no_torch_is_needed() -> None:
    import subprocess
    import sys

    code = "import sys, dibs.model.evaluate; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
