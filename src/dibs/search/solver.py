"""A request that is ready to run: its guide, a plan for each structure that it meets, and the searches of the plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from dibs.problem.structure import Instance, Structure
from dibs.search.contract import Guide, Ranks, Searcher, as_guide, never
from dibs.search.oracle import Known, Oracle, foresee
from dibs.search.outcome import Outcome, Status
from dibs.search.plan import Plan, Request

BLOCK = 64  # searches that one call of the kernel advances in a batch


class Solver:
    """Solves instances as a request says, on any number of threads: they ask the guide one at a time, in `turn`.

    `guide`: the user's own, or the one that the request names.
    """

    def __init__(self, request: Request, guide: Ranks | None = None) -> None:
        self.request = request
        self.guide: Guide | None = None if guide is None else as_guide(guide)
        self.turn = Lock()
        self._plans: WeakKeyDictionary[Structure, Plan] = WeakKeyDictionary()
        if request.options.order == "oracle":
            self.guide = Oracle()
        elif self.guide is None and request.guidance.guide is not None:
            from dibs.guide.lazy import lazy_guide

            self.guide = lazy_guide(request.guidance)

    def plan(self, problem: Instance) -> Plan:
        """Made once for each structure."""
        if not isinstance(problem, Instance):
            raise TypeError(
                f"{problem!r} is not an instance to solve: parse a text with dibs.Sudoku.parse, for example"
            )
        found = self._plans.get(problem.structure)
        if found is None:
            found = self._plans[problem.structure] = self.request.plan(problem.structure)
        return found

    def run(
        self,
        problems: Sequence[Instance],
        places: Sequence[int] | None = None,
        block: int = BLOCK,
        stopped: Callable[[], bool] = never,
    ) -> list[Outcome | None]:
        """Outcomes of a batch, None where it was stopped; instances that share a structure are searched together.

        `places`: where they are in a longer list, for `random` choices; `block`: as for `TreeSearch`.
        """
        shapes: dict[Structure, list[int]] = {}
        for i, problem in enumerate(problems):
            self.plan(problem)
            shapes.setdefault(problem.structure, []).append(i)
        outcomes: list[Outcome | None] = [None] * len(problems)
        for members in shapes.values():
            some = [problems[i] for i in members]
            where = members if places is None else [places[i] for i in members]
            found = self._alike(some, self.plan(some[0]), where, block, stopped)
            for i, outcome in zip(members, found, strict=True):
                outcomes[i] = outcome
        return outcomes

    def _alike(
        self, some: Sequence[Instance], plan: Plan, places: Sequence[int], block: int, stopped: Callable[[], bool]
    ) -> list[Outcome | None]:
        if isinstance(self.guide, Oracle):
            return self._foreseen(some, plan, places, block, stopped)
        return self._searched(some, plan, self.guide if plan.guided else None, places, block, stopped)

    def _searched(
        self,
        some: Sequence[Instance],
        plan: Plan,
        guide: Guide | None,
        places: Sequence[int],
        block: int,
        stopped: Callable[[], bool],
    ) -> list[Outcome | None]:
        """Instances that share a structure."""
        if plan.raced:
            from dibs.search.race import race

            assert guide is not None
            return race(some, plan.options, guide, places=places, block=block, stopped=stopped, turn=self.turn)
        search = searcher(some, plan, guide, places, block)
        search.run(guide, stopped, self.turn)
        return search.outcomes()

    def _foreseen(
        self, some: Sequence[Instance], plan: Plan, places: Sequence[int], block: int, stopped: Callable[[], bool]
    ) -> list[Outcome | None]:
        """With an oracle: its own search has the same limits, and its time is guide time."""
        known, took = foresee(some, plan.options, block=block, stopped=stopped)
        going = np.flatnonzero(known.decided).tolist()
        lost = None if stopped() else Outcome(Status.LIMIT, None, 0, 0, 0, 0, 0.0, 0)
        outcomes: list[Outcome | None] = [lost] * len(some)
        limit = plan.options.max_seconds
        # With a limit of seconds each has as much as the oracle left it.
        for rows in [[i] for i in going] if limit is not None else [going] if going else []:
            left = None if limit is None else max(0.0, limit - took[rows[0]])
            rest = replace(plan, options=replace(plan.options, max_seconds=left))
            where = [places[i] for i in rows]
            found = self._searched([some[i] for i in rows], rest, known, where, block, stopped)
            for i, outcome in zip(rows, found, strict=True):
                outcomes[i] = outcome
        return [
            outcome and replace(outcome, guide_seconds=outcome.guide_seconds + seconds)
            for outcome, seconds in zip(outcomes, took.tolist(), strict=True)
        ]


def searcher(
    some: Sequence[Instance],
    plan: Plan,
    guide: Guide | Known | None,
    places: Sequence[int] | None = None,
    block: int = 1,
) -> Searcher:
    """The search that a plan names, of instances that share a structure, before its first step."""
    static = guide is not None and guide.static
    if plan.search == "nogoods":
        from dibs.search.nogoods.batch import NogoodSearch

        takes = guide is not None and guide.refusal(some[0].structure) is None
        return NogoodSearch(some, plan.options, guided=takes, static=static, places=places)
    from dibs.search.tree.search import TreeSearch

    return TreeSearch(some, plan.options, guided=guide is not None, static=static, block=block, places=places)
