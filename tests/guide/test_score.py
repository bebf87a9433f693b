"""The paper's score, by hand on small grids; K steps with a model that remembers what it was asked; no wrong answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dibs
from dibs import Asks, DiBS, Latin, Problem, Sudoku, load_guide
from dibs.bench.instances import load
from dibs.guide.denoiser import Denoiser
from dibs.guide.relations import relations
from dibs.guide.steps import LogProbabilities
from dibs.problem.structure import Instance, Structure
from dibs.search import Options
from dibs.search.guidance import Runtime
from dibs.search.tree.search import TreeSearch
from judge import units
from randoms import mixture

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

RUNTIMES: list[Runtime] = ["auto", "onnx"]


def normalised(structure: Structure, logits: Floats, open_: Bools, true: Bools) -> Floats:
    """The log of a softmax within each cell, slowly."""
    found = np.where(true, 0, -np.inf)
    for state, cell in product(range(len(open_)), range(structure.decisions)):
        literals = structure.members(cell)[open_[state, structure.members(cell)]]
        if len(literals):
            weights = np.exp(logits[state, literals].astype(float))
            found[state, literals] = np.log(weights / weights.sum())
    return found.astype(np.float32)


class Table:
    """A model with fixed logits [L]; it remembers every query."""

    def __init__(self, logits: Any) -> None:
        self.logits = np.asarray(logits, np.float32)
        self.queries: list[tuple[Bools, Bools]] = []

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        self.queries.append((open_.copy(), true.copy()))
        return normalised(structure, np.tile(self.logits, (len(open_), 1)), open_, true)


def random_table(literals: int, seed: int = 0) -> Table:
    return Table(3 * np.random.default_rng(seed).normal(size=literals))


def first_asks(instances: list[Any], **options: Any) -> Asks:
    asks = TreeSearch(instances, Options(**{"level": "naked", **options}), guided=True).advance()
    assert asks
    return asks


# 1 2 . .      the first cell with two values is r1c3
# . . . .
# . . . .
# . . . 1
SMALL = Sudoku.parse("12.." + "...." + "...." + "...1")


def literal(row: int, column: int, digit: int, size: int = 4) -> int:
    return ((row - 1) * size + column - 1) * size + digit - 1


def test_the_score_by_hand() -> None:
    """At r1c3 = {3, 4}: the peers are r1c4, r2c3, r2c4, r3c3, r4c3 (r1c1 and r1c2 are assigned)."""
    logits = np.zeros(64)
    logits[literal(1, 3, 3)], logits[literal(1, 3, 4)] = 1.0, 0.0
    logits[literal(1, 4, 3)], logits[literal(1, 4, 4)] = 0.0, 2.0
    logits[literal(3, 3, 4)] = 1.5
    asks = first_asks([SMALL])
    assert asks.candidates.nonzero()[1].tolist() == [literal(1, 3, 3), literal(1, 3, 4)]
    domains = {
        (1, 4): [3, 4],
        (2, 3): [1, 2, 3, 4],
        (2, 4): [2, 3, 4],
        (3, 3): [2, 3, 4],
        (4, 3): [2, 3, 4],
    }
    for (row, column), digits in domains.items():
        at = literal(row, column, 1)
        assert (np.flatnonzero(asks.open[0, at : at + 4]) + 1).tolist() == digits
    e = np.exp
    preference = {3: np.log(e(1) / (e(1) + 1)), 4: np.log(1 / (e(1) + 1))}
    consistency = {
        3: -(1 / (1 + e(2)) + 1 / 4 + 1 / 3 + 1 / (2 + e(1.5)) + 1 / 3),
        4: -(e(2) / (1 + e(2)) + 1 / 4 + 1 / 3 + e(1.5) / (2 + e(1.5)) + 1 / 3),
    }
    for alpha in (0.0, 0.2, 0.8, 1.0):
        scores = DiBS(Table(logits), alpha).rank(asks)
        for digit in (3, 4):
            wanted = alpha * preference[digit] + (1 - alpha) * consistency[digit]
            assert scores[0, literal(1, 3, digit)] == pytest.approx(wanted, abs=1e-5)


def test_the_first_try_follows_the_score() -> None:
    """The model prefers 4 at r1c3 a little, its peers want 4 very much: alpha decides."""
    logits = np.zeros(64)
    logits[literal(1, 3, 4)] = 0.5
    for row, column in ((1, 4), (2, 3), (2, 4), (3, 3), (4, 3)):
        logits[literal(row, column, 4)] = 4
    asks = first_asks([SMALL])
    three, four = literal(1, 3, 3), literal(1, 3, 4)
    for alpha, first in ((1.0, four), (0.8, three), (0.0, three)):
        scores = DiBS(Table(logits), alpha).rank(asks)[0]
        assert max((three, four), key=lambda one: scores[one]) == first


@pytest.mark.parametrize("instance", [SMALL, Sudoku([0] * 36, (2, 3)), Sudoku([0] * 81), Latin([0] * 25)], ids=repr)
def test_peers_are_counted_once(instance: Any) -> None:
    """Cells that share a row and a box with a cell are one peer, not two."""
    size = instance.size
    of = relations(instance.structure)
    box = instance.box if isinstance(instance, Sudoku) else None
    for cell in (0, size + 1, size * size - 1):
        peers = {c for unit in units(size, box) if cell in unit for c in unit} - {cell}
        for digit in (0, size - 1):
            found = of.neighbours(cell * size + digit).tolist()
            assert found == sorted(peer * size + digit for peer in peers)


def test_only_groups_that_exclude_make_neighbours() -> None:
    problem = Problem(
        6,
        exactly_one=[[0, 1], [2, 3], [4, 5]],
        at_most_one=[[0, 2], [0, 2, 4]],
        at_least_one=[[0, 5]],
        decide=[0, 1, 2],
    )
    of = relations(problem.structure)
    assert [of.neighbours(v).tolist() for v in range(6)] == [[2, 4], [], [0, 4], [], [0, 2], []]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.8, 1.0]), st.integers(0, 8))
def test_the_score_is_its_definition(seed: int, alpha: float, clues: int) -> None:
    """Against loops over cells and peers, on random 4x4 states."""
    rng = np.random.default_rng(seed)
    values = np.zeros(16, np.uint8)
    places = rng.choice(16, clues, replace=False)
    values[places] = np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1])[places]
    asks = TreeSearch([Sudoku(values)], Options(level="naked"), guided=True).advance()
    if asks is None:
        return
    model = random_table(64, seed)
    scores = DiBS(model, alpha).rank(asks)[0]
    chance = np.where(asks.open, np.exp(normalised(asks.structure, model.logits[None], asks.open, asks.true)), 0)[0]
    for one in np.flatnonzero(asks.candidates[0]):
        cell, digit = divmod(int(one), 4)
        peers = {c for unit in units(4, (2, 2)) if cell in unit for c in unit} - {cell}
        consistency = -sum(chance[4 * peer + digit] for peer in peers)
        assert scores[one] == pytest.approx(alpha * np.log(chance[one]) + (1 - alpha) * consistency, abs=1e-4)


def test_without_consistency_only_the_candidates_cell_matters() -> None:
    asks = first_asks([SMALL])
    model = random_table(64)
    scores = DiBS(model, alpha=1).rank(asks)
    assert (scores == model.log_probabilities(asks.structure, asks.open, asks.true)).all()


def test_what_a_model_says_of_dead_literals_does_not_matter() -> None:
    class Careless(Table):
        def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
            return np.where(open_, super().log_probabilities(structure, open_, true), np.float32(-0.1))

    asks = first_asks([SMALL])
    careful, careless = (DiBS(kind(random_table(64).logits)).rank(asks) for kind in (Table, Careless))
    assert careless[asks.candidates].tolist() == careful[asks.candidates].tolist()


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_steps_keep_a_growing_share_of_the_open_cells(steps: int) -> None:
    puzzles = load("sample17", 6)
    asks = first_asks(puzzles)
    model = random_table(729)
    guide = DiBS(model, steps=steps)
    assert guide.passes == steps
    guide.rank(asks)
    assert len(model.queries) == steps
    cells = asks.open.reshape(-1, 81, 9).any(axis=2).sum(axis=1)
    branching = asks.candidates.reshape(-1, 81, 9).any(axis=2)
    before = asks.true
    for number, (open_, true) in enumerate(model.queries):
        assert not (before & ~true).any(), "what is kept stays"
        assert not (open_ & true).any()
        assert not (open_ & ~asks.open).any(), "nothing is opened"
        kept = (true & ~asks.true).reshape(-1, 81, 9)
        assert (kept.sum(axis=2) <= 1).all()
        assert not kept[branching].any(), "the cell to branch on is never kept"
        count = kept.sum(axis=(1, 2))
        assert (count <= number * cells // steps).all()
        if number:
            assert (count > 0).all()
        still = open_.reshape(-1, 81, 9).any(axis=2) | kept.any(axis=2)
        assert (still == asks.open.reshape(-1, 81, 9).any(axis=2)).all(), "every open cell is open or kept"
        for v in np.argwhere(true & ~asks.true):
            assert not true[v[0], relations(asks.structure).neighbours(v[1])].any(), "kept values do not exclude others"
        before = true


def test_the_surest_cells_are_kept_first() -> None:
    """A blank 4x4 grid: after pass 1 of 4 four of 16 cells are kept, in order of confidence, without conflicts."""
    logits = np.zeros(64)
    logits[literal(2, 2, 1)] = 9  # the surest
    logits[literal(2, 1, 1)] = 8  # excluded by it: the same row
    logits[literal(3, 3, 2)] = 7
    logits[literal(4, 4, 3)] = 6
    logits[literal(3, 1, 4)] = 5
    logits[literal(4, 1, 1)] = 4  # one too many
    logits[literal(1, 1, 1)] = 99  # the cell to branch on
    asks = first_asks([Sudoku.parse("." * 16)])
    assert asks.candidates.nonzero()[1].tolist() == [0, 1, 2, 3]
    model = Table(logits)
    DiBS(model, steps=4).rank(asks)
    open_, true = (a[0] for a in model.queries[1])
    kept = [literal(2, 2, 1), literal(3, 1, 4), literal(3, 3, 2), literal(4, 4, 3)]
    assert np.flatnonzero(true).tolist() == kept
    closed = {v for one in kept for v in [*range(one // 4 * 4, one // 4 * 4 + 4), *neighbours(one)]}
    assert np.flatnonzero(~open_).tolist() == sorted(closed)


def neighbours(one: int) -> list[int]:
    cell, digit = divmod(one, 4)
    return [4 * c + digit for unit in units(4, (2, 2)) if cell in unit for c in unit if c != cell]


def test_a_cell_that_would_lose_everything_keeps_its_literals() -> None:
    """1, 2, 3 and 4 are sure around r2c2, which is then left as it was: the last pass has a distribution for it."""
    logits = np.zeros(64)
    for one in (literal(1, 2, 1), literal(2, 4, 2), literal(4, 2, 3), literal(2, 1, 4)):
        logits[one] = 9
    blank = first_asks([Sudoku.parse("." * 16)])
    at = literal(2, 2, 1)
    candidates = np.zeros_like(blank.candidates)
    candidates[0, at : at + 4] = True
    asks = replace(blank, candidates=candidates)
    model = Table(logits)
    scores = DiBS(model, steps=4).rank(asks)
    assert model.queries[1][0][0, at : at + 4].all()
    assert np.isfinite(scores[candidates]).all()


@pytest.mark.parametrize("alpha", [0.0, 0.8, 1.0])
def test_a_candidate_that_the_query_closes_is_tried_last(alpha: float) -> None:
    """r1c4 = 4 is sure, so it is kept, and 4 is closed at r1c3 in the last query: probability 0, not NaN."""
    logits = np.zeros(64)
    logits[literal(1, 4, 4)] = 9
    logits[literal(1, 3, 4)] = 2
    scores = DiBS(Table(logits), alpha, steps=12).rank(first_asks([SMALL]))[0]
    assert np.isfinite(scores[[literal(1, 3, 3), literal(1, 3, 4)]]).all()
    assert scores[literal(1, 3, 3)] > scores[literal(1, 3, 4)]


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize(("kind", "runtime"), [("relational", "auto"), ("relational", "onnx"), ("transformer", "auto")])
def test_the_rank_of_a_batch_is_that_of_each_state(guides: Path, kind: str, runtime: Runtime, steps: int) -> None:
    guide = load_guide(guides / kind, steps=steps, runtime=runtime)
    asks = first_asks(load("hard300", 30))
    together = guide.rank(asks)
    for i in range(len(asks)):
        alone = guide.rank(asks.subset(np.array([i])))
        mask = asks.candidates[i]
        assert alone[0, mask] == pytest.approx(together[i, mask], abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"alpha": 1.5}, "alpha = 1.5: it must be a number from 0 to 1"),
        ({"alpha": -0.1}, "alpha = -0.1: it must be a number from 0 to 1"),
        ({"alpha": float("nan")}, "alpha = nan: it must be a number from 0 to 1"),
        ({"alpha": "much"}, "alpha = 'much': it must be a number from 0 to 1"),
        ({"steps": 0}, "steps = 0: it must be a whole number from 1 to 64"),
        ({"steps": 65}, "steps = 65: it must be a whole number from 1 to 64"),
        ({"steps": 1.5}, "steps = 1.5: it must be a whole number from 1 to 64"),
        ({"steps": True}, "steps = True: it must be a whole number from 1 to 64"),
    ],
)
def test_settings_out_of_range(guides: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match="=") as error:
        DiBS(random_table(64), **settings)
    assert str(error.value) == says
    with pytest.raises(ValueError, match="=") as error:
        load_guide(guides / "relational", **settings)
    assert str(error.value) == says
    with pytest.raises(ValueError, match="threads = 0: it must be a whole number, 1 or more"):
        load_guide(guides / "relational", threads=0)


class Wrong:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Any:
        return self.answer


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    "answer", [np.zeros(64), np.zeros((1, 63)), np.zeros((1, 64), np.int64), np.full((1, 64), np.nan), None]
)
def test_a_model_that_answers_wrongly_raises(answer: Any, steps: int) -> None:
    with pytest.raises(ValueError, match="the model returned"):
        DiBS(Wrong(answer), steps=steps).rank(first_asks([SMALL]))


class Hostile:
    """Log-probabilities that no distribution has, different for every state."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        values = np.array([-np.inf, np.inf, -1e30, 0, 5, -3], np.float32)
        places = np.arange(open_.shape[1])[None] * 7 + np.count_nonzero(true, axis=1)[:, None]
        found: Floats = np.take(values, places % len(values))
        return found


@pytest.mark.parametrize(("trigger", "steps"), [*product(("always", "binary", "ternary"), (1, 3))])
def test_no_guide_changes_an_answer(guides: Path, trigger: str, steps: int) -> None:
    problems: list[Instance] = [p for p in mixture(seed=11, count=250) if p.structure.family in ("sudoku", "latin")]
    plain = [(o.status, o.solutions) for o in dibs.solve_many(problems, level="naked", count=12)]
    models: list[LogProbabilities] = [
        Hostile(),
        *(Denoiser.load(guides / "relational", runtime=runtime) for runtime in RUNTIMES),
        Denoiser.load(guides / "relational", network_only=True),
    ]
    for model, alpha in product(models, (0.0, 0.8)):
        guide = DiBS(model, alpha, steps)
        guided = list(dibs.solve_many(problems, guide=guide, level="naked", trigger=trigger, count=12))
        assert [(o.status, o.solutions) for o in guided] == plain
        assert all(o.calls == steps * o.asks for o in guided)
        assert any(o.calls for o in guided)


def test_any_family_can_have_a_guide_of_its_own() -> None:
    """A denoiser that is not for grids: the score needs literals and groups, nothing else."""
    problems = [p for p in mixture(seed=3, count=200) if p.structure.family not in ("sudoku", "latin")]
    plain = [(o.status, o.solutions) for o in dibs.solve_many(problems, count=12)]
    for steps in (1, 3):
        guided = dibs.solve_many(problems, guide=DiBS(Hostile(), steps=steps), count=12)
        assert [(o.status, o.solutions) for o in guided] == plain
