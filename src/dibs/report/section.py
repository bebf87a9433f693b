"""What a run is turned into: words, tables and pictures, whatever they are written to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dibs.report.tabular import Tabular


@dataclass(frozen=True)
class Picture:
    """A figure that is still to be drawn."""

    key: str  # of its file
    title: str
    caption: str  # whole sentences
    inches: tuple[float, float]
    draw: Callable[[Any], None]  # into a Matplotlib Figure


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    words: tuple[str, ...]  # paragraphs
    tables: tuple[Tabular, ...] = ()
    pictures: tuple[Picture, ...] = ()

    def renamed(self, key: str) -> Section:
        """Under another key; tables and pictures are called after it."""
        return replace(
            self,
            key=key,
            tables=tuple(replace(one, key=f"{key}-{one.key}") for one in self.tables),
            pictures=tuple(replace(one, key=f"{key}-{one.key}") for one in self.pictures),
        )
