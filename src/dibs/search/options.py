"""How to search: one frozen record, each field with its range and its help. The command line is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dibs.problem.structure import Level
from dibs.ranges import check, option

Tie = Literal["index", "degree", "random"]
Order = Literal["ascending", "lcv", "mcv", "random", "oracle"]
Trigger = Literal["always", "binary", "ternary"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search does. Nothing here can change an answer, only how soon it comes, or LIMIT where a limit is set."""

    level: Level = option("hidden", "what one choice propagates", Level)
    tie: Tie = option("index", "which of the domains with the fewest values is branched on", Tie)
    order: Order = option("ascending", "which value is tried first", Order)
    trigger: Trigger = option("always", "where the guide ranks values: any node, 2 values, 3 or more", Trigger)
    nodes: int | None = option(None, "stop with LIMIT after this many nodes", least=0)
    seconds: float | None = option(
        None, "stop with LIMIT after this many seconds of search and guide", least=0, whole=False
    )
    seed: int = option(0, "seed of random ties and orders", least=0)
    count: int = option(1, "go on until this many solutions are found", least=1)

    def __post_init__(self) -> None:
        check(self)
