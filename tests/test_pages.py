"""What the pages say is there, and what they show can be done: links, commands, every block of code.

Python blocks of a page run one after the other, in a folder with a few files. Lines of `sh` blocks that begin with
`dibs` are run there too; those of commands that take long are only read, flag by flag. What neither can be is marked in
the page, `<!-- shown by PATH -->`, and that file of the project is where it is done.
"""

from __future__ import annotations

import ast
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import dibs
import story
from dibs.cli import COMMANDS, build, main

ROOT = Path(__file__).resolve().parents[1]

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("checkpoints/*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"(?:<!-- shown by (\S+) -->\n)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "sh", "toml", "json", "text", "dockerfile"}

# They take minutes, or need what is not there; tests/commands and tests/web run them.
ONLY_READ = {"serve", "bench", "train", "report", "data", "model", "warm"}
PLACEHOLDERS = re.compile(r"\b(FILE|FOLDER|GUIDE|LEVEL)\b|^my-guide$|^--cluster$|^runs/|^src/")

PUZZLES = """\
53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79
8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..
"""
UNSATISFIABLE = "p cnf 3 8\n" + "".join(f"{a} {2 * b} {3 * c} 0\n" for a in (1, -1) for b in (1, -1) for c in (1, -1))
SQUARE = "1 . 3 .\n. 4 . .\n3 . . 2\n. 3 2 .\n"
GROUPS = "[[1, 1, [1, 2]], [0, 2, [1, -2, 3]]]"
ROSTER = f'{{"dibs": "problem", "version": 1, "names": ["a", "b", "c"], "groups": {GROUPS}}}\n'
TITLE = 'title = "Mine"\n'


class Block(NamedTuple):
    language: str
    text: str
    shown_by: str


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        shown_by, language, text = match.groups()
        if language in languages or not languages:
            yield Block(language, text, shown_by or "")


def having(*languages: str) -> pytest.MarkDecorator:
    """The pages that have blocks in one of these languages."""
    pages = [page for page in PAGES if any(not block.shown_by for block in blocks(page, *languages))]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.relative_to(ROOT).as_posix())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    first, second = PUZZLES.splitlines()
    texts = {"puzzles.txt": PUZZLES * 6, "more.txt": PUZZLES, "puzzle.txt": first + "\n", "square.txt": SQUARE}
    texts |= {"formula.cnf": UNSATISFIABLE, "x.cnf": UNSATISFIABLE, "roster.json": ROSTER, "tomorrow.json": ROSTER}
    texts |= {"model.json": ROSTER, "hard.txt": second + "\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_languages(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in LINK.findall(text) if not link.startswith(("http:", "https:", "mailto:"))]
    assert not [link for link in links if not (page.parent / link).exists()]
    assert {block.language for block in blocks(page)} <= LANGUAGES, "a block says what it is in"
    assert not [block.shown_by for block in blocks(page) if block.shown_by and not (ROOT / block.shown_by).exists()]
    plain = BLOCK.sub("", text)
    assert not re.search(r"(?m)^(?!\s*[-*\d]).*\n\n {4}(dibs|pip|make|import|from|for) ", plain), "code is in a block"


@having("python")
def test_python_blocks_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)  # classes of a page are found by name
    names = module.__dict__
    for block in blocks(page, "python"):
        if not block.shown_by:
            code = compile(ast.parse(block.text), page.name, "exec", dont_inherit=True)
            exec(code, names)


@having("sh")
def test_commands_run(page: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in (line for block in blocks(page, "sh") if not block.shown_by for line in block.text.splitlines()):
        for words in _commands(line):
            if words[0] == "dibs":
                _run(words[1:], line)
            elif words[0] == "make":
                assert words[1] in targets, line
            elif words[0] == "python":
                assert (ROOT / words[1]).is_file(), line
            elif words[:2] == ["pip", "install"]:
                asked = re.findall(r"\[([\w,]+)\]", line)
                assert {name for names in asked for name in names.split(",")} <= set(extras), line


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a line of shell; what a pipe leads to is one of its own."""
    for words in re.split(r"[|;]|&&", line.split("  #")[0]):
        if found := shlex.split(words, comments=True):
            yield found


def _run(words: list[str], line: str) -> None:
    """Run it, or, where that takes long or needs what is not there, read it."""
    if not words or words[0].startswith("-"):
        assert words[0] in ("--help", "--version", "--install-completion"), line
        return
    assert words[0] in COMMANDS, line
    words = words[: words.index(">")] if ">" in words else words
    if words[0] in ONLY_READ or any(PLACEHOLDERS.search(word) for word in words):
        build(words[0]).parse_args(words, exit_on_error=False, print_error=False)
    else:
        assert main(words) in (0, 1, 10, 20), line


@having("toml")
def test_experiments_are_read(page: Path, folder: Path) -> None:
    from dibs.bench.experiment import Experiment

    whole = "[[row]]\nname = 'plain'\npolicy = 'plain'\n"
    for block in blocks(page, "toml"):
        head = "" if "title" in block.text else TITLE
        head += "" if "puzzles" in block.text or "[[kind]]" in block.text else "puzzles = 'sample17'\n"
        tail = "" if "[[row]]" in block.text else whole
        Path("mine.toml").write_text(head + block.text + tail)
        Experiment.read("mine.toml")


@having("json")
def test_problems_are_read(page: Path, folder: Path) -> None:
    for block in blocks(page, "json"):
        Path("problem.json").write_text(block.text, encoding="utf-8")
        assert dibs.solve(dibs.read_problem("problem.json")).status == "SAT"


@pytest.mark.parametrize("name", ["first.py", "own_guide.py"])
def test_the_first_lines_are_those_of_the_examples(name: str) -> None:
    """tests/examples/test_examples.py runs the second."""
    example = (ROOT / "examples" / name).read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    assert f"```python\n{example}```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_figures_of_the_readme_are_those_of_their_page() -> None:
    def cells(line: str) -> list[str]:
        return [re.sub(r"[*]| ms| \(\d\)", "", cell).split(" / ")[0].strip() for cell in line.split("|")[1:-1]]

    def lines(path: str, begin: str) -> list[list[str]]:
        return [cells(line) for line in (ROOT / path).read_text("utf-8").splitlines() if re.match(begin, line)]

    page = {name.split(",")[0]: figures for name, *figures in lines("docs/LARGE.md", r"\| \d")}
    shown = lines("README.md", r"\| order")
    assert len(shown) == 3
    for order, *figures in shown:
        ours, _, _, cadical, kissat, cpsat, _ = page[order.split(",")[0].removeprefix("order ")]
        assert figures == [ours, cadical, kissat, cpsat]


def test_the_picture_is_what_its_command_draws() -> None:
    """From the replay of the playground, which tests/web/test_page_story.py holds against searches."""
    replay = json.loads(story.REPLAY.read_text(encoding="utf-8"))
    picture = story.FILE.read_text(encoding="utf-8")
    assert picture == story.story(replay)
    ElementTree.fromstring(picture)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{replay['wrong']['nodes']:,} nodes fail, the other leads to the solution in {replay['nodes']}]" in readme


def test_every_page_is_on_the_site() -> None:
    """mkdocs.yml names every page of docs/; `make docs` looks at the rest."""
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [
        path.relative_to(ROOT / "docs").as_posix()
        for path in ROOT.glob("docs/**/*")
        if path.suffix in (".md", ".ipynb")
    ]
    assert not [page for page in pages if page.replace(".ipynb", ".md") not in config]
