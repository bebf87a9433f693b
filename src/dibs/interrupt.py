"""Ctrl-C at a moment that suits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_later(*signals: int) -> Iterator[None]:
    """These signals (default: Ctrl-C) take effect at the end of the block.

    Processes that are started within it never hear them (POSIX). Nothing is put off in a thread other than the main
    one, which Python never interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = set(signals or (signal.SIGINT,))
    heard: list[int] = []  # another thread, a library's, may get the signal, and Python would still tell this one
    masks = hasattr(signal, "pthread_sigmask")  # not on Windows
    handlers = {number: signal.getsignal(number) for number in wanted}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if masks else set()

    def restore() -> None:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)

    try:
        for number in wanted:
            signal.signal(number, lambda number, _: heard.append(number))
        if masks:
            signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
        yield
    finally:
        try:
            restore()
        finally:
            restore()  # a signal whose handler was back already may have raised before the others' were
    for number in heard:
        signal.raise_signal(number)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C that came while Python called a compiled function is a SystemError, which hides it: here it is itself."""
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):  # one for each call that it went through
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise cause from None
        raise
