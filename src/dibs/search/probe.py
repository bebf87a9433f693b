"""What follows from trying each open literal by itself: a step beyond singles.

A literal whose singles run into a contradiction is false (a *failed literal*). All of them are taken out, singles are
followed, and the rest is tried again, until none fails. Where that ends does not depend on any order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import declared
from dibs.compiled import entry, part
from dibs.machine import borrow, view, view_row
from dibs.problem.structure import Structure
from dibs.search.root import Groups, Root, Scratch, State, drain, groups_of, scratch, settle_one, take, touch

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Int = Any  # a machine integer


class Trial(NamedTuple):
    """Room for the trials of one state."""

    open: Annotated[Bools, "literals"]
    true: Annotated[Bools, "literals"]
    fails: Annotated[Bools, "literals"]  # which literals met a contradiction in this pass


def probe(structure: Structure, open_: Bools) -> tuple[Bools, Bools]:
    """What follows from which literals are open [n, L] where all groups are exactly-one groups: (open, certain) [n, L].

    A group without open literals has its true one. Nothing is open or certain in a state that has no solution.
    """
    found = Root(np.array(open_, order="C"), np.zeros(open_.shape, bool), np.ones(len(open_), bool))
    rooms = scratch(structure), scratch(structure), declared.room(Trial, {"literals": structure.literals})
    _probe(found, groups_of(structure), *rooms, np.ones(structure.groups, bool))
    found.open[~found.consistent] = found.true[~found.consistent] = False
    return found.open, found.true


@entry(error_model="numpy")
def _probe(found: Root, groups: Groups, room: Scratch, tried: Scratch, trial: Trial, forcing: Bools) -> None:
    """Probe each state, in place. `forcing` [G]: the last open literal is taken."""
    states = State(found.open, found.true)
    for i in range(len(found.consistent)):
        s, g, r = view_row(states, i), view(groups), view(room)
        found.consistent[i] = settle_one(s, g, r, borrow(forcing), False, True) and _probe_one(
            s, g, r, view(tried), view(trial), borrow(forcing)
        )


@part
def _probe_one(s: State, groups: Groups, room: Scratch, tried: Scratch, trial: Trial, forcing: Bools) -> bool:
    """Pass over the open literals of a state after singles until none fails; whether it is consistent."""
    failed = True
    while failed:
        failed = False
        for v in range(len(s.open)):
            trial.fails[v] = s.open[v] and not _holds(s, v, groups, room, tried, trial, forcing)
            failed = failed or trial.fails[v]
        for v in range(len(s.open)):
            if trial.fails[v] and (s.true[v] or not _excluded(s, v, groups, room, forcing)):
                return False
    return True


@part
def _excluded(s: State, v: Int, groups: Groups, room: Scratch, forcing: Bools) -> bool:
    """Literal `v` is false, and what follows; whether that is consistent."""
    if s.open[v]:
        s.open[v] = False
        for e in range(groups.begin[v], groups.begin[v + 1]):
            room.left[groups.group[e]] -= 1
            touch(groups.group[e], groups, forcing, False, room)
    return drain(s, groups, forcing, False, room)


@part
def _holds(s: State, v: Int, groups: Groups, room: Scratch, tried: Scratch, trial: Trial, forcing: Bools) -> bool:
    """Whether the singles of `v`, which is open, meet no contradiction; the state itself stays as it is."""
    for u in range(len(s.open)):
        trial.open[u] = s.open[u]
        trial.true[u] = s.true[u]
    for g in range(len(forcing)):
        tried.held[g] = room.held[g]
        tried.left[g] = room.left[g]
        tried.waits[g] = False
    for end in range(len(tried.ends)):
        tried.ends[end] = 0
    here = State(trial.open, trial.true)
    take(here, v, groups, forcing, False, tried)
    return drain(here, groups, forcing, False, tried)
