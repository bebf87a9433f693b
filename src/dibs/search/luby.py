"""The Luby sequence, for both searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from dibs.compiled import part

Int = Any  # a machine integer, signed or not as Numba infers it


@part
def luby(i: Int) -> Int:
    """1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: the i-th, from 1."""
    size = np.int64(1)
    while size < i + 1:
        size *= 2
    while size - 1 != i:
        i -= size // 2 - 1
        size = np.int64(1)
        while size < i + 1:
            size *= 2
    return size // 2
