"""Calibration: what `temper` does to probabilities, and that fitting finds what was done to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import paths
from dibs.guide import card
from dibs.guide.denoiser import Denoiser
from dibs.guide.loops import temper
from dibs.guide.relations import relations
from dibs.model.export import set_calibration
from dibs.model.states import States
from dibs.model.temperature import fit
from dibs.problem import InputError
from dibs.problem.shape import Shape


def _logs(of: Shape, open_: NDArray[np.bool_], seed: int) -> NDArray[np.float32]:
    """Log-probabilities of random cells; -inf where nothing is open."""
    values = np.random.default_rng(seed).normal(0, 2, open_.shape)
    cells = np.where(open_, values, -np.inf).reshape(-1, of.cells, of.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        cells = cells - np.log(np.exp(cells).sum(axis=2, keepdims=True))
    return np.where(open_, cells.reshape(open_.shape), -np.inf).astype(np.float32)


def _tempered(of: Shape, logs: NDArray[np.float32], open_: NDArray[np.bool_], a: float, b: float) -> Any:
    found = logs.copy()
    temper(found, open_, a, b, *relations(of.structure).cells)
    return found


def test_temper_as_defined() -> None:
    of, states = paths.states((3, 3), 4)
    logs = _logs(of, states.open, 0)
    found = _tempered(of, logs, states.open, 0.3, 1.5)
    for s in range(len(logs)):
        cells = logs[s].reshape(of.cells, of.size).astype(float)
        tops = np.exp(cells.max(axis=1)[states.open[s].reshape(of.cells, of.size).any(axis=1)])
        heat = np.exp(0.3 + 1.5 * (1 - tops).mean())
        with np.errstate(invalid="ignore", divide="ignore"):
            wanted = cells / heat - np.log(np.exp(cells / heat).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(found[s][states.open[s]], wanted.ravel()[states.open[s]], atol=1e-5)
    assert np.array_equal(_tempered(of, logs, states.open, 0.0, 0.0)[states.open], logs[states.open]) or np.allclose(
        _tempered(of, logs, states.open, 0.0, 0.0)[states.open], logs[states.open], atol=1e-6
    )


def test_fitting_cools_what_was_heated() -> None:
    """Truth drawn from probabilities, which are then made overconfident: the fit brings them back."""
    of, states = paths.states((3, 3), 40)
    true_logs = _logs(of, states.open, 1)
    rng = np.random.default_rng(2)
    cells = np.where(states.open, np.exp(true_logs), 0).reshape(-1, of.cells, of.size)
    total = cells.sum(axis=2)
    draw = (cells.cumsum(axis=2) < rng.random(total.shape)[:, :, None] * total[:, :, None]).sum(axis=2)
    truth = (np.arange(of.size) == np.minimum(draw, of.size - 1)[:, :, None]) & (total > 0)[:, :, None]
    drawn = States(
        states.puzzle, states.open, states.true, states.candidates, truth.reshape(states.open.shape), states.depth
    )

    class Sure:
        def log_probabilities(self, *_: Any) -> Any:
            return _tempered(of, true_logs, states.open, -0.7, 0.0)

    a, b = fit(Sure(), of.structure, drawn)  # type: ignore[arg-type]
    back = _tempered(of, Sure().log_probabilities(), states.open, a, b)
    gap = np.abs(np.exp(back) - np.exp(true_logs))[states.open].mean()
    before = np.abs(np.exp(Sure().log_probabilities()) - np.exp(true_logs))[states.open].mean()
    assert gap < before / 4


def test_the_card_carries_it_and_no_order_changes(guides: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in (guides / "relational").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    of, states = paths.states((3, 3), 4)
    plain = Denoiser.load(folder).log_probabilities(of.structure, states.open, states.true)
    set_calibration(folder, (0.5, 2.0))
    assert card.verify(folder).calibration == (0.5, 2.0)
    warm = Denoiser.load(folder).log_probabilities(of.structure, states.open, states.true)
    shape = (-1, of.cells, of.size)
    assert not np.allclose(plain[states.open], warm[states.open])
    assert np.array_equal(plain.reshape(shape).argmax(axis=2), warm.reshape(shape).argmax(axis=2))


@pytest.mark.parametrize("value", ["1", "[1]", '["a", 2]', "[1e9, 0]", "{}"])
def test_a_bad_calibration_is_refused(guides: Path, tmp_path: Path, value: str) -> None:
    table = json.loads((guides / "relational" / "card.json").read_text()) | {"calibration": json.loads(value)}
    (tmp_path / "card.json").write_text(json.dumps(table))
    with pytest.raises(InputError, match="'calibration' must be two numbers"):
        card.Card.read(tmp_path)
