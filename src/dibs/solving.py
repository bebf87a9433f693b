"""The calls that most users need: plan, solve one, solve many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dibs.guide.card import find
from dibs.guide.lazy import lazy_guide
from dibs.problem.structure import Instance
from dibs.ranges import checked_number
from dibs.search.contract import Ranks
from dibs.search.outcome import Outcome
from dibs.search.plan import Plan, Request
from dibs.search.solver import BLOCK, Solver
from dibs.search.stream import in_order, solve_batches

__all__ = ["plan", "solve", "solve_many"]


def instance_of(problem: Any) -> Any:
    """An instance as it is; of a `Model` what it says so far."""
    made = getattr(problem, "problem", None)
    return made() if callable(made) else problem


def ready(request: Request, guide: Ranks | None = None, proof: str | os.PathLike[str] | None = None) -> Solver:
    """A request that can be run: the guide that it names is loaded when it is first asked."""
    if guide is None and request.guidance.guide is not None:
        guide = lazy_guide(request.guidance)
        if (named := request.explicit.get("guide")) not in (None, "auto"):
            find(named)  # a name that is none is refused even where no search would ask
            takes = guide.refusal
            return Solver.of(request, guide, proof, lambda of: (why := takes(of)) and f"guide = {named!r}: {why}")
    return Solver.of(request, guide, proof)


def solver(guide: Ranks | str | None, policy: str | None, options: dict[str, Any], workers: int = 1) -> Solver:
    """What the keyword arguments of all these calls make. `workers`: cores for one instance."""
    workers = int(checked_number("workers", workers, 1, None, whole=True))
    explicit = dict(options)
    engine, proof = explicit.pop("engine", "own"), explicit.pop("proof", None)
    if isinstance(guide, str):
        explicit, guide = {**explicit, "guide": guide}, None
    found = ready(Request(policy, explicit, own_guide=guide is not None, engine=engine), guide, proof)
    found.workers = workers
    return found


def plan(problem: Any, *, guide: Ranks | str | None = None, policy: str | None = None, **options: Any) -> Plan:
    """What `solve` would do with the same arguments.

    Args:
        problem: an instance or a `Model`.
        guide: an object with a method `rank`, or the name or folder of a trained one.
        policy: auto, guided, paper or plain.
        **options: fields of `Options` and `Guidance`, in place of the policy's; also `engine` and `proof`.

    Returns:
        A `Plan`; `print(plan.describe())` says it in words.

    Examples:
        >>> import dibs
        >>> dibs.plan(dibs.Sudoku.parse("4.....1..3.....2"), policy="plain").search
        'tree'
    """
    return solver(guide, policy, options).plan(instance_of(problem))


def solve(
    problem: Any,
    *,
    guide: Ranks | str | None = None,
    policy: str | None = None,
    workers: int = 1,
    **options: Any,
) -> Outcome:
    """Solve one instance.

    Args:
        problem: an instance, which is a `Sudoku`, `Latin`, `CNF` or `Problem`, or a `Model`.
        guide: an object with a method `rank`, or the name or folder of a trained one.
        policy: auto, guided, paper or plain. Without one it is auto, unless there is a `guide` or an option says how
            to search: then it is done just so.
        workers: cores; with more than one, as many nogood searches run side by side and share what they learn, or the
            space (docs/SEARCH.md). Other searches and engines take one. Who answers depends on the clock: counters may
            differ from run to run, answers never do.
        **options: fields of `Options` (or of `Guidance`), in place of the policy's. Also `engine`: glucose4,
            cadical195, kissat or cp-sat in place of dibs' own search; `proof`: a file for a DRAT proof of UNSAT, or
            that there are no solutions but those found (docs/PROOFS.md).

    Returns:
        An `Outcome`: status, solution, and what it cost.

    Raises:
        ValueError: an option has a value that it cannot have, or the search at hand has no use for it.

    Examples:
        >>> import dibs
        >>> outcome = dibs.solve(dibs.Sudoku.parse("4.....1..3.....2"))
        >>> outcome.status, outcome.solution
        (<Status.SAT: 'SAT'>, '4123321423411432')
    """
    [outcome] = solver(guide, policy, options, workers).run([instance_of(problem)], block=1)
    assert outcome is not None
    return outcome


def solve_together(
    problems: Sequence[Instance],
    *,
    guide: Ranks | str | None = None,
    policy: str | None = None,
    places: Sequence[int] | None = None,
    block: int = BLOCK,
    **options: Any,
) -> list[Outcome]:
    """`solve` for a list in one batch on this thread: the guide is asked about all waiting searches at once.

    `places`: the places of the instances in a longer list, for `random` choices; by default they are all of it.
    `block`: how many searches share a clock; 1 times each by itself.
    """
    outcomes = solver(guide, policy, options).run(problems, places, block)
    assert all(outcomes)
    return [outcome for outcome in outcomes if outcome]


def solve_many(
    problems: Iterable[Any],
    *,
    guide: Ranks | str | None = None,
    policy: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Iterator[Outcome]:
    """`solve` for a stream of instances; outcomes come in input order.

    Constant memory: at most a few batches are read ahead. The counters are those of `solve`, whatever the batching;
    only `random` choices depend on an instance's place in the list. Ctrl-C raises after the finished ones are
    yielded, what `solve` would raise for an instance after the outcomes before it.

    Args:
        problems: instances, of any families, or `Model`s.
        guide: an object with a method `rank`, or the name or folder of a trained one.
        policy: as for `solve`.
        workers: threads; all cores, unless you say otherwise.
        **options: as for `solve`, but no `proof`.

    Returns:
        An iterator of `Outcome`s.

    Examples:
        >>> import dibs
        >>> puzzles = [dibs.Sudoku.parse("4.....1..3.....2")] * 3
        >>> [outcome.nodes for outcome in dibs.solve_many(puzzles)]
        [0, 0, 0]
    """
    if options.get("proof") is not None:
        raise ValueError("a proof is about one instance: use dibs.solve")
    return in_order(solve_batches(enumerate(map(instance_of, problems)), solver(guide, policy, options), workers))
