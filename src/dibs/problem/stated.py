"""Problems of two kinds that others publish instances of: car sequencing and colouring, read from their files.

What a file says is kept on one line, so that an instance is known by its content; `posed` makes a problem of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

from dibs.problem.own import Bounds, Not, Problem
from dibs.problem.text import InputError, open_text

CAPACITY: tuple[tuple[int, int], ...] = (
    (1, 2),
    (2, 3),
    (1, 3),
    (2, 5),
    (1, 5),
)  # where a file of CSPLib does not say: p of any q cars

ORDERED = 60  # nodes whose new colours come in order: later ones have seen most of them


class Stated(Problem):
    """A problem that has a text of its own."""

    text = ""

    def line(self, solution: Iterable[Any] | None = None) -> str:
        return self.text if solution is None else super().line(solution)


class CarOrders(NamedTuple):
    """How many cars of each class, with which options; the workshop of an option takes p of any q cars in a row."""

    capacity: tuple[tuple[int, int], ...]
    classes: tuple[tuple[int, tuple[int, ...]], ...]  # cars, and 1 for each option that they have

    @property
    def cars(self) -> int:
        return sum(count for count, _ in self.classes)

    def line(self) -> str:
        """`100; 1/2 2/3; 5: 1 0, 3: 0 1`."""
        taken = " ".join(f"{most}/{window}" for most, window in self.capacity)
        return f"{self.cars}; {taken}; " + ", ".join(
            f"{count}: {' '.join(map(str, options))}" for count, options in self.classes
        )

    @classmethod
    def parse(cls, line: str) -> Self:
        _, taken, classes = line.split(";")
        found = [part.split(":") for part in classes.split(",")]
        return cls(
            tuple((int(most), int(window)) for most, window in (pair.split("/") for pair in taken.split())),
            tuple((int(count), tuple(map(int, options.split()))) for count, options in found),
        )

    def posed(self) -> Stated:
        """Literal (classes) x i + c: place i has a car of class c; after these, option by option: place i lacks it.

        As many of each class as there are; no workshop overrun; the beginning of the line has at least what the rest of
        it cannot take. What is said of options is said of these further literals: groups of q of them, in place of q x
        classes, make reasons short and nodes cheap (docs/FAMILIES.md).
        """
        kinds, places = len(self.classes), self.cars
        groups = [
            Bounds(count, count, range(c, kinds * places, kinds), "demand") for c, (count, _) in enumerate(self.classes)
        ]
        exactly = [range(kinds * i, kinds * (i + 1)) for i in range(places)]
        literals = kinds * places
        for option, (most, window) in enumerate(self.capacity):
            having = [c for c, (_, options) in enumerate(self.classes) if options[option]]
            if not having:
                continue
            lacks = range(literals, literals + places)
            literals += places
            groups += [Bounds(1, 1, [*(kinds * i + c for c in having), lacks[i]], "option") for i in range(places)]
            role = f"{most} of {window}"
            groups += [Bounds(window - most, window, lacks[i : i + window], role) for i in range(places - window + 1)]
            demand = sum(self.classes[c][0] for c in having)
            groups.append(Bounds(places - demand, places - demand, lacks, "lacking"))
            for blocks in range(1, places // window + 1):
                early, most_lacking = places - blocks * window, places - blocks * window - demand + blocks * most
                if 0 <= most_lacking < early:
                    groups.append(Bounds(0, most_lacking, lacks[:early], "early"))
        found = Stated(literals, exactly_one=exactly, groups=groups)
        found.text = self.line()
        return found


def read_cars(path: str) -> Iterator[CarOrders]:
    """The instances of a file as CSPLib has them.

    Cars, options, classes; the most cars of a block for each option, and the block's length, or neither; then number,
    cars and options of each class. Other lines, and what follows a #, are words.
    """
    with open_text(path) as (name, lines):
        rows = [line.split("#")[0].split() for line in lines]
    numbers = [[int(word) for word in row] for row in rows if row and all(re.fullmatch(r"\d{1,6}", w) for w in row)]
    at = 0
    while at < len(numbers):
        try:
            cars, options, classes = numbers[at]
            at += 1
            capacity = CAPACITY
            if len(numbers[at]) == len(numbers[at + 1]) == options:
                capacity = tuple(zip(numbers[at], numbers[at + 1], strict=True))
                at += 2
            some = numbers[at : at + classes]
            found = CarOrders(capacity, tuple((row[1], tuple(row[2:])) for row in some))
            right = found.cars == cars and all(len(row) == options + 2 for row in some) and classes > 0
        except (ValueError, IndexError):
            right = False
        if not right or len(capacity) != options:
            raise InputError("is no file of car sequencing as CSPLib has them", name)
        at += classes
        yield found
    if not numbers:
        raise InputError("is no file of car sequencing as CSPLib has them", name)


class Graph(NamedTuple):
    """Nodes from 1 on that an edge has, and edges (a, b), a < b, ascending."""

    edges: tuple[tuple[int, int], ...]

    def line(self) -> str:
        return " ".join(f"{a}-{b}" for a, b in self.edges)

    @classmethod
    def parse(cls, line: str) -> Self:
        return cls(tuple((int(a), int(b)) for a, b in (pair.split("-") for pair in line.split())))

    def near(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for a, b in self.edges:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
        return found

    def posed(self, name: str, colours: int) -> Stated:
        """Literal `colours` x i + c: the i-th node has colour c.

        Edges are covered by cliques, of which at most one node has a colour. Colours can change places: so the largest
        clique has its colours given, and the others come in their order, each after the one before it.
        """
        near = self.near()
        cliques = covering(near)
        at = {node: colours * i for i, node in enumerate(sorted(near))}
        fixed = max(cliques, key=len)[:colours]
        later = by_neighbours(near, fixed, ORDERED)
        found = Stated(
            colours * len(at),
            exactly_one=[range(first, first + colours) for first in at.values()],
            at_most_one=[[at[node] + c for node in clique] for clique in cliques for c in range(colours)],
            at_least_one=[
                [Not(at[node] + c), *(at[other] + c - 1 for other in later[:i])]
                for c in range(len(fixed) + 1, colours)
                for i, node in enumerate(later)
            ],
            given=[at[node] + c for c, node in enumerate(fixed)],
        )
        found.text = f"{name}, {colours} colours"
        return found


def read_graph(path: str) -> Graph:
    """A graph as DIMACS has it: `p edge NODES EDGES`, then `e A B`, an edge once or twice; loops are left out."""
    with open_text(path) as (name, lines):
        rows = [line.split() for line in lines]
    header = next((row for row in rows if row and row[0] == "p"), [])
    edges = [row for row in rows if row and row[0] == "e"]
    whole = all(len(row) >= 3 and row[1].isdigit() and row[2].isdigit() for row in edges)
    if len(header) < 3 or not edges or not whole:
        raise InputError("is no graph as DIMACS has them", name)
    pairs = {(min(a, b), max(a, b)) for a, b in ((int(row[1]), int(row[2])) for row in edges) if a != b}
    return Graph(tuple(sorted(pairs)))


def by_neighbours(near: dict[int, set[int]], first: list[int], most: int) -> list[int]:
    """Up to `most` nodes that come after the first ones, each with as many neighbours before it as there can be."""
    before = dict.fromkeys(near, 0)
    found: list[int] = []
    for node in first:
        del before[node]
    for node in first:
        for other in near[node] & before.keys():
            before[other] += 1
    while before and len(found) < most:
        node = max(before, key=lambda node: (before[node], len(near[node]), -node))
        del before[node]
        found.append(node)
        for other in near[node] & before.keys():
            before[other] += 1
    return found


def covering(near: dict[int, set[int]]) -> list[list[int]]:
    """Cliques that have all edges of a graph, each of them grown greedily from an edge that none has yet."""
    left = {(a, b) for a, others in near.items() for b in others if a < b}
    found: list[list[int]] = []
    for edge in sorted(left, key=lambda edge: (-min(len(near[edge[0]]), len(near[edge[1]])), edge)):
        if edge not in left:
            continue
        clique, common = list(edge), near[edge[0]] & near[edge[1]]
        while common:
            one = max(common, key=lambda node: (len(near[node] & common), -node))
            clique.append(one)
            common = common & near[one]
        left -= {(min(a, b), max(a, b)) for a in clique for b in clique if a != b}
        found.append(clique)
    return found
