"""Graphs to be coloured, of which a part has its colours already. A colouring of the whole is hidden in them.

`flat`: the nodes are divided evenly among the colours, and every node has as nearly as possible as many neighbours of
each other colour (Culberson's flat graphs): no node gives itself away by its degree.
`geometric`: the nodes are points of a square; only near ones are joined, and none of one colour.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dibs.dtypes import Ints
from dibs.problem.own import Bounds, Problem

SEVERAL, FILES = "graphs", "graph-"
Kind = Literal["flat", "geometric"]

TRIES = 200  # swaps for each edge that is there twice


def colouring(
    seed: int,
    *,
    nodes: int = 200,
    colours: int = 8,
    degree: float = 26.0,
    fixed: float = 0.15,
    kind: Kind = "flat",
) -> Problem:
    """Graphs to be coloured, a part of which is, as problems in JSON.

    Each can be coloured. flat: all nodes have as many neighbours of each
    other colour. geometric: near points of a square are neighbours. Files and
    seeds are as for timetables.

    For example:
      dibs generate colouring 20 --nodes 250 --output graphs

    Args:
        seed: which instance.
        nodes: nodes of the graph
        colours: how many colours, 3 or more
        degree: neighbours of a node, on the average
        fixed: share of the nodes whose colour is given
        kind: which nodes are joined

    Returns:
        A problem. Literal `colours` * i + c: node i has the colour c. With `fixed` 0 the colours of a clique are given,
        so that no two colours can change places.
    """
    if colours < 3 or nodes < 3 * colours:
        raise ValueError(f"nodes = {nodes}, colours = {colours}: at least 3 colours, and 3 nodes of each, are needed")
    if not 0 < degree < nodes / 3:
        raise ValueError(f"degree = {degree}: it must be above 0 and below a third of the nodes")
    rng = np.random.default_rng((seed, nodes, colours))
    colour = rng.permutation(np.arange(nodes) % colours)
    edges = (_flat if kind == "flat" else _geometric)(colour, round(nodes * degree / 2), rng)
    known = rng.permutation(nodes)[: round(fixed * nodes)]
    given = colours * known + colour[known] if fixed else None
    return coloured(nodes, edges, colours, given)


def coloured(nodes: int, edges: Ints, colours: int, given: Ints | None = None) -> Problem:
    """A graph with `edges` [E, 2]; without `given` literals a large clique has its colours given."""
    groups = [Bounds(1, 1, range(colours * i, colours * (i + 1)), "node") for i in range(nodes)]
    groups += [Bounds(0, 1, [a + c, b + c], "edge") for a, b in (colours * edges).tolist() for c in range(colours)]
    if given is None:
        given = np.array([colours * node + c for c, node in enumerate(_clique(nodes, edges)[:colours])], np.int64)
    return Problem(colours * nodes, groups=groups, given=given.tolist())


def _clique(nodes: int, edges: Ints) -> list[int]:
    """The first clique that is grown from an edge and has at least three nodes, otherwise an edge."""
    near: list[set[int]] = [set() for _ in range(nodes)]
    for a, b in edges.tolist():
        near[a].add(b)
        near[b].add(a)
    found: list[int] = []
    for a, b in edges.tolist():
        clique, common = [a, b], near[a] & near[b]
        while common:
            one = min(common)
            clique.append(one)
            common = common & near[one]
        if len(clique) > len(found):
            found = clique
    return found


def _flat(colour: Ints, count: int, rng: np.random.Generator) -> Ints:
    """[count, 2] edges between nodes of two colours, spread evenly over the pairs of colours and their nodes."""
    colours = int(colour.max()) + 1
    pairs = [(a, b) for a in range(colours) for b in range(a)]
    each = np.full(len(pairs), count // len(pairs))
    each[rng.permutation(len(pairs))[: count % len(pairs)]] += 1
    found = [
        _between(np.flatnonzero(colour == a), np.flatnonzero(colour == b), some, rng)
        for (a, b), some in zip(pairs, each.tolist(), strict=True)
    ]
    return np.concatenate(found)


def _between(first: Ints, second: Ints, count: int, rng: np.random.Generator) -> Ints:
    """[count, 2] different edges between two sets; the degrees in a set differ by at most one."""
    ends = [np.tile(rng.permutation(side), -(-count // len(side)))[:count] for side in (first, second)]
    a, b = ends[0], rng.permutation(ends[1])
    for _ in range(TRIES):
        _, place = np.unique(a * (max(first.max(), second.max()) + 1) + b, return_index=True)
        twice = np.setdiff1d(np.arange(count), place)
        if not len(twice):
            break
        other = rng.integers(count, size=len(twice))
        for i, j in zip(twice.tolist(), other.tolist(), strict=True):
            b[i], b[j] = b[j], b[i]
    return np.unique(np.stack([a, b], axis=1), axis=0)


def _geometric(colour: Ints, count: int, rng: np.random.Generator) -> Ints:
    """[count, 2] the shortest pairs of nodes of different colours, at random points of a square."""
    point = rng.random((len(colour), 2))
    a, b = np.triu_indices(len(colour), 1)
    apart = colour[a] != colour[b]
    a, b = a[apart], b[apart]
    shortest = np.argsort(((point[a] - point[b]) ** 2).sum(axis=1), kind="stable")[:count]
    return np.stack([a[shortest], b[shortest]], axis=1)


def family(seed: int) -> Problem:
    """What `dibs train dibs.generate.colouring:family` learns: flat graphs of all sizes, from easy to hard."""
    rng = np.random.default_rng((seed, 1))
    nodes, degree, fixed = int(rng.integers(80, 301)), float(rng.uniform(22, 26)), float(rng.uniform(0.14, 0.18))
    return colouring(seed, nodes=nodes, degree=degree, fixed=fixed)
