"""Published sets of large instances that do not come with dibs: what belongs to them, and how a copy is imported.

A set is known by what is in its files, not by their names: by the instances themselves where all of them are known, by
order and holes otherwise. A part of a set can be imported, and more of it later. Instances are stored in one order, so
that a sample of a whole set is the same for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dibs.lists import LISTS, PuzzleList, folder
from dibs.problem import InputError, Instance, Latin, Sudoku, read_instances
from dibs.problem.latin import LARGEST
from dibs.problem.stated import CAPACITY, CarOrders, Graph, read_cars, read_graph
from dibs.problem.text import open_text
from dibs.writing import explained, write

Square = Latin | Sudoku
MOST_FILES = 20_000  # of a folder: all of QWH is 1,800

# What the files of the sets' authors begin with: `50`, `order 30` or `N = 20;`.
_ORDER = re.compile(r"\s*(?:order|n\s*=)?\s*(\d{1,3})\s*;?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class InstanceSet:
    """Published squares, and what subclasses have in their place.

    Whatever it has, a `line()` says all of an item, and `posed` makes instances of the items.
    """

    name: str
    puzzles: int  # how many were published
    what: str
    family: Literal["latin", "sudoku", "problem"]
    url: str  # where it comes from
    shapes: Mapping[int, frozenset[int]] = field(default_factory=dict)  # holes by order; no holes named: any number
    known: frozenset[str] = frozenset()  # `digest` of every instance, for a set that is known by that

    @property
    def path(self) -> Path:
        """Where the set is kept, whether it is there or not: an instance to a line, sorted."""
        return folder() / f"{self.name}.txt"

    def state(self) -> Literal["here", "missing"]:
        return "here" if self.path.is_file() else "missing"

    def has(self, one: Any) -> bool:
        if not isinstance(one, Square) or one.family != self.family:
            return False
        if self.known:
            return digest(one) in self.known
        holes = self.shapes.get(one.size)
        if holes is None or (holes and _holes(one) not in holes):
            return False
        return not any(digest(one) in other.known for other in SETS.values())

    def load(self) -> list[Any]:
        """What is here of it; InputError says how to get it where nothing is."""
        if self.state() == "missing":
            raise InputError(f"the set {self.name} is not here: {how(self)}")
        found = list(self.stored())
        if odd := next((one for one in found if not self.has(one)), None):
            raise InputError(f"is damaged: {self.named(odd)} is not of {self.name}; {how(self)}", str(self.path))
        return found

    def posed(self, items: Iterable[Any]) -> list[Callable[[], Instance]]:
        """What makes the instances of items, one or more of each: that takes a moment, and few may be wanted."""
        return [partial(_itself, one) for one in items]

    def stored(self) -> Iterator[Any]:
        yield from _plain(self.path, self.family)

    def published(self, path: Path) -> Iterator[Any]:
        """The items of a file as its authors published it, or of one that dibs reads."""
        with open_text(str(path)) as (_, lines):
            rows = (line.split("#")[0] for line in lines)
            order = _ORDER.match(next((row for row in rows if row.strip()), ""))
            numbers = [int(word) for row in rows for word in re.findall(r"-?\d{1,4}", row)] if order else []
        if order is None or self.family != "latin":
            yield from _plain(path, self.family)
            return
        yield _authors(int(order[1]), np.array(numbers, np.int64), str(path))

    def size(self, one: Any) -> tuple[int, ...]:
        """By which items are sorted, before their lines."""
        return one.size, _holes(one)

    def named(self, one: Any) -> str:
        return f"a {one.title} of order {one.size} with {_holes(one)} holes"


class CarSet(InstanceSet):
    """Car sequencing: any instance with so many cars, and the capacities of CSPLib."""

    SIZES = (100, 200, 300, 400)

    def has(self, one: Any) -> bool:
        return isinstance(one, CarOrders) and one.cars in self.SIZES and one.capacity == CAPACITY

    def posed(self, items: Iterable[CarOrders]) -> list[Callable[[], Instance]]:
        return [one.posed for one in items]

    def stored(self) -> Iterator[CarOrders]:
        yield from _parsed(self, CarOrders.parse)

    def published(self, path: Path) -> Iterator[CarOrders]:
        return read_cars(str(path))

    def size(self, one: CarOrders) -> tuple[int, ...]:
        return (one.cars,)

    def named(self, one: CarOrders) -> str:
        return f"a sequence of {one.cars} cars with {len(one.capacity)} options"


class Colours(NamedTuple):
    """What is known about a graph."""

    name: str
    enough: int
    proved: bool  # one less is too few
    source: str  # who says so


class GraphSet(InstanceSet):
    """Colouring: graphs that are known, with as many colours as are enough, and one less where that is too few."""

    def has(self, one: Any) -> bool:
        return isinstance(one, Graph) and digest(one) in known_colours()

    def posed(self, items: Iterable[Graph]) -> list[Callable[[], Instance]]:
        known = [(graph, known_colours()[digest(graph)]) for graph in items]
        return [
            partial(graph.posed, about.name, colours)
            for graph, about in known
            for colours in range(about.enough, about.enough - 1 - about.proved, -1)
        ]

    def stored(self) -> Iterator[Graph]:
        yield from _parsed(self, Graph.parse)

    def published(self, path: Path) -> Iterator[Graph]:
        yield read_graph(str(path))

    def size(self, one: Graph) -> tuple[int, ...]:
        return (len(one.edges),)

    def named(self, one: Graph) -> str:
        return f"a graph of {len(one.edges):,} edges"


@cache
def known_colours() -> Mapping[str, Colours]:
    """By the digest of a graph: data/colouring.txt."""
    rows = (files("dibs") / "data" / "colouring.txt").read_text("ascii").splitlines()
    words = [row.split() for row in rows if row[0] != "#"]
    return {code: Colours(name, int(k), proved == "proved", source) for code, name, k, proved, source in words}


def _itself(one: Instance) -> Instance:
    return one


def _parsed(one: InstanceSet, parse: Any) -> Iterator[Any]:
    """A line each."""
    with open_text(str(one.path)) as (name, lines):
        for number, line in enumerate(lines, 1):
            try:
                yield parse(line)
            except ValueError:
                raise InputError(f"is damaged; {how(one)}", name, number) from None


def digest(one: Any) -> str:
    return sha256(one.line().encode()).hexdigest()[:16]


def _filled(order: int, *percent: int) -> frozenset[int]:
    """Holes of squares with so many cells filled."""
    return frozenset(order * order - order * order * share // 100 for share in percent)


# `digest` of each instance: some of them have the order and the holes of squares of QWH.
_COLOR03 = frozenset(
    line[at : at + 16]
    for line in (
        "602277c818b29857e9936bfc26880ff86f699629167944ed547d1a63c88037bfd0d39f0b51d95d0a",
        "4eada62253e91ebf34b5a51edf08aa177bba3ac0b8402dedbe7d9ab54c35fc41907c69e02f8b8361",
        "fd8dedfae11b50d96a77d108f7b751a1b4d1198bbe6c449f94c6a0bcc7f1130eace7c90adeb50890",
        "537954ef1c606c727abd67fcb00ffa4a36ac0009f20f50b3e854561a04eb7ad0",
    )
    for at in range(0, len(line), 16)
)

SETS = {
    one.name: one
    for one in (
        InstanceSet(
            name="qwh",
            puzzles=1_800,
            what="Latin squares of order 50, 60 and 70, 30 to 80 % filled (Jin and Hao 2019; Pan and others 2024)",
            family="latin",
            url="https://github.com/superguymj/LSC",
            shapes={order: _filled(order, 30, 40, 50, 60, 70, 80) for order in (50, 60, 70)},
        ),
        InstanceSet(
            name="color03",
            puzzles=19,
            what="quasigroup completion of the COLOR03 set, order 5 to 100",
            family="latin",
            url="https://github.com/superguymj/LSC",
            known=_COLOR03,
        ),
        InstanceSet(
            name="csplib067",
            puzzles=40,
            what="quasigroups with holes of order 30, 374 and 375 holes (CSPLib problem 067)",
            family="latin",
            url="https://www.csplib.org/Problems/prob067/",
            shapes={30: frozenset({374, 375})},
        ),
        InstanceSet(
            name="qcp",
            puzzles=60,
            what="quasigroup completion of order 10 to 25, with and without a solution (MiniZinc benchmarks)",
            family="latin",
            url="https://github.com/MiniZinc/minizinc-benchmarks",
            shapes={10: frozenset({67}), 15: frozenset({120}), 20: frozenset({187}), 25: frozenset({264})},
        ),
        InstanceSet(
            name="gecode-sudoku",
            puzzles=18,
            what="25x25 Sudokus of Gecode's examples",
            family="sudoku",
            url="https://www.gecode.org",
            shapes={25: frozenset()},
        ),
        CarSet(
            name="cars",
            puzzles=109,
            what="car sequencing, 100 to 400 cars (CSPLib problem 001)",
            family="problem",
            url="https://www.csplib.org/Problems/prob001/",
        ),
        GraphSet(
            name="colouring",
            puzzles=89,
            what="graphs of DIMACS and COLOR02, with as many colours as are enough, and one less",
            family="problem",
            url="https://github.com/dynaroars/npbench",
        ),
    )
}


def find(name: str) -> PuzzleList | InstanceSet:
    """The list or set of that name; any other raises."""
    every = LISTS | SETS
    if name in every:
        return every[name]
    near = get_close_matches(name, every, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(every)}"
    raise InputError(f"no list is called {name!r}; {hint}")


def how(one: InstanceSet) -> str:
    return f"`dibs data get {one.name} --from FOLDER` imports a copy that you have (it is of {one.url})"


def read(one: InstanceSet, source: Path) -> tuple[list[Any], list[Path]]:
    """The items of a file or of all files in a folder, and which files are not of the set.

    A file belongs to it whole or not at all. Where none does, InputError says why.
    """
    if not source.is_dir():
        return list(_belonging(one, source)), []
    found: list[Any] = []
    others: list[Path] = []
    for number, path in enumerate(sorted(path for path in source.rglob("*") if path.is_file())):
        if number == MOST_FILES:
            raise InputError(f"has more than {MOST_FILES:,} files: name the folder of the set", str(source))
        try:
            found += list(_belonging(one, path))  # all of them or none
        except InputError:
            others.append(path)
    if not found:
        raise InputError(f"has no file of {one.name}: {one.what}; nothing was stored", str(source))
    return found, others


def store(one: InstanceSet, found: Sequence[Any], fresh: bool = False) -> int:
    """Keep items, beside those that are here unless `fresh`; how many there are now. All are stored, or none."""
    if not fresh and one.state() == "here":
        found = [*found, *one.load()]
    lines = sorted({item.line(): item for item in found}.items(), key=lambda item: (*one.size(item[1]), item[0]))
    with explained(one.path):
        one.path.parent.mkdir(parents=True, exist_ok=True)
        write(one.path, "".join(f"{line}\n" for line, _ in lines).encode("ascii"))
    return len(lines)


def _belonging(one: InstanceSet, path: Path) -> Iterator[Any]:
    for item in one.published(path):
        if not one.has(item):
            raise InputError(f"is not of {one.name}: it has {one.named(item)}; nothing was stored", str(path))
        yield item


def _authors(order: int, numbers: np.ndarray[tuple[int], np.dtype[np.int64]], file: str) -> Latin:
    """A square from the numbers that follow its order: all cells, or row, column and value of each filled one.

    Where a hole is -1, and in the second form, values and places begin at 0.
    """
    if not 0 < order <= LARGEST:
        raise InputError(f"order {order}: a Latin square has 1 to {LARGEST}", file)
    if len(numbers) == order * order:
        values = numbers + 1 if (numbers < 0).any() else numbers
    elif len(numbers) % 3 == 0 and len(numbers) and ((numbers >= 0) & (numbers < order)).all():
        row, column, value = numbers.reshape(-1, 3).T
        values = np.zeros(order * order, np.int64)
        values[row * order + column] = value + 1
    else:
        raise InputError(f"{len(numbers):,} numbers are no Latin square of order {order}", file)
    try:
        return Latin(values)
    except ValueError as error:
        raise InputError(str(error), file) from None


def _plain(path: Path, family: Literal["latin", "sudoku", "problem"]) -> Iterator[Square]:
    for _, item in read_instances(str(path), family):
        if isinstance(item, InputError):
            raise item
        assert isinstance(item, Latin | Sudoku)
        yield item


def _holes(one: Square) -> int:
    return int((one.values == 0).sum())
