"""The transformer as an ONNX graph: `tokens` int64 [n, cells] -> `logits` float32 [n, cells, size].

One that sees candidates has a second input: `open` float32 [n, cells, size], 1 where a value is open. Every weight of
the module is in the graph once, by its name and in its shape, so that the module can be made from it again.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dibs.model.onnx_graph import GraphWriter, array

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import nn

    from dibs.model.transformer import Block, Transformer

CUBE = 0.044715  # of GPT-2's form of GELU


def transformer_graph(module: Transformer, metadata: dict[str, str], half: bool = False) -> ModelProto:
    w = GraphWriter(half)
    cells, width = module.position.weight.shape
    tokens = w.input("tokens", "INT64", ["n", cells])
    token = w.weight("token.weight", array(module.token.weight))
    h = w.op("Add", w.op("Gather", token, tokens, axis=0), w.weight("position.weight", array(module.position.weight)))
    size = module.digits.stop - module.digits.start
    if module.open is not None:
        candidates = w.input("open", "FLOAT", ["n", cells, size])
        h = w.op("Add", h, w.op("MatMul", candidates, w.turned("open.weight", array(module.open.weight))))
    bias = None
    if module.relation is not None:
        shared = w.weight("shared:", module.shared.cpu().numpy().astype(np.int32))
        each = w.op("Gather", w.weight("relation.weight", array(module.relation.weight)), shared, axis=0)
        bias = w.op("Transpose", each, perm=[2, 0, 1])
    for _ in range(module.loops):
        for number, block in enumerate(module.blocks):
            h = _block(w, h, block, width, f"blocks.{number}", bias)  # type: ignore[arg-type]
    z = w.norm(h, module.norm, "norm")
    own = w.op("Slice", token, w.ints(module.digits.start), w.ints(module.digits.stop), w.ints(0))  # of the digits
    head = w.op("Transpose", own, perm=[1, 0])
    return w.model("transformer", w.op("MatMul", z, head), ["n", cells, size], metadata)


def weights(model: ModelProto) -> dict[str, NDArray[np.float32]]:
    """The weights of the module that a graph was made from, by name; constants have a colon in theirs."""
    from onnx import numpy_helper

    stored = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer if ":" not in w.name}
    return {name: values.astype(np.float32) for name, values in stored.items()}


def _block(w: GraphWriter, h: str, block: Block, width: int, name: str, bias: str | None) -> str:
    z = w.norm(h, block.before, f"{name}.before")
    h = w.op("Add", h, _linear(w, _attend(w, z, block, width, name, bias), block.merge, f"{name}.merge"))
    z = w.norm(h, block.between, f"{name}.between")
    inner = _gelu(w, _linear(w, z, block.grow, f"{name}.grow"))
    return w.op("Add", h, _linear(w, inner, block.shrink, f"{name}.shrink"))


def _attend(w: GraphWriter, z: str, block: Block, width: int, name: str, bias: str | None) -> str:
    """[n, cells, width] -> the same: every cell to every cell, with `bias` [heads, cells, cells] if there is one."""
    each = width // block.heads
    parts = w.ops("Split", 3, _linear(w, z, block.split, f"{name}.split"), w.ints(width, width, width), axis=2)
    query, key, value = (w.op("Reshape", part, w.ints(0, 0, block.heads, each)) for part in parts)
    query = w.op("Transpose", query, perm=[0, 2, 1, 3])
    key = w.op("Transpose", key, perm=[0, 2, 3, 1])
    value = w.op("Transpose", value, perm=[0, 2, 1, 3])
    attention = w.op("MatMul", w.op("Mul", query, w.number(1 / sqrt(each))), key)
    weights = w.op("Softmax", attention if bias is None else w.op("Add", attention, bias), axis=-1)
    mixed = w.op("Transpose", w.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return w.op("Reshape", mixed, w.ints(0, 0, width))


def _linear(w: GraphWriter, x: str, layer: nn.Linear, name: str) -> str:
    """x [n, cells, in] -> [n, cells, out]; Gemm takes two axes only."""
    weight = w.turned(f"{name}.weight", array(layer.weight))
    return w.op("Add", w.op("MatMul", x, weight), w.weight(f"{name}.bias", array(layer.bias)))


def _gelu(w: GraphWriter, x: str) -> str:
    """x/2 (1 + tanh(sqrt(2/pi) (x + CUBE x^3))), in the form that ONNX Runtime runs as one kernel."""
    cubed = w.op("Mul", w.op("Pow", x, w.number(3)), w.number(CUBE))
    curve = w.op("Tanh", w.op("Mul", w.op("Add", x, cubed), w.number(sqrt(2 / pi))))
    return w.op("Mul", w.op("Mul", x, w.number(0.5)), w.op("Add", curve, w.number(1)))
