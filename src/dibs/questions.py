"""What else can be asked of a problem: all solutions, how many there are, whether there is one, a sample of them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dibs.problem.structure import Instance
from dibs.problem.words import literals_over
from dibs.ranges import checked_number
from dibs.search.contract import Ranks
from dibs.search.options import ALIASES, LIMITS
from dibs.search.outcome import Outcome, Status
from dibs.search.slices import MOST
from dibs.search.solver import Solver
from dibs.solving import instance_of, solver

__all__ = ["Sample", "Solutions", "count_solutions", "is_unique", "sample", "solutions"]

COUNTED = 10_000  # `sample` is uniform where there are no more solutions than that,
COUNTING = 300_000  # and so many nodes are enough to know it
TRIES = 4  # searches for each solution that `sample` wants and has not found yet


class Solutions(Iterator[Any]):
    """Solutions, each once, as they are found. `close()` ends the search.

    `outcome` is None until they are all found; then its status is SAT, UNSAT, or LIMIT where a limit cut them short.
    """

    def __init__(self, batches: Generator[Sequence[Any], None, Outcome | None]) -> None:
        self.outcome: Outcome | None = None
        self._batches = batches
        self._each = self._found()

    def _found(self) -> Generator[Any, None, None]:
        while True:
            try:
                batch = next(self._batches)
            except StopIteration as end:
                self.outcome = end.value
                return
            yield from batch

    def __next__(self) -> Any:
        return next(self._each)

    def close(self) -> None:
        """End the search; there are no more solutions then."""
        self._each.close()
        self._batches.close()


def solutions(
    problem: Any,
    limit: int | None = None,
    *,
    over: Iterable[Any] | None = None,
    guide: Ranks | str | None = None,
    policy: str | None = None,
    workers: int = 1,
    **options: Any,
) -> Solutions:
    """Every solution once, as they are found, in constant memory.

    Args:
        problem: an instance or a `Model`.
        limit: at most so many.
        over: only these variables count: one solution for each combination of values that they have in any. They are
            cells ("r1c3") of a grid, numbers of a formula's variables, literals of a `Problem`, variables of a
            `Model` or their names.
        guide: an object with a method `rank`, or the name or folder of a trained one.
        policy: as for `solve`.
        workers: cores; several share the space, and the order of solutions depends on the clock.
        **options: as for `solve`.

    Returns:
        A stream of solutions; `close()` ends the search.

    Examples:
        >>> import dibs
        >>> len(list(dibs.solutions(dibs.Sudoku.parse("4.....1..3......"))))
        3
    """
    return opened(problem, limit, over, {**options, "guide": guide, "policy": policy, "workers": workers})


def opened(
    problem: Any, limit: int | None, over: Iterable[Any] | None, options: dict[str, Any], reading: bool = False
) -> Solutions:
    """`solutions`. `reading`: whoever takes them does so within `max_seconds`."""
    limit = _checked(limit)
    if named := sorted({"max_solutions", "count"} & options.keys()):
        raise ValueError(f"solutions takes no {named[0]}: say limit")
    if options.get("order") == "oracle":
        raise ValueError("order = 'oracle' solves the problem first: it is for solve")
    if options.get("proof") is not None:
        raise ValueError("solutions takes no proof: say max_solutions, and solve")
    instance = instance_of(problem)
    found = _solver(instance, limit, over, options)
    found.reading = reading
    return Solutions(found.stream(instance))


def _solver(instance: Instance, limit: int | None, over: Iterable[Any] | None, options: dict[str, Any]) -> Solver:
    """For several solutions, which differ in `over`."""
    explicit = {**options, "max_solutions": MOST if limit is None else limit}
    guide, policy, workers = explicit.pop("guide", None), explicit.pop("policy", None), explicit.pop("workers", 1)
    if over is not None and "root" not in explicit:
        explicit = {"strategy": "nogoods", **explicit}
    found = solver(guide, policy, explicit, workers)
    if over is not None:
        found.over = literals_over(instance, over)
        plan = found.plan(instance)
        if plan.search != "nogoods" or plan.easy is not None:  # no other search knows of it
            raise ValueError("over is for the nogood search: leave out what asks for another one")
    return found


def count_solutions(
    problem: Any, limit: int | None = 1000, *, over: Iterable[Any] | None = None, **options: Any
) -> int:
    """How many solutions there are, up to a limit.

    Args:
        problem: an instance or a `Model`.
        limit: where counting ends; None: it counts all of them.
        over: only these variables count, as for `solutions`.
        **options: as for `solve`, but no limits: a cut count would be a wrong count.

    Returns:
        The number; it is exact unless it equals `limit`.

    Examples:
        >>> import dibs
        >>> dibs.count_solutions(dibs.Sudoku.parse("4.....1..3......"))
        3
    """
    _uncut("count_solutions", options)
    instance = instance_of(problem)
    found = _solver(instance, _checked(limit), over, options)
    found.count = True
    [outcome] = found.run([instance], block=1)
    assert outcome is not None
    return outcome.solutions


def is_unique(problem: Any, **options: Any) -> bool:
    """Whether there is exactly one solution.

    Args:
        problem: an instance or a `Model`.
        **options: as for `count_solutions`.

    Returns:
        True or False.

    Examples:
        >>> import dibs
        >>> dibs.is_unique(dibs.Sudoku.parse("4.....1..3......"))
        False
    """
    if "limit" in options:
        raise ValueError("is_unique takes no limit: it looks for two solutions")
    _uncut("is_unique", options)
    return count_solutions(problem, limit=2, **options) == 1


class Sample(list[Any]):
    """Solutions, no two the same. `uniform`: every set of so many is equally likely; otherwise they are diverse."""

    def __init__(self, found: Iterable[Any], uniform: bool) -> None:
        super().__init__(found)
        self.uniform = uniform


def sample(problem: Any, n: int, seed: int = 0) -> Sample:
    """Different solutions at random.

    Where there are at most 10,000 solutions (and 300,000 nodes find them all) they are enumerated, and the sample is
    *uniform*. Otherwise each comes from a search of its own with random values first: *diverse*, but some solutions
    are likelier than others.

    Args:
        problem: an instance or a `Model`.
        n: how many; all where there are fewer.
        seed: the same seed, the same sample.

    Returns:
        A list; its `uniform` says which of the two it is.

    Examples:
        >>> import dibs
        >>> len(dibs.sample(dibs.Sudoku.parse("4.....1..3......"), 2))
        2
    """
    n = int(checked_number("n", n, 0, None, whole=True))
    seed = int(checked_number("seed", seed, 0, None, whole=True))
    instance = instance_of(problem)
    every = solutions(instance, COUNTED + 1, max_nodes=COUNTING)
    found = list(every)
    rng = np.random.default_rng(seed)
    if every.outcome is not None and every.outcome.status is not Status.LIMIT and len(found) <= COUNTED:
        return Sample((found[i] for i in rng.permutation(len(found))[:n].tolist()), True)
    drawn: dict[Any, Any] = {}
    for _ in range(TRIES * n):
        if len(drawn) == n:
            break
        how: dict[str, Any] = {"strategy": "nogoods", "order": "random", "seed": int(rng.integers(2**40))}
        with suppress(StopIteration):
            one = next(solutions(instance, 1, **how))
            drawn[_key(one)] = one
    return Sample(drawn.values(), False)


def _uncut(call: str, options: dict[str, Any]) -> None:
    """Refuses limits of what is counted."""
    if cut := sorted(options.keys() & ({*LIMITS, *ALIASES} - {"seed"})):
        raise ValueError(f"{call} takes no {cut[0]}: a cut count would be a wrong count")


def _checked(limit: int | None) -> int | None:
    """A limit as Python's own number; ValueError, in one line, where it is none."""
    return None if limit is None else min(MOST, int(checked_number("limit", limit, 1, None, whole=True)))


def _key(solution: Any) -> Any:
    """The same for the same solution."""
    return tuple(solution.items()) if isinstance(solution, dict) else tuple(solution)
