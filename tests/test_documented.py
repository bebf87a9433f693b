"""Every public name says what it does, what it takes and what it returns; its example is run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
import dibs.generate


def public() -> Iterator[tuple[str, Any]]:
    """Functions and classes of `dibs` and `dibs.generate`, and the public methods and properties of the classes."""
    for module in (dibs, dibs.generate):
        for name in module.__all__:
            found = getattr(module, name)
            yield name, found
            for member, value in vars(found).items() if inspect.isclass(found) else ():
                inner = getattr(value, "__func__", value)
                if not member.startswith("_") and (inspect.isfunction(inner) or isinstance(value, property)):
                    yield f"{name}.{member}", inner


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_documented(name: str) -> None:
    found = PUBLIC[name]
    text = inspect.getdoc(found) or ""
    assert text
    if not inspect.isfunction(found):
        return
    signature = inspect.signature(found)
    taken = [str(one).split(":")[0].split("=")[0].strip() for one in signature.parameters.values()]
    taken = [one for one in taken if one not in ("self", "cls")]
    said = text.partition("Args:\n")[2].partition("\n\n")[0]
    assert [one for one in taken if f"    {one}: " not in f"\n{said}\n"] == []
    if signature.return_annotation not in (None, "None"):
        assert "Returns:\n" in text


@pytest.mark.parametrize("name", [name for name, found in PUBLIC.items() if ">>> " in (found.__doc__ or "")])
def test_an_example_does_what_it_says(name: str) -> None:
    found = PUBLIC[name]
    for test in doctest.DocTestFinder(recurse=False).find(found, name, globs={}):
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test)
        assert runner.failures == 0


def test_the_site_has_every_public_name() -> None:
    root = Path(__file__).resolve().parents[1]
    text = "".join(page.read_text(encoding="utf-8") for page in root.glob("docs/api/*.md"))
    missing = [name for name in dibs.__all__ if f"::: {getattr(dibs, name).__module__}.{name}\n" not in text]
    assert missing == []


def test_no_file_is_too_long_to_read() -> None:
    files = Path(dibs.__file__).parent.rglob("*.py")
    assert {path.name: lines for path in files if (lines := len(path.read_text().splitlines())) > 400} == {}


def test_the_tree_is_as_the_pages_say() -> None:
    """ARCHITECTURE.md names all parts of the package and of the tree search, CONTRIBUTING.md all folders of code."""
    root, package = Path(__file__).resolve().parents[1], Path(dibs.__file__).parent
    words = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in package.glob("*/__init__.py")]
    files = [path.stem for folder in (package, package / "search" / "tree") for path in folder.glob("*.py")]
    assert [name for name in files if name != "__init__" and not re.search(rf"`{name}(\.py)?`", words)] == []
    assert [name for name in folders if f"{name}/" not in words] == []
    howto = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name in folders if f"`{name}/`" not in howto] == []
    named = re.findall(r"`([\w/]+\.py)`", words + howto)
    everywhere = [f"/{path.relative_to(root)}" for path in root.rglob("*.py")]
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in everywhere)] == []
