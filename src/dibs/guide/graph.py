"""Open literals of many states and the groups they share, as one sparse graph: what a relational denoiser looks at.

A group that has nothing more to say is left out: it holds all that it may hold, or what it needs and room for the rest.
In a state of a search on a grid such a group has no open literals anyway, but between denoising steps it may
(`steps.py`); in a formula it is a clause that is satisfied. So literals may be in different numbers of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dibs.compiled import entry
from dibs.dtypes import Bools, Floats32, Ints
from dibs.guide.features import GROUP_KINDS, NO_FEATURES, PLAIN, TINY, OwnFeatures
from dibs.guide.relations import Cells, cells_of
from dibs.problem.structure import Structure, per_structure


class NetworkGroups(NamedTuple):
    """The groups of L literals as a network looks at them. All arrays are writable: others would be another type."""

    group: Ints  # [E] literal by literal
    begin: Ints  # [L + 1] where those of each literal begin
    kind: Ints  # [groups] of each group: an index of the kinds, ascending
    least: Ints  # [groups] at least so many members are true
    most: Ints  # [groups] and at most
    literal_features: Floats32  # [L, features] numbers of the user's own
    group_features: Floats32  # [groups, features] the same


class Graph(NamedTuple):
    """N open literals in G groups with E memberships, over all states of a batch.

    Groups are numbered kind by kind; the groups of kind 0 are the cells.
    """

    # For each kind the sums of 1/size and 1/size^2 of the literal's groups of it, where bounds count also of what they
    # need and have room for, over size; 1; and what the user has said of the literal
    features: Floats32  # [N, features]
    member: Ints  # [E] literals, group by group
    start: Ints  # [G] where each group's members begin
    link: Ints  # [E] groups, literal by literal
    at: Ints  # [N] where each literal's groups begin
    kinds: Ints  # [kinds + 1] where the groups of each kind begin
    cell: Ints  # [N] the group of kind 0 that each literal is in
    state: Ints  # [N] the state of each literal
    literal: Ints  # [N] its number in the structure
    least: Ints  # [G] open members that a group needs
    most: Ints  # [G] and has room for
    group_features: Floats32  # [G, group features] what the user has said of each group


class Named(NamedTuple):
    """The groups of a structure that are not cells, with the names of their kinds."""

    groups: Ints  # [n] ascending
    kind: Ints  # [n] an index of `names`
    names: tuple[str, ...]


@per_structure
def named_groups(structure: Structure) -> Named:
    """By role, or, where a group has none, by what it asks for."""
    others = np.setdiff1d(np.arange(structure.groups), cells_of(structure).group)
    if structure.family in ("sudoku", "latin", "cnf"):
        boxes = structure.decisions if structure.family == "sudoku" else 0
        kind = (others >= structure.groups - boxes).astype(np.int64)
        return Named(others, kind, GROUP_KINDS[1:] if boxes else GROUP_KINDS[1:2])
    roles = structure.roles or (None,) * structure.groups
    asked = [roles[g] or _described(structure, g) for g in others.tolist()]
    names = tuple(sorted(set(asked)))
    number = {name: i for i, name in enumerate(names)}
    return Named(others, np.array([number[name] for name in asked], np.int64), names)


def _described(structure: Structure, group: int) -> str:
    least, most, size = structure.least[group], structure.most[group], len(structure.members(group))
    if most == 1:
        return "exactly one" if least else "at most one"
    if most == size:
        return "at least one" if least <= 1 else "at least some"
    return "at most some" if least == 0 else "between"


def unknown_kind(structure: Structure, kinds: tuple[str, ...]) -> str | None:
    """A kind of the structure's groups that is not one of `kinds`, if there is one."""
    return next((name for name in named_groups(structure).names if name not in kinds[1:]), None)


_laid: WeakKeyDictionary[Structure, dict[tuple[tuple[str, ...], OwnFeatures], NetworkGroups]] = WeakKeyDictionary()


def network_groups(
    structure: Structure, kinds: tuple[str, ...] = GROUP_KINDS, own: OwnFeatures = NO_FEATURES
) -> NetworkGroups:
    """The groups of a structure's literals by these kinds, found once; ValueError where there is a kind more.

    Features of the user's own that the structure does not have are 0.
    """
    known = _laid.setdefault(structure, {})
    found = known.get((kinds, own))
    if found is None:
        found = known[kinds, own] = _groups(structure, kinds, own)
    return found


def own_features(structures: Iterable[Structure]) -> OwnFeatures:
    """All features that these have, by name; each is to be divided by the largest number that there is."""
    most: tuple[dict[str, float], dict[str, float]] = {}, {}
    for structure in structures:
        for found, columns in zip(most, structure.features, strict=True):
            for name, numbers in columns.items():
                found[name] = max(found.get(name, 0.0), float(np.abs(numbers).max(initial=0)))
    return OwnFeatures(*(tuple((name, by if by > TINY else 1.0) for name, by in sorted(one.items())) for one in most))


def _scaled(columns: Mapping[str, Floats32], names: tuple[tuple[str, float], ...], count: int) -> Floats32:
    """[count, names] the numbers of each name over what it is divided by."""
    found = np.zeros((count, len(names)), np.float32)
    for i, (name, by) in enumerate(names):
        if name in columns:
            found[:, i] = columns[name] / by
    return found


def _groups(structure: Structure, kinds: tuple[str, ...], own: OwnFeatures) -> NetworkGroups:
    if (name := unknown_kind(structure, kinds)) is not None:
        raise ValueError(f"there are no weights for groups of the kind {name!r}, only for {', '.join(kinds)}")
    cells, (others, kind, names) = cells_of(structure), named_groups(structure)
    kind = np.array([kinds.index(name, 1) for name in names], np.int64)[kind]
    # One row more, the last: a literal by itself, whose group is -1.
    least, most = np.append(structure.least, 0).astype(np.int64), np.append(structure.most, 1).astype(np.int64)
    said = np.pad(_scaled(structure.features.groups, own.groups, structure.groups), ((0, 1), (0, 0)))
    order = np.argsort(kind, kind="stable")
    others, kind = others[order], kind[order]
    if np.array_equal(np.append(cells.group, others), np.arange(structure.groups)):
        begin, group = (part.copy() for part in structure.memberships)
    else:
        begin, group = _memberships(structure, cells, others)
    laid = np.append(cells.group, others)
    every = np.append(np.zeros(len(cells.group), np.int64), kind)
    literals = _scaled(structure.features.literals, own.literals, structure.literals)
    return NetworkGroups(group, begin, every, least[laid], most[laid], literals, said[laid])


def _memberships(structure: Structure, cells: Cells, others: Ints) -> tuple[Ints, Ints]:
    """The groups of each literal, ascending, as CSR, if the cells are numbered first and `others` after them."""
    place = np.full(structure.groups, -1)
    place[others] = np.arange(len(others)) + len(cells.group)
    owner = np.repeat(place, np.diff(structure.start))
    literal = np.append(cells.item, structure.member[owner >= 0])
    group = np.append(np.repeat(np.arange(len(cells.group)), np.diff(cells.start)), owner[owner >= 0])
    count = np.bincount(literal, minlength=structure.literals)
    return np.concatenate([[0], np.cumsum(count)]).astype(np.int64), group[np.lexsort((group, literal))]


def graph(structure: Structure, open_: Bools, true: Bools | None = None) -> Graph:
    """The graph of the states whose open literals are `open_` and whose true ones are `true` [states, literals].

    Grids need no `true`.
    """
    return graph_of(network_groups(structure), open_, true)


def graph_of(
    groups: NetworkGroups, open_: Bools, true: Bools | None = None, kinds: int = len(GROUP_KINDS), per: int = PLAIN
) -> Graph:
    """The same, from the groups of the literals; with so many `kinds`, and features `per` kind."""
    true = np.zeros_like(open_) if true is None else true
    # Writable ones: for others, which are a type of their own, all would be compiled once more.
    open_, true = (np.require(part, requirements=["C", "W"]) for part in (open_, true))
    return Graph(*_link(open_, true, *groups, kinds, per))


@entry()
def _link(open_, true, group, begin, kind, least, most, literal_features, group_features, kinds, per):  # type: ignore[no-untyped-def]
    states, literals = open_.shape
    groups = len(kind)
    size = np.zeros((states, groups), np.int64)
    held = np.zeros((states, groups), np.int64)
    count = edges = 0
    for s in range(states):
        for v in range(literals):
            for e in range(begin[v], begin[v + 1]):
                if true[s, v]:
                    held[s, group[e]] += 1
                elif open_[s, v]:
                    size[s, group[e]] += 1
            count += open_[s, v]
        for g in range(groups):
            if held[s, g] >= most[g] or (kind[g] > 0 and held[s, g] >= least[g] and most[g] - held[s, g] >= size[s, g]):
                size[s, g] = 0
            edges += size[s, g]
    number = np.zeros((states, groups), np.int64)
    first = np.zeros(kinds + 1, np.int64)
    fill = np.zeros(states * groups, np.int64)
    needs, room = np.zeros(states * groups, np.int64), np.zeros(states * groups, np.int64)
    said = np.zeros((states * groups if group_features.shape[1] else 0, group_features.shape[1]), np.float32)
    total = at = 0
    for k in range(kinds):
        for s in range(states):
            for g in range(groups):
                if kind[g] == k and size[s, g] > 0:
                    number[s, g] = total
                    fill[total] = at
                    needs[total] = max(least[g] - held[s, g], 0)
                    room[total] = min(most[g] - held[s, g], size[s, g])
                    at += size[s, g]
                    for f in range(group_features.shape[1]):
                        said[total, f] = group_features[g, f]
                    total += 1
        first[k + 1] = total
    start = fill[:total].copy()
    features = np.zeros((count, per * kinds + 1 + literal_features.shape[1]), np.float32)
    member, link = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    place, cell = np.zeros(count, np.int64), np.zeros(count, np.int64)
    state, literal = np.zeros(count, np.int64), np.zeros(count, np.int64)
    i = edges = 0
    for s in range(states):
        for v in range(literals):
            if not open_[s, v]:
                continue
            state[i], literal[i], place[i] = s, v, edges
            for e in range(begin[v], begin[v + 1]):
                g = group[e]
                if size[s, g] == 0:
                    continue
                to = number[s, g]
                link[edges] = to
                edges += 1
                member[fill[to]] = i
                fill[to] += 1
                share = np.float32(1) / np.float32(size[s, g])
                features[i, per * kind[g]] += share
                features[i, per * kind[g] + 1] += share * share
                if per > 2:
                    features[i, per * kind[g] + 2] += share * needs[to]
                    features[i, per * kind[g] + 3] += share * room[to]
                if kind[g] == 0:
                    cell[i] = to
            features[i, per * kinds] = 1
            for f in range(literal_features.shape[1]):
                features[i, per * kinds + 1 + f] = literal_features[v, f]
            i += 1
    needs, room, said = needs[:total].copy(), room[:total].copy(), said[:total].copy()
    return features, member, start, link, place, first, cell, state, literal, needs, room, said
