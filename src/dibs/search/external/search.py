"""Engines of others as a `Searcher`: the guide is asked once, about the roots, then the engine does the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import Late, never
from dibs.dtypes import Bools
from dibs.problem.structure import Instance
from dibs.search.contract import Asks, Searcher, checked
from dibs.search.external.formula import encode
from dibs.search.external.proof import ProofFile
from dibs.search.external.registry import ENGINES, adapter, check_guide, check_proofs
from dibs.search.external.task import Found, Task
from dibs.search.external.wishes import wishes
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, verified
from dibs.search.root import roots


class EngineSearch(Searcher):
    """Instances that share a structure, one after the other.

    `nodes` of an outcome are the engine's decisions and `backtracks` its conflicts; `depth` is 0, engines do not tell.
    `proof`: a file for a DRAT proof if the answer, of the only instance, is UNSAT. `between`: what is called after each
    slice of so many conflicts, where the engine has slices; it ends where that returns True. `lemmas`: clauses that
    follow from the only instance, for an engine that has clauses; a proof would have to derive them.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        options: Options,
        engine: str,
        *,
        guided: bool = False,
        proof: ProofFile | None = None,
        between: Callable[[int], bool] | None = None,
        lemmas: Sequence[Sequence[int]] = (),
    ) -> None:
        self.adapter = adapter(engine)
        if guided:
            check_guide(engine)
        if proof is not None:
            check_proofs(engine)
        self.instances, self.options, self.engine, self.proof = instances, options, engine, proof
        self.structure = instances[0].structure
        self._lemmas = lemmas
        self._between = between or (lambda conflicts: False)
        self._wishes: list[NDArray[np.int8] | None] = [None] * len(instances)
        self._guide_seconds, self._calls = np.zeros(len(instances)), np.zeros(len(instances), np.int64)
        self._asking, self._guided = guided, guided
        self._waiting: tuple[Asks, NDArray[np.int64], Bools, Bools] | None = None  # asks, of which instances, states
        self._answered = np.zeros(0, np.int64)
        self._handing = 0.0  # seconds that it took to put the asks together
        self._outcomes: list[Outcome | None] = [None] * len(instances)

    def advance(self, stopped: Callable[[], bool] = never) -> Asks | None:
        if self._asking:
            self._asking = False
            begin = perf_counter()
            root = roots(self.instances)
            rows = np.flatnonzero(root.consistent & root.open.any(axis=1))
            some = [self.instances[i] for i in rows.tolist()]
            open_, true = root.open[rows], root.true[rows]
            # Copies: a guide may do what it likes to what it is given.
            asks = Asks.of(self.structure, some, open_.copy(), true.copy(), rows=rows.copy())
            self._handing = perf_counter() - begin
            if len(rows):
                self._waiting = asks, rows, open_, true
                return asks
        for i, outcome in enumerate(self._outcomes):
            if outcome is None and not stopped():
                found = self._solve(i, stopped)
                if found.status is not Status.LIMIT or not stopped():
                    self._outcomes[i] = found
        return None

    def answer(self, asks: Asks, scores: NDArray[Any]) -> None:
        if self._waiting is None or asks is not self._waiting[0]:
            raise ValueError("these asks were answered already")
        _, rows, opens, trues = self._waiting
        self._answered = rows
        scores = checked(scores, (len(rows), self.structure.literals))
        self._waiting = None
        for row, open_, true, mine in zip(rows.tolist(), opens, trues, scores, strict=True):
            wanted = wishes(self.structure, open_, mine)
            if wanted.any():  # what follows from the givens is certain
                wanted[~open_] = np.where(true, 1, -1)[~open_]
            self._wishes[row] = wanted

    def charge(self, seconds: float, passes: int) -> None:
        self._guide_seconds[self._answered] += (seconds + self._handing) / len(self._answered)
        self._calls[self._answered] += passes

    def patience(self) -> float:
        limit = self.options.max_seconds
        return inf if limit is None or self._waiting is None else limit * len(self._waiting[1])

    def outcomes(self) -> list[Outcome | None]:
        return list(self._outcomes)

    def _solve(self, i: int, stopped: Callable[[], bool]) -> Outcome:
        instance, asked = self.instances[i], float(self._guide_seconds[i])
        limit = inf if self.options.max_seconds is None else self.options.max_seconds - asked
        end, halt = perf_counter() + limit, Event()  # writing the formula is on the clock, but not the engine's time
        try:
            formula = encode(instance, ENGINES[self.engine].clauses, lambda: perf_counter() >= end)
            begin = perf_counter()
            task = Task(
                instance=instance,
                formula=formula._replace(clauses=[*formula.clauses, *self._lemmas]) if self._lemmas else formula,
                wishes=self._wishes[i],
                proof=self.proof is not None,
                left=lambda: end - perf_counter(),
                stopped=lambda: halt.is_set() or stopped(),
                between=self._between,
            )
            found = _aside(lambda: self.adapter.run(task), halt)
            took = perf_counter() - begin if found.seconds is None else found.seconds
            if self.proof is not None and found.proof is not None:
                self.proof.write(instance, formula, found.proof)
        except Late:
            found, took = Found(Status.LIMIT, None, 0, 0), 0.0
        solution = None if found.true is None else verified([instance], [found.true])[0]
        return Outcome(
            status=found.status,
            solution=solution,
            nodes=found.decisions,
            backtracks=found.conflicts,
            asks=int(self._wishes[i] is not None),
            depth=0,
            seconds=took,
            solutions=int(solution is not None),
            calls=int(self._calls[i]),
            guide_seconds=asked,
            search=f"{self.engine} + guide" if self._guided else self.engine,
        )


def _aside(work: Callable[[], Found], halt: Event) -> Found:
    """Run on a thread of its own: on the main one, python-sat would jump out of its search at Ctrl-C."""
    with ThreadPoolExecutor(1, thread_name_prefix="dibs") as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except BaseException:
            halt.set()
            raise
