"""How an engine is run: one frozen record, each field with its range and its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dibs.ranges import check, option

EngineName = Literal["own", "glucose4", "cadical195", "kissat", "cp-sat"]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a user may say to an engine that is not dibs' own. Nothing here can change an answer."""

    seconds: float | None = option(
        None, "stop with LIMIT after this many seconds of search and guide", least=0, whole=False
    )

    def __post_init__(self) -> None:
        check(self)
