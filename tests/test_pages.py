"""What the pages say is there: links, commands, and the first lines of the README."""

import re
from pathlib import Path

import pytest

from dibs.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("checkpoints/*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\s*(?:\$ )?dibs ([a-z]+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_commands_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in LINK.findall(text) if not link.startswith(("http:", "https:", "mailto:"))]
    assert not [link for link in links if not (page.parent / link).exists()]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert not [name for block in blocks for name in COMMAND.findall(block) if name not in COMMANDS]


def test_the_first_lines_are_those_of_the_example() -> None:
    example = (ROOT / "examples" / "first.py").read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    assert f"```python\n{example}```" in (ROOT / "README.md").read_text(encoding="utf-8")
