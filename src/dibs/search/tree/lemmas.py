"""The proof of a tree search, from its events.

A value that is tried after another one in the same node says that the other has failed: those choices cannot be made
together. That lemma follows by unit propagation from those inside the subtree, which are not needed any more. The last
value of a node needs none: with all others out it follows, and fails as it did.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import declared
from dibs.compiled import entry, part
from dibs.machine import borrow, view
from dibs.search.drat import WIDEST, Drat, Int, Text, put, put_delete, put_end
from dibs.search.tree.state import BEGUN, ENTERED, EVENT, TRIED
from dibs.search.tree.tables import DOMAIN, Tables

ROOM = 1 << 20  # characters, at first
NOBODY = -1


class Replay(NamedTuple):
    """Where a search is. D domains: the most open nodes."""

    domain: Annotated[NDArray[np.int64], "domains+1"]  # of each open node
    value: Annotated[NDArray[np.int64], "domains+1"]  # the address that it tries; NOBODY: none yet
    first: Annotated[NDArray[np.int64], "domains+2"]  # where its values in `failed` begin
    failed: Annotated[NDArray[np.int64], "literals+1"]  # addresses: values that have failed, of all open nodes
    prefix: Annotated[Text, "prefix"]  # the choices above each node, as text
    end: Annotated[NDArray[np.int64], "domains+2"]  # where those of each node end in it
    top: Annotated[NDArray[np.int64], "1"]  # open nodes


class Lemmas:
    """Follows one search."""

    def __init__(self, drat: Drat, t: Tables) -> None:
        self._drat = drat
        domains, literals = len(t.base) - 1, len(t.outer)
        self._replay = declared.zeros(
            Replay, {"domains": domains, "literals": literals, "prefix": WIDEST * (domains + 1)}
        )
        self._base = t.base.astype(np.int64)
        self._signed = drat.signed[t.outer]
        complements = (t.outer < 0).nonzero()[0]
        if len(complements):  # each stands behind its literal
            self._signed[complements] = -self._signed[complements - 1]
        self._out = np.empty(ROOM, np.uint8)

    def follow(self, events: NDArray[np.int64]) -> None:
        """The next events of the search."""
        done = 0
        while done < len(events):
            more, written = _follow(self._replay, self._base, self._signed, events[done:], self._out)
            if more == 0:
                self._out = np.empty(2 * len(self._out), np.uint8)
            self._drat.write(self._out[:written])
            done += more


@entry(error_model="numpy")
def _follow(
    replay: Replay, base: NDArray[np.int64], signed: NDArray[np.int64], events: NDArray[np.int64], out: Text
) -> tuple[int, int]:
    """Lines of lemmas; how many events were read, and how many characters written. None where there is no room."""
    return follow(view(replay), borrow(base), borrow(signed), borrow(events), borrow(out))


@part
def follow(r: Replay, base: Any, signed: Any, events: Any, out: Any) -> tuple[int, int]:
    at = 0
    for i in range(len(events)):
        kind, what = events[i] >> EVENT, events[i] & ((1 << EVENT) - 1)
        if kind == ENTERED:
            top = r.top[0]
            r.domain[top] = what
            r.value[top] = NOBODY
            r.first[top + 1] = r.first[top]
            r.top[0] = top + 1
        elif kind in (TRIED, BEGUN):
            node = r.top[0] - 1
            while node >= 0 and (kind == BEGUN or r.domain[node] != what // DOMAIN):
                node -= 1
            # All that may be written now: what has failed below, and one lemma.
            size = r.end[max(r.top[0] - 1, 0)] + 2 * WIDEST
            if at + size * (r.first[r.top[0]] + 1) > len(out):
                return i, at
            below = node + 1
            again = node >= 0 and r.value[node] != NOBODY
            if again:
                at = clause(r, base, signed, node, r.value[node], out, at)
            for above in range(max(below, 1), r.top[0]):
                for k in range(r.first[above], r.first[above + 1]):
                    at = put_delete(out, at)
                    at = clause(r, base, signed, above, r.failed[k], out, at)
            r.top[0] = below
            if kind == TRIED:
                if again:
                    r.failed[r.first[below]] = r.value[node]
                    r.first[below] += 1
                r.value[node] = what
                r.end[below] = put(r.prefix, r.end[node], -signed[base[what // DOMAIN] + what % DOMAIN])
    return len(events), at


@part
def clause(r: Replay, base: Any, signed: Any, node: Int, address: Int, out: Any, at: Int) -> Int:
    """The choices above a node and one of its values are not all true."""
    for i in range(r.end[node]):
        out[at + i] = r.prefix[i]
    at = put(out, at + r.end[node], -signed[base[address // DOMAIN] + address % DOMAIN])
    return put_end(out, at)
