"""What runs a model: compiled code and ONNX Runtime say the same, and which of them is taken."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import tiny
from dibs import InputError, generate
from dibs.bench.instances import load
from dibs.generate.check import solved
from dibs.guide import card
from dibs.guide.denoiser import Denoiser
from dibs.guide.graph import graph
from dibs.guide.network import Batch
from dibs.guide.runtime import Compiled, Relational, Transformer, backend
from dibs.guide.steps import denoise
from dibs.model.export import load_module
from dibs.model.states import collect
from dibs.problem import Sudoku
from dibs.problem.shape import shape
from dibs.problem.structure import Instance, Structure
from dibs.search import Options
from dibs.search.root import roots
from dibs.search.tree.search import TreeSearch
from randoms import formula, latin, sudoku
from visited import Visited, visited

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

INSTALL = "^a trained guide is run by ONNX Runtime: pip install onnxruntime$"

pytestmark = pytest.mark.usefixtures("no_gpu")


@pytest.fixture(scope="module")
def searched() -> dict[str, Visited]:
    rng = np.random.default_rng(0)
    return {
        "4x4": visited([sudoku(rng, (2, 2), 3) for _ in range(20)], 60),
        "9x9": visited(load("hard300", 10), 60),
        "16x16": visited(list(generate.sudoku(2, box=(4, 4), givens=(100, 110), seed=1, workers=1)), 12),
        "latin": visited([latin(rng, 7, 12) for _ in range(10)], 60),
    }


def apart(folder: Path, states: Visited, bare: bool) -> tuple[float, float]:
    """How far the two are from each other at most: in log-probabilities of open literals, and in probabilities."""
    compiled, onnx = Denoiser.load(folder, network_only=bare), Denoiser.load(folder, runtime="onnx", network_only=bare)
    assert isinstance(compiled.backend, Compiled)
    assert isinstance(onnx.backend, Relational)
    one, other = (model.log_probabilities(*states)[states.open] for model in (compiled, onnx))
    given_up = one == -np.inf
    assert (given_up == (other == -np.inf)).all(), "singles do not depend on the runtime"
    one, other = one[~given_up], other[~given_up]
    assert np.ptp(one[one > -20]) > 1, "there is something to differ in"
    return np.abs(one - other).max(), np.abs(np.exp(one) - np.exp(other)).max()


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("shape", ["4x4", "9x9", "16x16", "latin"])
def test_both_say_the_same(guides: Path, searched: dict[str, Visited], shape: str, bare: bool) -> None:
    assert max(apart(guides / "relational", searched[shape], bare)) < 1e-4


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("shape", ["4x4", "9x9", "16x16", "latin"])
def test_both_say_the_same_with_trained_weights(searched: dict[str, Visited], shape: str, bare: bool) -> None:
    """Thirty-two rounds of float32: logs of small probabilities are a little further apart.

    More so on Latin squares, which these weights have never seen.
    """
    most_logs, most_chances = (3e-3, 1e-3) if shape == "latin" else (2e-3, 1e-4)
    for folder in card.shipped().values():
        about = card.Card.read(folder)
        if about.kind == "relational" and about.family != "cnf" and not about.config.get("settled"):
            logs, chances = apart(folder, searched[shape], bare)
            assert logs < most_logs
            assert chances < most_chances


@pytest.mark.parametrize("shape", ["9x9", "latin"])
def test_neither_is_less_exact_than_torch(searched: dict[str, Visited], shape: str) -> None:
    """What the trained weights leave between the two is rounding: held against the same network in double precision."""
    states = searched[shape]
    found = graph(states.structure, states.open)
    for folder in card.shipped().values():
        known = card.Card.read(folder)
        if known.kind != "relational" or known.config.get("settled"):  # hundreds of rounds: see the test at the end
            continue
        module = load_module(folder)
        with torch.no_grad():
            single = module(Batch(found)).logits[-1].numpy()
            inputs = Batch(found)
            for name, value in vars(inputs).items():
                if torch.is_tensor(value) and value.dtype == torch.float32:
                    setattr(inputs, name, value.double())
            exact = module.double()(inputs).logits[-1].numpy()
        allowed = 3 * np.abs(single - exact).max() + 1e-5
        for runtime in ("auto", "onnx"):
            logits = backend(folder, known, 1, runtime).logits(*states)[found.state, found.literal]
            shift = np.median(exact - logits)  # the compiled code leaves out the bias, which no softmax sees
            assert np.abs(logits + shift - exact).max() < allowed, runtime


FAMILIES = ("sudoku", "latin", "cnf")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("untrained")
    return {family: tiny.relational(folder / family, 5, family) for family in FAMILIES}


def instance_of(family: str, rng: np.random.Generator) -> Instance:
    match family:
        case "sudoku":
            return sudoku(rng, [(2, 2), (2, 3), (3, 3)][rng.integers(3)], int(rng.integers(0, 9)))
        case "latin":
            return latin(rng, int(rng.integers(2, 8)), int(rng.integers(0, 4)))
        case _:
            return formula(rng, int(rng.integers(3, 12)), float(rng.uniform(0.5, 5)))


@pytest.mark.parametrize("family", FAMILIES)
def test_many_rounds_are_a_loop_that_says_the_same(
    untrained: dict[str, Path], family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.model.onnx_relational.WRITTEN_OUT", 1)
    folder = tiny.relational(tmp_path / family, 5, family)
    written, loop = (Denoiser.load(one, runtime="onnx") for one in (untrained[family], folder))
    assert (folder / card.ONNX).stat().st_size < (untrained[family] / card.ONNX).stat().st_size
    rng = np.random.default_rng(3)
    for _ in range(10):
        instance = instance_of(family, rng)
        root = roots([instance], "naked")
        states = instance.structure, root.open, root.true
        np.testing.assert_allclose(loop.log_probabilities(*states), written.log_probabilities(*states), atol=1e-5)


class Both:
    """A denoiser that runs as compiled code and by ONNX Runtime, and sees to it that they agree on every query."""

    def __init__(self, folder: Path, bare: bool) -> None:
        self.compiled, self.onnx = (
            Denoiser.load(folder, runtime=runtime, network_only=bare) for runtime in ("auto", "onnx")
        )
        assert isinstance(self.compiled.backend, Compiled)
        assert isinstance(self.onnx.backend, Relational)
        self.ragged = 0

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        found = self.compiled.log_probabilities(structure, open_, true)
        other = self.onnx.log_probabilities(structure, open_, true)
        np.testing.assert_allclose(found, other, rtol=0, atol=1e-3)
        at = graph(structure, open_, true).at
        self.ragged += len(np.unique(np.diff(at))) > 1
        return found


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_say_the_same_at_every_step(untrained: dict[str, Path], family: str, bare: bool) -> None:
    """Kept values leave literals in different numbers of groups: 1 to 8 steps, states that searches branch on."""
    both = Both(untrained[family], bare)
    rng = np.random.default_rng(1)
    asked = 0
    while asked < 40:
        instance = instance_of(family, rng)
        engine = TreeSearch([instance], Options(level="naked", max_solutions=1000), guided=True)
        while (asks := engine.advance()) and rng.random() < 0.8:
            denoise(both, asks, asked % 8 + 1)
            engine.answer(asks, rng.random(asks.open.shape))
            asked += 1
    assert both.ragged


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_say_the_same_whatever_the_state(untrained: dict[str, Path], family: str, bare: bool) -> None:
    """Any literals open and any true, whether a search could be there or not."""
    both = Both(untrained[family], bare)
    rng = np.random.default_rng(2)
    for _ in range(30):
        of = instance_of(family, rng).structure
        shape = int(rng.integers(1, 6)), of.literals
        open_ = rng.random(shape) < rng.random()
        both.log_probabilities(of, open_, ~open_ & (rng.random(shape) < rng.random() / 2))
    assert both.ragged


def test_which_is_taken(guides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(Denoiser.load(guides / "relational").backend, Compiled)
    assert isinstance(Denoiser.load(guides / "transformer").backend, Transformer)
    monkeypatch.setattr("dibs.guide.runtime._has_gpu", lambda: True)
    assert isinstance(Denoiser.load(guides / "relational").backend, Relational)


def test_without_onnx_runtime(guides: Path, searched: dict[str, Visited], monkeypatch: pytest.MonkeyPatch) -> None:
    """A relational guide is as good as ever; what needs it says what to install."""
    wanted = Denoiser.load(guides / "relational").log_probabilities(*searched["9x9"])
    monkeypatch.undo()  # of no_gpu: where nothing can be imported, no GPU is found
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    found = Denoiser.load(guides / "relational").log_probabilities(*searched["9x9"])
    assert np.array_equal(found, wanted)
    with pytest.raises(InputError, match=INSTALL):
        Denoiser.load(guides / "transformer")
    with pytest.raises(InputError, match=INSTALL):
        Denoiser.load(guides / "relational", runtime="onnx")


def test_rounds_are_those_of_the_card_or_those_asked_for(guides: Path, searched: dict[str, Visited]) -> None:
    folder, states = guides / "relational", searched["9x9"]
    known = card.verify(folder).config["rounds"]
    usual, same, fewer = (Denoiser.load(folder, rounds=rounds) for rounds in (None, known, 1))
    said = [model.log_probabilities(*states) for model in (usual, same, fewer)]
    assert np.array_equal(said[0], said[1])
    assert not np.allclose(said[0][states.open], said[2][states.open])


def test_rounds_that_cannot_be_chosen_are_refused(guides: Path) -> None:
    with pytest.raises(InputError, match="rounds = 3: the rounds of its ONNX graph are fixed"):
        Denoiser.load(guides / "relational", runtime="onnx", rounds=3)
    with pytest.raises(InputError, match="rounds = 3: a transformer has none"):
        Denoiser.load(guides / "transformer", rounds=3)


def _likeliest(open_: Bools, logits: Floats) -> NDArray[np.int64]:
    """[n, 81] the likeliest value of each cell; -1 where nothing is open."""
    cells = np.where(open_, logits, -np.inf).reshape(-1, 81, 9)
    return np.where(open_.reshape(cells.shape).any(axis=2), cells.argmax(axis=2), -1)


def test_a_card_that_says_when_to_stop_makes_easy_states_cheap() -> None:
    """Fewer rounds on the way to the solution, and nearly always the values that all rounds end with, as ONNX has them.

    Rounding grows over hundreds of rounds where a network has not made up its mind: there nobody can be exact.
    """
    of, folder = shape(9, (3, 3)), card.find("relational-deep")
    puzzles = np.array([puzzle.values for puzzle in load("hard300", 12) if isinstance(puzzle, Sudoku)], np.uint8)
    states = collect(of, puzzles, solved(of, puzzles)[0], "hidden")
    asked = of.structure, states.open, states.true
    known = card.verify(folder)
    early = Compiled(folder, known)
    logits, used = early.model.run(*asked)
    assert used.mean() < 0.5 * known.config["rounds"]
    assert np.array_equal(early.logits(*asked), logits)
    whole = Compiled(folder, replace(known, config=known.config | {"settled": 0.0}))
    first = _likeliest(states.open, logits)
    for found in (whole.logits(*asked), backend(folder, known, 1, "onnx").logits(*asked)):
        assert (first == _likeliest(states.open, found)).mean() > 0.97
