"""What follows from the literals that are given, before any choice: the one root propagation of the project.

    level       what it does
    eliminate   a true literal takes the others out of its at-most-one groups, as the last that a bound allows does
    naked       and a group that needs a true literal takes its last open one (needs that others imply do not count),
                one that needs several takes all that are left
    hidden      and so do groups whose need other groups imply
    `locked`    beyond a level: where all open literals of an exactly-one group are in another group too, the rest of
                that one is out, as with a Sudoku's lines and boxes

It ends where nothing follows any more. That state is the same in whatever order things follow, and so is the failure.
Searches have propagations of their own, which take choices back: this one only ever goes forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs import declared
from dibs.compiled import entry, part
from dibs.machine import borrow, view, view_row
from dibs.problem.structure import Instance, Level, Need, Structure, per_structure

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
    least: NDArray[np.int32]  # [G] at least so many members are true
    most: NDArray[np.int32]  # [G] and at most


class Root(NamedTuple):
    """The roots of n instances."""

    open: Bools  # [n, L]
    true: Bools  # [n, L]
    consistent: Bools  # [n] False: there is no solution, and what is open or true is what was found before that


@per_structure
def groups_of(structure: Structure) -> Groups:
    """The groups of a structure, laid out once."""
    of = structure
    parts: list[Any] = [of.start, of.member, *of.memberships, of.exclusive, of.least, of.most]
    return Groups(*(part.copy() for part in parts))


def roots(instances: Sequence[Instance], level: Level = "hidden", *, locked: bool = False) -> Root:
    """The roots of instances that share a structure."""
    structure = instances[0].structure
    true = np.zeros((len(instances), structure.literals), bool)
    true[type(instances[0]).givens(instances)] = True
    return settle(structure, true, level, locked=locked)


def settle(structure: Structure, true: Bools, level: Level = "hidden", *, locked: bool = False) -> Root:
    """What follows where the literals `true` [n, L] are true and all others open."""
    true = np.array(true, order="C")
    open_ = ~true
    return _settled(structure, open_, true, _forcing(structure, level), locked, False)


def singles(structure: Structure, open_: Bools) -> tuple[Bools, Bools]:
    """What follows from which literals are open [n, L] where all groups are exactly-one groups: (open, certain) [n, L].

    A group without open literals has its true one. Nothing is open or certain in a state that has no solution.
    """
    left, certain = np.array(open_, order="C"), np.zeros(open_.shape, bool)
    consistent = _settled(structure, left, certain, np.ones(structure.groups, bool), False, True).consistent
    left[~consistent] = certain[~consistent] = False
    return left, certain


def locked_out(instance: Instance, level: Level) -> Ints:
    """The literals that are false at the root because of what groups lock, in the order in which that follows."""
    room = scratch(instance.structure)
    true = np.zeros((1, instance.structure.literals), bool)
    true[0, instance.given] = True
    _settled(instance.structure, ~true, true, _forcing(instance.structure, level), True, False, room)
    return room.out[: room.ends[OUT]]


def _forcing(structure: Structure, level: Level) -> Bools:
    """[groups] whether the last open literal is taken."""
    least = {"eliminate": Need.REQUIRED + 1, "naked": Need.REQUIRED, "hidden": Need.IMPLIED}[level]
    forcing: Bools = structure.need >= least
    return forcing


def _settled(
    structure: Structure,
    open_: Bools,
    true: Bools,
    forcing: Bools,
    locked: bool,
    emptied: bool,
    room: Scratch | None = None,
) -> Root:
    """`_settle`, in place."""
    found = Root(open_, true, np.ones(len(open_), bool))
    _settle(found, groups_of(structure), room or scratch(structure), forcing, locked, emptied)
    return found


def scratch(structure: Structure) -> Scratch:
    """Room for one state of a structure at a time."""
    return declared.room(Scratch, {"groups": structure.groups, "literals": structure.literals, "ends": ENDS})


class State(NamedTuple):
    """Of one instance, [L] each."""

    open: Bools
    true: Bools


class Scratch(NamedTuple):
    """Room for one state at a time."""

    held: Annotated[Ints, "groups"]  # true members
    left: Annotated[Ints, "groups"]  # open members
    queue: Annotated[Ints, "groups"]  # a ring of groups to be looked at
    waits: Annotated[Bools, "groups"]  # whether a group is in it
    out: Annotated[Ints, "literals"]  # what groups have locked out, in order
    # HEAD and TAIL: where the ring is read next, and written; WAITING: how many are in it; OUT: of `out`
    ends: Annotated[Ints, "ends"]


HEAD, TAIL, WAITING, OUT = range(4)
ENDS = 4


@entry(error_model="numpy")
def _settle(found: Root, groups: Groups, room: Scratch, forcing: Bools, locked: bool, emptied: bool) -> None:
    """Settle each state, in place. `forcing` [G]: the last open literal is taken.

    `emptied`: a group without an open literal has its true one, which is not among `true`.
    """
    states = State(found.open, found.true)
    for i in range(len(found.consistent)):
        found.consistent[i] = settle_one(
            view_row(states, i), view(groups), view(room), borrow(forcing), locked, emptied
        )


@part
def settle_one(s: State, groups: Groups, room: Scratch, forcing: Bools, locked: bool, emptied: bool) -> bool:
    """Settle one state; whether it is consistent."""
    count(s, groups, room)
    consistent = True
    # To the end, whatever fails: what givens exclude is shown even where they exclude each other.
    for g in range(len(forcing)):
        if emptied and room.left[g] == 0:
            room.held[g] = 1
        if room.held[g] >= groups.most[g]:
            consistent = consistent and room.held[g] == groups.most[g]
            close(s, g, -1, groups, forcing, locked, room)
    return consistent and follow(s, groups, forcing, locked, room)


@part
def count(s: State, groups: Groups, room: Scratch) -> None:
    """A new state: count the true and the open members of each group."""
    room.ends[HEAD] = room.ends[TAIL] = room.ends[WAITING] = room.ends[OUT] = 0
    for g in range(len(groups.exclusive)):
        held, left = 0, 0
        for i in range(groups.start[g], groups.start[g + 1]):
            held += s.true[groups.member[i]]
            left += s.open[groups.member[i]]
        room.held[g] = held
        room.left[g] = left
        room.waits[g] = False


@part
def follow(s: State, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> bool:
    """All that follows from a state that was counted: in place. Whether it is consistent.

    Groups that have all the true literals that they may have, have no open one left.
    """
    for g in range(len(forcing)):
        touch(g, groups, forcing, locked, room)
    return drain(s, groups, forcing, locked, room)


@part
def drain(s: State, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> bool:
    """All that follows from the groups that are queued; whether it is consistent."""
    while room.ends[WAITING] > 0:
        g = room.queue[room.ends[HEAD]]
        room.ends[HEAD] = after(room.ends[HEAD], len(forcing))
        room.ends[WAITING] -= 1
        room.waits[g] = False
        lacking = groups.least[g] - room.held[g]
        if lacking <= 0:
            continue
        if room.left[g] < lacking:
            return False
        v = first_open(s, g, groups)
        if room.left[g] == lacking:
            take(s, v, groups, forcing, locked, room)
            touch(g, groups, forcing, locked, room)
        elif groups.exclusive[g]:
            for e in range(groups.begin[v], groups.begin[v + 1]):
                other = groups.group[e]
                if other != g and groups.exclusive[other] and inside(s, g, other, groups):
                    close(s, other, g, groups, forcing, locked, room)
    return True


@part
def touch(g: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """Queue a group that something may follow from."""
    lacking = groups.least[g] - room.held[g]
    wanted = room.left[g] <= lacking or (locked and groups.exclusive[g])
    if wanted and forcing[g] and lacking > 0 and not room.waits[g]:
        room.queue[room.ends[TAIL]] = g
        room.ends[TAIL] = after(room.ends[TAIL], len(forcing))
        room.ends[WAITING] += 1
        room.waits[g] = True


@part
def after(place: Int, size: Int) -> Int:
    """The next place of a ring."""
    return place + 1 if place + 1 < size else 0


@part
def take(s: State, v: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """Literal `v`, which is open, is true."""
    s.true[v] = True
    s.open[v] = False
    for e in range(groups.begin[v], groups.begin[v + 1]):
        room.held[groups.group[e]] += 1
        room.left[groups.group[e]] -= 1
    for e in range(groups.begin[v], groups.begin[v + 1]):
        if room.held[groups.group[e]] >= groups.most[groups.group[e]]:
            close(s, groups.group[e], -1, groups, forcing, locked, room)


@part
def close(s: State, g: Int, but: Int, groups: Groups, forcing: Bools, locked: bool, room: Scratch) -> None:
    """The open members of group `g` are out, but for those in group `but` (-1: all are out)."""
    for i in range(groups.start[g], groups.start[g + 1]):
        v = groups.member[i]
        if s.open[v] and (but < 0 or not within(v, but, groups)):
            s.open[v] = False
            if but >= 0:
                room.out[room.ends[OUT]] = v
                room.ends[OUT] += 1
            for e in range(groups.begin[v], groups.begin[v + 1]):
                room.left[groups.group[e]] -= 1
                touch(groups.group[e], groups, forcing, locked, room)


@part
def first_open(s: State, g: Int, groups: Groups) -> Int:
    """The first open literal of a group that has one."""
    i = groups.start[g]
    while not s.open[groups.member[i]]:
        i += 1
    return groups.member[i]


@part
def inside(s: State, g: Int, other: Int, groups: Groups) -> bool:
    """Whether all open literals of group `g` are in group `other`."""
    for i in range(groups.start[g], groups.start[g + 1]):
        if s.open[groups.member[i]] and not within(groups.member[i], other, groups):
            return False
    return True


@part
def within(v: Int, g: Int, groups: Groups) -> bool:
    """Whether literal `v` is in group `g`."""
    e, end = groups.begin[v], groups.begin[v + 1]
    while e < end and groups.group[e] < g:  # they are ascending
        e += 1
    return bool(e < end and groups.group[e] == g)
