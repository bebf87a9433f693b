"""Proofs of dibs' own searches, each checked: `make proofs`.

    PYTHONPATH=tests/support python benchmarks/proofs.py [--answers 10000] [--seed 0] [--first 0] [--drat-trim FILE]
    PYTHONPATH=tests/support python benchmarks/proofs.py --cost

Random formulas, grids and problems with bounds and negation that have no solution, says another solver, are searched
under random options, policies and bad guides, a third of them with stores of nogoods that are too small. Every answer
must be UNSAT, and its proof must be accepted by dratify and, where its program is given, by drat-trim. One in ten is a
problem with few solutions, whose proof is that there are no others.

`--cost`: CPU time of searches with a proof over that without, taking turns, the best of five each; the formula beside a
proof is written after the search, and is not in it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time

import cyclopts
import numpy as np

import dibs
from dibs.bench.instances import load
from dibs.generate import sat
from dibs.problem import Instance
from dibs.search.drat import Drat
from dibs.search.external.formula import encode
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.options import Options
from dibs.search.tree.search import TreeSearch
from judge import solutions
from proving import KINDS, accepted, drawn, unsatisfiable, way
from stores import SMALL, patched

FEW = 20  # solutions that a proof excludes, at most
NODES = 5_000  # of a search: without propagation some would take hours


def main(
    *, answers: int = 10_000, seed: int = 0, first: int = 0, cost: bool = False, drat_trim: str | None = None
) -> int:
    """`cost`: CPU time with a proof over that without; `drat_trim`: the program drat-trim, where it is installed."""
    if cost:
        for name, instances, how in _cases():
            print(f"{name}: {_cost(instances, how)}", flush=True)
        return 0
    seen: Counter[str] = Counter()
    sizes: list[int] = []
    begin = told = monotonic()
    with TemporaryDirectory() as folder:
        for number in count(first):
            rng = np.random.default_rng((seed, number))
            kind, others = KINDS[number % len(KINDS)], number % 10 == 9
            instance = drawn(rng, kind) if others else unsatisfiable(rng, kind)
            options = way(rng)
            found = solutions(instance, FEW) if others else 0
            if others:
                options["max_solutions"] = found + 1 + int(rng.integers(3))
            path = Path(folder) / ("p.drat.xz" if number % 16 == 0 else "p.drat")
            try:
                with patched(SMALL) if number % 3 == 0 else nullcontext():
                    outcome = dibs.solve(instance, proof=path, max_nodes=NODES, **options)
            except ValueError:
                seen["refused options"] += 1
                continue
            if found == FEW:
                seen["too many solutions"] += 1
                continue
            if outcome.status is dibs.Status.LIMIT and not path.exists():
                seen["at the limit"] += 1
                continue
            right = outcome.solutions == found
            if not right or not path.exists() or not accepted(instance, path, found, drat_trim):
                print(f"number {number}: {kind}, {options}, {outcome.status}", file=sys.stderr)
                return 1
            sizes.append(path.stat().st_size)
            seen[outcome.search] += 1
            seen[kind] += 1
            seen["no further solution" if found else "no solution"] += 1
            path.unlink()
            if monotonic() > told + 10:
                told = monotonic()
                print(f"\r{len(sizes):,} proofs, {told - begin:.0f} s", end="", file=sys.stderr, flush=True)
            if len(sizes) >= answers:
                break
    print(f"{len(sizes):,} answers, {len(sizes):,} proofs accepted, {sum(sizes):,} bytes, largest {max(sizes):,}")
    print(", ".join(f"{name} {times:,}" for name, times in seen.items()))
    return 0


def _cases() -> Iterator[tuple[str, Sequence[Instance], Options]]:
    """What takes milliseconds at least: name, instances, options."""
    dfs, nogoods = Options(tie="impact"), Options(strategy="nogoods", restart_base=256)
    for variables in (120, 200):
        drawn = sat(8, variables=variables, clauses=round(4.7 * variables), seed=11)
        formulas = [one for one in drawn if dibs.solve(one, engine="cadical195").status == "UNSAT"]
        yield f"3-SAT, {variables} variables, nogoods", formulas, nogoods
        if variables == 120:
            yield f"3-SAT, {variables} variables, depth first", formulas, dfs
    rng = np.random.default_rng(12)
    yield "bounds and negation, nogoods", [unsatisfiable(rng, "tight") for _ in range(60)], nogoods
    twice = Options(tie="impact", max_solutions=2)
    yield "100 hard 9x9 Sudokus, no second solution, depth first", list(load("hard300"))[:100], twice
    homes = np.arange(90).reshape(10, 9)
    pigeons = [dibs.Problem(90, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())]
    yield "10 pigeons in 9 holes, depth first (7 million nodes a second)", pigeons, Options()
    homes = np.arange(72).reshape(9, 8)
    pigeons = [dibs.Problem(72, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())]
    yield "9 pigeons in 8 holes, nogoods", pigeons, nogoods


def _cost(instances: Sequence[Instance], options: Options) -> str:
    """The ratio, the time without, and the size of the proofs."""
    best, size = {False: float("inf"), True: float("inf")}, 0
    kind = NogoodSearch if options.strategy == "nogoods" else TreeSearch
    signed = [encode(instance, written=False).signed for instance in instances]
    with TemporaryDirectory() as folder, open(Path(folder) / "p.drat", "wb") as file:
        for turn in range(11):  # the first is for compilers
            file.seek(0)
            begin = process_time()
            for instance, numbers in zip(instances, signed, strict=True):
                proof = Drat(file.write, numbers) if turn % 2 else None
                kind([instance], options, proof=proof).run()
            file.flush()
            took = process_time() - begin
            if turn:
                best[bool(turn % 2)] = min(best[bool(turn % 2)], took)
            size = max(size, file.tell())
    return f"{best[True] / best[False]:.2f} of {1000 * best[False]:.0f} ms, {size:,} bytes"


if __name__ == "__main__":
    cyclopts.run(main)
