"""The arrays of a problem and of a search on it: declared here, with shapes, and nowhere else."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import declared

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
FAILED = 12  # the group that has too few literals left; groups + an assumption that is false; -1: none
BROKEN = 13  # the nogood whose literals are all true; -1: none
MOST = 14  # LIMIT at so many decisions
ROOM = 15  # nogoods that are kept at the beginning of a run; grows
LENGTH = 16  # of `learnt`
TOUCHED = 17  # of `touched`
HERE = 18  # literals of the current level that are still to be explained
FULL = 19  # there was no room for a nogood
WORK = 20  # literals that were decided and taken back
ASSUMED = 21  # of `assumed`: levels 1 to so many are theirs, and decisions come after them
AHEAD = 22  # 1: nothing was taken back since the furthest state was noted
LOGGED = 23  # of `log`
ROOTED = 24  # of the trail at the root: so many literals are in the log as lemmas
TOLD = 25  # of `told`
HEARD = 26  # of `heard`
COVER = 27  # 1: every group is exactly one, as in an exact cover
LISTED = 28  # of `listed`, where anything is assumed
SPANS = 29  # nogoods whose levels were counted
GROUND = 30  # literals up to this level are left out of a nogood, which notes by what they follow instead
GROUNDED = 31  # of the trail: up to here it is known by which assumptions true literals follow
DETACHED = 32  # 1: nogoods are not watched, as not all that is assumed is decided yet
PENDING = 33  # of `freed`
CUT = 34  # 1: what is assumed was cut away, and groups need it: see cut.py
LOOKED = 35  # `top` is true of so much of the trail; 0: of nothing
COUNTERS = 36

GROWTH = 1.02  # of what a failure counts for, from one to the next: recent ones count more
HUGE = 1e100
LEAST = 1e-200  # weight of a group that has had nothing to do with failures for long: they keep an order among them
NEVER = 2**62  # more than any search counts to
SOLUTION = NEVER - 1  # in place of the longest trail: the solution of an earlier call, which got further than any
STALE = -2
NONE = -1  # no reason: a decision, or known from the root
ARENA = 1 << 16  # literals in all nogoods together, at first
MANY = 1 << 11  # nogoods, at first
FIRST_ROOM = 2000
ROOMY = 6  # times as much in an exact cover: hard proofs take 0.7 to 0.9 of the failures, each a tenth longer
MORE_ROOM = 300
BITS = 62  # of a word of premises: none of them is a sign
FREED = 32  # assumptions that turned out to follow from others, and are still to be replaced by those
BLOCK = 1 << 10  # groups whose best one is remembered, where there are MANY_GROUPS
MANY_GROUPS = 1 << 14
LOW = 2  # nogoods about so few levels are kept for good
SHARED = 2  # nogoods about so few levels are told to others


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
    selector: NDArray[np.int32]  # [B] the literal that switches the group on, by being assumed; -1: it always holds
    pair: NDArray[np.int32]  # [L] the literal that is true where this one is false; -1: not known
    choices: NDArray[np.int32]  # special groups that need a literal and may be branched on, ascending


class Memory(NamedTuple):
    """The state of one search; `memory` says what the sizes are."""

    state: Annotated[NDArray[np.uint8], "literals"]
    level: Annotated[NDArray[np.int32], "literals"]  # decisions that stood when it was decided
    # True: the group that needed it; NONE. False: the true literal that excludes it; `literals` + the group that has
    # all it may have; -2 - nogood; NONE.
    reason: Annotated[NDArray[np.int32], "literals"]
    position: Annotated[NDArray[np.int32], "literals"]  # where on the trail
    left: Annotated[NDArray[np.int32], "groups"]  # members that are not false
    # The sum of their numbers: where one is left, it is that one; special kinds only.
    total: Annotated[NDArray[np.int64], "groups"]
    held: Annotated[NDArray[np.int32], "groups"]  # members that are true
    weight: Annotated[NDArray[np.float64], "groups"]  # how much it had to do with failures
    # Groups that need a literal and have none by what is assumed, for choices above that.
    listed: Annotated[NDArray[np.int32], "groups"]
    # Where there are many groups: of each block of them the one to branch on; -1: none; STALE: look again.
    top: Annotated[NDArray[np.int32], "blocks"]
    first: Annotated[NDArray[np.int32], "blocks+1"]  # where the groups of each block begin in `choices`
    score: Annotated[NDArray[np.float32], "literals"]  # the guide's
    best: Annotated[NDArray[np.uint8], "literals"]  # 1: true where the trail was longest
    trail: Annotated[NDArray[np.int32], "literals"]  # what was decided, in order
    mark: Annotated[NDArray[np.int32], "literals+literals+2"]  # length of the trail at each level
    queue: Annotated[NDArray[np.int32], "queue"]  # literals that must be true
    queue_group: Annotated[NDArray[np.int32], "queue"]  # because of which group
    seen: Annotated[NDArray[np.uint8], "literals"]  # met in the analysis of a failure
    touched: Annotated[NDArray[np.int32], "literals"]  # which of `seen` to reset
    learnt: Annotated[NDArray[np.int32], "literals+1"]  # the new nogood; the first is of the current level
    stamp: Annotated[NDArray[np.int64], "literals+literals+2"]  # scratch: levels that were counted
    arena: Annotated[NDArray[np.int32], "arena"]  # the literals of all nogoods, watched ones first
    place: Annotated[NDArray[np.int32], "nogoods"]  # where each begins
    length: Annotated[NDArray[np.int32], "nogoods"]
    levels: Annotated[NDArray[np.int32], "nogoods"]  # of how many levels its literals were when it was learnt
    use: Annotated[NDArray[np.float32], "nogoods"]  # how often it has been a reason
    # The first watch of each literal: 2 * nogood + which of the first two; -1: none.
    head: Annotated[NDArray[np.int32], "literals"]
    link: Annotated[NDArray[np.int32], "nogoods+nogoods"]  # the next watch of the same literal
    # Literals that are true first of all, for a while; -1 after those that switch groups on.
    assumed: Annotated[NDArray[np.int32], "literals+1"]
    # Sets of assumptions as bits, where a search is asked again; otherwise there are no words. See premises.py.
    bit: Annotated[NDArray[np.int32], "literals"]  # 1 + the bit of a literal that is or was assumed; 0: none
    bearer: Annotated[NDArray[np.int32], "bits"]  # 1 + the literal of each bit; 0: none
    premises: Annotated[NDArray[np.int64], "literals", "words"]  # by what a true literal of these levels follows
    needs: Annotated[NDArray[np.int64], "nogoods", "words"]  # what each nogood needs beside its literals
    closed: Annotated[NDArray[np.int64], "closed", "words"]  # [groups] what each needs, where assumptions were cut away
    gathered: Annotated[NDArray[np.int64], "words"]  # the same of the new one
    present: Annotated[NDArray[np.int64], "words"]  # what is assumed, where nogoods are watched
    freed: Annotated[NDArray[np.int32], "freed"]  # bits of assumptions that follow from others
    freeing: Annotated[NDArray[np.int64], "freed", "words"]  # these others
    counts: Annotated[NDArray[np.int64], "counters"]
    real: Annotated[NDArray[np.float64], "1"]  # what a failure counts for
    # Lemmas since it was last read, see lemmas.py; of length 0 where nobody wants a proof.
    log: Annotated[NDArray[np.int32], "log"]
    # Nogoods for other searches of the same problem, and of others: see sharing.py; of length 0 where there are none.
    told: Annotated[NDArray[np.int32], "told"]
    heard: Annotated[NDArray[np.int32], "told"]


def memory(p: Problem, words: int = 0, cut: bool = False) -> Memory:
    """A search at its root; `words`: of sets of assumptions; `cut`: they were cut away."""
    sizes, special = np.diff(p.group_start), len(p.need)
    queue = special + int(p.least.sum()) + 1  # what all groups together may need
    literals, groups = len(p.literal_start) - 1, len(sizes)
    blocked = groups > MANY_GROUPS and not words and bool((p.selector < 0).all())
    room = {
        "literals": literals,
        "groups": groups,
        "queue": queue,
        "arena": ARENA,
        "nogoods": MANY,
        "log": 0,
        "told": 0,
        "words": words,
        "bits": words * BITS,
        "freed": FREED if words else 0,
        "closed": groups if cut else 0,
        "blocks": 1 + groups // BLOCK if blocked else 0,
    }
    m = declared.zeros(Memory, {**room, "counters": COUNTERS})
    m.left[:] = sizes
    m.total[:] = np.bincount(np.repeat(np.arange(groups), sizes), p.group_member, groups)
    m.weight[:] = 1
    m.first[:] = np.searchsorted(p.choices, np.arange(len(m.first)) * BLOCK)
    m.head[:] = -1
    m.real[:] = 1
    m.counts[[FAILED, BROKEN]] = -1
    m.counts[DETACHED] = words > 0
    m.counts[CUT] = cut
    m.counts[COVER] = len(p.least) == 0 and bool((p.need & p.exclusive).all())
    m.counts[ROOM] = FIRST_ROOM * (ROOMY if m.counts[COVER] else 1)
    if (p.need & (sizes[:special] == 0)).any() or ((sizes[special:] < p.least) & (p.selector < 0)).any():
        m.counts[PHASE] = UNSAT
    return m


def grown(m: Memory) -> Memory:
    """The same with twice the room for nogoods."""
    m.counts[FULL] = 0
    more = [name for name, of in declared.declarations(Memory).items() if {"arena", "nogoods"} & set(of.shape[0])]
    twice = {name: np.concatenate([getattr(m, name), np.zeros_like(getattr(m, name))]) for name in more}
    return m._replace(**twice)
