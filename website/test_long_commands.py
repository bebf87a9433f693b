"""The pages with commands that take minutes: these are started and stopped, in the order of the page.

A line that stands in several pages is started once. tests/test_page_commands.py runs all that ends soon.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from documented import PAGES, named
from shell_lines import LONG, lines, run, sit_down


def _started() -> dict[Path, list[str]]:
    """The lines of each page, but long ones that a page before it has."""
    seen: set[str] = set()
    found = {}
    for page in PAGES:
        fresh = [line for line in lines(page) if line not in seen]
        if new := {line for line in fresh if LONG.search(line)}:
            found[page] = fresh
        seen |= new
    return found


STARTED = _started()


@pytest.mark.parametrize("page", STARTED, ids=named)
def test_commands_are_started_and_stopped(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(tmp_path / "desk", monkeypatch)
    for line in STARTED[page]:
        run(line)
