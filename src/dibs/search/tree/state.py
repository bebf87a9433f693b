"""The state of a search, as arrays: what the kernel works on and the engine looks at."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.search.tree.tables import Tables

# Phases of a search: `counts[row, PHASE]`.
START, ENTER, WAIT, ARRANGE, TRY, AGAIN, SAT, UNSAT, LIMIT = range(9)

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
MOST = 11  # LIMIT at so many nodes
RANKED = 12  # a ranking of the root (of any node, if the guide is static) is in slot 0
SLOT = 13  # where the ranking goes that is waited for, until it is used; then NO_SLOT
RUN = 14  # runs begun from the root: 1 in a depth-first search
RUN_END = 15  # strategy `restarts`: the next run begins at so many nodes
LOGGED = 16  # events in `log`
HOPELESS = 17  # open frames when the guide said that there is no solution below the innermost one; 0: it has not
ARITY = 18  # where clauses are selected: the open literals of the one that was taken; 0 if there was none
TRIES = 19  # values tried
TAKEN = 20  # solutions that are no longer in `answer`
COUNTERS = 21

# Events of `Searches.log`: kind << EVENT | what.
ENTERED, TRIED, FAILED, SOLVED, BEGUN = range(5)  # a domain, an address, -, -, a run's number
EVENT = 32

# Options as numbers.
BY_INDEX, BY_DEGREE, BY_CHANCE, BY_IMPACT = range(4)
TIES = {"index": BY_INDEX, "degree": BY_DEGREE, "random": BY_CHANCE, "impact": BY_IMPACT}
ASCENDING, LCV, MCV, SHUFFLED, JW, BY_SCORE = range(6)  # the last one: by a ranking
ORDERS = {"ascending": ASCENDING, "lcv": LCV, "mcv": MCV, "random": SHUFFLED, "jw": JW}
NEVER, ALWAYS, BINARY, TERNARY = range(4)
TRIGGERS = {"never": NEVER, "always": ALWAYS, "binary": BINARY, "ternary": TERNARY}
MRV, CONFIDENT, FIRST = range(3)
SELECTS = {"mrv": MRV, "confident": CONFIDENT, "first": FIRST}
DFS, RESTARTS = range(2)
STRATEGIES = {"dfs": DFS, "restarts": RESTARTS}
NEVER_REUSE = 2.0  # `Rules.reuse`: no choice is that sure
RANKINGS = 8  # slots where rankings are kept
NO_SLOT = 255


class Searches(NamedTuple):
    """The states of N = `rows` searches over the same tables, whose sizes `sizes` names.

    A decided domain keeps the bit of its true literal in the planes, and has lost the one that says it is undecided.
    From `frame_slot` to `score`, arrays have length 0 in a search that is not guided, traced or begun again.
    """

    plane: Annotated[NDArray[np.uint64], "rows", "words"]  # the open (and true) literals, and the undecided domains
    group: Annotated[NDArray[np.int64], "rows", "groups"]  # watched groups, see tables.py
    value: Annotated[NDArray[np.uint8], "rows", "domains"]  # what each decided domain has taken
    trail: Annotated[NDArray[np.uint32], "rows", "literals+domains"]  # words of `plane` that lost bits, in order
    # The bits lost; in a word of undecided domains it is one bit, for a choice.
    lost: Annotated[NDArray[np.uint64], "rows", "literals+domains"]
    frame_domain: Annotated[NDArray[np.uint32], "rows", "domains+1"]  # what each open node branches on
    frame_mark: Annotated[NDArray[np.uint32], "rows", "domains+1"]  # trail length when the node was entered
    frame_next: Annotated[NDArray[np.uint32], "rows", "domains+1"]  # position in `order` of the value to try next
    frame_end: Annotated[NDArray[np.uint32], "rows", "domains+1"]  # where its values end (and the next node's begin)
    frame_found: Annotated[NDArray[np.int64], "rows", "domains+1"]  # solutions known when its current value was tried
    # Addresses: the values of all open nodes, in the order they are tried.
    order: Annotated[NDArray[np.uint32], "rows", "literals"]
    # Where the ranking is that serves the node; NO_SLOT: it has none.
    frame_slot: Annotated[NDArray[np.uint8], "rows", "ranked_frames"]
    # Which of the search's asks it came from: a slot may have a newer one by now.
    frame_ask: Annotated[NDArray[np.int64], "rows", "ranked_frames"]
    # No first choice has failed since that ranking was made.
    frame_trust: Annotated[NDArray[np.bool_], "rows", "ranked_frames"]
    # Log-probability of the path to the node, by the rankings on it.
    frame_mass: Annotated[NDArray[np.float64], "rows", "ranked_frames"]
    # Probability of all that was still to be tried above it.
    frame_rest: Annotated[NDArray[np.float64], "rows", "ranked_frames"]
    slot_ask: Annotated[NDArray[np.int64], "rows", "slots"]  # the ask that each slot's ranking came from
    # For each value in `order`: its share among the values of its node.
    chance: Annotated[NDArray[np.float32], "rows", "ranked_literals"]
    # Restarts: what cut runs have taken from the scores of the choices they ended on.
    lesson: Annotated[NDArray[np.float32], "rows", "ranked_literals"]
    score: Annotated[NDArray[np.float32], "rows", "slots", "ranked_literals"]  # rankings: the guide's answers
    log: Annotated[NDArray[np.int64], "rows", "events"]  # if they are wanted
    # The first solutions that are not taken: the value of each domain.
    answer: Annotated[NDArray[np.uint8], "rows", "answers", "domains"]
    counts: Annotated[NDArray[np.int64], "rows", "counters"]


class Rules(NamedTuple):
    """The options of a search as the kernel reads them."""

    rich: int | None  # 1 if guided, traced or begun again, else None: each is compiled without the other's code
    tie: int  # TIES
    order: int  # ORDERS, where no guide ranks
    trigger: int  # TRIGGERS: where the guide is asked
    static: bool  # the first ranking serves the whole search
    select: int  # SELECTS: who chooses the domain, where there is a ranking
    reuse: float  # a ranking serves the nodes below while the surest choice has this probability
    asks: int  # most asks
    ask_nodes: int  # nodes that an ask counts for at the limit of nodes
    strategy: int  # STRATEGIES
    restart_base: int  # restarts: nodes of the shortest run
    wanted: int  # stop at this many solutions that are not taken


def sizes(t: Tables, slots: int, answers: int = 1, events: int = 0) -> dict[str, int]:
    """The sizes of `Searches` but for `rows`; `slots` is 0 where nothing is ranked or begun again."""
    literals, domains = len(t.outer), len(t.base) - 1
    return {
        "words": len(t.plane),
        "groups": len(t.group),
        "literals": literals,
        "domains": domains,
        "ranked_literals": literals if slots else 0,
        "ranked_frames": domains + 1 if slots else 0,
        "slots": slots,
        "answers": answers,
        "events": events,
        "counters": COUNTERS,
    }
