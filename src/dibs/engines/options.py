"""How an engine is run and what it takes from a guide: one frozen record, each field with its range and its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dibs.ranges import check, option

EngineName = Literal["own", "glucose4", "cadical195", "cp-sat"]
Advice = Literal["auto", "phases", "decisions", "hints"]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a user may say to an engine that is not dibs' own. Nothing here can change an answer."""

    advice: Advice = option(
        "auto",
        "what an engine takes from the guide: phases of variables, decisions near the root, hints; "
        "auto: phases, or hints for cp-sat",
        Advice,
    )
    sure: float = option(
        0.9, "decisions: the guide decides while its surest choice is this probable", None, 0, 1, whole=False
    )
    depth: int = option(16, "decisions: the guide decides above so many decisions", least=0)
    keep: float | None = option(
        None, "decisions: a ranking serves those below it while its surest choice is this probable", None, 0, 1, False
    )
    asks: int = option(
        100, "ask the guide at most so often; decisions: kept rankings that answer in its place count, too", least=0
    )
    seconds: float | None = option(
        None, "stop with LIMIT after this many seconds of search and guide", least=0, whole=False
    )

    def __post_init__(self) -> None:
        check(self)
