"""The nogood search on problems that fall apart: a million failures each, every nogood verified.

    python benchmarks/soak.py [CONFLICTS] [--kinds one,another] [--no-verify]

Weights of groups grow with failures and are scaled down again and again. A part of a problem that has nothing to do
with the failures of another is where that can go wrong: it must still be searched in the end. A row for each kind: how
many instances it took, their answers, failures, nogoods verified.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, count, pairwise
from time import monotonic

import cyclopts
import numpy as np

from dibs import CNF, Latin, Problem
from dibs.generate import latin, sat
from dibs.problem import Instance
from selfcheck import watched

Maker = Callable[[int], Instance]


def joined(*formulas: CNF, unused: int = 0, links: int = 0, seed: int = 0) -> CNF:
    """Formulas side by side, with further variables that no clause has, and clauses of two that link neighbours."""
    rng = np.random.default_rng(seed)
    clauses: list[list[int]] = []
    spans, base = [], 0
    for formula in formulas:
        clauses += [[v + base if v > 0 else v - base for v in clause] for clause in formula.clauses]
        spans.append((base + 1, base + formula.variables))
        base += formula.variables
    for (a, b), (c, d) in pairwise(spans):
        clauses += [[int(rng.integers(a, b + 1)), -int(rng.integers(c, d + 1))] for _ in range(links)]
    return CNF(base + unused, clauses)


def random3(variables: int, seed: int, ratio: float = 4.26) -> CNF:
    return next(iter(sat(1, variables=variables, clauses=round(ratio * variables), seed=seed)))


def pigeons(holes: int) -> CNF:
    """One pigeon more than holes: no solution."""
    at = [[holes * p + h + 1 for h in range(holes)] for p in range(holes + 1)]
    clauses = [list(row) for row in at]
    for h in range(holes):
        clauses += [[-a[h], -b[h]] for a, b in combinations(at, 2)]
    return CNF(holes * (holes + 1), clauses)


def isolated(order: int, holes: float, seed: int) -> Latin:
    """A square with holes, and a two by two of holes whose four values are its own affair."""
    [square] = latin(1, order=order, holes=holes, seed=seed)
    values = np.array(square.values).reshape(order, order)
    rng = np.random.default_rng(seed)
    full = _completed(square)
    for a, b in combinations(range(order), 2):
        for c, d in combinations(range(order), 2):
            if full[a, c] == full[b, d] and full[a, d] == full[b, c]:
                values[[a, a, b, b], [c, d, c, d]] = 0
                for line in (a, b):
                    keep = [x for x in range(order) if x not in (c, d)]
                    values[line, keep] = full[line, keep]
                for line in (c, d):
                    keep = [x for x in range(order) if x not in (a, b)]
                    values[keep, line] = full[keep, line]
                return Latin(values.ravel())
    return isolated(order, holes, int(rng.integers(2**30)))


def _completed(square: Latin) -> np.ndarray:
    import dibs

    outcome = dibs.solve(square)
    text = str(outcome.solution)
    order = round(len(Latin.parse(text).values) ** 0.5)
    return np.array(Latin.parse(text).values).reshape(order, order)


def colouring(nodes: int, colours: int, degree: float, loose: int, seed: int) -> Problem:
    """A random graph, further nodes without an edge, and a path that hangs on one node."""
    rng = np.random.default_rng(seed)
    edges = {tuple(sorted(rng.choice(nodes, 2, replace=False).tolist())) for _ in range(round(degree * nodes / 2))}
    total = nodes + 2 * loose
    path = [0, *range(nodes + loose, total)]
    edges |= set(pairwise(path))

    def literal(node: int, colour: int) -> int:
        return node * colours + colour

    return Problem(
        total * colours,
        exactly_one=[[literal(n, c) for c in range(colours)] for n in range(total)],
        at_most_one=[[literal(a, c), literal(b, c)] for a, b in sorted(edges) for c in range(colours)],
    )


def overlapping(seed: int) -> Problem:
    """Exactly-one groups that overlap, literals in none of them, and a group that stands alone."""
    rng = np.random.default_rng(seed)
    core, extra = 90, 12
    groups = [sorted(rng.choice(core, 4, replace=False).tolist()) for _ in range(46)]
    alone = list(range(core, core + 4))
    pairs = [sorted(rng.choice(core, 3, replace=False).tolist()) for _ in range(60)]
    return Problem(core + extra, exactly_one=[*groups, alone], at_most_one=pairs)


KINDS: dict[str, Maker] = {
    "one-unused-variable": lambda seed: joined(random3(200, seed), unused=1),
    "many-unused-variables": lambda seed: joined(random3(180, seed), unused=50),
    "two-formulas": lambda seed: joined(random3(170, seed), random3(40, seed + 1)),
    "two-formulas-one-link": lambda seed: joined(random3(170, seed), random3(60, seed + 1), links=1, seed=seed),
    "hundred-small-ones": lambda seed: joined(
        random3(170, seed), *(random3(6, seed * 101 + i, 3.0) for i in range(100))
    ),
    "pigeons-beside-a-formula": lambda seed: joined(random3(60, seed, 3.5), pigeons(8)),
    "square-isolated-two-by-two": lambda seed: isolated(33, 0.36, seed),
    "colouring-loose-nodes-a-path": lambda seed: colouring(150, 3, 4.6, 20, seed),
    "overlapping-groups-one-alone": overlapping,
    "chain-of-formulas": lambda seed: joined(*(random3(90, seed * 7 + i) for i in range(4)), links=2, seed=seed),
}


def soak(kind: str, conflicts: int, verify: bool = True) -> tuple[Counter[str], int, int]:
    """(answers, failures, nogoods verified) of instances of a kind until there were so many failures."""
    answers: Counter[str] = Counter()
    failures = verified = 0
    for seed in _seeds(kind):
        if failures >= conflicts:
            break
        outcome, nogoods = watched(KINDS[kind](seed), conflicts=conflicts - failures, seed=seed, verify=verify)
        answers[outcome.status.value if outcome else "under way"] += 1
        failures += outcome.backtracks if outcome else conflicts - failures
        verified += nogoods
    return answers, failures, verified


def _seeds(kind: str) -> Iterator[int]:
    return count(1000 * (1 + list(KINDS).index(kind)))


def main(conflicts: int = 1_000_000, /, *, kinds: str = ",".join(KINDS), verify: bool = True) -> None:
    for kind in kinds.split(","):
        begin = monotonic()
        answers, failures, verified = soak(kind, conflicts, verify)
        found = ", ".join(f"{number} {answer}" for answer, number in sorted(answers.items()))
        print(f"{kind}: {failures:,} failures, {verified:,} nogoods verified; {found}; {monotonic() - begin:.0f} s")
        sys.stdout.flush()


if __name__ == "__main__":
    cyclopts.run(main)
