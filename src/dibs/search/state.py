"""The state of a search, as arrays: what the kernel works on and the engine looks at.

The compiled kernel has these numbers in it, and Numba's cache does not notice if they change here: touch kernel.py too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.search.tables import Tables

# Phases of a search: `counts[row, PHASE]`.
START, ENTER, WAIT, ARRANGE, TRY, SAT, UNSAT, LIMIT = range(8)

# Columns of `Searches.counts`.
PHASE = 0  # one of the phases above
NODES = 1  # entries into branching on a consistent, incomplete state
BACKTRACKS = 2  # tried values that failed, at once or after their subtree
ASKS = 3  # rankings asked of the guide
DEPTH = 4  # the most decisions that ever stood at once
SOLUTIONS = 5  # solutions found so far
WORK = 6  # trail entries written so far, and values tried
SEED = 7  # drives `random` ties and orders
TOP = 8  # open frames
TRAIL = 9  # length of the trail
GIVEN = 10  # how many literals stand in `order` before the start
RANKED = 11  # the scores at hand may be used
COUNTERS = 12

TIES = {"index": 0, "degree": 1, "random": 2}
ORDERS = {"ascending": 0, "lcv": 1, "mcv": 2, "random": 3}
BY_SCORE = 4
TRIGGERS = {"never": 0, "always": 1, "binary": 2, "ternary": 3}


class Searches(NamedTuple):
    """The states of N searches over the same tables (L, D, G, P, R as there).

    A decided domain keeps the bit of its true literal in the planes, and has lost the one that says it is undecided.
    """

    plane: NDArray[np.uint64]  # [N, P+R] the open (and true) literals, and the undecided domains
    group: NDArray[np.int64]  # [N, G] watched groups, see tables.py
    value: NDArray[np.uint8]  # [N, D] what each decided domain has taken
    trail: NDArray[np.uint32]  # [N, L+D] words of `plane` that lost bits, in order
    lost: NDArray[np.uint64]  # [N, L+D] the bits lost; in a word of undecided domains it is one bit, for a choice
    frame_domain: NDArray[np.uint32]  # [N, D+1] the domain each open node branches on
    frame_mark: NDArray[np.uint32]  # [N, D+1] trail length when the node was entered
    frame_next: NDArray[np.uint32]  # [N, D+1] position in `order` of the value to try next
    frame_end: NDArray[np.uint32]  # [N, D+1] where its values end (and the next node's begin)
    frame_found: NDArray[np.int64]  # [N, D+1] solutions known when its current value was tried
    order: NDArray[np.uint32]  # [N, L] addresses: the values of all open nodes, in the order they are tried
    score: NDArray[np.float32]  # [N, L] the guide's last answer ([N, 0] without a guide)
    answer: NDArray[np.uint8]  # [N, A, D] the first A solutions: the value of each domain
    counts: NDArray[np.int64]  # [N, COUNTERS]


class Rules(NamedTuple):
    """The options of a search as the kernel reads them."""

    tie: int  # TIES
    order: int  # ORDERS, where no guide ranks
    trigger: int  # TRIGGERS: where the guide ranks
    keep: int  # 1: the first ranking serves the whole search
    nodes: int  # most nodes
    wanted: int  # stop at this many solutions


def shapes(t: Tables, rows: int, scored: bool, answers: int) -> list[tuple[int, ...]]:
    """The shapes of the arrays of `Searches`, in their order."""
    literals, domains = len(t.outer), len(t.base) - 1
    frame = (rows, domains + 1)
    return [
        (rows, len(t.plane)), (rows, len(t.group)), (rows, domains), (rows, literals + domains),
        (rows, literals + domains), frame, frame, frame, frame, frame, (rows, literals),
        (rows, literals if scored else 0), (rows, answers, domains), (rows, COUNTERS),
    ]  # fmt: skip


def searches(t: Tables, rows: int, scored: bool, answers: int = 1) -> Searches:
    """Room for `rows` searches and the first `answers` solutions of each; `counts[:, PHASE]` is START."""
    u1, u4, u8, i8 = np.uint8, np.uint32, np.uint64, np.int64
    kinds = (u8, i8, u1, u4, u8, u4, u4, u4, u4, i8, u4, np.float32, u1, i8)
    # All but the counters are written before they are read.
    room = Searches(*map(np.empty, shapes(t, rows, scored, answers), kinds))
    room.counts[:] = 0
    return room
