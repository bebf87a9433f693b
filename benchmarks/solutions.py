"""All solutions, each once: sets of solutions against a SAT solver on random problems; `make solutions`.

    PYTHONPATH=tests/support:examples python benchmarks/solutions.py --problems 5000 --seed 1

Problems with bounds, negations, overlaps and unused literals, formulas and grids, with 0 to 5,000 solutions. Each is
enumerated under random options, streamed, counted and projected on random variables, by one worker and by two; where
there are few solutions, a session lists them too.
`--pentominoes 6x10` takes the CPU time of all solutions of a rectangle in place of that.
"""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import Any

import cyclopts
import numpy as np

import dibs
from dibs.search.nogoods import enumeration, search, team
from guides import BAD, Scored
from judge import as_set, clauses, sets
from randoms import bounded, formula, formulas, mixture, problem, tight, union

MOST = 5000
NEAR = 40  # solutions that a session lists, nearest first, at most
KINDS = (
    tight,
    bounded,
    problem,
    union,
    formulas,
    lambda rng: formula(rng, int(rng.integers(8, 16)), float(rng.uniform(1.5, 4.5))),
    lambda rng: mixture(int(rng.integers(10**9)), 3)[int(rng.integers(3))],
)


def one(seed: int, number: int) -> int:
    """Compare one problem; returns its number of solutions, -1 where there are too many."""
    rng = np.random.default_rng((seed, number))
    instance = KINDS[number % len(KINDS)](rng)
    known = sets(instance, MOST + 1)
    if len(known) > MOST:
        return -1
    enumeration.BLOCKED = int(rng.choice([0, 1, 3, 16]))
    how: dict[str, Any] = {"strategy": "nogoods", "restart_base": int(rng.choice([1, 3, 256]))}
    how["level"] = str(rng.choice(["naked", "hidden"]))
    if rng.random() < 0.3:
        how["guide"] = Scored(BAD[str(rng.choice(list(BAD)))])
    elif rng.random() < 0.3:
        how = {}
    listed = [as_set(instance, solution) for solution in dibs.solutions(instance, **how)]
    assert len(listed) == len(set(listed)), (seed, number)
    assert set(listed) == known, (seed, number)
    assert dibs.count_solutions(instance, MOST + 1, **how) == len(known), (seed, number)
    several = {"strategy": "nogoods", **how, "workers": 2}
    listed = [as_set(instance, solution) for solution in dibs.solutions(instance, **several)]
    assert len(listed) == len(set(listed)), (seed, number)
    assert set(listed) == known, (seed, number)
    assert dibs.count_solutions(instance, MOST + 1, **several) == len(known), (seed, number)
    session = dibs.Session(instance)
    first = session.solve()
    assert first.status == ("SAT" if known else "UNSAT"), (seed, number)
    if 0 < len(known) <= NEAR:
        listed = [as_set(instance, outcome.solution) for outcome in session.near(first.solution)]
        assert len(listed) == len(set(listed)), (seed, number)
        assert set(listed) == known, (seed, number)
    if not isinstance(instance, dibs.Sudoku | dibs.Latin):
        variables = clauses(instance)[0]
        over = (rng.choice(variables, int(rng.integers(1, variables + 1)), replace=False) + 1).tolist()
        names = over if isinstance(instance, dibs.CNF) else [v - 1 for v in over]
        for count in (1, 2):
            each = dibs.solutions(instance, over=names, workers=count)
            found = [as_set(instance, solution) & frozenset(over) for solution in each]
            assert len(found) == len(set(found)), (seed, number, over)
            assert set(found) == {solution & frozenset(over) for solution in known}, (seed, number, over)
    return len(known)


def main(*, problems: int = 5000, seed: int = 1, pentominoes: str | None = None) -> None:
    if pentominoes:
        from pentominoes import pentominoes as rectangle

        rows, columns = map(int, pentominoes.split("x"))
        instance = rectangle(rows, columns).problem()
        dibs.count_solutions(rectangle(3, 20).problem())
        begin = process_time()
        count = sum(1 for _ in dibs.solutions(instance))
        print(f"{pentominoes}: {count:,} solutions, {process_time() - begin:.2f} s of CPU")
        return
    sizes: Counter[str] = Counter()
    team.LEAST, search.FIRST_NODES, search.NODES = (
        1,
        8,
        64,
    )  # short slices: parts are handed out from the first one on
    for number in range(problems):
        count = one(seed, number)
        names = ("too many", "none", "one", "2 to 99", "100 to 999", "1,000 to 5,000")
        sizes[names[int(np.digitize(count, [0, 1, 2, 100, 1000]))]] += 1
        if number + 1 == problems or number % 500 == 499:
            print(f"{number + 1:,} problems agree: {dict(sizes)}", flush=True)


if __name__ == "__main__":
    cyclopts.run(main)
