"""A problem as arrays: what a root leaves open, and literals and groups that come on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools
from dibs.problem.structure import Level, Need, Structure, by_value
from dibs.search.nogoods.arrays import Problem

_whole: WeakKeyDictionary[Structure, dict[Level, tuple[Problem, NDArray[np.int64]]]] = WeakKeyDictionary()


def reduced(structure: Structure, open_: Bools, true: Bools, level: Level) -> tuple[Problem, NDArray[np.int64]]:
    """What a root leaves open, and its literals as the structure numbers them. `open_`, `true` [literals].

    At level `naked` nothing follows from needs that other groups imply. Where all is open, as in every session, it is
    laid out once for a structure: nobody writes to these arrays.
    """
    if not open_.all():
        return _reduced(structure, open_, true, level)
    known = _whole.setdefault(structure, {})
    if level not in known:
        known[level] = _reduced(structure, open_, true, level)
    return known[level]


def _reduced(structure: Structure, open_: Bools, true: Bools, level: Level) -> tuple[Problem, NDArray[np.int64]]:
    literals = np.flatnonzero(open_)
    held = np.bincount(_pairs(structure, np.flatnonzero(true))[1], minlength=structure.groups)
    member, group = _pairs(structure, literals)  # pairs; members by their place in `literals`
    sizes = np.bincount(group, minlength=structure.groups)
    needed = structure.need >= (Need.REQUIRED if level == "naked" else Need.IMPLIED)
    least = np.maximum(np.where(needed, structure.least, 0) - held, 0)
    most = np.minimum(structure.most - held, sizes)
    special = ((most == 1) | (most == sizes)) & (least <= 1)  # what is left of a bound may be of a special kind
    binding = (least > 0) | (most < sizes)
    first, second = np.flatnonzero(special & binding), np.flatnonzero(~special & binding)
    pair = np.full(len(literals), -1)
    if structure.bounded or structure.family == "cnf":  # grids would have few of them
        two = ((least == 1) & (most == 1) & (sizes == 2))[group]
        one, other = member[two][by_value(group[two])].reshape(-1, 2).T
        pair[one], pair[other] = other, one
    number = np.full(structure.groups, -1)
    number[first], number[second] = np.arange(len(first)), np.arange(len(second)) + len(first)
    left = np.concatenate([first, second])
    member, group = member[binding[group]], number[group[binding[group]]]
    start = np.concatenate([[0], np.cumsum(sizes[left])])
    kind = group < len(first)
    i4 = np.int32
    return Problem(
        start.astype(i4), member[by_value(group)].astype(i4),
        _spread(member[kind], len(literals)), group[kind].astype(i4), (most == 1)[first], (least == 1)[first],
        _spread(member[~kind], len(literals)), group[~kind].astype(i4),
        least[second].astype(i4), most[second].astype(i4), np.full(len(second), -1, i4),
        pair.astype(i4), np.flatnonzero((least == 1)[first]).astype(i4),
    ), literals  # fmt: skip


def completed(p: Problem) -> Problem:
    """The problem with a complement for each literal that has none, which nobody branches on.

    A literal may be false for many reasons where groups have bounds. A complement says it by itself: shorter nogoods.
    """
    literals = len(p.pair)
    alone = np.flatnonzero(p.pair < 0)
    pairs = list(zip(alone.tolist(), range(literals, literals + len(alone)), strict=True))
    return extended(p, literals + len(alone), pairs, [])._replace(choices=p.choices)


def ordered(p: Problem) -> Problem:
    """A completed problem in which literals that can change places are true in their order, the first of them first.

    Two literals can change places, with their complements, where they are in the same groups. It has a solution if it
    had one, but not all of them. Bounds on many such literals are refuted by counting, which nogoods alone cannot do.
    """
    variable = np.flatnonzero((p.pair > np.arange(len(p.pair))) & (p.pair[p.pair] == np.arange(len(p.pair))))
    mixed = np.random.default_rng(0).integers(1, 2**62, len(p.group_start) - 1)
    owner = np.repeat(np.arange(len(mixed)), np.diff(p.group_start))
    code = np.zeros(len(p.pair), np.int64)
    np.add.at(code, p.group_member, mixed[owner])
    two = np.flatnonzero(p.need & p.exclusive & (np.diff(p.group_start)[: len(p.need)] == 2))
    for at in (0, 1):  # the group that a literal has with its complement is nobody else's
        one, other = p.group_member[p.group_start[two] + at], p.group_member[p.group_start[two] + 1 - at]
        own = p.pair[one] == other
        np.subtract.at(code, one[own], mixed[two[own]])
    variable = variable[(code[variable] != 0) | (code[p.pair[variable]] != 0)]  # what is in no group needs no order
    by = variable[np.lexsort((variable, code[p.pair[variable]], code[variable]))]
    same = (code[by[1:]] == code[by[:-1]]) & (code[p.pair[by[1:]]] == code[p.pair[by[:-1]]])
    chains = [
        (a, int(p.pair[b]))
        for a, b in zip(by[:-1][same].tolist(), by[1:][same].tolist(), strict=True)
        if _others(p, a) == _others(p, b) and _others(p, int(p.pair[a])) == _others(p, int(p.pair[b]))
    ]
    return extended(p, len(p.pair), [], [], chains)._replace(choices=p.choices)


def _others(p: Problem, literal: int) -> list[int]:
    """The groups of a literal but those that it has with its complement alone."""
    special: list[int] = p.literal_group[p.literal_start[literal] : p.literal_start[literal + 1]].tolist()
    bounds: list[int] = p.bound_group[p.bound_start[literal] : p.bound_start[literal + 1]].tolist()
    start, with_it = p.group_start, {literal, int(p.pair[literal])}
    shared = (start[g + 1] - start[g] == 2 and set(p.group_member[start[g] : start[g + 1]]) == with_it for g in special)
    return [g for g, own in zip(special, shared, strict=True) if not own or not (p.need[g] & p.exclusive[g])] + bounds


def extended(
    base: Problem,
    literals: int,
    pairs: Sequence[tuple[int, int]],
    guarded: Sequence[tuple[int, int, int, list[int]]],
    either: Sequence[tuple[int, int]] = (),
) -> Problem:
    """A problem with more literals: exactly one of each of `pairs`, and groups (selector, least, most, literals).

    `either`: at least one of each of these two.
    """
    twos = [*pairs, *either]
    special, first = len(base.need), base.group_start[len(base.need)]
    sizes = np.diff(base.group_start)
    size = np.concatenate([
        sizes[:special], np.full(len(twos), 2), sizes[special:], np.array([len(g[3]) for g in guarded], np.int64),
    ])  # fmt: skip
    member = np.concatenate([
        base.group_member[:first], np.array(twos, np.int64).ravel(), base.group_member[first:],
        np.array([literal for g in guarded for literal in g[3]], np.int64),
    ]).astype(np.int64)  # fmt: skip
    group = np.repeat(np.arange(len(size)), size)
    order = by_value(member)
    kind = (group < special + len(twos))[order]
    of, groups = member[order], group[order].astype(np.int32)
    one = np.arange(len(twos)) < len(pairs)
    i4 = np.int32
    pair = np.full(literals, -1, i4)
    pair[: len(base.pair)] = base.pair
    if pairs:
        one_of, other = np.array(pairs).T
        pair[one_of], pair[other] = other, one_of
    return Problem(
        np.concatenate([[0], np.cumsum(size)]).astype(i4), member.astype(i4),
        _spread(of[kind], literals), groups[kind],
        np.concatenate([base.exclusive, one]), np.concatenate([base.need, np.ones(len(twos), bool)]),
        _spread(of[~kind], literals), groups[~kind],
        np.concatenate([base.least, np.array([g[1] for g in guarded], i4)]),
        np.concatenate([base.most, np.array([g[2] for g in guarded], i4)]),
        np.concatenate([base.selector, np.array([g[0] for g in guarded], i4)]),
        pair, np.append(base.choices, np.arange(special, special + len(twos), dtype=i4)),
    )  # fmt: skip


def unfilled(literals: int, groups: int, members: int, choices: int) -> Problem:
    """Room for a problem of these sizes, without bounds."""
    i4 = np.int32
    none, nowhere = np.zeros(0, i4), np.zeros(literals + 1, i4)
    return Problem(
        np.zeros(groups + 1, i4), np.zeros(members, i4), np.zeros(literals + 1, i4), np.zeros(members, i4),
        np.zeros(groups, bool), np.zeros(groups, bool), nowhere, none, none, none, none,
        np.full(literals, -1, i4), np.zeros(choices, i4),
    )  # fmt: skip


def _spread(member: NDArray[np.int64], literals: int) -> NDArray[np.int32]:
    """[literals + 1] where the groups of each literal begin, in a list that goes by literals."""
    return np.concatenate([[0], np.cumsum(np.bincount(member, minlength=literals))]).astype(np.int32)


def _pairs(structure: Structure, literals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of one of these literals, by its place among them, and a group that it is in."""
    begin, group = structure.memberships
    count = begin[literals + 1] - begin[literals]
    place = np.repeat(np.arange(len(literals)), count)
    skipped = begin[literals] - (np.cumsum(count) - count)
    return place, group[np.arange(len(place)) + skipped[place]]
