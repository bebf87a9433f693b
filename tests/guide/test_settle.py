"""Singles followed to the end: against a slow closure from the definition, and against solutions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dibs import generate
from dibs.bench.instances import load
from dibs.generate.check import engine_of
from dibs.guide import card
from dibs.guide.denoiser import Denoiser
from dibs.model.states import eliminated, truth
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.structure import Level, Structure
from dibs.search.guidance import Runtime
from dibs.search.probe import probe
from dibs.search.root import singles
from judge import units
from paths import states as path_states
from randoms import latin, sudoku
from visited import Visited, visited

Bools = NDArray[np.bool_]

SHAPES = {"4x4": shape(4, (2, 2)), "6x6": shape(6, (2, 3)), "9x9": shape(9, (3, 3)), "latin": shape(5, None)}


def settled(structure: Structure, open_: Bools) -> tuple[Bools, Bools]:
    return singles(structure, open_)


def closure(of: Shape, open_: Bools) -> tuple[set[int], set[int]]:
    """(left open, certain), slowly; a group without open literals has its true one already.

    Nothing of a state where singles leave such a group to nobody: it has no solution.
    """
    n = of.size
    groups = [{cell * n + v for v in range(n)} for cell in range(n * n)]
    groups += [{cell * n + v for cell in unit} for unit in units(n, of.box) for v in range(n)]
    left, certain = set(np.flatnonzero(open_).tolist()), set[int]()
    wanting = [group for group in groups if group & left]
    while single := next((group & left for group in wanting if len(group & left) == 1), None):
        certain |= single
        left -= set[int]().union(*(group for group in groups if group & single))
        wanting = [group for group in wanting if not group & single]
        if not all(group & left for group in wanting):
            return set(), set()
    return left, certain


def compare(of: Shape, open_: Bools) -> tuple[int, int]:
    """How many states have something certain, and how many turn out to have no solution."""
    before = open_.copy()
    left, certain = settled(of.structure, open_)
    assert np.array_equal(open_, before)
    for i, state in enumerate(open_):
        assert tuple(set(np.flatnonzero(found[i]).tolist()) for found in (left, certain)) == closure(of, state)
    again, more = settled(of.structure, left)
    assert np.array_equal(again, left)
    assert not more.any()
    hopeless = open_.any(axis=1) & ~(left | certain).any(axis=1)
    return int(certain.any(axis=1).sum()), int(hopeless.sum())


@given(st.sampled_from([*SHAPES]), st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_any_literals_may_be_open(name: str, seed: int, share: float) -> None:
    of = SHAPES[name]
    compare(of, np.random.default_rng(seed).random((1, of.size**3)) < share)


@pytest.fixture(scope="module")
def searched() -> dict[str, Visited]:
    rng = np.random.default_rng(0)
    return {
        "4x4": visited([sudoku(rng, (2, 2), 4) for _ in range(40)], 150),
        "6x6": visited([sudoku(rng, (2, 3), 8) for _ in range(20)], 150),
        "9x9": visited(load("hard300", 12), 150),
        "latin": visited([latin(rng, 5, 6) for _ in range(20)], 150),
    }


@pytest.mark.parametrize("name", [*SHAPES])
def test_states_of_searches(searched: dict[str, Visited], name: str) -> None:
    useful, hopeless = compare(SHAPES[name], searched[name].open)
    assert useful > 10
    if name == "9x9":
        assert hopeless > 10


def test_nothing_is_left_of_a_state_that_has_no_solution() -> None:
    """A blank 4x4 grid; one whose first two cells can be 1 only; one whose first cell can."""
    open_ = np.ones((3, 64), bool)
    open_[1:, 1:4] = open_[1, 5:8] = False
    left, certain = settled(SHAPES["4x4"].structure, open_)
    assert left.sum(axis=1).tolist() == [64, 0, 64 - 4 - 7]
    assert np.argwhere(certain).tolist() == [[2, 0]]


def test_the_level_hidden_leaves_nothing_to_settle() -> None:
    states = visited(load("hard300", 20), 200, "hidden")
    left, certain = settled(states.structure, states.open)
    assert np.array_equal(left, states.open)
    assert not certain.any()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([(2, 2), (2, 3), (3, 3)]), st.integers(0, 6))
def test_what_is_certain_is_in_every_solution(seed: int, box: Box, dropped: int) -> None:
    """Of puzzles that lost some of their givens: many have several solutions."""
    [puzzle] = generate.sudoku(1, box=box, seed=seed, workers=1)
    of, values = puzzle.shape, puzzle.values.copy()
    values[np.random.default_rng(seed).permutation(np.flatnonzero(values))[:dropped]] = 0
    engine = engine_of(of, values[None], max_solutions=200, answers=200)
    engine.run()
    solutions = truth(of, engine.choices(0) + np.uint8(1))
    assert len(solutions) >= 1
    open_ = eliminated(of, values[None])
    left, certain = settled(of.structure, open_)
    assert (solutions[:, certain[0]]).all()
    assert not (solutions[:, (open_ & ~left & ~certain)[0]]).any()


@pytest.mark.parametrize("level", ["eliminate", "naked"])
def test_what_is_certain_is_on_the_path_to_the_solution(level: Level) -> None:
    of, states = path_states((3, 3), 20, level=level)
    left, certain = settled(of.structure, states.open)
    assert certain.any()
    assert not (certain & ~states.truth).any()
    assert not (states.open & ~left & ~certain & states.truth).any()


def parts(
    states: Visited, follow: Callable[[Structure, Bools], tuple[Bools, Bools]] = settled
) -> tuple[Bools, Bools, Bools]:
    """What is certain [n, L], what is excluded [n, L], and which states have no solution [n]."""
    left, certain = follow(states.structure, states.open)
    hopeless: Bools = np.logical_not((left | certain).any(axis=1))
    excluded: Bools = states.open & ~left & ~certain & ~hopeless[:, None]
    return certain, excluded, hopeless


@pytest.mark.parametrize("runtime", ["auto", "onnx"])
@pytest.mark.parametrize("name", [*SHAPES])
def test_the_denoiser_is_certain_as_well(
    guides: Path, searched: dict[str, Visited], name: str, runtime: Runtime
) -> None:
    """By singles, or by what trying each literal shows, where the guide does that."""
    states = searched[name]
    shipped = [(card.Card.read(folder), folder) for folder in card.shipped().values()]
    trained = [folder for about, folder in shipped if about.kind == "relational" and about.family != "cnf"]
    for folder in (guides / "relational", *trained):
        denoiser = Denoiser.load(folder, runtime=runtime)
        certain, excluded, _ = parts(states, probe if denoiser.probes else settled)
        found = denoiser.log_probabilities(*states)
        assert found[certain].min() > -1e-6
        assert np.exp(found[excluded]).max() < 1e-12


@pytest.mark.parametrize("runtime", ["auto", "onnx"])
def test_the_network_alone_is_not(guides: Path, searched: dict[str, Visited], runtime: Runtime) -> None:
    """Only where singles decide nothing are both the same."""
    states = searched["9x9"]
    certain, excluded, hopeless = parts(states)
    models = (Denoiser.load(guides / "relational", runtime=runtime, network_only=bare) for bare in (False, True))
    found, alone = (np.where(states.open, model.log_probabilities(*states), 0) for model in models)
    assert alone[certain].min() < -1
    assert np.exp(alone[excluded]).max() > 0.5
    same = ~certain.any(axis=1) & ~hopeless
    assert same.any()
    assert found[same] == pytest.approx(alone[same], abs=1e-5)


def test_without_a_solution_it_gives_up(guides: Path, searched: dict[str, Visited]) -> None:
    """Probability 0 for all: the search does not ask again below. Elsewhere no open literal is that unlikely."""
    states = searched["9x9"]
    *_, hopeless = parts(states)
    found = Denoiser.load(guides / "relational").log_probabilities(*states)
    assert hopeless.any()
    assert (found[hopeless][states.open[hopeless]] == -np.inf).all()
    assert (found[~hopeless][states.open[~hopeless]] > -np.inf).all()


def test_other_kinds_do_not_settle(guides: Path, searched: dict[str, Visited]) -> None:
    """A transformer has learned from states as they are."""
    states = searched["9x9"]
    one, other = (
        Denoiser.load(guides / "transformer", network_only=bare).log_probabilities(*states) for bare in (False, True)
    )
    assert np.array_equal(one, other)
