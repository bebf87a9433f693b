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


def test_figures_are_a_curve(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[Any] = []

    def display(line: Any, display_id: bool) -> Any:
        lines.append(line)
        return SimpleNamespace(update=lines.append)

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    clock = iter(range(10_000))
    monkeypatch.setattr(notebook, "monotonic", lambda: next(clock))
    show = notebook.progress()
    for loss in (3.0, 2.0, 1.0):
        show("learn", 0.5, loss)
    show("judge", None)
    assert "svg" not in lines[0]._repr_html_(), "a point is no curve"
    assert 'points="0.0,0.0 160.0,30.0 320.0,60.0"' in lines[-1]._repr_html_()
    for _ in range(3 * notebook.POINTS):
        show("learn", 0.5, 1.0)
    assert len(lines[-1].curve) <= notebook.POINTS
    assert "nan" not in notebook.Line("a", None, (1.0, 1.0))._repr_html_()


def test_elsewhere_nothing_is_shown(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not notebook.in_notebook()
    notebook.progress()("learn", 0.5)
    monkeypatch.delitem(sys.modules, "IPython")
    notebook.progress()("learn", 0.5)
    assert shown == []
