"""A transformer that sees candidates and relations, goes round, and learns from a relational guide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dibs.generate import sudoku
from dibs.generate.canonical import shuffled, shuffles
from dibs.guide.denoiser import Denoiser
from dibs.model.config import Config
from dibs.model.distil import DistilTask
from dibs.model.export import export, load_module
from dibs.model.puzzles import load
from dibs.model.states import truth
from dibs.model.train import train
from dibs.model.transformer import Transformer
from dibs.problem import InputError
from dibs.problem.shape import shape
from dibs.search.root import settle, singles

FOUR, NINE = shape(4, (2, 2)), shape(9, (3, 3))
MODEL = {"kind": "transformer", "width": 24, "layers": 1, "heads": 2, "candidates": True, "relations": True, "loops": 3}


def _config(**train_: Any) -> Config:
    plan = {"teacher": "relational", "batch": 16, "validate": 10**9, "checkpoint": 10**9, "warmup": 10, "lr": 4e-3}
    plan |= {"levels": {"eliminate": 1}, "judged": "eliminate", "steps": 200, "ema": 0.98}
    data = {"box": [2, 2], "minimal": 600, "held": 0.2}
    return Config.of("test", {"model": MODEL, "data": data, "train": plan | train_}, "test")


def test_symmetries_of_literals_are_those_of_puzzles() -> None:
    values = np.array([one.values for one in sudoku(5, box=(3, 3), minimal=True, seed=2)], np.uint8)
    moved = shuffled(values, np.random.default_rng(7), NINE)
    order = shuffles(5, np.random.default_rng(7), NINE)
    assert (np.take_along_axis(truth(NINE, values), order, axis=1) == truth(NINE, moved)).all()


def test_relations_are_rows_columns_and_boxes() -> None:
    module = Transformer(81, 9, width=8, layers=1, heads=2, relations=True)
    kinds = module.shared
    assert isinstance(kinds, torch.Tensor)
    assert kinds[0, 0] == 7
    assert kinds[0, [1, 5, 9, 10, 80]].tolist() == [5, 1, 6, 4, 0]
    with torch.no_grad():
        assert module.relation is not None
        module.relation.weight[1] = 3.0
    bias = module.bias()
    assert bias is not None
    assert bias.shape == (2, 81, 81)
    assert (bias[:, 0, 5] == 3).all()


def test_heads_begin_with_the_row_the_column_the_box_and_the_grid() -> None:
    bias = Transformer(81, 9, width=16, layers=1, heads=4, relations=True).bias()
    assert bias is not None
    favourite = [torch.nonzero(head[0] > 2).flatten().tolist() for head in bias]
    assert favourite == [list(range(9)), list(range(0, 81, 9)), [0, 1, 2, 9, 10, 11, 18, 19, 20], []]


def test_the_papers_model_has_none_of_it() -> None:
    names = dict(Transformer(16, 4, width=8, layers=1, heads=2).named_parameters())
    assert not [name for name in names if name.startswith(("open", "relation"))]
    assert not {"candidates", "relations", "loops"} & Transformer(16, 4, width=8, heads=2).configuration.keys()


def test_the_exported_guide_says_the_same(tmp_path: Path) -> None:
    torch.manual_seed(1)
    module = Transformer(16, 4, width=12, layers=2, heads=3, dropout=0, candidates=True, relations=True, loops=3).eval()
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.3 * torch.randn_like(value))
    export(module, tmp_path / "guide", data="", trained={})
    assert load_module(tmp_path / "guide").state_dict().keys() == module.state_dict().keys()
    rng = np.random.default_rng(1)
    open_ = rng.random((5, 64)) < 0.7
    guide = Denoiser.load(tmp_path / "guide", network_only=True)
    found = guide.log_probabilities(FOUR.structure, open_, np.zeros_like(open_))
    with torch.no_grad():
        logits = module(torch.full((5, 16), 0), torch.from_numpy(open_.reshape(5, 16, 4)).float())
    closed = torch.from_numpy(~open_.reshape(5, 16, 4))
    wanted = logits.masked_fill(closed, -torch.inf).log_softmax(2).reshape(5, 64).numpy()
    np.testing.assert_allclose(found[open_], wanted[open_], rtol=0, atol=1e-4)


def test_where_candidates_are_seen_singles_come_first(tmp_path: Path) -> None:
    torch.manual_seed(2)
    export(Transformer(81, 9, width=16, layers=1, heads=4, candidates=True).eval(), tmp_path, data="", trained={})
    given = truth(NINE, np.array([one.values for one in sudoku(6, box=(3, 3), minimal=True, seed=4)], np.uint8))
    root = settle(NINE.structure, given, "naked")
    asked, certain = singles(NINE.structure, root.open)
    assert certain.any()
    assert asked.any()
    found = Denoiser.load(tmp_path).log_probabilities(NINE.structure, root.open, root.true)
    alone = Denoiser.load(tmp_path, network_only=True)
    wanted = alone.log_probabilities(NINE.structure, asked, root.true | certain)
    assert not found[certain].any()
    np.testing.assert_allclose(found[asked], wanted[asked], rtol=0, atol=1e-5)


def test_it_learns_what_the_teacher_says(tmp_path: Path) -> None:
    plan = _config()
    sources = load(plan.data, tmp_path / "data", lambda *_: None)
    heard: list[float] = []
    figures: dict[str, float] = {}

    def report(now: Any) -> None:
        heard.append(now.loss)
        figures.update(now.figures)

    train(plan, sources, tmp_path / "run", report)
    assert heard[-1] < 0.5 * heard[0]
    assert figures["p_s"] >= 0.9, figures
    assert Denoiser.load(tmp_path / "run" / "guide").card.config["loops"] == 3


def test_targets_are_the_teachers_and_the_solutions(tmp_path: Path) -> None:
    plan = _config(soft=0.75)
    task = DistilTask(plan, load(plan.data, tmp_path, lambda *_: None))
    for open_, true, target in task.batches(np.random.default_rng(1))[:2]:
        assert not (open_ & true).any()
        assert not target[~open_].any()
        cells = open_.reshape(len(open_), 16, 4).any(axis=2)
        np.testing.assert_allclose(target.reshape(len(open_), 16, 4).sum(axis=2)[cells], 1, atol=1e-5)
        assert (target.max(axis=1) >= 0.25).all()


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InputError, match="such a transformer needs a"):
        _config(teacher="")
    with pytest.raises(InputError, match="only a transformer has one"):
        Config.of("x", {"model": {"kind": "relational"}, "train": {"teacher": "relational"}}, "x")
