"""What the site has besides docs/: the pages at the root of the project, examples, the commands, executed notebooks.

MkDocs calls the functions whose names begin with `on_`; mkdocs.yml names this file.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePosixPath
from textwrap import dedent
from typing import Any

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

HOME, COMMANDS = "index.md", "COMMANDS.md"
AT_ROOT = {"CONTRIBUTING.md": "CONTRIBUTING.md", "ARCHITECTURE.md": "ARCHITECTURE.md", "CHANGELOG.md": "CHANGELOG.md"}
AT_ROOT["README.md"] = HOME
SHOWN = (
    "examples/**/*.py",
    "examples/**/*.toml",
    "configs/*.toml",
    "experiments/*.toml",
    "checkpoints/*.md",
    "src/dibs/data/*.txt",
)
LANGUAGE = {".py": "python", ".toml": "toml", ".json": "json"}
LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)]*)?(\))")

log = get_plugin_logger("dibs")


def on_files(files: Files, config: Any) -> Files:
    """Add what is made; notebooks become pages."""
    sources = [path.relative_to(ROOT) for pattern in SHOWN for path in sorted(ROOT.glob(pattern))]
    for name, page in AT_ROOT.items():
        _add(files, config, page, (ROOT / name).read_text(encoding="utf-8"))
    for path in sources:
        _add(files, config, _page_of(path), _listing(path))
    for folder in sorted({path.parent for path in sources if path.parent.name}):
        lines = [f"- [{path.name}]({Path(_page_of(path)).name})" for path in sources if path.parent == folder]
        _add(files, config, _page_of(folder / "index"), f"# {folder.as_posix()}\n\n" + "\n".join(lines) + "\n")
    _add(files, config, COMMANDS, _commands())
    for file in [file for file in files if file.src_path.endswith(".ipynb")]:
        files.remove(file)
        page = str(PurePosixPath(file.src_path).with_suffix(".md"))
        _add(files, config, page, _notebook(Path(file.abs_src_path or ""), files, config))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are right in the repository become those of the site."""
    source = page.file.src_uri
    folder = PurePosixPath("docs") / PurePosixPath(source).parent
    if source == HOME or source in AT_ROOT:
        folder = PurePosixPath()

    def moved(match: re.Match[str]) -> str:
        before, link, anchor, after = match.groups()
        target = _target(folder / link)
        if target is None:
            return match.group()
        return f"{before}{_relative(target, PurePosixPath(source).parent)}{anchor or ''}{after}"

    return LINK.sub(moved, markdown)


def _target(path: PurePosixPath) -> str | None:
    """The page of the site that shows a file of the project, as a path below docs/."""
    plain = _normal(path)
    if plain in AT_ROOT:
        return AT_ROOT[plain]
    if plain.startswith("docs/"):
        inside = plain.removeprefix("docs/")
        return re.sub(r"\.ipynb$", ".md", inside)
    if (ROOT / plain).is_file():
        return _page_of(Path(plain))
    if (ROOT / plain).is_dir():
        return _page_of(Path(plain) / "index")
    return None


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _relative(target: str, folder: PurePosixPath) -> str:
    return "../" * len([part for part in folder.parts if part != "."]) + target


def _page_of(path: Path) -> str:
    return f"files/{path.with_suffix('').as_posix()}{path.suffix.replace('.', '-')}.md"


def _listing(path: Path) -> str:
    """A file of the project as a page."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    unsearched = "---\nsearch:\n  exclude: true\n---\n\n" if path.suffix == ".txt" else ""  # lists of puzzles
    return f"{unsearched}# {path.as_posix()}\n\n````{LANGUAGE.get(path.suffix, 'text')}\n{text}\n````\n"


def _commands() -> str:
    """What `--help` says, of every command. Its indented lines are shown as they are."""
    from dibs.cli import build

    text = build().generate_docs(output_format="markdown", usage_name="dibs")
    head, _, rest = text.partition("## Table of Contents")
    text = head + "## dibs solve" + rest.partition("## dibs solve")[2]
    text = text.replace("# dibs\n", "# Commands\n", 1).replace("```console", "```text")
    text = re.sub(r"\n\*\*Commands\*\*:\n.*?(?=\n## )", "\n", text, count=1, flags=re.DOTALL)
    text = re.sub(r"^\*\*(Parameters|Arguments|Commands|.+ Flags)\*\*:$", r"**\1**", text, flags=re.MULTILINE)
    indented = re.compile(r"^  (?! *\* )\S.*\n?(?:^ {2,}.*\n?)*", re.MULTILINE)
    return indented.sub(lambda found: f"\n```text\n{dedent(found.group())}```\n\n", text)


def _notebook(path: Path, files: Files, config: Any) -> str:
    """The notebook, run from its first cell to its last, as Markdown; its pictures become files of the site."""
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import MarkdownExporter

    book = nbformat.read(path, as_version=4)
    programs = f"{Path(sys.executable).parent}{os.pathsep}"  # `!dibs` is the one of this environment
    if not os.environ["PATH"].startswith(programs):
        os.environ["PATH"] = programs + os.environ["PATH"]
    if os.environ.get("NOTEBOOKS") != "as they are":  # `make docs-quick`
        log.info("running %s", path.name)
        NotebookClient(book, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
    text, resources = MarkdownExporter().from_notebook_node(book, {"output_files_dir": path.stem})
    for name, content in resources.get("outputs", {}).items():
        files.append(File.generated(config, f"tutorials/{name}", content=content))
    return str(text)


def _add(files: Files, config: Any, page: str, text: str) -> None:
    files.append(File.generated(config, page, content=text))
