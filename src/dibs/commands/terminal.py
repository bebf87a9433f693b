"""Standard output and error, and a line of progress that is shown on a terminal only and never gets into a pipe."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

TICK = 0.2
WIDTH = 100  # of tables that do not go to a terminal


class Meter(NamedTuple):
    """What the line of progress says."""

    text: str
    share: float | None = None  # 0..1, if the end is known


class _LogLines(logging.Handler):
    """What parts of dibs have to say goes where the line of progress steps aside for it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


class Terminal:
    """Rows and messages; `meter(seconds so far)` says what to show meanwhile, or None for nothing yet.

    A thread of its own looks at the meter five times a second, so that a row costs nothing.
    """

    def __init__(self, meter: Callable[[float], Meter | None] | None = None) -> None:
        self._meter = meter if sys.stderr.isatty() else None
        # Rows on the same screen would be mixed with the line of progress, so it steps aside for each.
        self._shared = sys.stdout.isatty()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._shown: Progress | None = None
        self._thread: threading.Thread | None = None
        self._said = _LogLines(self.say)

    def __enter__(self) -> Self:
        if self._meter:
            logging.getLogger("dibs").addHandler(self._said)
            self._thread = threading.Thread(target=self._watch, args=(self._meter,), name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No progress any more."""
        logging.getLogger("dibs").removeHandler(self._said)
        self._ended.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        with self._lock:
            self._hide()

    def rows(self, text: str) -> None:
        """Write to standard output, at once."""
        with self._lock:
            if self._shared:
                self._hide()
            sys.stdout.write(text)
            sys.stdout.flush()

    def say(self, line: str) -> None:
        """A line on standard error."""
        with self._lock:
            self._hide()
            print(line, file=sys.stderr, flush=True)

    def _hide(self) -> None:
        if self._shown:
            self._shown.stop()
            self._shown = None

    def _watch(self, meter: Callable[[float], Meter | None]) -> None:
        begin = monotonic()
        while not self._ended.wait(TICK):
            now = meter(monotonic() - begin)
            with self._lock:
                if now and not self._ended.is_set():
                    self._show(now)

    def _show(self, now: Meter) -> None:
        if self._shown is None:
            self._shown = _progress()
            self._shown.add_task(now.text, total=None)
            self._shown.start()
        task = self._shown.task_ids[0]
        total, completed = (None, 0.0) if now.share is None else (1.0, now.share)
        self._shown.update(task, description=now.text, total=total, completed=completed)
        self._shown.refresh()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    # It refreshes when `Terminal` says so, and leaves the standard streams as they are.
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def screen(width: int) -> Console:
    """Standard output for tables: as wide as the terminal, or `width` where it is a pipe or a file."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=width)


def show(parts: Iterable[RenderableType], width: int = WIDTH) -> None:
    """One after the other, as they are."""
    console = screen(width)
    for part in parts:
        console.print(part, markup=False, highlight=False)


def pace(done: int, what: str, seconds: float, share: float | None) -> Meter:
    """`1,234 puzzles, 56/s, 0:12 left`."""
    text = f"{done:,} {what}, {done / seconds:,.0f}/s"
    if share:
        left = round(seconds * (1 - share) / share)
        text += f", {left // 60}:{left % 60:02d} left"
    return Meter(text, share)
