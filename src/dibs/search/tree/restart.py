"""Further runs from the root."""

from __future__ import annotations

import numpy as np

from dibs.compiled import part
from dibs.search.luby import luby
from dibs.search.tree.events import note
from dibs.search.tree.planes import BIT, LOW, Flag, Int, first_word, undo, unsigned
from dibs.search.tree.state import BEGUN, ENTER, NODES, PHASE, RESTARTS, RUN, RUN_END, TOP, TRAIL, Rules, Searches
from dibs.search.tree.tables import Tables

LESSON = 1.0  # what a choice loses in every ranking (a log-probability) when a run that ended on it is cut


@part
def begin(s: Searches, rules: Rules) -> None:
    """Begin a run: its budget."""
    counts = s.counts
    counts[RUN] += 1
    if rules.strategy == RESTARTS:
        counts[RUN_END] = counts[NODES] + rules.restart_base * luby(counts[RUN])
    note(s, rules.rich, BEGUN, counts[RUN])


@part
def learn(t: Tables, s: Searches) -> None:
    """What a run that was cut teaches: the choices that it ended on are less likely than rankings say."""
    for top in range(s.counts[TOP]):
        address = np.int64(s.order[s.frame_next[top] - 1])
        literal = np.int64(t.base[unsigned(address >> 6)]) + (address & 63)
        s.lesson[unsigned(literal)] += np.float32(LESSON)


@part
def again(t: Tables, s: Searches, watching: Flag, rules: Rules) -> Int:
    """Go back to the root for another run; returns the queue length, 0.

    What the last run refuted at the root stays out: those values are killed for good.
    """
    counts = s.counts
    counts[PHASE] = ENTER
    learn(t, s)
    mark = np.int64(s.frame_mark[0])
    if counts[TOP]:
        undo(t, s, watching, counts[TRAIL], mark)
        counts[TRAIL] = mark
    length = mark
    if counts[TOP]:
        for i in range(np.int64(s.frame_next[0]) - 1):
            address = np.int64(s.order[i])
            word = first_word(address >> 12, t.values) + 2 * (address & 63)
            bit = BIT << (np.uint64(address >> 6) & LOW)
            s.plane[unsigned(word)] ^= bit
            s.trail[unsigned(length)] = np.uint32(word)
            s.lost[unsigned(length)] = bit
            length += 1
    counts[TRAIL] = length
    counts[TOP] = 0
    begin(s, rules)
    return 0
