"""Ctrl-C at a moment that suits."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOMENT = 0.01  # seconds; until then the object is gone


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
    """Ctrl-C ends the block, also where Python would hide it.

    While a compiled function is called it is a SystemError; here it is itself. While an object is taken apart
    (`__del__`, a weak reference) Python prints it and goes on; here it comes again, a moment later.
    """
    before = sys.unraisablehook

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        timer = threading.Timer(MOMENT, _interrupt)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):  # one for each call that it went through
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise cause from None
        raise
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # not on Windows
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()
