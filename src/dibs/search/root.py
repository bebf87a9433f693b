"""What follows from the literals that are given, before any choice: the one root propagation of the project.

    level       what it does
    eliminate   a true literal takes the others out of its at-most-one groups
    naked       and a group that needs a true literal takes its last open one (needs that others imply do not count)
    hidden      and so do groups whose need other groups imply
    `locked`    beyond a level: where all open literals of an exactly-one group are in another group too, the rest of
                that one is out, as with a Sudoku's lines and boxes

It ends where nothing follows any more. That state is the same in whatever order things follow, and so is the failure.
Searches have propagations of their own, which take choices back: this one only ever goes forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.compiled import entry, part
from dibs.problem.structure import Instance, Level, Need, Structure

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Int = Any  # a machine integer


class Groups(NamedTuple):
    """The groups of L literals as compiled code takes them: all arrays writable, others would be another type."""

    start: Ints  # [G+1] where each group's members begin
    member: Ints
    begin: Ints  # [L+1] where each literal's groups begin
    group: Ints
    exclusive: Bools  # [G] at most one member is true


class Root(NamedTuple):
    """The roots of n instances."""

    open: Bools  # [n, L]
    true: Bools  # [n, L]
    consistent: Bools  # [n] False: there is no solution, and what is open or true is what was found before that


# Every formula has a structure of its own: what belongs to one goes with it.
_known: WeakKeyDictionary[Structure, Groups] = WeakKeyDictionary()


def groups_of(structure: Structure) -> Groups:
    """The groups of a structure, laid out once."""
    found = _known.get(structure)
    if found is None:
        begin, group = structure.memberships
        arrays = structure.start.copy(), structure.member.copy(), begin.copy(), group.copy()
        found = _known[structure] = Groups(*arrays, structure.exclusive.copy())
    return found


def roots(instances: Sequence[Instance], level: Level = "hidden", *, locked: bool = False) -> Root:
    """The roots of instances that share a structure."""
    structure = instances[0].structure
    true = np.zeros((len(instances), structure.literals), bool)
    true[type(instances[0]).givens(instances)] = True
    return settle(structure, true, level, locked=locked)


def settle(structure: Structure, true: Bools, level: Level = "hidden", *, locked: bool = False) -> Root:
    """What follows where the literals `true` [n, L] are true and all others open."""
    least = {"eliminate": Need.REQUIRED + 1, "naked": Need.REQUIRED, "hidden": Need.IMPLIED}[level]
    open_, true = ~true, true.copy()
    consistent = _settle(open_, true, groups_of(structure), structure.need >= least, locked, False)
    return Root(open_, true, consistent)


def singles(structure: Structure, open_: Bools) -> tuple[Bools, Bools]:
    """What follows from which literals are open [n, L] where all groups are exactly-one groups: (open, certain) [n, L].

    A group without open literals has its true one. Nothing is open or certain in a state that has no solution.
    """
    left, certain = open_.copy(), np.zeros_like(open_)
    consistent = _settle(left, certain, groups_of(structure), np.ones(structure.groups, bool), False, True)
    left[~consistent] = certain[~consistent] = False
    return left, certain


class Scratch(NamedTuple):
    """Room for one state at a time."""

    held: Ints  # [G] true members
    left: Ints  # [G] open members
    queue: Ints  # [G] a ring of groups to be looked at
    waits: Bools  # [G] whether a group is in it
    ends: Ints  # [2] places of `queue` that were ever read, and written


@entry()
def _settle(open_: Bools, true: Bools, groups: Groups, forcing: Bools, locked: bool, emptied: bool) -> Bools:
    """Settle each state, in place; [n] whether it is consistent. `forcing` [G]: the last open literal is taken.

    `emptied`: a group without an open literal has its true one, which is not among `true`.
    """
    consistent = np.ones(len(open_), np.bool_)
    room = scratch(groups)
    for s in range(len(open_)):
        count(open_[s], true[s], groups, room)
        # To the end, whatever fails: what givens exclude is shown even where they exclude each other.
        for g in range(len(forcing)):
            if emptied and room.left[g] == 0:
                room.held[g] = 1
            if groups.exclusive[g] and room.held[g] > 0:
                consistent[s] = consistent[s] and room.held[g] == 1
                close(open_[s], g, -1, groups, forcing, locked, room)
        if consistent[s]:
            consistent[s] = follow(open_[s], true[s], groups, forcing, locked, room)
    return consistent


@part
def scratch(groups: Groups) -> Scratch:
    """New, for states of these groups."""
    size = len(groups.exclusive)
    i8 = np.int64
    return Scratch(
        np.zeros(size, i8), np.zeros(size, i8), np.zeros(size, i8), np.zeros(size, np.bool_), np.zeros(2, i8)
    )


@part
def count(open_: Bools, true: Bools, groups: Groups, room: Scratch) -> None:
    """A new state: count the true and the open members of each group."""
    room.ends[:] = 0
    for g in range(len(groups.exclusive)):
        room.held[g] = room.left[g] = 0
        room.waits[g] = False
        for i in range(groups.start[g], groups.start[g + 1]):
            room.held[g] += true[groups.member[i]]
            room.left[g] += open_[groups.member[i]]


@part
def follow(open_: Bools, true: Bools, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> bool:
    """All that follows from a state that was counted: open_ and true [L], in place. Whether it is consistent.

    Groups that have their true literal are `held`, and have no open one left where they are exclusive.
    """
    for g in range(len(forcing)):
        touch(g, groups, forcing, locked, room)
    while room.ends[0] < room.ends[1]:
        g = room.queue[room.ends[0] % len(forcing)]
        room.ends[0] += 1
        room.waits[g] = False
        if room.held[g] > 0:
            continue
        if room.left[g] == 0:
            return False
        v = first_open(open_, g, groups)
        if room.left[g] == 1:
            take(open_, true, v, groups, forcing, locked, room)
        else:
            for e in range(groups.begin[v], groups.begin[v + 1]):
                other = groups.group[e]
                if other != g and groups.exclusive[other] and inside(open_, g, other, groups):
                    close(open_, other, g, groups, forcing, locked, room)
    return True


@part
def touch(g: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """Queue a group that something may follow from."""
    wanted = room.left[g] < 2 or (locked and groups.exclusive[g])
    if wanted and forcing[g] and room.held[g] == 0 and not room.waits[g]:
        room.queue[room.ends[1] % len(forcing)] = g
        room.ends[1] += 1
        room.waits[g] = True


@part
def take(open_: Bools, true: Bools, v: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """Literal `v`, which is open, is true."""
    true[v] = True
    open_[v] = False
    for e in range(groups.begin[v], groups.begin[v + 1]):
        room.held[groups.group[e]] += 1
        room.left[groups.group[e]] -= 1
    for e in range(groups.begin[v], groups.begin[v + 1]):
        if groups.exclusive[groups.group[e]]:
            close(open_, groups.group[e], -1, groups, forcing, locked, room)


@part
def close(open_: Bools, g: Int, but: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """The open members of group `g` are out, but for those in group `but` (-1: all are out)."""
    for i in range(groups.start[g], groups.start[g + 1]):
        v = groups.member[i]
        if open_[v] and (but < 0 or not within(v, but, groups)):
            open_[v] = False
            for e in range(groups.begin[v], groups.begin[v + 1]):
                room.left[groups.group[e]] -= 1
                touch(groups.group[e], groups, forcing, locked, room)


@part
def first_open(open_: Bools, g: Int, groups: Groups) -> Int:
    """The first open literal of a group that has one."""
    i = groups.start[g]
    while not open_[groups.member[i]]:
        i += 1
    return groups.member[i]


@part
def inside(open_: Bools, g: Int, other: Int, groups: Groups) -> bool:
    """Whether all open literals of group `g` are in group `other`."""
    for i in range(groups.start[g], groups.start[g + 1]):
        if open_[groups.member[i]] and not within(groups.member[i], other, groups):
            return False
    return True


@part
def within(v: Int, g: Int, groups: Groups) -> bool:
    """Whether literal `v` is in group `g`."""
    e, end = groups.begin[v], groups.begin[v + 1]
    while e < end and groups.group[e] < g:  # they are ascending
        e += 1
    return bool(e < end and groups.group[e] == g)
