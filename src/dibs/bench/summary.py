"""Means, medians and tails of records. LIMIT runs are counted and kept in every figure, never dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dibs.bench.runner import Record
from dibs.search import Outcome, Status


@dataclass(frozen=True)
class Spread:
    """mean / median / 95th percentile (linear between ranks), and the most."""

    mean: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True)
class Summary:
    row: str
    instances: int
    limits: int  # runs that ended at a limit: their figures are lower bounds
    milliseconds: Spread  # search and model
    nodes: Spread
    backtracks: Spread
    calls: Spread  # forward passes of the row's model
    model_milliseconds: float  # what they took, on average


def summarise(records: Iterable[Record]) -> list[Summary]:
    """One summary for each row, in the order in which rows first appear."""
    rows: dict[str, list[Outcome]] = {}
    for record in records:
        rows.setdefault(record.row, []).append(record.outcome)
    return [
        Summary(
            row,
            len(outcomes),
            sum(o.status == Status.LIMIT for o in outcomes),
            _spread(outcomes, lambda o: 1e3 * (o.seconds + _model_seconds(o))),
            _spread(outcomes, lambda o: o.nodes),
            _spread(outcomes, lambda o: o.backtracks),
            _spread(outcomes, lambda o: o.calls),
            _spread(outcomes, lambda o: 1e3 * _model_seconds(o)).mean,
        )
        for row, outcomes in rows.items()
    ]


def _model_seconds(outcome: Outcome) -> float:
    """What a model cost. The oracle is a yardstick, not a way to solve: its own search is no part of the figures."""
    return outcome.guide_seconds if outcome.calls else 0.0


def _spread(outcomes: list[Outcome], figure: Callable[[Outcome], float]) -> Spread:
    values = np.array([figure(o) for o in outcomes], float)
    return Spread(float(values.mean()), float(np.median(values)), float(np.percentile(values, 95)), float(values.max()))
