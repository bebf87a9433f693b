"""The searches that `dibs explain` and the playground show: each done as `solve` would, with its ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from dibs.bench.ledger import Ledger, ledgers
from dibs.bench.siblings import Report, Stopped
from dibs.guide.asks import Guide
from dibs.guide.guidance import Guidance
from dibs.problem import InputError, Instance
from dibs.report.explain import Explained, counted
from dibs.search.options import Options
from dibs.search.outcome import Status
from dibs.search.policy import Waiting, waiting
from dibs.search.race import GROWTH, alone, race


class Plan(NamedTuple):
    """A search that is to be explained."""

    name: str
    options: Options
    guidance: Guidance
    told: bool = True  # the user has named the guide; otherwise it is left out where it cannot take the instance


class Searcher:
    """Searches of one instance.

    `limit`: nodes after which the measurement of a sibling is given up; `place`: where the instance is, for errors;
    `turn` is held while a guide is asked; once `stopped()` is true, `Stopped` is raised.
    """

    def __init__(
        self,
        instance: Instance,
        limit: int,
        *,
        place: InputError | None = None,
        report: Report = lambda done, total: None,
        stopped: Callable[[], bool] = lambda: False,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.instance = instance
        self.limit = limit
        self.place = place or InputError("")
        self.report = report
        self.stopped = stopped
        self.turn = turn or nullcontext()

    def explained(self, plan: Plan) -> Explained:
        name, options, guidance, told = plan
        if options.suited(self.instance.structure).strategy == "nogoods":
            why = "its nodes need not be about a cell: choose another strategy, or policy paper or plain"
            raise InputError(f"{name}: strategy nogoods cannot be explained, {why}", self.place.file, self.place.line)
        guide = waiting(guidance) if guidance.guide else None
        story = ""
        if guide and options.after is None:
            if not (reason := guide.refusal(self.instance.structure)):
                guide.load(self.instance.structure)
            elif told:
                raise InputError(reason, self.place.file, self.place.line)
            else:
                story = f"without a guide: {reason}"
                options, guidance, guide = alone(options), Guidance(), None
        if guide and options.after is not None:
            found = self._raced(name, options, guidance, guide)
        else:
            found = Explained(name, options, guidance, self.ledger(options, guide), story=story)
        return replace(found, plan=(plan.options, plan.guidance))

    def _raced(self, name: str, options: Options, guidance: Guidance, guide: Waiting) -> Explained:
        """Policy auto: a plain search, and a guided one beside it if that takes long. The one that answered."""
        some = [self.instance]
        outcome = race(some, options, guide, places=[0], block=1, stopped=self.stopped, turn=self.turn)[0]
        if outcome is None:
            raise Stopped
        most = replace(options, nodes=outcome.nodes)
        plain = alone(most)
        if not outcome.asks:
            ledger = self.ledger(plain, None)
            story = f"{name}: plain search did it, the guide was not asked"
            return Explained(name, plain, Guidance(), ledger, story=story)
        ledger = self.ledger(replace(most, after=None), guide)
        beside = outcome.nodes - ledger.nodes
        if ledger.status is not Status.LIMIT and beside in _budgets(options.after or 0, beside):
            story = (
                f"{name}: plain search had no answer after {counted(beside, 'node')}; a guided one beside it found this"
            )
            return Explained(name, replace(options, after=None), guidance, ledger, beside, story)
        ledger = self.ledger(plain, None)
        beside = outcome.nodes - ledger.nodes
        story = f"{name}: plain search found this; a guided one beside it had {counted(beside, 'node')} by then"
        if ledger.status is not outcome.status:  # a limit of seconds: no two runs are alike
            ledger, beside, story = Ledger(outcome, (), 1, 0, outcome.nodes), 0, ""
        return Explained(name, plain, Guidance(), ledger, beside, story)

    def ledger(self, options: Options, guide: Guide | None) -> Ledger:
        return ledgers(
            [self.instance],
            options,
            guide,
            limit=self.limit,
            trees=True,
            report=self.report,
            stopped=self.stopped,
            turn=self.turn,
        )[0]


def _budgets(first: int, most: int) -> set[int]:
    """Where the plain search of a race may stand when the guided one has its turn, up to `most` nodes."""
    found = {first}
    while first < most:
        first = max(GROWTH * first, 1)
        found.add(first)
    return found
