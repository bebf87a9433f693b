"""A small hand that writes ONNX graphs: what is written down here is what runs, and no tracer has to be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import Tensor, nn

OPSET = 18
IR_VERSION = 9  # read by every ONNX Runtime that dibs allows, and by older ones


class GraphWriter:
    """Nodes and weights of one graph. A weight that is used many times (tied rounds) is stored once.

    `half`: weights of the module are stored as float16. ONNX Runtime makes float32 of them when it loads them, and
    computes in that.
    """

    def __init__(self, half: bool = False) -> None:
        self._half = half
        self._cast: dict[str, str] = {}
        self._nodes: list[Any] = []
        self._weights: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._turned: dict[str, str] = {}
        self._made = 0  # nodes so far, those of loops included: names are used once

    def input(self, name: str, kind: str, shape: list[int | str]) -> str:
        """`kind`: "FLOAT" or "INT64"; a name in the shape is a length that every call may choose."""
        from onnx import TensorProto, helper

        self._inputs.append(helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape))
        return name

    def weight(self, name: str, values: NDArray[Any]) -> str:
        from onnx import TensorProto, numpy_helper

        half = self._half and ":" not in name
        if name not in self._weights:
            stored = values.astype(np.float16) if half else values
            self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(stored), name)
            self._cast[name] = self.op("Cast", name, to=TensorProto.FLOAT) if half else name
        return self._cast[name]

    def turned(self, name: str, values: NDArray[Any]) -> str:
        """The transpose of a weight [out, in], which is stored as it is. ONNX Runtime turns it when it loads it."""
        if name not in self._turned:
            self._turned[name] = self.op("Transpose", self.weight(name, values), perm=[1, 0])
        return self._turned[name]

    def ints(self, *values: int) -> str:
        """A constant int64 [len(values)]. A colon in its name: it is none of the module's weights."""
        return self.weight("ints:" + ",".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A constant float32."""
        return self.weight(f"number:{value:.6g}", np.array(value, np.float32))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One node with one output; its name."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        from onnx import helper

        names = [f"{kind}_{self._made}_{i}" for i in range(outputs)]
        self._made += 1
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def repeated(self, times: int, x: str, shape: list[int | str], turn: Callable[[str], str]) -> str:
        """`turn` is done so many times, from the float32 x [shape] on; its nodes are written down once."""
        from onnx import TensorProto, helper

        count, goes_on = self.ints(times), self.weight("number:true", np.array([True]))
        outer, self._nodes = self._nodes, []
        taken = turn("loop:x")
        last = self.op("Identity", "loop:on")
        body = helper.make_graph(
            self._nodes,
            "turn",
            [
                helper.make_tensor_value_info("loop:turn", TensorProto.INT64, []),
                helper.make_tensor_value_info("loop:on", TensorProto.BOOL, [1]),
                helper.make_tensor_value_info("loop:x", TensorProto.FLOAT, shape),
            ],
            [
                helper.make_tensor_value_info(last, TensorProto.BOOL, [1]),
                helper.make_tensor_value_info(taken, TensorProto.FLOAT, shape),
            ],
        )
        self._nodes = outer
        return self.op("Loop", count, goes_on, x, body=body)

    def linear(self, x: str, layer: nn.Linear, name: str) -> str:
        """x [n, in] -> [n, out]."""
        weight = self.weight(f"{name}.weight", array(layer.weight).T)
        if layer.bias is None:
            return self.op("MatMul", x, weight)
        return self.op("Gemm", x, weight, self.weight(f"{name}.bias", array(layer.bias)))

    def norm(self, x: str, layer: nn.LayerNorm, name: str) -> str:
        weights = self.weight(f"{name}.weight", array(layer.weight)), self.weight(f"{name}.bias", array(layer.bias))
        return self.op("LayerNormalization", x, *weights, axis=-1, epsilon=layer.eps)

    def model(self, name: str, output: str, shape: list[int | str], metadata: dict[str, str]) -> ModelProto:
        """The whole: `output` becomes the float32 output `logits`."""
        from onnx import TensorProto, checker, helper

        self._nodes.append(helper.make_node("Identity", [output], ["logits"]))
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, name, self._inputs, [logits], list(self._weights.values()))
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="dibs",
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model)
        return model


def array(tensor: Tensor) -> NDArray[np.float32]:
    """[...] the values of a parameter, in float32."""
    values: NDArray[np.float32] = tensor.detach().cpu().float().numpy()
    return values
