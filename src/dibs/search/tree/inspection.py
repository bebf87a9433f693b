"""Looking at searches while they run and when they have ended: counters, states, open nodes, events, choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance
from dibs.search.contract import Searcher
from dibs.search.tree import state
from dibs.search.tree.tables import DOMAIN, Tables, plane_bit

# The names of `state.ENTERED` and so on.
EVENT_NAMES = ("node", "try", "fail", "solution", "run")


class Counters(NamedTuple):
    """Of all searches of an engine, [instances] each."""

    phase: NDArray[np.int64]  # state.SAT, UNSAT, LIMIT, or where it stands
    nodes: NDArray[np.int64]
    backtracks: NDArray[np.int64]
    solutions: NDArray[np.int64]


class OpenNode(NamedTuple):
    """A node whose values are being tried."""

    domain: int
    values: list[int]  # addresses, in the order they are tried
    tried: int  # so many of them have been tried, the last one leads on
    ask: int  # which of the search's asks ranked them, from 1; 0: none


class Inspected(Searcher):
    """What a tree search shows of itself. Nothing here changes it, but for `take_events`."""

    instances: Sequence[Instance]
    seconds: NDArray[np.float64]  # [instances] of the search alone
    guide_seconds: NDArray[np.float64]  # [instances]
    batches: int  # of the guide
    asked: int  # states in them
    _tables: Tables
    _rules: state.Rules
    _searches: state.Searches
    _spot: NDArray[np.int64] | None  # [literals] where each stands in the planes, if that is asked for often
    _events: list[list[NDArray[np.int64]]] | None  # of each search, where they are wanted

    def _phase(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        phase: NDArray[np.int64] = self._searches.counts[rows, state.PHASE]
        return phase

    def decided(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[rows] whether the search has its answer: not at a limit, not stopped."""
        phase = self._phase(rows)
        found: NDArray[np.bool_] = (phase == state.SAT) | (phase == state.UNSAT)
        return found

    def nodes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        nodes: NDArray[np.int64] = self._searches.counts[rows, state.NODES]
        return nodes

    def used(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """[rows] seconds of search and guide."""
        used: NDArray[np.float64] = self.seconds[rows] + self.guide_seconds[rows]
        return used

    def literals(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """[rows, L] each: the literals that are open and those that are true in the state where a search stands."""
        t, plane = self._tables, self._searches.plane
        spot = plane_bit(t.address, t.values) if self._spot is None else self._spot
        alive = _bits(plane[rows])[:, spot]
        free = _bits(plane[rows, t.planes :])[:, t.address // DOMAIN]
        return alive & free, alive & ~free

    @property
    def occupancy(self) -> float:
        """States in a batch of the guide, on average, as a share of the engine's searches; 0 if it was never asked.

        Every unfinished search is in every batch, so this falls only as searches finish before others.
        """
        return self.asked / (self.batches * len(self.instances)) if self.batches else 0.0

    def trace(self, row: int) -> list[tuple[str, int]]:
        """What a traced search did so far, in order: ("node", domain), ("try", address), ("fail", 0),
        ("solution", 0), ("run", number). A domain is a decision group; an address is 64 * domain + value."""
        kinds, whats = self.events(row)
        return [(EVENT_NAMES[kind], what) for kind, what in zip(kinds.tolist(), whats.tolist(), strict=True)]

    def events(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`trace` as two arrays: kinds, which are indices of EVENT_NAMES, and what each was about."""
        assert self._events is not None, "the engine was made without traced=True"
        parts = self._events[row]
        events = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return events >> state.EVENT, events & (1 << state.EVENT) - 1

    def take_events(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`events` since the last call; they are forgotten, so that a search can be followed without keeping it."""
        found = self.events(row)
        assert self._events is not None
        self._events[row].clear()
        return found

    def open_nodes(self, row: int) -> list[OpenNode]:
        """The nodes that a search is inside of, the root first; of a search that ended with SAT, the solution path."""
        s = self._searches
        top = int(s.counts[row, state.TOP])
        ends, next_ = (array[row, :top].tolist() for array in (s.frame_end, s.frame_next))
        asks = np.zeros(top, np.int64)
        if s.frame_slot.shape[1]:
            ranked = s.frame_slot[row, :top] != state.NO_SLOT
            asks = np.where(ranked, 1 if self._rules.static else s.frame_ask[row, :top], 0)
        starts = [0, *ends][:top]
        return [
            OpenNode(domain, s.order[row, start:end].tolist(), at - start, ask)
            for domain, start, end, at, ask in zip(
                s.frame_domain[row, :top].tolist(), starts, ends, next_, asks.tolist(), strict=True
            )
        ]

    def true(self) -> NDArray[np.bool_]:
        """[instances, literals] the true literals of each first solution; all False where there is none."""
        true = np.zeros((len(self.instances), self.structure.literals + 1), bool)
        found = np.flatnonzero(self._searches.counts[:, state.SOLUTIONS] > 0)
        true[found[:, None], self._chosen(found)] = True  # complements, numbered -1, go to the extra column
        return true[:, :-1]

    def _chosen(self, rows: NDArray[np.int64], which: Any = 0) -> NDArray[np.int64]:
        """[rows, domains] the true literal of each domain in a solution (`which`), -1 for a complement."""
        chosen: NDArray[np.int64] = self._tables.outer[self._tables.base[:-1] + self._searches.answer[rows, which]]
        return chosen

    def choices(self, row: int) -> NDArray[np.uint8]:
        """[solutions kept, domains] the member that each domain takes, from 0 (in a grid: cell by cell, value - 1)."""
        return self._searches.answer[row, : self._searches.counts[row, state.SOLUTIONS]].copy()

    def _kept(self, row: int) -> list[NDArray[np.int64]]:
        """The true literals of each solution that was kept."""
        chosen = self._tables.outer[self._tables.base[:-1] + self.choices(row)]
        return [np.sort(literals[literals >= 0]) for literals in chosen]

    @property
    def counters(self) -> Counters:
        """Where the searches are, without decoding anything."""
        columns = state.PHASE, state.NODES, state.BACKTRACKS, state.SOLUTIONS
        return Counters(*(self._searches.counts[:, column].copy() for column in columns))


def _bits(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """[n, w] words as [n, 64 w] bits."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)
