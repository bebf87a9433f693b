"""A race as a file: what `dibs explain --json` writes, and `dibs explain` reads again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from dibs.bench.experiment import Row
from dibs.problem import CNF, InputError, Sudoku
from dibs.report.explain import as_dict
from dibs.search.contract import Guide
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.study.explain import Explainer, ToExplain
from dibs.study.ledger import Ledger
from dibs.study.siblings import Stopped
from dibs.web import limits
from dibs.web.scheduling import Cancelled, Job
from dibs.web.trace import foreseen


class _Bounded(Explainer):
    """As always, but an oracle looks for the solution within the limits of a page."""

    def __init__(self, instance: Sudoku | CNF, job: Job, asking: AbstractContextManager[Any]) -> None:
        super().__init__(instance, limits.SIBLING, stopped=job.stopped, turn=asking)
        self.own = job

    def ledger(self, options: Options, guide: Guide | None) -> Ledger:
        if options.order != "oracle":
            return super().ledger(options, guide)
        known, _ = foreseen(self.instance, options, self.own)
        if known is None:
            raise InputError("the oracle found no solution within the limits")
        return super().ledger(replace(options, order="ascending"), known)


def export(
    instance: Sudoku | CNF,
    rows: Sequence[Row],
    job: Job,
    asking: Callable[[Guidance, Job], AbstractContextManager[Any]],
) -> dict[str, Any]:
    """The searches of `rows`, one or two, decision by decision."""
    try:
        found = []
        for row in rows:
            explainer = _Bounded(instance, job, asking(row.guidance, job))
            found.append(explainer.explained(ToExplain(row.name, row.options, row.guidance)))
    except Stopped:
        raise Cancelled from None
    return as_dict(instance, 1, found)
