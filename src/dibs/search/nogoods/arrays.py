"""The arrays of a problem and of a search on it: declared here, with shapes, and nowhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int = Any

OPEN, TRUE, FALSE = 0, 1, 2  # states of a literal
RUNNING, SAT, UNSAT, LIMIT = range(4)

# Columns of `Memory.counts`.
PHASE = 0  # one of the four above
NODES = 1  # decisions
CONFLICTS = 2  # failures, each of which gave a nogood
DEPTH = 3  # the most decisions that ever stood at once
TRAIL = 4  # length of the trail
LEVEL = 5  # decisions that stand
QUEUED = 6  # literals in `queue`
RUN = 7  # runs begun
RUN_END = 8  # the next run begins at so many conflicts
NOGOODS = 9  # numbers given to nogoods
USED = 10  # of the arena
FURTHEST = 11  # the longest trail so far
FAILED = 12  # the group that has too few literals left; -1: none
BROKEN = 13  # the nogood whose literals are all true; -1: none
MOST = 14  # LIMIT at so many decisions
ROOM = 15  # nogoods that are kept at the beginning of a run; grows
LENGTH = 16  # of `learnt`
TOUCHED = 17  # of `touched`
HERE = 18  # literals of the current level that are still to be explained
FULL = 19  # there was no room for a nogood
WORK = 20  # literals that were decided and taken back
COUNTERS = 21

GROWTH = 1.02  # of what a failure counts for, from one to the next: recent ones count more
HUGE = 1e100
LEAST = 1e-200  # weight of a group that has had nothing to do with failures for long: they keep an order among them
NEVER = 2**62  # more than any search counts to
NONE = -1  # no reason: a decision, or known from the root
ARENA = 1 << 16  # literals in all nogoods together, at first
MANY = 1 << 11  # nogoods, at first
FIRST_ROOM = 2000
MORE_ROOM = 300
LOW = 2  # nogoods about so few levels are kept for good


class Problem(NamedTuple):
    """L literals and G groups: all that the root leaves open. CSR in both directions.

    The first S groups are of the special kinds, the other B have bounds. Literals have lists of each, so that bounds
    cost nothing where there are none.
    """

    group_start: NDArray[np.int32]  # [G+1]
    group_member: NDArray[np.int32]
    literal_start: NDArray[np.int32]  # [L+1] groups of each literal, of the special kinds
    literal_group: NDArray[np.int32]
    exclusive: NDArray[np.bool_]  # [S] at most one is true
    need: NDArray[np.bool_]  # [S] at least one is true
    bound_start: NDArray[np.int32]  # [L+1] groups of each literal that have bounds, from S on
    bound_group: NDArray[np.int32]
    least: NDArray[np.int32]  # [B] so many are true, at least
    most: NDArray[np.int32]  # [B] and at most


class Memory(NamedTuple):
    """The state of one search. C nogoods, A literals in them."""

    state: NDArray[np.uint8]  # [L]
    level: NDArray[np.int32]  # [L] decisions that stood when it was decided
    reason: NDArray[np.int32]  # [L] true: the group that needed it; NONE
    # false: the true literal that excludes it; L + the group that has all it may have; -2 - nogood; NONE
    position: NDArray[np.int32]  # [L] where on the trail
    left: NDArray[np.int32]  # [G] members that are not false
    total: NDArray[np.int64]  # [G] the sum of their numbers: where one is left, it is that one; special kinds only
    held: NDArray[np.int32]  # [G] members that are true
    weight: NDArray[np.float64]  # [G] how much it had to do with failures
    score: NDArray[np.float32]  # [L] the guide's
    best: NDArray[np.uint8]  # [L] 1: true where the trail was longest
    trail: NDArray[np.int32]  # [L] what was decided, in order
    mark: NDArray[np.int32]  # [L+1] length of the trail at each decision
    queue: NDArray[np.int32]  # [S + sum of least + 1] literals that must be true
    queue_group: NDArray[np.int32]  # the same size: because of which group
    seen: NDArray[np.uint8]  # [L] met in the analysis of a failure
    touched: NDArray[np.int32]  # [L] which of `seen` to reset
    learnt: NDArray[np.int32]  # [L] the new nogood; the first is of the current level
    stamp: NDArray[np.int64]  # [L+1] scratch: levels that were counted
    arena: NDArray[np.int32]  # [A] the literals of all nogoods, watched ones first
    place: NDArray[np.int32]  # [C] where each begins
    length: NDArray[np.int32]  # [C]
    levels: NDArray[np.int32]  # [C] of how many levels its literals were when it was learnt
    use: NDArray[np.float32]  # [C] how often it has been a reason
    head: NDArray[np.int32]  # [L] the first watch of each literal: 2 * nogood + which of the first two; -1: none
    link: NDArray[np.int32]  # [2C] the next watch of the same literal
    counts: NDArray[np.int64]  # [COUNTERS]
    real: NDArray[np.float64]  # [1] what a failure counts for
