"""Progress in notebooks: one line that changes, and a curve. Elsewhere a program says what it wants shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from time import monotonic
from typing import Any, Protocol

OFTEN = 0.2  # seconds between two changes of the line
SOON = 1.0  # seconds after which there is a line

WIDE, HIGH = 320, 60  # pixels of the curve
POINTS = 400  # of it, at most: of more, every second one goes


class Show(Protocol):
    """Called with what is done, how much of it, and a figure for the curve, such as the loss."""

    def __call__(self, text: str, share: float | None, figure: float | None = None, /) -> None: ...


def in_notebook() -> bool:
    """Whether a notebook shows what this process makes; IPython is not loaded to find out."""
    find = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return find is not None and type(find()).__name__ == "ZMQInteractiveShell"


def progress() -> Show:
    """A line below the cell, once the work takes a second; outside of notebooks a function that does nothing."""
    if not in_notebook():
        return lambda text, share, figure=None, /: None
    from IPython.display import display

    begin = last = monotonic()
    handle: Any = None

    curve: list[float] = []

    def show(text: str, share: float | None, figure: float | None = None, /) -> None:
        nonlocal handle, last
        if figure is not None:
            curve.append(figure)
            if len(curve) > POINTS:
                del curve[::2]
        now = monotonic()
        if now - begin < SOON or (now - last < OFTEN and share != 1):
            return
        last = now
        if handle is None:
            handle = display(Line(text, share, curve), display_id=True)
        else:
            handle.update(Line(text, share, curve))

    return show


class Line:
    """What the line says at a moment."""

    def __init__(self, text: str, share: float | None, curve: Sequence[float] = ()) -> None:
        self.text, self.share, self.curve = text, share, tuple(curve)

    def __repr__(self) -> str:
        return self.text if self.share is None else f"{self.text}: {self.share:.0%}"

    def _repr_html_(self) -> str:
        bar = "" if self.share is None else f'<progress value="{self.share:.3f}" max="1"></progress> '
        return f"{bar}{escape(repr(self))}{self._drawn()}"

    def _drawn(self) -> str:
        """The curve as a picture; nothing with less than two points."""
        if len(self.curve) < 2:
            return ""
        low, span = min(self.curve), max(self.curve) - min(self.curve) or 1.0
        step = WIDE / (len(self.curve) - 1)
        points = " ".join(f"{i * step:.1f},{HIGH * (1 - (y - low) / span):.1f}" for i, y in enumerate(self.curve))
        line = f'<polyline points="{points}" fill="none" stroke="currentColor"/>'
        return f'<br><svg width="{WIDE}" height="{HIGH}" role="img" aria-label="learning curve">{line}</svg>'
