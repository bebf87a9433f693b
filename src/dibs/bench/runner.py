"""Runs an experiment: every row on every instance, interleaved, one search at a time so that times mean something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from dibs.bench.experiment import Experiment
from dibs.problem import Instance
from dibs.search import Outcome, solve


@dataclass(frozen=True)
class Record:
    """One instance under one row."""

    row: str
    instance: int
    outcome: Outcome


def run(experiment: Experiment, instances: Sequence[Instance]) -> Iterator[Record]:
    """All rows take turns on each instance: whatever else the machine does meanwhile hits them alike."""
    for number, instance in enumerate(instances):
        for row in experiment.rows:
            yield Record(row.name, number, solve(instance, **asdict(row.options)))
