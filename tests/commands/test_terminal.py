"""What is said beside a line of progress."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from dibs.commands.terminal import Meter, Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_parts_of_dibs_say_goes_through_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    log = logging.getLogger("dibs")
    before = list(log.handlers)
    with Terminal(lambda seconds: Meter("working")):
        log.warning("dibs: %s", "compiling")
        assert len(log.handlers) == len(before) + 1  # and nobody else draws on this screen
    assert log.handlers == before
    assert "dibs: compiling\n" in screen.getvalue()


def test_without_a_terminal_logging_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    log = logging.getLogger("dibs")
    before = list(log.handlers)
    with Terminal(lambda seconds: Meter("working")):
        assert log.handlers == before
