"""Progress in notebooks: a line that changes, and nothing elsewhere."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dibs import notebook


class ZMQInteractiveShell:
    """Named as the shell of a notebook is."""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook shows, one entry for each change."""
    lines: list[str] = []

    def display(line: Any, display_id: bool) -> Any:
        assert display_id
        lines.append(repr(line))
        return SimpleNamespace(update=lambda line: lines.append(repr(line)))

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return lines


def test_a_notebook_shows_one_line_that_changes(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.5, 1.5, 1.6, 2.0, 2.1])
    monkeypatch.setattr(notebook, "monotonic", lambda: next(clock))
    show = notebook.progress()
    show("learn", 0.1)  # too soon
    show("learn", 0.2)
    show("learn", 0.3)  # just shown
    show("judge", None)
    show("judge", 1.0)  # the end is always shown
    assert shown == ["learn: 20%", "judge", "judge: 100%"]
    assert '<progress value="0.200"' in notebook.Line("a < b", 0.2)._repr_html_()
    assert "a &lt; b" in notebook.Line("a < b", 0.2)._repr_html_()


def test_elsewhere_nothing_is_shown(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not notebook.in_notebook()
    notebook.progress()("learn", 0.5)
    monkeypatch.delitem(sys.modules, "IPython")
    notebook.progress()("learn", 0.5)
    assert shown == []
