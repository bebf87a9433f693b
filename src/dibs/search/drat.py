"""What searches of dibs' own learn, as lines of DRAT: the text that `drat-trim` and other checkers read.

A search hands over what it has noted, some milliseconds of it at a time, and it is written as text at once: a proof is
never in memory as a whole. Several searches of one instance may share a proof: each of their lemmas follows from the
formula and the lemmas before it, whoever found those.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.machine import borrow

Int = Any
Ints = NDArray[np.int64]
Text = NDArray[np.uint8]

MINUS, SPACE, ZERO, END, DELETE = b"- 0\nd"
POWERS = tuple(np.uint32(10**i) for i in range(10))
WIDEST = 13  # characters of a number with its sign and a blank, at most; a line has two or four more


class Drat:
    """The proof of one instance in the making. `signed` [L]: its literals as the formula writes them.

    `sink` takes the text. `solutions`: the true literals of each solution that was found; the proof is then about the
    formula without these.
    """

    def __init__(self, sink: Callable[[memoryview], Any], signed: Ints) -> None:
        self.signed = signed.astype(np.int64)
        self.solutions: list[Ints] = []
        self._sink, self._lock = sink, Lock()

    def write(self, text: Text) -> None:
        """Lines of a search; a proof may have several at once, on threads."""
        with self._lock:
            self._sink(text.data)

    def false(self, literals: Ints) -> None:
        """Each of these literals is false: it follows from the formula, and from those before it."""
        log = np.stack([np.ones_like(literals), literals], 1).ravel()
        self.clauses(log.astype(np.int32), self.signed)

    def clauses(self, log: NDArray[np.int32], signed: Ints) -> None:
        """The log of a nogood search (`nogoods/lemmas.py`), whose literals the formula writes as `signed`."""
        out = np.empty(WIDEST * len(log), np.uint8)
        self.write(out[: _clauses(log, signed, out)])


@part
def put(out: Text, at: Int, z: Int) -> Int:
    """Write a number and a blank; returns where that ends."""
    if z < 0:
        out[at] = MINUS
        at += 1
    left = np.uint32(abs(z))  # its division by ten is a product
    size = 1
    while size < 10 and left >= POWERS[size]:
        size += 1
    i = at + size
    out[i] = SPACE
    while i > at:
        i -= 1
        tenth = left // np.uint32(10)
        out[i] = ZERO + left - tenth * np.uint32(10)
        left = tenth
    return at + size + 1


@part
def put_delete(out: Text, at: Int) -> Int:
    out[at] = DELETE
    out[at + 1] = SPACE
    return at + 2


@part
def put_end(out: Text, at: Int) -> Int:
    out[at] = ZERO
    out[at + 1] = END
    return at + 2


@entry(error_model="numpy")
def _clauses(log: NDArray[np.int32], signed: Ints, out: Text) -> int:
    """Lines of the clauses in a log; how long they are."""
    return lines(borrow(log), borrow(signed), borrow(out))


@part
def lines(log: NDArray[np.int32], signed: Ints, out: Text) -> int:
    at = i = 0
    while i < len(log):
        size = log[i]
        if size < 0:
            at = put_delete(out, at)
            size = -size
        for k in range(i + 1, i + 1 + size):
            at = put(out, at, -signed[log[k]] if log[k] >= 0 else signed[~log[k]])
        at = put_end(out, at)
        i += 1 + size
    return at
