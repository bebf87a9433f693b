"""Every line of shell in the pages is run; `shell_lines` says how. `make docs` starts those that take long."""

from __future__ import annotations

from pathlib import Path

import pytest

from documented import PAGES, named, write_desk
from shell_lines import LONG, lines, run, sit_down

SHORT = {page: some for page in PAGES if (some := [line for line in lines(page) if not LONG.search(line)])}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "desk"
    write_desk(folder)
    return folder


@pytest.mark.parametrize("page", SHORT, ids=named)
def test_commands_run(page: Path, desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(desk, tmp_path / "desk", monkeypatch)
    for line in SHORT[page]:
        run(line)
