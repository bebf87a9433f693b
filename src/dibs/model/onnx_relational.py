"""The relational denoiser as an ONNX graph.

Inputs, for a batch of states with N open literals in all (`dibs.guide.graph` makes them):

    features  float32 [N, F]   as the module takes them; F is 7 for grids and formulas
    groups    int64 [N, K]     the groups of each literal; groups are numbered kind by kind (cells, lines, boxes)
    sizes     int64 [kinds]    how many groups each kind has; grids and formulas have 3

Output: logits float32 [N]. K is 4 for a Sudoku and 3 for a Latin square, which has no boxes. In a formula, or in a
problem of another family, a literal may be in any number of groups, so instead of `groups` there are

    literal   int64 [E]        the literal of each membership
    group     int64 [E]        and its group
    group_features  float32 [G, F]   numbers of the user's own, if the guide takes any

Run it with one thread for each session (`intra_op_num_threads = 1`): ONNX Runtime adds to a group from several threads
without a lock, and sums go wrong. States are independent, so several threads can each run a part of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from dibs.model.onnx_graph import GraphWriter

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import nn

    from dibs.model.relational import Relational

MOST_GROUPS = 4  # of a literal: cell, row, column, box
WRITTEN_OUT = 64  # rounds: ONNX Runtime takes half a minute to load 256 of them, and no time for a loop


def relational_graph(module: Relational, metadata: dict[str, str], family: str = "sudoku") -> ModelProto:
    """The rounds are written out one after the other, or are a loop where they are many; weights are stored once."""
    w = GraphWriter()
    features = w.input("features", "FLOAT", ["N", module.enter.in_features])
    if family not in ("sudoku", "latin"):
        return _of_any(w, module, features, metadata)
    groups = w.input("groups", "INT64", ["N", "K"])
    sizes = w.input("sizes", "INT64", [module.kinds])
    columns, parts = _columns(w, groups, sizes)
    flat = [w.op("Reshape", column, w.ints(-1)) for column in columns]
    nothing = w.weight("nothing", np.zeros((1, module.width), np.float32))
    empty = w.op("Expand", nothing, w.op("Concat", w.op("ReduceSum", parts, keepdims=1), w.ints(1), axis=0))
    h = w.linear(features, module.enter, "enter")
    given = w.linear(features, module.given, "given")

    def turn(h: str) -> str:
        z = w.norm(h, module.norm, "norm")
        rows = w.op("Relu", w.linear(z, module.pre, "pre"))
        # A scatter and a gather for each column: to repeat the rows for all of them at once takes half as long again.
        sums = empty
        for column in columns:
            sums = w.op("ScatterND", sums, column, rows, reduction="add")
        messages = _messages(w, module, w.ops("Split", module.kinds + 1, sums, parts, axis=0)[: module.kinds])
        outbox = w.op("Concat", *messages, nothing, axis=0)
        total = w.op("Add", w.linear(z, module.own, "own"), given)
        for column in flat:
            total = w.op("Add", total, w.op("Gather", outbox, column, axis=0))
        return w.op("Add", h, w.linear(w.op("Relu", total), module.out, "out"))

    h = _rounds(w, module, h, turn)
    score = w.linear(w.norm(h, module.last, "last"), module.score, "score")
    return w.model("relational", w.op("Reshape", score, w.ints(-1)), ["N"], metadata)


def _rounds(w: GraphWriter, module: Relational, h: str, turn: Callable[[str], str]) -> str:
    """All rounds, from the hidden states h on."""
    if module.rounds > WRITTEN_OUT:
        return w.repeated(module.rounds, h, ["N", module.width], turn)
    for _ in range(module.rounds):
        h = turn(h)
    return h


def _messages(w: GraphWriter, module: Relational, parts: list[str], said: list[str] | None = None) -> list[str]:
    """What the groups of each kind say, from the sums of their literals' rows and what the user has said of them."""
    found = []
    for kind, part in enumerate(parts):
        inner, message = (cast("nn.Linear", layers[kind]) for layers in (module.inner, module.message))
        inside = w.linear(part, inner, f"inner.{kind}")
        inside = w.op("Relu", w.op("Add", inside, said[kind]) if said else inside)
        found.append(w.linear(inside, message, f"message.{kind}"))
    return found


def _of_any(w: GraphWriter, module: Relational, features: str, metadata: dict[str, str]) -> ModelProto:
    """The same rounds along memberships."""
    literal, group = (w.input(name, "INT64", ["E"]) for name in ("literal", "group"))
    sizes = w.input("sizes", "INT64", [module.kinds])
    to_literal, to_group = (w.op("Reshape", one, w.ints(-1, 1)) for one in (literal, group))
    nothing = w.weight("nothing", np.zeros((1, module.width), np.float32))
    total = w.op("ReduceSum", sizes, keepdims=1)
    empty = w.op("Expand", nothing, w.op("Concat", total, w.ints(1), axis=0))
    h = w.linear(features, module.enter, "enter")
    given = w.linear(features, module.given, "given")
    said: list[str] = []
    if module.group_features:
        own = w.input("group_features", "FLOAT", ["G", module.group_features])
        for kind, part in enumerate(w.ops("Split", module.kinds, own, sizes, axis=0)):
            said.append(w.linear(part, cast("nn.Linear", module.about[kind]), f"about.{kind}"))

    def turn(h: str) -> str:
        z = w.norm(h, module.norm, "norm")
        rows = w.op("Gather", w.op("Relu", w.linear(z, module.pre, "pre")), literal, axis=0)
        sums = w.op("ScatterND", empty, to_group, rows, reduction="add")
        parts = w.ops("Split", module.kinds, sums, sizes, axis=0)
        outbox = w.op("Concat", *_messages(w, module, parts, said), axis=0)
        own = w.op("Add", w.linear(z, module.own, "own"), given)
        inbox = w.op("ScatterND", own, to_literal, w.op("Gather", outbox, group, axis=0), reduction="add")
        return w.op("Add", h, w.linear(w.op("Relu", inbox), module.out, "out"))

    h = _rounds(w, module, h, turn)
    score = w.linear(w.norm(h, module.last, "last"), module.score, "score")
    return w.model("relational", w.op("Reshape", score, w.ints(-1)), ["N"], metadata)


def _columns(w: GraphWriter, groups: str, sizes: str) -> tuple[list[str], str]:
    """Each literal's groups as MOST_GROUPS columns int64 [N, 1], and the sizes of the kinds with one group more.

    That last group is nobody's: literals that are in fewer groups have it in the columns that are left, and its message
    is always zero.
    """
    nobody = w.op("ReduceSum", sizes, keepdims=1)
    count = w.op("Slice", w.op("Shape", groups), w.ints(0), w.ints(1))
    spare = w.op("Expand", nobody, w.op("Concat", count, w.ints(MOST_GROUPS), axis=0))
    wide = w.op("Concat", groups, spare, axis=1)
    columns = w.op("Slice", wide, w.ints(0), w.ints(MOST_GROUPS), w.ints(1))
    each = w.ops("Split", MOST_GROUPS, columns, w.ints(*[1] * MOST_GROUPS), axis=1)
    return each, w.op("Concat", sizes, w.ints(1), axis=0)
