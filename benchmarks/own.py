"""Own problems that others published, car sequencing and colouring: ours beside CP-SAT, Kissat and CaDiCaL in one run.

    python benchmarks/own.py --cars FOLDER [--colouring FOLDER] [--seconds 60] [--every 5]

FOLDER has files as CSPLib problem 001 and DIMACS have them. Cars are the model of examples/cars.py. A graph has its
best known number of colours k, and k - 1 where that is proved to be too few; its edges are covered by cliques, and the
colours of one of them are fixed. All solvers get the same problem, one after the other on each instance. CPU seconds;
the limit is on the clock. `--every 5`: each fifth instance.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import dibs
from dibs.bench.contender import cpu_seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from cars import CAPACITY, cars

Make = Callable[[], dibs.Instance]

WAYS: dict[str, dict[str, Any]] = {
    "ours": {},
    "CP-SAT": {"engine": "cp-sat"},
    "Kissat": {"engine": "kissat"},
    "CaDiCaL": {"engine": "cadical195"},
}

# The fewest colours that are known to be enough. After a colon: nobody has proved that one less is too few.
KNOWN = """
1-FullIns_3 4 1-FullIns_4 5 1-FullIns_5 6 1-Insertions_4 5 1-Insertions_5: 6 1-Insertions_6: 7 2-FullIns_3 5
2-FullIns_4 6 2-FullIns_5 7 2-Insertions_3 4 2-Insertions_4: 5 2-Insertions_5: 6 3-FullIns_3 6 3-FullIns_4 7
3-Insertions_3 4 3-Insertions_4: 5 3-Insertions_5: 6 4-FullIns_3 7 4-FullIns_4 8 4-Insertions_3: 4 4-Insertions_4: 5
5-FullIns_3 8 5-FullIns_4 9 DSJC125.1 5 DSJC125.5: 17 DSJC125.9: 44 DSJC250.1: 8 DSJC250.5: 28 DSJC500.1: 12
DSJR500.1 12 anna 11 ash331GPIA 4 ash608GPIA 4 ash958GPIA 4 david 11 fpsol2.i.1 65 fpsol2.i.2 30 fpsol2.i.3 30
games120 9 homer 13 huck 11 inithx.i.2 31 inithx.i.3 31 jean 10 le450_15a 15 le450_15b 15 le450_25a 25 le450_25b 25
le450_5a 5 le450_5b 5 le450_5c 5 le450_5d 5 miles1000 42 miles1500 73 miles250 8 miles500 20 miles750 31 mug100_1 4
mug100_25 4 mug88_1 4 mug88_25 4 mulsol.i.1 49 mulsol.i.2 31 mulsol.i.3 31 mulsol.i.4 31 mulsol.i.5 31 myciel3 4
myciel4 5 myciel5 6 myciel6 7 myciel7 8 queen10_10: 11 queen11_11 11 queen12_12 12 queen13_13 13 queen14_14 14
queen15_15 15 queen16_16 16 queen5_5 5 queen6_6 7 queen7_7 7 queen8_12 12 queen8_8 9 queen9_9 10 school1_nsh 14
will199GPIA: 7 zeroin.i.1 49 zeroin.i.2 30 zeroin.i.3 30
"""
COLOURS = {
    name: (int(colours), not open_) for name, open_, colours in re.findall(r"([\w.-]+)(:?) (\d+)", KNOWN)
}  # by graph: colours, and whether one less is proved to be too few


def car_lines(path: Path) -> Iterator[tuple[str, Make]]:
    """The instances of a file: cars, options, classes; for each option the most cars in a block, and the block's length
    (left out in part of CSPLib's file, where it is always the same); then class, demand and options of each class."""
    rows = [line.split("#")[0].split() for line in path.read_text("ascii").splitlines()]
    rows = [row for row in rows if row and all(word.isdigit() for word in row)]
    at = number = 0
    while at < len(rows):
        (_, options, classes), at, number = map(int, rows[at]), at + 1, number + 1
        capacity = CAPACITY
        if len(rows[at]) == options:
            capacity = [(int(p), int(q)) for p, q in zip(rows[at], rows[at + 1], strict=True)]
            at += 2
        kinds = {int(row[0]): (int(row[1]), "".join(row[2:])) for row in rows[at : at + classes]}
        at += classes
        yield f"{path.stem} {number}", partial(modelled, kinds, capacity)


def modelled(kinds: dict[int, tuple[int, str]], capacity: list[tuple[int, int]]) -> dibs.Instance:
    return cars(kinds, capacity).problem()


def graphs(path: Path) -> Iterator[tuple[str, Make]]:
    """A graph with as many colours as are enough, and with one less where that is proved to be too few."""
    pairs = {frozenset(map(int, line.split()[1:])) for line in path.read_text("ascii").splitlines() if line[:1] == "e"}
    near: dict[int, set[int]] = {}
    for one, other in (sorted(pair) for pair in pairs if len(pair) == 2):
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    cliques = covering(near)
    colours, proved = COLOURS[path.stem]
    for k in (colours, colours - 1) if proved else (colours,):
        yield f"{path.stem}, {k} colours", partial(coloured, near, cliques, k)


def covering(near: dict[int, set[int]]) -> list[list[int]]:
    """Cliques that have all edges of a graph, each of them grown greedily from an edge that none has yet."""
    left = {(a, b) for a, others in near.items() for b in others if a < b}
    found: list[list[int]] = []
    for edge in sorted(left, key=lambda edge: -min(len(near[edge[0]]), len(near[edge[1]]))):
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


def coloured(near: dict[int, set[int]], cliques: list[list[int]], k: int) -> dibs.Instance:
    """Literal k * i + c: node i has colour c. The largest clique has its colours given, as far as there are any."""
    at = {node: k * i for i, node in enumerate(sorted(near))}
    fixed = max(cliques, key=len)
    return dibs.Problem(
        k * len(at),
        exactly_one=[range(first, first + k) for first in at.values()],
        at_most_one=[[at[node] + c for node in clique] for clique in cliques for c in range(k)],
        given=[at[node] + c for c, node in enumerate(fixed[:k])],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cars", type=Path, help="a folder with files of car sequencing")
    parser.add_argument("--colouring", type=Path, help="a folder with graphs")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one search")
    parser.add_argument("--every", type=int, default=1, help="each instance of so many")
    given = parser.parse_args()
    wrong = 0
    for what, folder, read in (("cars", given.cars, car_lines), ("colouring", given.colouring, graphs)):
        if folder is None:
            continue
        solved: Counter[str] = Counter()
        spent = dict.fromkeys(WAYS, 0.0)
        paths = sorted(path for path in folder.iterdir() if what == "cars" or path.stem in COLOURS)
        instances = list(islice((found for path in paths for found in read(path)), 0, None, given.every))
        for name, make in instances:
            one, statuses = make(), {}
            for way, options in WAYS.items():
                begin = cpu_seconds()
                outcome = dibs.solve(one, max_seconds=given.seconds, **options)
                took = cpu_seconds() - begin
                statuses[way] = f"{outcome.status} {took:.2f}"
                solved[way] += outcome.status != "LIMIT"
                spent[way] += took
            wrong += {"SAT", "UNSAT"} <= {status.split()[0] for status in statuses.values()}
            print(name, *(f"{way} {status}" for way, status in statuses.items()), sep="\t", flush=True)
        print(f"{what}: {len(instances)} instances, {given.seconds:g} s")
        for way in WAYS:
            print(f"  {way:10} {solved[way]:4} solved, {spent[way]:8.1f} CPU s")
    print(f"contradictions: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
