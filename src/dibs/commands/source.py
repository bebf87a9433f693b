"""The positional arguments of `solve`: files, standard input, or the puzzle itself."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Iterable
from typing import NamedTuple

from dibs.errors import Refused
from dibs.problem.shape import Box
from dibs.problem.text import GZIP_MAGIC, XZ_MAGIC, Source

ARGUMENT = "<argument>"  # how messages call a puzzle that was given as text
SMALLEST_LETTERED = 100  # cells of the smallest grid whose values may be letters
_CHUNK = 1 << 20


class Input(NamedTuple):
    source: Source
    name: str | None  # in messages; None: its own

    @property
    def label(self) -> str:
        """How messages call it."""
        return self.name or ("<stdin>" if self.source == "-" else str(self.source))


class Place(NamedTuple):
    """Where a puzzle begins."""

    file: str  # as messages call it
    line: int
    several: bool = False  # there are other files

    @property
    def id(self) -> int | str:
        """How answers call the puzzle: its line, with the file where there are several."""
        return f"{self.file}:{self.line}" if self.several else self.line


def find(puzzle: str | None) -> Input:
    """Where the puzzles are."""
    if puzzle is None and sys.stdin.isatty():
        raise Refused("dibs solve: give a puzzle, a file or - for standard input; dibs solve --help shows examples")
    if puzzle is None or puzzle == "-":
        return Input("-", None)
    if os.path.exists(puzzle):
        return Input(puzzle, None)
    if looks_like_path(puzzle):
        raise Refused(f"{puzzle}: no such file")
    return Input(io.StringIO(puzzle), ARGUMENT)


def keep(inputs: Iterable[Input], *outputs: str | os.PathLike[str]) -> None:
    """Refuse to write over what is to be read."""
    for one in inputs:
        for path in outputs:
            if not isinstance(one.source, str | os.PathLike) or one.source == "-" or not os.path.exists(path):
                continue
            if os.path.samefile(one.source, path):
                raise Refused(f"{path}: what is to be solved is in this file: write to another one")


def looks_like_path(text: str) -> bool:
    """`lists/easy`, `hard.txt`, `puzzles`, but no puzzle: those have no slash, more than one dot in a row or none, and
    letters only where a cell has more than nine values."""
    return "\n" not in text and (
        "/" in text
        or (len(text) < SMALLEST_LETTERED and text.isidentifier() and text[0].isalpha())
        or (".." not in text and bool(re.search(r"\w\.[a-z][a-z0-9]{0,6}$", text)))
    )


def count_lines(source: Source) -> int | None:
    """How many lines a plain file has, some tens of milliseconds for a million; None where it cannot be known."""
    if not isinstance(source, str) or source == "-":
        return None
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):
            return None
        with open(source, "rb") as file:
            chunk = file.read(_CHUNK)
            if chunk.startswith((GZIP_MAGIC, XZ_MAGIC)):
                return None
            lines = 1
            while chunk:
                lines += chunk.count(b"\n")
                chunk = file.read(_CHUNK)
            return lines
    except OSError:
        return None


def parse_box(text: str | None) -> Box | None:
    """`3x4`: rows x columns."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,3})[xX×]([0-9]{1,3})", text)
    if not found:
        raise Refused(f"dibs: --box {text}: write rows x columns of a box, e.g. 3x3")
    return int(found[1]), int(found[2])
