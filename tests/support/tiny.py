"""Guides on disk that nobody has trained: small random models in the format of the real ones."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save
from safetensors.numpy import save_file

if TYPE_CHECKING:  # conftest.py imports this file: tests that need no torch do not wait for it
    from dibs.model.relational import Relational

OPSET, IR = 18, 9
WIDTH, ROUNDS = 8, 3  # of the relational guide
DATA, TRAINED = "0" * 64, {"steps": 0}


def relational(folder: Path, seed: int = 0, family: str = "sudoku", **changes: Any) -> Path:
    """A `Relational` with random weights, larger than those that training begins with: its logits differ."""
    return _export(_module(seed), folder, family, **changes)


def transformer(folder: Path, size: int = 9, seed: int = 0, **changes: Any) -> Path:
    """Logits of a cell: a row for its token and place, and the mean of all cells' rows."""
    random = np.random.default_rng(seed)
    cells = size * size
    nodes = [
        helper.make_node("Gather", ["token", "tokens"], ["own"]),  # [n, cells, size]
        helper.make_node("Add", ["own", "place"], ["x"]),
        helper.make_node("ReduceMean", ["x", "one"], ["mean"], keepdims=1),
        helper.make_node("Add", ["x", "mean"], ["logits"]),
    ]
    constants = {
        "token": random.normal(size=(31, size)).astype(np.float32),
        "place": random.normal(size=(cells, size)).astype(np.float32),
        "one": np.array([1], np.int64),
    }
    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["n", cells])]
    card = {"kind": "transformer", "config": {"cells": cells, "size": size, "vocabulary": 31, "width": size}}
    return _write(folder, nodes, constants, inputs, ["n", cells, size], card | changes)


def constant(folder: Path, value: float) -> Path:
    """A relational guide whose logits are all `value`, a number or not."""
    import torch

    module = _module(0)
    with torch.no_grad():
        module.last.weight.zero_()  # the last layer sees ones, whatever the state
        module.last.bias.fill_(1)
        module.score.weight.fill_(value / WIDTH)
        module.score.bias.zero_()
    return _export(module, folder)


def _module(seed: int) -> Relational:
    import torch

    from dibs.model.relational import Relational

    random = np.random.default_rng(seed)
    module = Relational(WIDTH, ROUNDS)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.from_numpy(random.normal(scale=0.6, size=parameter.shape)))
        for norm in (module.norm, module.last):
            norm.weight.add_(1)
    return module


def _export(module: Relational, folder: Path, family: str = "sudoku", **changes: Any) -> Path:
    from dibs.model.export import export

    export(module, folder, data=DATA, trained=TRAINED, family=family)
    write_card(folder, **changes)
    return folder


def _write(
    folder: Path, nodes: list[Any], constants: dict[str, Any], inputs: list[Any], shape: list[Any], card: dict[str, Any]
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "tiny", inputs, [output], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    checker.check_model(model)
    save(model, str(folder / "model.onnx"))
    save_file({"weight": np.zeros(1, np.float32)}, str(folder / "model.safetensors"))
    write_card(folder, **card)
    return folder


def write_card(folder: Path, **changes: Any) -> None:
    """card.json for the files as they are, else as it was; `changes` to its keys, None leaves one out."""
    path = folder / "card.json"
    names = ("model.safetensors", "model.onnx")
    card = {"format": 1, "family": "sudoku", "licence": "MIT", "data": DATA, "trained": TRAINED, "dibs": "0.1.0"}
    card |= json.loads(path.read_text()) if path.exists() else {}
    card |= {"sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}} | changes
    path.write_text(json.dumps({key: value for key, value in card.items() if value is not None}))
