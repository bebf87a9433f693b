"""Searches whose options are all decided: no policy, nothing left to a plan."""

from __future__ import annotations

from collections.abc import Sequence

from dibs import Options, Oracle, Outcome
from dibs.problem import Instance
from dibs.search.contract import Ranks
from dibs.search.plan import Plan
from dibs.search.solver import Solver


def exactly(instances: Sequence[Instance], options: Options, guide: Ranks | None = None) -> list[Outcome]:
    """What `solve` does once its plan has these options."""
    asked = Oracle() if options.order == "oracle" else guide
    plan = Plan.exactly(options, guided=asked is not None)
    outcomes = Solver(lambda structure: plan, asked).run(instances, block=1)
    assert all(outcomes)
    return [outcome for outcome in outcomes if outcome]
