"""Signals that wait for a moment that suits."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from dibs.interrupt import interrupts_later, plain_interrupts

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _both_are_ctrl_c() -> Iterator[None]:
    before = {number: signal.signal(number, signal.default_int_handler) for number in BOTH}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", BOTH)
def test_a_signal_takes_effect_at_the_end(number: signal.Signals) -> None:
    done = []

    def block() -> None:
        signal.raise_signal(number)
        done.append("all of it")

    with pytest.raises(KeyboardInterrupt), interrupts_later(*BOTH):
        block()
    assert done == ["all of it"]
    _as_before()


def test_other_signals_do_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_later():
        signal.raise_signal(signal.SIGTERM)
    _as_before()


def test_all_handlers_are_back_if_one_of_them_raises_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal whose handler is back, while those of others are not."""
    install, backs = signal.signal, []

    def hit(number: int, handler: Any) -> Any:
        result = install(number, handler)
        if handler is signal.default_int_handler:
            backs.append(number)
            if len(backs) == 1:
                signal.raise_signal(number)
        return result

    monkeypatch.setattr(signal, "signal", hit)
    with pytest.raises(KeyboardInterrupt), interrupts_later(*BOTH):
        pass
    assert len(backs) == 3
    _as_before()


def _as_before() -> None:
    assert all(signal.getsignal(number) is signal.default_int_handler for number in BOTH)
    assert not set(BOTH) & signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_in_a_call_of_compiled_code_is_ctrl_c() -> None:
    def call(cause: BaseException, calls: int = 3) -> None:
        try:
            if calls:
                call(cause, calls - 1)
            raise cause
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        call(KeyboardInterrupt())
    with pytest.raises(SystemError), plain_interrupts():
        call(ValueError())


def test_ctrl_c_while_an_object_goes_is_not_lost() -> None:
    """Python would print it, and go on."""

    class Interrupted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        with plain_interrupts():
            Interrupted()
            Event().wait()

    with pytest.raises(KeyboardInterrupt):
        work()
