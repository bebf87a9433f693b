"""One call for every engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import perf_counter
from typing import Any

from dibs.search.external.advisor import Advisor
from dibs.search.external.formula import encode
from dibs.search.external.options import EngineOptions
from dibs.search.external.proof import ProofFile
from dibs.search.external.registry import ENGINES, adapter, check_proofs
from dibs.search.external.task import Found, Task
from dibs.problem.structure import Instance
from dibs.search.contract import Ranks
from dibs.search.outcome import Outcome, WrongSolution


def solve(
    instance: Instance,
    engine: str = "own",
    *,
    guide: Ranks | None = None,
    proof: str | os.PathLike[str] | None = None,
    stopped: Callable[[], bool] | None = None,
    **options: Any,
) -> Outcome:
    """Solve one instance with another engine: glucose4, cadical195, kissat or cp-sat.

    Keyword arguments are fields of `EngineOptions`; engine `own` is `dibs.solve` and takes what that takes. `nodes` are
    the engine's decisions and `backtracks` its conflicts; `depth` is 0, engines do not tell. `proof`: a file for a DRAT
    proof if the answer is UNSAT. Once `stopped()` is true the outcome is LIMIT.
    """
    if proof is not None:
        check_proofs(engine)
    if guide is not None:
        check_guide(engine)
    if engine == "own":
        from dibs.search.solve import solve as search

        return search(instance, guide=guide, **options)
    settings = EngineOptions(**options)
    run = adapter(engine).run
    if not isinstance(instance, Instance):
        raise TypeError(f"{instance!r} is not an instance to solve: parse a text with dibs.CNF.parse, for example")
    advisor = None if guide is None else Advisor(guide, instance)
    file = None if proof is None else ProofFile(proof)
    try:
        formula = encode(instance, written=ENGINES[engine].clauses)
        begin = perf_counter()
        limit = float("inf") if settings.seconds is None else settings.seconds
        halt = Event()
        task = Task(
            instance=instance,
            formula=formula,
            advisor=advisor,
            proof=file is not None,
            left=lambda: begin + limit - perf_counter(),
            stopped=lambda: halt.is_set() or (stopped is not None and stopped()),
        )
        found = _aside(lambda: run(task), halt)
        took = perf_counter() - begin if found.seconds is None else found.seconds
        if file is not None and found.proof is not None:
            file.write(instance, formula, found.proof)
    finally:
        if file is not None:
            file.discard()
    return _outcome(instance, found, advisor, took)


def _aside(work: Callable[[], Found], halt: Event) -> Found:
    """Run on a thread of its own: on the main one, python-sat would jump out of its search at Ctrl-C."""
    with ThreadPoolExecutor(1, thread_name_prefix="dibs") as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except BaseException:
            halt.set()
            raise


def _outcome(instance: Instance, found: Found, advisor: Advisor | None, took: float) -> Outcome:
    """In dibs' own terms; a solution is checked by its family, which shares no code with any engine."""
    solution = None
    if found.true is not None:
        solution = instance.decode(found.true)
        if wrong := instance.violation(solution):
            raise WrongSolution(f"{instance!r}: {wrong}")
    guide_seconds = advisor.seconds if advisor else 0.0
    return Outcome(
        status=found.status,
        solution=solution,
        nodes=found.decisions,
        backtracks=found.conflicts,
        asks=advisor.asks if advisor else 0,
        depth=0,
        seconds=max(0.0, took - guide_seconds),
        solutions=int(solution is not None),
        calls=advisor.calls if advisor else 0,
        guide_seconds=guide_seconds,
    )
