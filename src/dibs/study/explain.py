"""The searches that `dibs explain` and the playground show: each done as `solve` would, with its ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dibs.clock import never
from dibs.guide.lazy import LazyGuide, lazy_guide
from dibs.problem import InputError, Instance
from dibs.search.contract import Guide
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.outcome import Status
from dibs.search.plan import without_guide
from dibs.search.race import race
from dibs.study.ledger import Ledger, ledgers
from dibs.study.siblings import Report, Stopped
from dibs.wording import plural


@dataclass(frozen=True)
class Explained:
    """A search and its ledger."""

    name: str  # as the user calls it
    options: Options
    guidance: Guidance
    ledger: Ledger
    beside: int = 0  # nodes of another search of the same puzzle (policy auto)
    story: str = ""  # what else happened, in a line
    plan: tuple[Options, Guidance] | None = None  # what was asked for, if another search was done in its place

    @property
    def nodes(self) -> int:
        """Of all searches."""
        return self.ledger.nodes + self.beside


class ToExplain(NamedTuple):
    """A search that is to be explained; its options are all decided."""

    name: str
    options: Options
    guidance: Guidance
    needs_guide: bool = True  # the user has named the guide; otherwise it is left out where it cannot take the instance


class Explainer:
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
        stopped: Callable[[], bool] = never,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.instance = instance
        self.limit = limit
        self.place = place or InputError("")
        self.report = report
        self.stopped = stopped
        self.turn = turn or nullcontext()

    def explained(self, wanted: ToExplain) -> Explained:
        name, options, guidance, needs_guide = wanted
        if options.strategy == "nogoods":
            why = "its nodes need not be about a cell: choose another strategy, or policy paper or plain"
            raise InputError(f"{name}: strategy nogoods cannot be explained, {why}", self.place.file, self.place.line)
        guide = lazy_guide(guidance) if guidance.guide else None
        story = ""
        if guide and options.guide_after is None:
            if not (reason := guide.refusal(self.instance.structure)):
                guide.load(self.instance.structure)
            elif needs_guide:
                raise InputError(reason, self.place.file, self.place.line)
            else:
                story = f"without a guide: {reason}"
                options, guidance, guide = without_guide(options), Guidance(), None
        if guide and options.guide_after is not None:
            found = self._raced(name, options, guidance, guide)
        else:
            found = Explained(name, options, guidance, self.ledger(options, guide), story=story)
        return replace(found, plan=(wanted.options, wanted.guidance))

    def _raced(self, name: str, options: Options, guidance: Guidance, guide: LazyGuide) -> Explained:
        """Policy auto: a plain search, and a guided one beside it if that takes long. The one that answered."""
        some = [self.instance]
        outcome = race(some, options, guide, places=[0], block=1, stopped=self.stopped, turn=self.turn)[0]
        if outcome is None:
            raise Stopped
        plain = Explained(name, without_guide(options), Guidance(), Ledger(outcome, (), 1, 0, outcome.nodes))
        if outcome.status is Status.LIMIT:
            return plain
        if not outcome.parts:
            story = f"{name}: plain search did it, the guide was not asked"
            return replace(plain, ledger=self.ledger(plain.options, None), story=story)
        first, second = outcome.parts
        if outcome.search == second.search:
            story = f"{name}: plain search had no answer after {plural(first.nodes, 'node', ',')}"
            story += "; a guided one beside it found this"
            alone = replace(options, guide_after=None)
            return Explained(name, alone, guidance, self.ledger(alone, guide), first.nodes, story)
        story = f"{name}: plain search found this; "
        story += f"a guided one beside it had {plural(second.nodes, 'node', ',')} by then"
        return replace(plain, ledger=self.ledger(plain.options, None), beside=second.nodes, story=story)

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
