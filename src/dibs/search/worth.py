"""What an ask is worth: the coefficients of trigger `worth`, and its price.

Both expectations are of a state with w open literals, d decisions above it and a values at the domain that MRV takes:

    nodes of a failing sibling        = exp(c0 + c1 log w + c2 d + c3 log a)
    the guide's hit rate at the domain = 1 / (1 + exp(-(g0 + g1 log w + g2 d + g3 log a)))

`dibs model worth` fits them to records of searches; those in data/worth.json come with dibs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from dibs.problem.structure import Instance, Level
from dibs.problem.text import InputError
from dibs.search.contract import Guide
from dibs.search.options import Options

SAMPLE = 64  # instances whose first states are shown to the guide to see what it costs
NODES = 2_000  # of plain search, to see what a node costs
TERMS = 4


class Worth(NamedTuple):
    cost: tuple[float, ...]  # [TERMS]
    gain: tuple[float, ...]  # [TERMS]


@cache
def worth_of(level: Level, source: str | None = None) -> Worth:
    """The coefficients for a level, from a file or dibs' own.

    There are none for `eliminate`, which takes those of `naked`, and for `locked`, which takes those of `hidden`.
    """
    file = Path(str(source or files("dibs") / "data" / "worth.json"))
    wanted = {"eliminate": "naked", "locked": "hidden"}.get(level, level)
    try:
        found = json.loads(file.read_text())["levels"][wanted]
        cost, gain = (tuple(float(x) for x in found[part]) for part in ("cost", "gain"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(file)) from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"is no file of `dibs model worth` with level {wanted}", str(file)) from None
    if not len(cost) == len(gain) == TERMS or not all(map(isfinite, cost + gain)):
        raise InputError(f"level {wanted}: cost and gain have {TERMS} numbers each", str(file))
    return Worth(cost, gain)


def price(instances: Sequence[Instance], options: Options, guide: Guide) -> float:
    """What an ask costs, in nodes: both are timed on the first instances, whose searches are not disturbed."""
    from dibs.search.engine import Engine

    some = [one for one in instances[:SAMPLE] if one.structure is instances[0].structure]
    asks = Engine(some, replace(options, trigger="always"), guided=True).advance()
    if asks is None:
        return 0.0
    guide.rank(asks)  # whatever happens only once
    begin = perf_counter()
    guide.rank(asks)
    asked = (perf_counter() - begin) / len(asks)
    plain = Engine(some, Options(level=options.level, tie=options.tie, order="ascending", nodes=NODES))
    plain.run()
    nodes = int(plain.counters[:, 1].sum())
    return asked * nodes / max(float(plain.seconds.sum()), 1e-9) if nodes else 0.0
