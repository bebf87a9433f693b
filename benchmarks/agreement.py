"""A million (problem, options, guide) triples against a SAT solver: `make agreement`.

    PYTHONPATH=tests/support python benchmarks/agreement.py --triples 1000000 --seed 0 --workers 2
    PYTHONPATH=tests/support python benchmarks/agreement.py --bounded 20000

Random small problems of all families, half of them falling into parts that have nothing to do with one another
(isolated and empty groups, unused literals and variables), are counted by a SAT solver, and then searched under random
options and guides of every bad kind, by engines that hold many of them and with stores of nogoods that are too small;
problems with bounds are among them, and several solutions by nogoods.
Status, number of solutions and solution must be right in every triple; options that dibs refuses are counted apart.

`--bounded N`: N problems with bounds and no others, groups that overlap, are empty, or have up to 1,000 literals.

Work comes in pieces, each a function of the seed and its number: `--first 120` goes on after 120 of them.
"""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import cyclopts
import numpy as np

from dibs import Outcome
from dibs.problem import Instance
from dibs.search.options import OF_GUIDES, OF_TREE
from dibs.solving import solve_together, solver
from guides import BAD, SURE, Scored, meddling
from judge import solutions
from randoms import bounded, cnf, formula, formulas, latin, problem, siblings, sudoku, tight, union, wide
from stores import SMALL, patched

MOST = 12  # solutions counted
WAYS = 48  # options and guides that the problems of a piece meet
BOUNDED_WAYS = 8  # the same, of problems with bounds alone
SHOWN = 20  # faults that are kept in words

GUIDES = {**BAD, **SURE, "meddling": meddling}
FIELDS: dict[str, tuple[Any, ...]] = {
    "level": ("eliminate", "naked", "hidden"),
    "tie": ("index", "degree", "impact", "random"),
    "order": ("ascending", "lcv", "mcv", "jw", "random", "oracle"),
    "trigger": ("always", "binary", "ternary"),
    "select": ("mrv", "confident", "first"),
    "reuse": (0.0, 0.5, 0.9, 1.0),
    "max_asks": (0, 1, 3),
    "strategy": ("dfs", "restarts", "nogoods"),
    "restart_base": (1, 2, 8),
    "guide_after": (0, 1, 5),
    "max_nodes": (0, 1, 5, 50),
    "max_solutions": (2, 3, MOST),
    "root": ("singles", "locked"),
    "seed": (1, 2**40),
}
RARE = {
    "max_nodes": 0.1,
    "guide_after": 0.3,
    "max_asks": 0.2,
    "order": 0.4,
    "root": 0.1,
}  # Chance that a field is given; otherwise a half


@dataclass
class Tally:
    """What became of the triples."""

    pieces: int = 0
    problems: int = 0
    triples: int = 0
    refused: int = 0  # not triples: dibs does not take these options together
    limits: int = 0  # ended with LIMIT, as they were asked to
    wrong: int = 0
    exceptions: int = 0
    words: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("pieces", "problems", "triples", "refused", "limits", "wrong", "exceptions"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.words = (self.words + other.words)[:SHOWN]

    def __str__(self) -> str:
        return f"{self.problems:,} problems, {self.triples:,} triples: {self.wrong} wrong, {self.exceptions} exceptions"


def run(triples: int, seed: int, report: Callable[[Tally], None] = lambda _: None, first: int = 0) -> Tally:
    """At least so many triples, in this process; the same seed gives the same ones."""
    found = Tally()
    for number in count(first):
        if found.triples >= triples:
            break
        found.add(piece(seed, number))
        report(found)
    return found


def piece(seed: int, number: int, only_bounded: bool = False) -> Tally:
    """Some problems under WAYS options each."""
    rng = np.random.default_rng((seed, number))
    problems = _bounded_problems(rng) if only_bounded else _problems(rng)
    known = [solutions(each, MOST) for each in problems]
    found = Tally(pieces=1, problems=len(problems))
    for _ in range(BOUNDED_WAYS if only_bounded else WAYS):
        options, guide = _way(rng, only_bounded)
        small = rng.random() < 0.5
        taken = [one for one in zip(problems, known, strict=True) if _taken(one[0], options, guide)]
        found.refused += len(problems) - len(taken)
        if not taken:
            continue
        block = int(rng.choice([1, 3, 64]))
        with patched(SMALL if small else {}):
            outcomes = _outcomes([each for each, _ in taken], options, guide, block)
        for (each, total), outcome in zip(taken, outcomes, strict=True):
            found.triples += 1
            if isinstance(outcome, Exception):
                found.exceptions += 1
                fault: str | None = f"{type(outcome).__name__}: {outcome}"
            else:
                found.limits += outcome.status == "LIMIT"
                fault = _fault(each, total, outcome, options)
                found.wrong += fault is not None
            if fault and len(found.words) < SHOWN:
                how = f"{options}, guide {guide}, block {block}, {'small' if small else 'usual'} stores"
                found.words.append(f"piece {number}: {each!r} with {total} solutions, {how}: {fault}")
    return found


def _problems(rng: np.random.Generator) -> list[Instance]:
    made: list[Instance] = []
    for _ in range(6):
        made += siblings(rng, union(rng), 3)
    for _ in range(2):
        made += siblings(rng, problem(rng), 3)
    made += [bounded(rng) for _ in range(6)]
    made += [formulas(rng) for _ in range(4)]
    made += [cnf(rng) for _ in range(3)]
    made += [formula(rng, int(rng.integers(6, 15)), float(rng.uniform(3, 6)))]
    made += [sudoku(rng, (2, 2), int(rng.integers(0, 9))) for _ in range(6)]
    made += [sudoku(rng, (2, 3), int(rng.integers(8, 22))) for _ in range(3)]
    n = int(rng.integers(2, 6))
    made += [latin(rng, n, int(rng.integers(0, n * n))) for _ in range(5)]
    return made


def _bounded_problems(rng: np.random.Generator) -> list[Instance]:
    made: list[Instance] = [bounded(rng) for _ in range(24)]
    return [*made, *(tight(rng) for _ in range(6)), *(wide(rng) for _ in range(10))]


def _way(rng: np.random.Generator, only_bounded: bool = False) -> tuple[dict[str, Any], tuple[str, bool] | None]:
    """Options, and a guide's name with whether it is static. `only_bounded`: for the search that takes bounds."""
    options = {
        name: values[int(rng.integers(len(values)))]
        for name, values in FIELDS.items()
        if rng.random() < RARE.get(name, 0.5)
    }
    guide = (str(rng.choice(list(GUIDES))), bool(rng.random() < 0.3)) if rng.random() < 0.7 else None
    if only_bounded:
        options["strategy"] = "nogoods"
    if options.get("strategy") == "nogoods" and rng.random() < 0.95:
        options = {name: value for name, value in options.items() if name not in OF_TREE}
        if options.get("level") == "eliminate":
            options["level"] = "naked"
        if options.get("order") in ("lcv", "mcv", "jw"):
            options["order"] = "random"
    if guide is None and rng.random() < 0.95:
        options = {name: value for name, value in options.items() if name not in OF_GUIDES and value != "confident"}
    if guide is not None and options.get("order") == "oracle" and rng.random() < 0.95:
        del options["order"]
    if rng.random() < 0.1:
        options["policy"] = "plain" if guide is None or rng.random() < 0.5 else "auto"
    return options, guide


def _taken(each: Instance, options: dict[str, Any], guide: tuple[str, bool] | None) -> bool:
    """Whether dibs takes these options together for a problem: one with bounds, for instance, has no tree search."""
    try:
        solver(_guide(guide), options.get("policy"), {k: v for k, v in options.items() if k != "policy"}).plan(each)
    except ValueError:
        return False
    return True


def _guide(guide: tuple[str, bool] | None) -> Scored | None:
    return None if guide is None else Scored(GUIDES[guide[0]], guide[1])


def _outcomes(
    problems: list[Instance], options: dict[str, Any], guide: tuple[str, bool] | None, block: int
) -> list[Outcome | Exception]:
    """Of all in one batch; of each by itself where that raises."""
    try:
        return list(solve_together(problems, guide=_guide(guide), block=block, **options))
    except Exception as error:
        if len(problems) == 1:
            return [error]
        return [outcome for each in problems for outcome in _outcomes([each], options, guide, block)]


def _fault(problem: Instance, total: int, outcome: Outcome, options: dict[str, Any]) -> str | None:
    """What is wrong with an outcome, given that the problem has `total` solutions, MOST if it has more."""
    wanted = min(total, options.get("max_solutions", 1))
    limited = "max_nodes" in options
    if outcome.status == "LIMIT":
        if not limited:
            return "LIMIT without a limit"
    elif outcome.status != ("SAT" if total else "UNSAT"):
        return str(outcome.status)
    elif outcome.solutions != wanted and not limited:
        return f"{outcome.solutions} solutions"
    if outcome.solutions > wanted:
        return f"{outcome.solutions} solutions"
    if limited and outcome.nodes > options["max_nodes"]:
        return f"{outcome.nodes} nodes"
    if (outcome.solution is None) == bool(outcome.solutions):
        return "a count without a solution, or the reverse"
    return None if outcome.solution is None else problem.violation(outcome.solution)


def main(*, triples: int = 1_000_000, seed: int = 0, first: int = 0, workers: int = 2, bounded: int = 0) -> None:
    """`first`: pieces that were done before; `bounded`: so many problems with bounds, and no others."""
    if bounded:
        triples = 0
    found, begin = Tally(), perf_counter()
    solve_together([cnf(np.random.default_rng(0))])  # compiles once, before there are processes
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    ahead: deque[Future[Tally]] = deque()
    numbers = count(first)
    try:
        while found.triples < triples or found.problems < bounded:
            while len(ahead) < 2 * workers:
                ahead.append(pool.submit(piece, seed, next(numbers), bounded > 0))
            found.add(ahead.popleft().result())
            took = perf_counter() - begin
            line = f"{found}; {found.pieces:,} pieces, {found.triples / took:.0f} a second, {took:.0f} s"
            print(line, end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"\ninterrupted: --first {first + found.pieces} goes on", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
    took = perf_counter() - begin
    print(*found.words, sep="\n", end="\n" if found.words else "")
    rate = found.triples / took
    print(f"{found.refused:,} refused, {found.limits:,} at a limit, {took:.0f} s, {rate:.0f} triples a second")
    print(found)
    done = found.triples >= triples and found.problems >= bounded
    sys.exit(found.wrong + found.exceptions > 0 or not done)


if __name__ == "__main__":
    cyclopts.run(main)
