"""Whether a guide pays: dibs with and without it and every engine that is installed, on instances it has not seen.

One process, one instance after the other, all contenders in turn on each. All of a contender's time is on the clock,
the guide's included. A contender that has no answer within the limit has used all of it. Where there is not time
for all, other engines are run on the first instances only: what is to be said is first of all whether the guide helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.bench.contender import Contender, Loads
from dibs.bench.experiment import Row
from dibs.guide.card import find
from dibs.guide.lazy import lazy_guide
from dibs.problem import InputError, Instance
from dibs.search.contract import Ranks
from dibs.search.external.registry import ENGINES, installed
from dibs.search.guidance import Guidance
from dibs.search.outcome import Status
from dibs.search.plan import Request
from dibs.training.source import Source, collect

Floats = NDArray[np.float64]

WITH, WITHOUT = "dibs, this guide", "dibs"
DRAWS = 1_000  # of the bootstrap
SURE = 0.98  # of the draws must say so: with 0.9 one guide in ten that changes nothing was found to pay
ENOUGH = 10  # instances: on fewer nobody can be sure
WORTH = 0.95  # of the time without: less of a gain is none
PEERS = 0.6  # of the time: after it, other engines are not run any more
LEAST = 3  # instances, however long they take


@dataclass(frozen=True)
class Times:
    """Of one contender."""

    name: str
    seconds: tuple[float, ...]  # of each instance that it was run on; the limit where it was not solved
    solved: int

    @property
    def p50(self) -> float:
        return float(np.percentile(self.seconds, 50))

    @property
    def p95(self) -> float:
        return float(np.percentile(self.seconds, 95))

    @property
    def mean(self) -> float:
        return float(np.mean(self.seconds))


@dataclass(frozen=True)
class Verdict:
    """What was measured on so many `instances` with a `limit` in seconds, and what it says."""

    times: tuple[Times, ...]
    instances: int
    limit: float
    training: float  # seconds that the guide has cost; 0: not known

    def of(self, name: str) -> Times:
        return next(one for one in self.times if one.name == name)

    @property
    def peers(self) -> tuple[Times, ...]:
        return tuple(one for one in self.times if one.name not in (WITH, WITHOUT))

    @property
    def pays(self) -> bool:
        """Whether the guide makes it faster, in sum, and not only by chance: most drawings of instances say so."""
        own, plain = (np.array(self.of(name).seconds) for name in (WITH, WITHOUT))
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(own), (DRAWS, len(own)))
        ratio = own[drawn].sum(axis=1) / plain[drawn].sum(axis=1)
        return bool(len(own) >= ENOUGH and own.sum() < WORTH * plain.sum() and (ratio < 1).mean() >= SURE)

    @property
    def breaks_even(self) -> float:
        """Instances after which training has paid for itself; infinite where it never does."""
        gain = self.of(WITHOUT).mean - self.of(WITH).mean
        return self.training / gain if self.training and self.pays and gain > 0 else inf

    def beside(self, peer: Times) -> float:
        """The mean time with the guide on the instances that a peer was run on."""
        return float(np.mean(self.of(WITH).seconds[: len(peer.seconds)]))

    def __str__(self) -> str:
        own, plain = self.of(WITH), self.of(WITHOUT)
        p50, p95 = own.p50 / plain.p50, own.p95 / plain.p95
        ratios = f"with it dibs takes {p50:.2f} of the time at the median and {p95:.2f} at p95 ({self._solved()})"
        if not self.pays:
            if own.mean < WORTH * plain.mean:
                return f"Do not use this guide yet: {ratios}, but that may be chance; judge it on more instances."
            first = min(len(one.seconds) for one in self.times)  # all were run on these
            better = min(self.times, key=lambda one: sum(one.seconds[:first]))
            if better.name == WITH:
                return (
                    f"Do not use this guide: {ratios}; in sum that is no gain, {own.mean / plain.mean:.2f} of the time."
                )
            return f"Do not use this guide: {ratios}; the quickest here is {better.name}."
        best = min(self.peers, key=lambda one: one.mean, default=None)
        beside = ""
        if best is not None:
            mean = self.beside(best)
            faster = "faster than" if mean < best.mean else "but slower than"
            beside = f", {faster} {best.name} ({_seconds(mean)} against {_seconds(best.mean)} on average)"
        paid = f"; training has paid after {self.breaks_even:,.0f} instances" if self.training else ""
        return f"Use this guide: {ratios}{beside}{paid}."

    def _solved(self) -> str:
        own, plain = self.of(WITH), self.of(WITHOUT)
        return f"{own.solved} of {self.instances} solved in {self.limit:g} s, {plain.solved} without"

    def as_dict(self) -> dict[str, Any]:
        figures = [
            {**asdict(one), "seconds": [round(s, 6) for s in one.seconds], "p50": one.p50, "p95": one.p95}
            for one in self.times
        ]
        even = None if self.breaks_even == inf else self.breaks_even
        return {
            "verdict": str(self),
            "pays": self.pays,
            "instances": self.instances,
            "limit_seconds": self.limit,
            "training_seconds": self.training,
            "breaks_even_after": even,
            "contenders": figures,
        }


def judge_guide(guide: str | Path | Ranks, source: Source, *, instances: int = 100, limit: float = 10.0) -> Verdict:
    """Judge any guide by the clock, also one that is an object around your own network.

    Args:
        guide: its name or folder, or an object with `rank(asks)`, such as `dibs.DiBS(your_network)`.
        source: instances, as `dibs.train` takes them.
        instances: at most so many.
        limit: seconds for one.

    Returns:
        A `Verdict`: what was measured, and a sentence.
    """
    found = find(str(guide)) if isinstance(guide, str | Path) else guide
    return judge(found, collect(source, instances).instances, limit=limit, seconds=inf)


def judge(
    guide: Path | Ranks,
    instances: Sequence[Instance],
    *,
    limit: float,
    seconds: float,
    training: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Verdict:
    """Run all contenders on as many of the instances as `seconds` allow, at least on LEAST."""
    if isinstance(guide, Path):
        _fits(guide, instances)
    limits = {"max_seconds": limit}
    own = None if isinstance(guide, Path) else guide
    named = {"guide": str(guide)} if own is None else {}
    requests = {WITH: Request("auto", {**named, **limits}, own_guide=own is not None), WITHOUT: Request("auto", limits)}
    requests |= {name: Request(None, limits, engine=name) for name in ENGINES if installed(name)}
    loads, rows = Loads(), [Row(name, one.options, one.guidance, request=one) for name, one in requests.items()]
    contenders = [Contender(row, instances[:1], loads, own if row.name == WITH else None) for row in rows]
    times: dict[str, list[float]] = {row.name: [] for row in rows}
    solved = dict.fromkeys(times, 0)
    begin, done = monotonic(), 0
    for place, instance in enumerate(instances):
        took = monotonic() - begin
        if place >= LEAST and took > seconds:
            break
        if place >= LEAST and took > PEERS * seconds:
            contenders = contenders[:2]  # with the guide and without it
        for turn in range(len(contenders)):
            one = contenders[(place + turn) % len(contenders)]
            timed = one.solve(instance, place)
            answered = timed.outcome.status is not Status.LIMIT
            all_of_it = timed.outcome.seconds + timed.outcome.guide_seconds
            times[one.row.name].append(min(all_of_it, limit) if answered else limit)
            solved[one.row.name] += answered
        done += 1
        progress(done, len(instances))
    found = tuple(Times(name, tuple(took), solved[name]) for name, took in times.items())
    return Verdict(found, done, limit, training)


def _fits(guide: Path, instances: Sequence[Instance]) -> None:
    """Refuse a guide of another family also where the searches would never ask it."""
    loaded = lazy_guide(Guidance(guide=str(guide)))
    for structure in {id(one.structure): one.structure for one in instances}.values():
        if (reason := loaded.refusal(structure)) is not None:
            raise InputError(reason, str(guide))


def _seconds(value: float) -> str:
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
