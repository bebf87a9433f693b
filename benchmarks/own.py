"""Own problems: queens, pentominoes, and how long nogoods are where groups have bounds. CPU seconds.

    python benchmarks/own.py [--without-6x10] [--problems 30]

Queens and pentominoes are the models of examples/. The lengths are of nogoods that refute random problems with bounds,
as they are in the proofs: of the search that takes groups, and of the same search on their clauses, python-sat's
counters (`dibs.search.external.formula`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import cyclopts
import numpy as np

import dibs
from dibs.search.external.formula import encode

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from pentominoes import pentominoes
from queens import queens


def refutable(seed: int) -> Iterator[dibs.Problem]:
    """Problems whose groups are half full, without a solution: not easy, but refuted within some thousand failures."""
    for number in range(10_000):
        rng = np.random.default_rng((seed, number))
        n = int(rng.integers(28, 44))
        groups = []
        for _ in range(int(1.1 * n)):
            size = int(rng.integers(5, 11))
            some = [dibs.Not(i) if rng.random() < 0.5 else i for i in rng.choice(n, size, replace=False).tolist()]
            groups.append((size // 2, size - size // 2, some))
        problem = dibs.Problem(n, groups=groups)
        outcome = dibs.solve(problem, max_nodes=20_000)
        if outcome.status == "UNSAT" and outcome.backtracks >= 100:
            yield problem


def lengths(instance: dibs.Instance, path: Path) -> list[int]:
    """Of the lemmas in a proof, but for the last, which is empty."""
    dibs.solve(instance, strategy="nogoods", proof=path)
    lines = [line.split() for line in path.read_text("ascii").splitlines()]
    return [len(words) - 1 for words in lines if len(words) > 1 and words[0] != "d"]


def main(*, without_6x10: bool = False, problems: int = 30, seed: int = 0) -> None:
    """`without_6x10`, which takes longest; `problems`: for the lengths of nogoods."""
    queens(8).solve()
    dibs.count_solutions(pentominoes(3, 20).problem())
    for n in (65, 100, 200, 500):
        begin = process_time()
        model = queens(n)
        made = process_time()
        outcome = model.solve(max_seconds=300)
        print(
            f"queens {n}: {outcome.status}, model {made - begin:.2f} s, search {process_time() - made:.2f} s",
            flush=True,
        )
    for rows, columns in ((3, 20), *(() if without_6x10 else ((6, 10),))):
        begin = process_time()
        found = dibs.count_solutions(pentominoes(rows, columns).problem(), limit=None)
        print(f"pentominoes {rows}x{columns}: {found} solutions, {process_time() - begin:.2f} s", flush=True)
    means: list[tuple[float, float, int, int]] = []
    with TemporaryDirectory() as folder:
        for problem, _ in zip(refutable(seed), range(problems), strict=False):
            groups, clauses = (
                lengths(one, Path(folder) / "proof") for one in (problem, encode(problem).as_cnf())
            )  # fmt: skip
            means.append((float(np.mean(groups)), float(np.mean(clauses)), len(groups), len(clauses)))
    of, coded, few, many = np.array(means).T
    print(f"{len(means)} problems with bounds and no solution, seed {seed}")
    print(f"mean nogood: {of.mean():.1f} literals with groups, {coded.mean():.1f} with clauses;", end=" ")
    print(f"no longer in {np.mean(of <= coded):.0%}; nogoods at p50: {np.median(few):.0f} and {np.median(many):.0f}")


if __name__ == "__main__":
    cyclopts.run(main)
