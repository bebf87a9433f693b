"""The guide: where it is asked, which of its rankings serves a node, and what is branched on by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import part
from dibs.machine import ones, trailing_zeros
from dibs.search.tree import state
from dibs.search.tree.planes import BIT, LOW, Flag, Int, first_word, is_open, unsigned
from dibs.search.tree.select import fewest, impact, pairs, weight
from dibs.search.tree.state import Rules, Searches
from dibs.search.tree.tables import Tables

HUGE = 1e30  # no score counts for more
CAUTION = 6.0  # `confident`: how much more the probability of a choice counts than its impact
STAKE = 100.0  # `confident`, formulas: open variables with which the complement counts as much as the choice
DOUBT = 0.5  # `confident`, formulas: how much it counts to be unsure, as long as mistakes cost little: that tells most
LEAST_WEIGHT = 0.02  # `confident`, formulas: of a literal that is in no open clause
HOPEFUL = 0.5  # where the solution is below with less than this probability, MRV selects and kept rankings must do


@part
def score_of(s: Searches, slot: Int, literal: Int) -> float:
    """What a ranking says of a literal, less what cut runs have taught.

    NaN counts as the worst possible score, and infinity as a very large one.
    """
    key = float(s.score[unsigned(slot), unsigned(literal)])
    key = -HUGE if np.isnan(key) else min(max(key, -HUGE), HUGE)
    return key - float(s.lesson[unsigned(literal)])


@part
def first_choice(t: Tables, s: Searches, slot: Int, domain: Int) -> tuple[float, Int]:
    """(share, value) of the literal of a domain that a ranking puts first: softmax of its scores over what is open."""
    best, top, total = np.int64(0), -np.inf, 0.0
    for value in range(t.values):
        if is_open(t, s, (domain << 6) + value):
            score = score_of(s, slot, np.int64(t.base[unsigned(domain)]) + value)
            if score > top:
                total = total * np.exp(top - score) + 1.0
                best, top = np.int64(value), score
            else:
                total += np.exp(score - top)
    return 1.0 / max(total, 1.0), best


@part
def here(s: Searches, top: Int) -> float:
    """The probability that the solution is below a node, by the rankings so far and what has been refuted."""
    mass = np.exp(s.frame_mass[top])
    total = mass + s.frame_rest[top]
    return float(mass / total) if total > 0 else 0.0


@part
def pick(
    t: Tables, s: Searches, watching: Flag, rules: Rules, slot: Int, fallback: Int, bits: NDArray[np.uint64]
) -> tuple[Int, float]:
    """(domain to branch on, share of its first value) by the ranking in `slot`; `fallback` is what MRV takes.

    `confident`: the choice that is sure and reaches far. Where the solution is probably elsewhere, MRV it is: a subtree
    without a solution has to be searched to its end, and few values end it soonest. So it is for a domain with one
    value or none (level `eliminate`). In a formula a choice reaches far if the clauses that it makes shorter are many
    and short. The more is open the more a mistake costs: so much the more it counts to be sure, and to have a
    complement that reaches far, too, by which a mistake is soon refuted. With little open it is the other way round:
    what the guide is unsure of settles most. Formulas have many solutions: there is none that is elsewhere. `bits`
    [rows] is scratch.
    """
    size, _ = fewest(t, s, fallback >> 6)
    clauses = watching is not None and len(t.clause) > 0
    elsewhere = not clauses and here(s, s.counts[state.TOP] - 1) < HOPEFUL
    if rules.select != state.CONFIDENT or size < 2 or elsewhere:
        return fallback, first_choice(t, s, slot, fallback)[0]
    stakes = 0.0
    for row in range(t.rows):
        bits[unsigned(row)] = pairs(t, s, row)
        stakes += ones(s.plane[unsigned(t.planes + row)]) / STAKE
    stakes *= stakes
    best, best_share, best_rank = fallback, -1.0, -1.0
    for row in range(t.rows):
        among = s.plane[unsigned(t.planes + row)]
        while among:
            domain = (row << 6) + trailing_zeros(among)
            among &= among - BIT
            share, value = first_choice(t, s, slot, domain)
            if clauses:
                rank = share ** (stakes - DOUBT)
                for literal in range(np.int64(t.base[unsigned(domain)]), np.int64(t.base[unsigned(domain + 1)])):
                    far = LEAST_WEIGHT + weight(t, s, literal, 4.0)  # what is left of its clauses once it is false
                    rank *= far**stakes if literal == np.int64(t.base[unsigned(domain)]) + value else far
            else:
                rank = share**CAUTION * (1.0 + impact(t, s, domain, value, bits))
            if rank > best_rank:
                best, best_share, best_rank = domain, share, rank
    return best, best_share


@part
def asking(t: Tables, s: Searches, watching: Flag, rules: Rules, domain: Int) -> bool:
    """Whether the guide is asked about a node that would branch on `domain` without it."""
    if rules.trigger == state.NEVER:
        return False
    size = np.int64(0)
    if watching is not None and len(t.clause) > 0 and rules.select != state.FIRST:
        size = s.counts[state.ARITY]  # of the clause
    else:
        first = first_word(domain >> 6, t.values)
        for v in range(t.values):
            size += np.int64((s.plane[unsigned(first + 2 * v)] >> (np.uint64(domain) & LOW)) & BIT)
    return bool(size >= 2 and (rules.trigger == state.ALWAYS or (size == 2) == (rules.trigger == state.BINARY)))


@part
def kept(s: Searches, rules: Rules, top: Int) -> tuple[Int, bool]:
    """(slot of the nearest ranking above a node or NO_SLOT, whether it may be used without asking anew).

    It may not once a first choice on the way down from it has failed. At the root it is the ranking of an earlier run.
    """
    if top == 0:
        return (0, True) if s.counts[state.RANKED] else (state.NO_SLOT, False)
    if rules.reuse > 1:
        return state.NO_SLOT, False
    begin = np.int64(s.frame_end[top - 2]) if top > 1 else np.int64(0)
    trust = s.frame_trust[top - 1] and s.frame_next[top - 1] == begin + 1
    for above in range(top - 1, -1, -1):
        slot = np.int64(s.frame_slot[above])
        if slot != state.NO_SLOT and s.slot_ask[slot] == s.frame_ask[above]:
            return slot, trust
        trust = False  # there was a newer ranking, whose slot is lost
    return state.NO_SLOT, False


@part
def weigh(s: Searches, top: Int) -> None:
    """The probability of the path to a new node, and of all that is still to be tried above it."""
    if top == 0:
        s.frame_mass[0] = 0.0
        s.frame_rest[0] = 0.0
        return
    above = s.frame_mass[top - 1]
    at, end = np.int64(s.frame_next[top - 1]), np.int64(s.frame_end[top - 1])
    s.frame_mass[top] = above + np.log(s.chance[at - 1])
    left = 0.0
    for i in range(at, end):
        left += s.chance[i]
    s.frame_rest[top] = s.frame_rest[top - 1] + np.exp(above) * left


@part
def free_slot(s: Searches, top: Int) -> Int:
    """Where a ranking of the node goes: above those of its ancestors, or in place of the last one.

    The first slot is for the root, if there are others.
    """
    last = np.int64(len(s.slot_ask) - 1)
    fresh = np.int64(0)
    for above in range(top):
        slot = np.int64(s.frame_slot[above])
        if slot != state.NO_SLOT and slot >= fresh:
            fresh = slot + 1
    if top > 0 and fresh == 0:
        fresh = np.int64(1)
    return last if fresh > last else fresh


@part
def consult(t: Tables, s: Searches, watching: Flag, rules: Rules, top: Int, bits: NDArray[np.uint64]) -> None:
    """Find a ranking for the node just opened: one that is kept, or the guide's answer (phase WAIT), or none."""
    s.frame_slot[top] = state.NO_SLOT
    s.frame_trust[top] = False
    if rules.trigger == state.NEVER:
        return
    counts = s.counts
    domain = np.int64(s.frame_domain[top])
    weigh(s, top)
    if counts[state.HOPELESS]:
        if top >= counts[state.HOPELESS]:
            return  # no order of values can help here
        counts[state.HOPELESS] = 0
    if rules.static:
        if asking(t, s, watching, rules, domain):
            if counts[state.RANKED]:
                s.frame_slot[top] = 0
                s.frame_domain[top] = pick(t, s, watching, rules, 0, domain, bits)[0]
            elif counts[state.ASKS] < rules.asks:
                counts[state.RANKED] = 1
                ask(s, 0, top)
        return
    slot, trusted = kept(s, rules, top)
    if slot != state.NO_SLOT:
        best, share = pick(t, s, watching, rules, slot, domain, bits)
        s.frame_slot[top] = slot
        s.frame_ask[top] = s.slot_ask[slot]
        if trusted and (top == 0 or share >= rules.reuse):
            s.frame_domain[top] = best
            s.frame_trust[top] = True
            return
    # Where there is a ranking and the solution is probably elsewhere, another one would be wasted.
    hopeful = slot == state.NO_SLOT or here(s, top) >= HOPEFUL
    if hopeful and counts[state.ASKS] < rules.asks and asking(t, s, watching, rules, domain):
        if top == 0 and len(s.slot_ask) > 1:
            counts[state.RANKED] = 1
        ask(s, free_slot(s, top), top)
    elif slot != state.NO_SLOT:
        s.frame_domain[top] = best


@part
def ask(s: Searches, slot: Int, top: Int) -> None:
    """Wait for the guide's ranking of the innermost node; it goes to `slot`."""
    s.counts[state.ASKS] += 1
    s.counts[state.SLOT] = slot
    s.counts[state.PHASE] = state.WAIT
    s.frame_slot[top] = slot
    s.frame_ask[top] = s.counts[state.ASKS]
    s.slot_ask[slot] = s.counts[state.ASKS]
    s.frame_trust[top] = True
