"""In which order the values of a domain are tried."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.machine import ones
from dibs.search.tree.chance import scramble
from dibs.search.tree.consult import score_of
from dibs.search.tree.planes import Flag, Int, is_open, unsigned
from dibs.search.tree.select import weight
from dibs.search.tree.state import ASCENDING, BY_SCORE, JW, LCV, MCV, NODES, SEED, SHUFFLED, Searches
from dibs.search.tree.tables import Tables


@part
def arrange(
    t: Tables, s: Searches, watching: Flag, domain: Int, order: Int, slot: Int, first: Int, keys: NDArray[np.float64]
) -> Int:
    """Write the open literals of `domain` to `order[first:]`, best first; returns where they end.

    Equal keys stay in ascending order. BY_SCORE goes by the ranking in `slot`.
    """
    end = first
    for value in range(t.values):  # those that the domain does not have are not open
        address = (domain << 6) + value
        if not is_open(t, s, address):
            continue
        literal = np.int64(t.base[unsigned(domain)]) + value
        key = 0.0
        if order in (LCV, MCV):  # how many options the choice takes from undecided peers
            for k in range(t.mate_start[unsigned(literal)], t.mate_start[unsigned(literal + 1)]):
                key -= ones(s.plane[t.mate_word[unsigned(k)]] & t.mate_mask[unsigned(k)])
            if order == MCV:
                key = -key
        elif order == SHUFFLED:
            key = float(scramble(s.counts[SEED], s.counts[NODES], literal + (1 << 32)))
        elif order == BY_SCORE:
            key = score_of(s, slot, literal)
        elif order == JW:
            key = weight(t, s, literal, 2.0) if watching is not None else 0.0
        spot = end
        if order != ASCENDING:
            while spot > first and keys[spot - 1] < key:
                keys[spot] = keys[spot - 1]
                s.order[spot] = s.order[spot - 1]
                spot -= 1
            keys[spot] = key
        s.order[unsigned(spot)] = np.uint32(address)
        end += 1
    return end
