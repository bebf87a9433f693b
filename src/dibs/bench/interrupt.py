"""Ctrl-C at a moment that suits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block. Processes that are started within it never hear Ctrl-C (POSIX).

    Nothing is put off in a thread other than the main one, which Python never interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []  # another thread, a library's, may get the signal, and Python would still tell this one
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    masks = hasattr(signal, "pthread_sigmask")  # not on Windows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if heard:
        signal.raise_signal(signal.SIGINT)
