"""Runs an experiment: every row on every instance, interleaved, one search at a time so that times mean something.

Rows with a trained guide run many instances at once instead: a model is asked about a batch, and the time of a search
is its share of the batch's. Rows that search without their guide first (`after`) take turns with the plain ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from dibs.bench.experiment import Experiment, Row
from dibs.guide import DiBS
from dibs.guide.denoiser import Denoiser
from dibs.guide.guidance import Runtime
from dibs.problem import InputError, Instance
from dibs.search import Outcome, solve
from dibs.search.solve import GUIDED_BATCH, solve_together


@dataclass(frozen=True)
class Record:
    """One instance under one row."""

    row: str
    instance: int
    outcome: Outcome


def run(experiment: Experiment, instances: Sequence[Instance]) -> Iterator[Record]:
    """All rows that search one instance at a time take turns: whatever else the machine does hits them alike.

    Of every `GUIDED_BATCH` instances the rows that ask a guide about many at once come last.
    """
    rows = list(zip(experiment.rows, _guides(experiment.rows, instances), strict=True))
    single = [(row, guide) for row, guide in rows if guide is None or row.options.after is not None]
    guided = [(row, guide) for row, guide in rows if guide is not None and row.options.after is None]
    for first in range(0, len(instances), GUIDED_BATCH):
        some = instances[first : first + GUIDED_BATCH]
        for number, instance in enumerate(some, first):
            for row, guide in single:
                policy = "plain" if guide is None and row.options.order != "oracle" else None
                outcome = solve(instance, guide=guide, policy=policy, **asdict(row.options))
                yield Record(row.name, number, outcome)
        for row, guide in guided:
            for number, outcome in enumerate(solve_together(some, guide=guide, **asdict(row.options)), first):
                yield Record(row.name, number, outcome)


def _guides(rows: Sequence[Row], instances: Sequence[Instance]) -> list[DiBS | None]:
    """The guide of each row, before any search: one that is not there or cannot take these puzzles raises at once."""
    models: dict[tuple[str, int, Runtime, bool], Denoiser] = {}
    guides: list[DiBS | None] = []
    for row in rows:
        wanted = row.guidance
        if wanted.guide is None:
            guides.append(None)
            continue
        key = wanted.guide, wanted.threads, wanted.runtime, wanted.bare
        if key not in models:
            models[key] = Denoiser.load(*key[:3], bare=wanted.bare)
        for structure in {instance.structure: None for instance in instances}:
            if reason := models[key].refusal(structure):
                raise InputError(f"row {row.name!r}: {reason}")
        guides.append(DiBS(models[key], wanted.alpha, wanted.steps))
    return guides
