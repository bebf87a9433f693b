"""The weights of a relational denoiser as compiled code takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dibs.dtypes import Floats32
from dibs.guide.features import BOUNDED, GROUP_KINDS, PLAIN
from dibs.guide.tiles import COLUMNS


class Weights(NamedTuple):
    """The weights of `dibs.model.relational.Relational`, transposed for products from the right and padded to tiles."""

    enter: Floats32  # [features, w]
    given: Floats32  # [features, w]
    norm: Floats32  # [2, w] scale and shift
    pre: Floats32  # [w, w]
    pre_bias: Floats32  # [w]
    inner: Floats32  # [kinds, w, w]
    inner_bias: Floats32  # [kinds, w]
    message: Floats32  # [kinds, w, w]
    own: Floats32  # [w, w]
    out: Floats32  # [w, w]
    out_bias: Floats32  # [w]
    last: Floats32  # [2, w]
    score: Floats32  # [w]
    score_bias: Floats32  # [1] says something where a cell may stay empty; elsewhere it is 0
    about: Floats32  # [kinds, group features, w]

    @classmethod
    def of(
        cls,
        tensors: dict[str, Floats32],
        width: int,
        number: int = len(GROUP_KINDS),
        literal_features: int = 0,
        group_features: int = 0,
    ) -> Weights:
        """From the tensors of model.safetensors, by their names in the module; ValueError if they are not its own.

        `literal_features` and `group_features`: how many are the user's own.
        """
        _check(tensors, width, number, literal_features, group_features)
        kinds = range(number)
        plain = tensors["enter.weight"].shape[1] == PLAIN * number + 1 + literal_features
        blank = np.zeros((width, 0), np.float32)
        found = cls(
            enter=_padded(tensors["enter.weight"].T, 0, 1),
            given=_padded(tensors["given.weight"].T, 0, 1),
            norm=_padded(np.stack([tensors["norm.weight"], tensors["norm.bias"]]), 0, 1),
            pre=_padded(tensors["pre.weight"].T, 1, 1),
            pre_bias=_padded(tensors["pre.bias"], 1),
            inner=np.stack([_padded(tensors[f"inner.{k}.weight"].T, 1, 1) for k in kinds]),
            inner_bias=np.stack([_padded(tensors[f"inner.{k}.bias"], 1) for k in kinds]),
            message=np.stack([_padded(tensors[f"message.{k}.weight"].T, 1, 1) for k in kinds]),
            own=_padded(tensors["own.weight"].T, 1, 1),
            out=_padded(tensors["out.weight"].T, 1, 1),
            out_bias=_padded(tensors["out.bias"], 1),
            last=_padded(np.stack([tensors["last.weight"], tensors["last.bias"]]), 0, 1),
            score=_padded(tensors["score.weight"][0], 1),
            score_bias=tensors["score.bias"] * np.float32(not plain),
            about=np.stack([_padded(tensors.get(f"about.{k}.weight", blank).T, 0, 1) for k in kinds]),
        )
        return cls(*map(aligned, found))

    def tensors(self, width: int) -> dict[str, Floats32]:
        """The way back: by the names in the module, without the padding."""
        inner, message = self.inner[:, :width, :width], self.message[:, :width, :width]
        found = {"score.weight": self.score[None, :width], "score.bias": self.score_bias}
        found |= {f"{name}.weight": getattr(self, name)[:, :width].T for name in ("enter", "given")}
        found |= {f"{name}.weight": getattr(self, name)[:width, :width].T for name in ("pre", "own", "out")}
        found |= {f"{name}.bias": getattr(self, f"{name}_bias")[:width] for name in ("pre", "out")}
        for name in ("norm", "last"):
            found |= {f"{name}.weight": getattr(self, name)[0, :width], f"{name}.bias": getattr(self, name)[1, :width]}
        for k in range(len(inner)):
            found |= {f"inner.{k}.weight": inner[k].T, f"inner.{k}.bias": self.inner_bias[k, :width]}
            found[f"message.{k}.weight"] = message[k].T
            if self.about.shape[1]:
                found[f"about.{k}.weight"] = self.about[k, :, :width].T
        return {name: np.ascontiguousarray(tensor) for name, tensor in found.items()}


def _check(tensors: dict[str, Floats32], width: int, kinds: int, literal_features: int, group_features: int) -> None:
    """Exactly the tensors of a module of this width, none missing, none too many."""
    square, line = (width, width), (width,)
    enter: Any = tensors.get("enter.weight")
    per = BOUNDED if np.shape(enter)[1:] == (BOUNDED * kinds + 1 + literal_features,) else PLAIN
    features = (width, per * kinds + 1 + literal_features)
    wanted: dict[str, tuple[int, ...]] = {"enter.weight": features, "given.weight": features}
    for name in ("norm", "last"):
        wanted |= {f"{name}.weight": line, f"{name}.bias": line}
    for name in ("pre", "out", *(f"inner.{k}" for k in range(kinds))):
        wanted |= {f"{name}.weight": square, f"{name}.bias": line}
    for name in ("own", *(f"message.{k}" for k in range(kinds))):
        wanted[f"{name}.weight"] = square
    wanted |= {f"about.{k}.weight": (width, group_features) for k in range(kinds) if group_features}
    wanted |= {"score.weight": (1, width), "score.bias": (1,)}
    found = {name: tensor.shape for name, tensor in tensors.items() if tensor.dtype == np.float32}
    if found != wanted:
        wrong = sorted(name for name in tensors.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        raise ValueError(f"{wrong[0]} is not as in a relational denoiser of width {width}")


def _padded(array: Floats32, *axes: int) -> Floats32:
    """Zeros after the end of each axis that has a 1, up to whole tiles: they stay 0 through all rounds."""
    extra = [(0, -size % COLUMNS * axis) for size, axis in zip(array.shape, axes, strict=True)]
    return np.ascontiguousarray(np.pad(array, extra), np.float32)


def aligned(array: Floats32) -> Floats32:
    """A copy that begins on a line of the cache: otherwise each vector of a tile lies across two of them."""
    room = np.empty(array.size + COLUMNS, np.float32)
    begin = -room.ctypes.data % (room.itemsize * COLUMNS) // room.itemsize
    found = room[begin : begin + array.size].reshape(array.shape)
    found[...] = array
    return found
