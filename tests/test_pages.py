"""What the pages say is there, and what they show can be done: links, every block of code.

Python blocks of a page run one after the other, in a folder with a few files; tests/test_page_commands.py runs lines of
shell. What cannot be run here is marked in the page: `<!-- shown by PATH -->`, then that file of the project does it;
`<!-- not run: why -->` otherwise.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import dibs
import story
from documented import BLOCK, PAGES, ROOT, blocks, named, write_files

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
LANGUAGES = {"python", "sh", "toml", "json", "text", "dockerfile"}
TITLE = 'title = "Mine"\n'


def having(*languages: str) -> pytest.MarkDecorator:
    """The pages that have blocks in one of these languages."""
    pages = [page for page in PAGES if any(block.runs for block in blocks(page, *languages))]
    return pytest.mark.parametrize("page", pages, ids=named)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    write_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=named)
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
        if block.runs:
            code = compile(ast.parse(block.text), page.name, "exec", dont_inherit=True)
            exec(code, names)


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
