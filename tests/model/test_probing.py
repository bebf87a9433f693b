"""Training of guides that try each value first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from dibs.guide import card
from dibs.guide.card import Card
from dibs.guide.denoiser import Denoiser
from dibs.model.config import Config
from dibs.model.puzzles import load
from dibs.model.relational import Relational
from dibs.model.states import truth, walk
from dibs.model.task_for import task_for
from dibs.model.tasks import RelationalTask
from dibs.model.train import train
from dibs.problem import InputError
from dibs.problem.shape import shape
from dibs.search.probe import probe
from documented import ROOT

# Bred from puzzles that earlier guides doubted, as two of few that trying each literal does not solve.
RESIST = (
    "..56.....2.3....9..1..4.....9.7.....15.3..4.....2...8.......376.8............1...",
    "..6......3..427...........9......3...5...12.....6..4..84.........985...1.7.9.....",
)
TINY = {"kind": "relational", "width": 8, "rounds": 2, "probes": True}


def _config(model: dict[str, Any], data: dict[str, Any]) -> Config:
    plan = {"steps": 2, "batch": 2, "levels": {"hidden": 1}, "masks": 0.0, "validate": 10**9, "checkpoint": 10**9}
    return Config.of("test", {"model": model, "data": data, "train": plan}, "test")


def _listed(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "resist.txt"
    file.write_text("\n".join(RESIST) + "\n")
    return {"listed": str(file), "held": 0.0}


def test_it_learns_from_what_trying_leaves_and_says_so_on_its_card(tmp_path: Path) -> None:
    config = _config(TINY, _listed(tmp_path))
    sources = load(config.data, tmp_path / "cache", lambda *made: None)
    task = task_for(config, sources)
    assert isinstance(task, RelationalTask)
    for states, _ in task.batches(np.random.default_rng(0)):
        assert states.any(axis=1).all()
        assert (probe(task.of.structure, states)[0] == states).all()
    train(config, sources, tmp_path / "run", lambda progress: None)
    assert Card.read(tmp_path / "run" / "guide").config["probes"] == 1
    assert Denoiser.load(tmp_path / "run" / "guide").probes


def test_in_training_it_says_what_the_guide_will_say(tmp_path: Path) -> None:
    """Log-probabilities of a module, after trying, are those of the guide that is made of it."""
    config = _config(TINY, _listed(tmp_path))
    sources = load(config.data, tmp_path / "cache", lambda *made: None)
    train(config, sources, tmp_path / "run", lambda progress: None)
    of, found = shape(9, (3, 3)), sources["listed"]
    open_, _ = walk(of, found.puzzles, found.solutions, np.zeros(2, np.int64), "hidden", 0)
    task = task_for(config, sources)
    assert isinstance(task, RelationalTask)
    module = task.module(finished=True)
    from dibs.model.export import load_module

    module.load_state_dict(load_module(tmp_path / "run" / "guide").state_dict())
    true = truth(of, found.puzzles)
    said = task.log_probabilities(module, open_, true)
    guide = Denoiser.load(tmp_path / "run" / "guide").log_probabilities(of.structure, open_, true)
    likely = np.isfinite(said) & open_
    assert likely.any()
    assert np.allclose(said[likely], guide[likely], atol=1e-4)
    assert (guide[open_ & ~likely] < -40).all()


def test_puzzles_that_trying_solves_leave_nothing_to_learn(tmp_path: Path) -> None:
    config = _config(TINY, {"minimal": 20})
    sources = load(config.data, tmp_path, lambda *made: None)
    with pytest.raises(InputError, match="leaves anything to learn"):
        task_for(config, sources).batches(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        ({"kind": "transformer", "width": 24, "layers": 1, "heads": 2, "probes": True}, {"minimal": 20}),
        (TINY, {"formulas": 2}),
    ],
    ids=["transformer", "formulas"],
)
def test_others_do_not_take_it(model: dict[str, Any], data: dict[str, Any], tmp_path: Path) -> None:
    from dibs.model.many_solutions import ManySolutions

    config = _config(model, data)
    sources: Any = (
        ManySolutions.__new__(ManySolutions) if "formulas" in data else load(config.data, tmp_path, lambda *made: None)
    )
    with pytest.raises(InputError, match="probes = true"):
        task_for(config, sources)


def test_the_shipped_weights_are_those_of_the_checkpoint() -> None:
    """checkpoints/README.md says how the guide is made of it."""
    folder = card.shipped()["relational-probing"]
    run = torch.load(ROOT / "checkpoints/relational-9x9-wide/checkpoint.pt", weights_only=True)
    network = Relational(64, 256, 240, 0.3, probes=1)
    network.load_state_dict(run["average"])
    about, shipped = Card.read(folder), load_file(folder / "model.safetensors")
    assert network.config == about.config
    assert (about.data, about.trained["steps"]) == (run["data"], run["step"])
    assert shipped.keys() == run["average"].keys()
    assert all(np.array_equal(shipped[name], run["average"][name].numpy()) for name in shipped)
