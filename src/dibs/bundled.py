"""Files that come with dibs beside its code."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from dibs.errors import InputError


def bundled(folder: str) -> Path:
    """The folder `experiments` or `configs`: inside an installed package, beside `src` in a checkout."""
    package = Path(str(files("dibs")))
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder


def read_toml(source: str, folder: str, what: str) -> tuple[Path, dict[str, Any]]:
    """A TOML file and its path: `source` itself, or the one of that name in a bundled folder."""
    path = next((p for p in (Path(source), bundled(folder) / f"{source}.toml") if p.is_file()), None)
    if path is None:
        names = ", ".join(sorted(path.stem for path in bundled(folder).glob("*.toml")))
        raise InputError(f"no such {what}; dibs comes with: {names}", file=source)
    try:
        return path, tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}", file=str(path)) from None
