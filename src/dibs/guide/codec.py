"""Grids as tokens, the same for training and inference.

The vocabulary has 31 ids, as in the paper:

    0           mask: the cell is not known
    1 .. size   the digits; each is its own token
    the rest    reserved: never fed, never predicted

So a grid with 0 for unknown cells *is* its tokens, no id stands for two things, and no digit can be taken for the mask.
31 ids are enough for grids up to 30x30; a larger grid needs a larger vocabulary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

VOCABULARY = 31
MASK = 0
SPECIALS = 1  # ids below the digits: the mask


def check_vocabulary(size: int, vocabulary: int) -> None:
    """Raises ValueError where the digits of a grid of `size` do not fit beside the special tokens."""
    if vocabulary < size + SPECIALS:
        raise ValueError(f"vocabulary = {vocabulary}: a {size}x{size} grid needs at least {size + SPECIALS} tokens")


def digits(size: int) -> slice:
    """Where the digits 1..size are in the vocabulary."""
    return slice(SPECIALS, SPECIALS + size)


def encode(values: NDArray[np.uint8], size: int, vocabulary: int = VOCABULARY) -> NDArray[np.int64]:
    """Tokens int64 [n, cells] of `values` [n, cells], where 0 is a cell to be predicted."""
    check_vocabulary(size, vocabulary)
    if values.ndim != 2 or values.shape[1] != size * size:
        raise ValueError(f"values {list(values.shape)}: a {size}x{size} grid needs [n, {size * size}]")
    if values.size and int(values.max()) > size:
        raise ValueError(f"a {size}x{size} grid has no value {values.max()}")
    return values.astype(np.int64)  # the values are the tokens: see above


def decode(tokens: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Values [n, cells] of tokens [n, cells]; reserved tokens raise ValueError."""
    if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) <= size:
        raise ValueError(f"a {size}x{size} grid has tokens 0..{size}, not {tokens.min()}..{tokens.max()}")
    return tokens.astype(np.uint8)


def from_true(true: NDArray[np.bool_], size: int) -> NDArray[np.uint8]:
    """Values [n, cells] of the cells that a search state has assigned, 0 elsewhere.

    `true` [n, L] holds the literals that are chosen or forced; literal = cell * size + value - 1.
    """
    if true.ndim != 2 or true.shape[1] != size**3:
        raise ValueError(f"true {list(true.shape)}: a {size}x{size} grid needs [n, {size**3}]")
    literals = true.reshape(len(true), size * size, size)
    if (literals.sum(axis=2) > 1).any():
        raise ValueError("a cell with two values")
    values: NDArray[np.uint8] = (literals.argmax(axis=2) + 1).astype(np.uint8)
    return values * literals.any(axis=2)
