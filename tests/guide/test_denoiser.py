"""A trained model as a function of search states: distributions over cells, whatever the batch; failures raise."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import tiny
from dibs import CNF, Asks, InputError, Latin, Sudoku
from dibs.bench.instances import load
from dibs.guide import denoiser as module
from dibs.guide.denoiser import Denoiser
from dibs.problem.structure import Instance, Structure
from dibs.search import Options
from dibs.search.guidance import Runtime
from dibs.search.tree.search import TreeSearch

Bools = NDArray[np.bool_]

RUNTIMES: list[Runtime] = ["auto", "onnx"]
MODELS: list[tuple[str, Runtime]] = [("relational", "auto"), ("relational", "onnx"), ("transformer", "auto")]


def states(instances: list[Instance] | list[Sudoku]) -> Asks:
    """Where searches of these instances branch first."""
    asks = TreeSearch(instances, Options(level="naked"), guided=True).advance()
    assert asks
    return asks


@pytest.fixture(scope="module")
def some() -> Asks:
    """Of hard puzzles: singles leave most of their cells open."""
    return states(load("hard300", 20))


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize(("kind", "runtime"), MODELS)
def test_distributions_over_the_open_literals_of_each_cell(
    guides: Path, some: Asks, kind: str, runtime: Runtime, bare: bool
) -> None:
    model = Denoiser.load(guides / kind, runtime=runtime, network_only=bare)
    found = model.log_probabilities(some.structure, some.open, some.true)
    assert found.shape == some.open.shape
    assert found.dtype == np.float32
    assert (found[some.true] == 0).all()
    assert np.isneginf(found[~some.true & ~some.open]).all()
    chances = np.where(some.open, np.exp(found), 0).reshape(-1, 81, 9).sum(axis=2)
    undecided = some.open.reshape(-1, 81, 9).any(axis=2)
    assert chances[undecided] == pytest.approx(1, abs=1e-5)
    likely = found[some.open & (found > -20)]
    assert likely.min() < -2


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_softmax_is_that_of_the_logits(guides: Path, some: Asks, runtime: Runtime) -> None:
    model = Denoiser.load(guides / "relational", runtime=runtime, network_only=True)
    logits = model.backend.logits(some.structure, some.open, some.true)
    found = model.log_probabilities(some.structure, some.open, some.true)
    for state, cell in ((0, 3), (7, 40), (19, 80)):
        literals = 9 * cell + np.flatnonzero(some.open[state, 9 * cell : 9 * cell + 9])
        if len(literals):
            expected = logits[state, literals] - np.log(np.exp(logits[state, literals].astype(float)).sum())
            assert found[state, literals] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("model", "threads"), [*product(MODELS, [1, 2, 3])])
def test_a_state_does_not_depend_on_its_batch(
    guides: Path, some: Asks, model: tuple[str, Runtime], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, runtime = model
    denoiser = Denoiser.load(guides / kind, threads, runtime)
    alone = [denoiser.log_probabilities(some.structure, some.open[[i]], some.true[[i]])[0] for i in range(len(some))]
    assert (denoiser.calls, denoiser.states) == (20, 20)
    assert denoiser.seconds > 0
    together = denoiser.log_probabilities(some.structure, some.open, some.true)
    assert np.where(some.open, together, 0) == pytest.approx(np.where(some.open, np.stack(alone), 0), abs=1e-5)
    assert (denoiser.calls, denoiser.states) == (21, 40)
    monkeypatch.setattr(module, "CHUNK", 6)
    chunks = denoiser.log_probabilities(some.structure, some.open, some.true)
    assert np.where(some.open, chunks, 0) == pytest.approx(np.where(some.open, together, 0), abs=1e-5)
    assert denoiser.calls == 21 + 4


def test_larger_grids_go_in_smaller_chunks(guides: Path) -> None:
    model = Denoiser.load(guides / "relational")
    asks = states([Sudoku.parse("." * 256)] * 50)
    model.log_probabilities(asks.structure, asks.open, asks.true)
    assert model.calls == -(-50 // (module.CHUNK * 729 // 4096))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    "instance",
    [
        Sudoku.parse("." * 16),
        Sudoku.parse("." * 36),
        Sudoku([0] * 36, (3, 2)),
        Sudoku.parse("." * 256),
        Sudoku.parse("." * 625),
        Latin([0] * 25),
    ],
    ids=repr,
)
def test_relational_weights_take_any_grid(guides: Path, instance: Instance, runtime: Runtime) -> None:
    model = Denoiser.load(guides / "relational", runtime=runtime)
    assert model.refusal(instance.structure) is None
    asks = states([instance])
    found = model.log_probabilities(asks.structure, asks.open, asks.true)
    assert np.isfinite(found[asks.open]).all()


@pytest.mark.parametrize(("kind", "runtime"), MODELS)
def test_nothing_is_open_and_nothing_is_asked(guides: Path, some: Asks, kind: str, runtime: Runtime) -> None:
    nothing = np.zeros((3, 729), bool)
    model = Denoiser.load(guides / kind, runtime=runtime)
    assert np.isneginf(model.log_probabilities(some.structure, nothing, nothing)).all()
    assert model.log_probabilities(some.structure, nothing[:0], nothing[:0]).shape == (0, 729)


@pytest.mark.parametrize(
    ("kind", "instance", "says"),
    [
        ("transformer", Sudoku.parse("." * 256), "9x9 Sudokus; this puzzle is 16x16: use --guide relational"),
        ("transformer", Sudoku([0] * 36, (3, 2)), "9x9 Sudokus; this puzzle is 6x6 with 3x2 boxes: use --guide relati"),
        ("transformer", Latin([0] * 81), "9x9 Sudokus; this puzzle is a 9x9 Latin square: use --guide relational"),
        ("transformer", CNF(2, [[1, 2]]), "9x9 Sudokus; this puzzle is of the family cnf"),
        ("relational", CNF(2, [[1, 2]]), "Sudokus and Latin squares, not the family cnf"),
    ],
)
def test_other_shapes_are_refused(guides: Path, kind: str, instance: Instance, says: str) -> None:
    model = Denoiser.load(guides / kind)
    literals = np.ones((1, instance.structure.literals), bool)
    with pytest.raises(InputError) as error:
        model.log_probabilities(instance.structure, literals, ~literals)
    assert str(error.value).startswith(f"these weights take {says}")
    assert model.refusal(instance.structure) == str(error.value)


@pytest.mark.parametrize("config", [{}, {"cells": 81, "size": "nine", "vocabulary": 31}, {"cells": 80, "size": 9}])
def test_a_transformer_says_its_shape(tmp_path: Path, config: dict[str, object]) -> None:
    folder = tiny.transformer(tmp_path / "t", config=config)
    with pytest.raises(InputError, match=r"config: (cells|size|vocabulary) is .*, not a whole number 1 to"):
        Denoiser.load(folder)
    with pytest.raises(InputError, match="80 cells and 9 values: no Sudoku"):
        Denoiser.load(tiny.transformer(tmp_path / "u", config={"cells": 80, "size": 9, "vocabulary": 31}))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_model_that_fails_raises(tmp_path: Path, value: float, runtime: Runtime) -> None:
    """Already when it is loaded: the first query is a blank grid."""
    with pytest.raises(InputError, match="a logit that is not a finite number"):
        Denoiser.load(tiny.constant(tmp_path / "nan", value), runtime=runtime)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("value", [-1e6, 0.0, 60.0])
def test_the_scale_of_logits_does_not_matter(tmp_path: Path, some: Asks, value: float, runtime: Runtime) -> None:
    """All the same logit: all values that singles leave are as likely, those that they exclude are not."""
    model = Denoiser.load(tiny.constant(tmp_path / "same", value), runtime=runtime)
    found = model.log_probabilities(some.structure, some.open, some.true).reshape(-1, 9)
    likely = found > -20
    count = likely.sum(axis=1, keepdims=True)
    assert found[likely] == pytest.approx(np.broadcast_to(-np.log(count), found.shape)[likely], abs=1e-5)
    assert (some.open.reshape(-1, 9) & ~likely).any()
    assert np.exp(found[~likely]).max() < 1e-12


def test_a_model_of_another_shape_raises(tmp_path: Path) -> None:
    folder = tiny.transformer(tmp_path / "four", 4)
    tiny.write_card(folder, kind="transformer", config={"cells": 81, "size": 9, "vocabulary": 31})
    with pytest.raises(InputError, match=r"model\.onnx: failed: .*Got: 81 Expected: 16"):
        Denoiser.load(folder)


class Short:
    """A backend that forgets a literal."""

    def refusal(self, structure: Structure) -> str | None:
        return None

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> NDArray[np.float32]:
        return np.zeros((len(open_), open_.shape[1] - 1), np.float32)

    def example(self) -> tuple[Structure, Bools, Bools]:
        blank = Sudoku.parse("." * 16).structure
        return blank, np.ones((1, 64), bool), np.zeros((1, 64), bool)


def test_another_backend_is_checked_as_well(guides: Path) -> None:
    model = Denoiser.load(guides / "relational")
    with pytest.raises(InputError, match=r"the model returned logits \(1, 63\), not \(1, 64\)"):
        Denoiser(Short(), model.folder, model.card)
