"""Policy `auto` on mixed formulas, beside CaDiCaL alone and our own search alone: CPU time, and who answers.

    python benchmarks/formulas.py [--count 300] [--seed 0] [--seconds 20] [--times 3] [--named]

Six kinds in turn, small and large, with a solution and without: random 3-SAT where half have one, parities on graphs,
pigeonholes, colourings of random graphs, quasigroups with holes, agents that move on a graph within so many steps.
All contenders have each formula one after the other, in one process, everything from the formula to the checked answer
on the clock; the best of some times counts. `--named`: the two formulas of the issue instead of the mixed ones.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations
from time import process_time
from typing import Any

import cyclopts
import numpy as np

import dibs
from dibs import CNF, Latin, generate
from dibs.search.external.formula import encode

Clauses = list[list[int]]
Rng = np.random.Generator

ALONE: dict[str, dict[str, Any]] = {
    "CaDiCaL": {"engine": "cadical195"},
    "own search": {"strategy": "nogoods"},
}
WAYS: dict[str, dict[str, Any]] = {"auto": {}, **ALONE}
PATIENCE = 1.0  # seconds: what takes longer is not repeated


def random_sat(rng: Rng) -> CNF:
    """3-SAT where about half of the formulas have a solution."""
    [found] = generate.sat(1, variables=int(rng.integers(40, 251)), seed=int(rng.integers(2**40)))
    return found


def regular(nodes: int, degree: int, rng: Rng) -> list[tuple[int, int]]:
    """The edges of a random graph without loops and double edges, every node with so many (`nodes` x `degree` even)."""
    while True:
        ends = rng.permutation(np.repeat(np.arange(nodes), degree)).reshape(-1, 2)
        edges = {(min(a, b), max(a, b)) for a, b in ends.tolist() if a != b}
        if 2 * len(edges) == nodes * degree:
            return sorted(edges)


def parity_on(nodes: int, degree: int, odd: int, rng: Rng) -> CNF:
    """A variable for each edge; an odd or even number of those at a node is true. UNSAT where `odd` nodes are odd."""
    edges = regular(nodes, degree, rng)
    charge = np.zeros(nodes, np.int64)
    charge[rng.permutation(nodes)[:odd]] = 1
    clauses: Clauses = []
    for node in range(nodes):
        around = [i for i, edge in enumerate(edges, 1) if node in edge]
        for signs in range(2 ** len(around)):
            if bin(signs).count("1") % 2 != charge[node]:
                clauses.append([-z if signs >> k & 1 else z for k, z in enumerate(around)])
    return CNF(len(edges), clauses)


def parity(rng: Rng) -> CNF:
    nodes, degree = 2 * int(rng.integers(5, 21)), 3
    return parity_on(nodes, degree, int(rng.integers(0, 2)) + 2 * int(rng.integers(0, nodes // 4)), rng)


def pigeonholes(rng: Rng) -> CNF:
    """One pigeon more than holes, or just as many; some pigeons cannot go everywhere."""
    holes = int(rng.integers(4, 10))
    pigeons = holes + int(rng.random() < 0.6)
    number = np.arange(1, pigeons * holes + 1).reshape(pigeons, holes)
    clauses: Clauses = [row[rng.random(holes) < 0.9].tolist() or row.tolist() for row in number]
    clauses += [[-a, -b] for column in number.T.tolist() for a, b in combinations(column, 2)]
    return shuffled(pigeons * holes, clauses, rng)


def colouring(rng: Rng) -> CNF:
    """Random graphs where about half have a colouring."""
    colours = int(rng.integers(3, 6))
    nodes, mean = int(rng.integers(30, {3: 301, 4: 121, 5: 71}[colours])), {3: 4.65, 4: 8.7, 5: 12.5}[colours]
    pairs = np.array(list(combinations(range(nodes), 2)))
    edges = pairs[rng.permutation(len(pairs))[: round(rng.uniform(0.95, 1.05) * mean * nodes / 2)]].tolist()
    number = np.arange(1, nodes * colours + 1).reshape(nodes, colours)
    clauses: Clauses = number.tolist()
    clauses += [[-int(number[a, c]), -int(number[b, c])] for a, b in edges for c in range(colours)]
    return CNF(nodes * colours, clauses)


def quasigroup(rng: Rng) -> CNF:
    """A Latin square with holes as a formula; in half of them a hole is filled with a value that its givens allow."""
    order = int(rng.integers(8, 33))
    [square] = generate.latin(
        1, order=order, holes=float(rng.uniform(0.36, 0.46)), balanced=True, seed=int(rng.integers(2**40))
    )
    values = square.values.reshape(order, order).copy()
    if rng.random() < 0.5:
        row, column = (int(side[0]) for side in np.nonzero(values == 0))
        free = np.setdiff1d(np.arange(1, order + 1), np.concatenate([values[row], values[:, column]]))
        if len(free):
            values[row, column] = rng.choice(free)
    return encode(Latin(values.ravel())).as_cnf()


def moving(rng: Rng) -> CNF:
    """Agents go from node to node of a graph, or stay, one in a node at a time; all are home after so many steps."""
    nodes, steps = 2 * int(rng.integers(4, 13)), int(rng.integers(4, 10))
    agents = int(rng.integers(3, nodes * 3 // 4 + 1))
    edges = regular(nodes, 3, rng)
    to = [{a} | {c for pair in edges if a in pair for c in pair} for a in range(nodes)]
    at = np.arange(1, (steps + 1) * agents * nodes + 1).reshape(steps + 1, agents, nodes)
    begin, end = rng.permutation(nodes)[:agents], rng.permutation(nodes)[:agents]
    clauses: Clauses = [[int(at[0, a, begin[a]])] for a in range(agents)]
    clauses += [[int(at[steps, a, end[a]])] for a in range(agents)]
    for t in range(steps + 1):
        clauses += [at[t, a].tolist() for a in range(agents)]
        clauses += [[-x, -y] for a in range(agents) for x, y in combinations(at[t, a].tolist(), 2)]
        clauses += [[-x, -y] for v in range(nodes) for x, y in combinations(at[t, :, v].tolist(), 2)]
    for t in range(steps):
        clauses += [
            [-int(at[t, a, v]), *(int(at[t + 1, a, w]) for w in sorted(to[v]))]
            for a in range(agents) for v in range(nodes)
        ]  # fmt: skip
        clauses += [  # nor do two of them change places
            [-int(at[t, a, v]), -int(at[t + 1, a, w]), -int(at[t, b, w]), -int(at[t + 1, b, v])]
            for a, b in combinations(range(agents), 2) for pair in edges for v, w in (pair, pair[::-1])
        ]  # fmt: skip
    return CNF(at.size, clauses)


def shuffled(variables: int, clauses: Clauses, rng: Rng) -> CNF:
    """The same formula with other numbers of variables and in another order."""
    number = rng.permutation(variables) + 1
    found = [[int(np.sign(z) * number[abs(z) - 1]) for z in clause] for clause in clauses]
    return CNF(variables, [found[i] for i in rng.permutation(len(found))])


KINDS: dict[str, Callable[[Rng], CNF]] = {
    "random": random_sat,
    "parity": parity,
    "pigeonholes": pigeonholes,
    "colouring": colouring,
    "quasigroup": quasigroup,
    "moving": moving,
}


def mixed(count: int, seed: int) -> Iterable[tuple[str, CNF]]:
    """Kinds in turn; formula i depends on the seed and i alone."""
    names = list(KINDS)
    for i in range(count):
        kind = names[i % len(names)]
        yield kind, KINDS[kind](np.random.default_rng((seed, i)))


def two_named(seed: int) -> Iterable[tuple[str, CNF]]:
    """Parity on 40 nodes without a solution, 100 of them, and five of random 3-SAT with 250 variables without one."""
    for i in range(100):
        yield "parity, 40 nodes", parity_on(40, 3, 1, np.random.default_rng((seed, i)))
    found = 0
    for formula in generate.sat(1000, variables=250, clauses=1100, seed=seed):
        if found < 5 and dibs.solve(formula, engine="cadical195").status == "UNSAT":
            found += 1
            yield "random, 250 variables", formula


def measured(formula: CNF, seconds: float, times: int) -> dict[str, tuple[str, float]]:
    """Status and best CPU seconds of each way. Every run has a formula of its own: nothing is known from the last."""
    found: dict[str, tuple[str, float]] = {}
    for turn in range(times):
        for name, way in WAYS.items():
            if turn and found[name][1] > PATIENCE:
                continue
            fresh = CNF(formula.variables, formula.clauses)
            begin = process_time()
            outcome = dibs.solve(fresh, max_seconds=seconds, **way)
            took = process_time() - begin
            if turn and found[name][0] != outcome.status and "LIMIT" not in (found[name][0], outcome.status):
                raise AssertionError(f"{name}: {found[name][0]} and {outcome.status}")
            if not turn or took < found[name][1]:
                found[name] = str(outcome.status), took
    return found


def main(
    *,
    count: int = 300,
    seed: int = 0,
    seconds: float = 20.0,
    times: int = 3,
    named: bool = False,
    each: bool = False,
) -> int:
    """`seconds`: limit of one search; the best of so many `times` counts; `named`: parity on 40 nodes and random 3-SAT
    with 250 variables; `each`: a line for each formula."""
    for way in WAYS.values():  # what a process loads once is nobody's time
        [hard] = generate.sat(1, variables=150, seed=1)
        dibs.solve(hard, max_seconds=2, **way)
    rows: list[tuple[str, dict[str, tuple[str, float]]]] = []
    wrong = 0
    for i, (kind, formula) in enumerate(two_named(seed) if named else mixed(count, seed), 1):
        found = measured(formula, seconds, times)
        wrong += {"SAT", "UNSAT"} <= {status for status, _ in found.values()}
        rows.append((kind, found))
        if each:
            print(
                kind, formula.variables, *(f"{name} {status} {t:.4f}" for name, (status, t) in found.items()), sep="\t"
            )
        elif sys.stderr.isatty():
            print(f"\r{i} formulas", end="", file=sys.stderr)
    print(f"{len(rows)} formulas, seed {seed}, at most {seconds:g} s; contradictions: {wrong}")
    table(rows)
    return 1 if wrong else 0


def table(rows: list[tuple[str, dict[str, tuple[str, float]]]]) -> None:
    """For each kind: answers, CPU seconds of all together, and auto against the better one of the two alone.

    Of times: p50 to p50 and p95 to p95. Of ratios: the p50 and p95 of auto over the better one, formula by formula.
    """
    kinds: dict[str, list[dict[str, tuple[str, float]]]] = defaultdict(list)
    for kind, found in rows:
        kinds[kind].append(found)
    kinds["all"] = [found for _, found in rows]
    sums = "".join(f"{name + ' s':>14}" for name in WAYS)
    print(f"{'kind':22}{'SAT/UNSAT':>10}{sums}{'of times p50 p95':>20}{'of ratios p50 p95':>20}{'lost':>6}")
    for kind, some in kinds.items():
        answered = [one for one in some if any(one[name][0] != "LIMIT" for name in ALONE)]
        best = np.array([min(one[name][1] for name in ALONE if one[name][0] != "LIMIT") for one in answered])
        auto = np.array([one["auto"][1] for one in answered])
        lost = sum(one["auto"][0] == "LIMIT" for one in answered)
        status = Counter(next((s for s, _ in one.values() if s != "LIMIT"), "LIMIT") for one in some)
        sums = "".join(f"{sum(one[name][1] for one in some):14.2f}" for name in WAYS)
        shown = f"{'-':>14}{'-':>6}" * 2  # nobody answered any
        if answered:
            times = np.percentile(auto, [50, 95]) / np.percentile(best, [50, 95])
            ratios = np.percentile(auto / best, [50, 95])
            shown = "".join(f"{a:14.2f}{b:6.2f}" for a, b in (times, ratios))
        print(f"{kind:22}{status['SAT']:5}/{status['UNSAT']:4}{sums}{shown}{lost:6}")


if __name__ == "__main__":
    cyclopts.run(main)
