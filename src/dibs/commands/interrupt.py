"""Ctrl-C as a flag: no row is cut in two, and what is finished is still handed over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Interrupt:
    """Within it, Ctrl-C sets `stop`; it raises KeyboardInterrupt only while input is awaited, or the second time.

    Whoever is given `stop` may set it as well; `pressed` says that it was Ctrl-C.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.pressed = False
        self._reading = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _pressed(self, _signal: int, _frame: FrameType | None) -> None:
        again, self.pressed = self.pressed, True
        self.stop.set()
        if again or self._reading:
            raise KeyboardInterrupt

    def reading(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; nothing else could end the wait for the next one."""
        iterator = iter(items)
        nothing = object()
        while True:
            self._reading = True
            try:
                item = next(iterator, nothing)
            finally:
                self._reading = False
            if item is nothing:
                return
            yield item  # type: ignore[misc]
