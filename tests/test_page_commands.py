"""Every line of shell in the pages is run; `shell_lines` says how. `make docs` starts those that take long."""

from __future__ import annotations

from pathlib import Path

import pytest

from documented import PAGES, named
from shell_lines import LONG, lines, run, sit_down

SHORT = {page: some for page in PAGES if (some := [line for line in lines(page) if not LONG.search(line)])}


@pytest.mark.parametrize("page", SHORT, ids=named)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(tmp_path / "desk", monkeypatch)
    for line in SHORT[page]:
        run(line)
