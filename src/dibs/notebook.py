"""Progress in notebooks: one line that changes. Elsewhere nothing is shown: a program says what it wants shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any

OFTEN = 0.2  # seconds between two changes of the line
SOON = 1.0  # seconds after which there is a line

Show = Callable[[str, float | None], None]  # what is done, and how much of it


def in_notebook() -> bool:
    """Whether a notebook shows what this process makes; IPython is not loaded to find out."""
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return find is not None and type(find()).__name__ == "ZMQInteractiveShell"


def progress() -> Show:
    """A line below the cell, once the work takes a second; outside of notebooks a function that does nothing."""
    if not in_notebook():
        return lambda text, share: None
    from IPython.display import display

    begin = last = monotonic()
    handle: Any = None

    def show(text: str, share: float | None) -> None:
        nonlocal handle, last
        now = monotonic()
        if now - begin < SOON or (now - last < OFTEN and share != 1):
            return
        last = now
        if handle is None:
            handle = display(Line(text, share), display_id=True)
        else:
            handle.update(Line(text, share))

    return show


class Line:
    """What the line says at a moment."""

    def __init__(self, text: str, share: float | None) -> None:
        self.text, self.share = text, share

    def __repr__(self) -> str:
        return self.text if self.share is None else f"{self.text}: {self.share:.0%}"

    def _repr_html_(self) -> str:
        bar = "" if self.share is None else f'<progress value="{self.share:.3f}" max="1"></progress> '
        return f"{bar}{escape(repr(self))}"
