"""How to search: one frozen record, each field with its range and its help. The command line is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from dibs.problem.structure import Level

Tie = Literal["index", "degree", "random"]
Order = Literal["ascending", "lcv", "mcv", "random", "oracle"]
Trigger = Literal["always", "binary", "ternary"]


def _option(default: Any, help: str, choices: Any = None, least: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "choices": get_args(choices), "least": least})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search does. Nothing here can change an answer, only how soon it comes, or LIMIT where a limit is set."""

    level: Level = _option("hidden", "what one choice propagates", Level)
    tie: Tie = _option("index", "which of the domains with the fewest values is branched on", Tie)
    order: Order = _option("ascending", "which value is tried first", Order)
    trigger: Trigger = _option("always", "where the guide ranks values: any node, 2 values, 3 or more", Trigger)
    nodes: int | None = _option(None, "stop with LIMIT after this many nodes", least=0)
    seconds: float | None = _option(None, "stop with LIMIT after this many seconds of search", least=0)
    seed: int = _option(0, "seed of random ties and orders", least=0)
    count: int = _option(1, "go on until this many solutions are found", least=1)

    def __post_init__(self) -> None:
        for f in fields(self):
            value, choices, least = getattr(self, f.name), f.metadata["choices"], f.metadata["least"]
            if choices and value not in choices:
                raise ValueError(f"{f.name} = {value!r}: choose one of {', '.join(choices)}")
            if least is not None and value is not None:
                number = (int, float) if f.name == "seconds" else int
                if not isinstance(value, number) or isinstance(value, bool) or not least <= value < float("inf"):
                    kind = "number" if f.name == "seconds" else "whole number"
                    raise ValueError(f"{f.name} = {value!r}: it must be a {kind}, {least} or more")
