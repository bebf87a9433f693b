"""Published lists of puzzles that do not come with dibs: what they are, where they are kept, how a copy is checked.

A list is its set of puzzles, whatever the file looks like that it comes in: the checksum is of the sorted puzzles, and
in this order they are stored, so that puzzle 123 of a list is the same puzzle for everybody.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal

from dibs.problem.text import DAMAGED, InputError, open_text
from dibs.writing import explained, write

LINE = 82  # bytes of a stored puzzle
MOST_UNPACKED = 1 << 28  # bytes of a file in an archive
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
UNREADABLE = (*DAMAGED, zipfile.BadZipFile, RuntimeError, NotImplementedError)  # the last two: encrypted, odd packing

# 73 MB; the commit is named, so that it stays what it is.
TDOKU = "https://raw.githubusercontent.com/t-dillon/tdoku/af426180dc53aef89b82868e7b3fdfcf42165654/data.zip"

_PUZZLE = re.compile(r"(?<![0-9.])[0-9.]{81}(?![0-9.])")


@dataclass(frozen=True)
class PuzzleList:
    name: str
    puzzles: int  # how many
    what: str
    sha256: str  # see `checksum`
    url: str | None = None  # an archive or a text; None: it is not published by itself
    member: str | None = None  # the file in the archive

    @property
    def path(self) -> Path:
        """Where the list is kept, whether it is there or not."""
        return folder() / f"{self.name}.txt"

    def state(self) -> Literal["here", "missing", "damaged"]:
        """A quick look: is the file there, and as long as it should be?"""
        try:
            size = self.path.stat().st_size
        except OSError:
            return "missing"
        return "here" if size == self.puzzles * LINE else "damaged"

    def is_intact(self) -> bool:
        """Is every puzzle there, in its place?"""
        try:
            return self.state() == "here" and _digest(self.path.read_bytes().removesuffix(b"\n")) == self.sha256
        except OSError:
            return False


LISTS = {
    one.name: one
    for one in (
        PuzzleList(
            name="royle17",
            puzzles=49_158,
            what="Sudokus with 17 clues, all that are known (Gordon Royle and others)",
            sha256="c485e0fbc8e3a28ac929e126788f77123c3e3849fa30979085cf7c31a41c20f5",
            url=TDOKU,
            member="data/puzzles2_17_clue",
        ),
        PuzzleList(
            name="hardest11",
            puzzles=24_383,
            what="the hardest known Sudokus, rated 11 and more (half of a list)",
            sha256="0901bdb157b50f06b8fdb9e5aa21f9666623de0437cb930132cc399af1e524a1",
        ),
        PuzzleList(
            name="top1465",
            puzzles=1_465,
            what="an old list of hard Sudokus (magictour)",
            sha256="00310c8aa4662d8ad096a2cb2247e7e06e4449c7f2fdc0bb3b5aab9bc2098c1c",
            url=TDOKU,
            member="data/puzzles3_magictour_top1465",
        ),
    )
}


def path_of(name: str) -> Path:
    """The file of a list that is here; otherwise InputError says how to get it. Only its length is checked."""
    one = LISTS[name]
    state = one.state()
    if state == "here":
        return one.path
    fault = "is not here" if state == "missing" else f"is damaged ({one.path})"
    raise InputError(
        f"the list {name} {fault}: `dibs data get {name}` fetches it, "
        f"`dibs data get {name} --from FILE` takes a copy that you have"
    )


def folder() -> Path:
    """Where lists are kept: $DIBS_DATA, or dibs/lists in the user's cache."""
    if chosen := os.environ.get("DIBS_DATA"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG rules say that a relative path is to be ignored.
        return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "dibs" / "lists"
    except RuntimeError:
        raise InputError("there is no home folder: set DIBS_DATA to the folder for puzzle lists") from None


def normalised(lines: Iterable[str]) -> list[str]:
    """The 9x9 puzzles of a text, the first of each line, with `.` for a blank: sorted, each once."""
    found = (_PUZZLE.search(line) for line in lines if not line.lstrip().startswith("#"))
    return sorted({puzzle[0].replace("0", ".") for puzzle in found if puzzle})


def checksum(puzzles: Iterable[str]) -> str:
    """SHA-256 of normalised puzzles, a line feed between two of them."""
    return _digest("\n".join(puzzles).encode())


def read(one: PuzzleList, source: str, label: str | None = None) -> list[str]:
    """The puzzles of a copy of a list: text, also packed by gzip, xz or zip. A copy that differs raises and says how.

    `label` is how messages call the source.
    """
    best: tuple[str, int] | None = None
    for name, found in _texts(one, source, label or source):
        if checksum(found) == one.sha256:
            return found
        if best is None or abs(len(found) - one.puzzles) < abs(best[1] - one.puzzles):
            best = name, len(found)
    if best is None:
        raise InputError("has no file in it", label or source)
    raise InputError(f"is not {one.name}: {_difference(best[1], one)}; nothing was stored", best[0])


def store(one: PuzzleList, puzzles: Iterable[str]) -> Path:
    """Keep checked puzzles. The file is there whole or not at all."""
    path = one.path
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, "".join(f"{puzzle}\n" for puzzle in puzzles).encode("ascii"))
    return path


def _texts(one: PuzzleList, source: str, label: str) -> Iterator[tuple[str, list[str]]]:
    """(name, puzzles) of a text, or of each file of an archive that may be the list."""
    if not _is_zip(source):
        with open_text(source, label) as (_, lines):
            yield label, normalised(lines)
        return
    try:
        with zipfile.ZipFile(source) as archive:
            for name in _members(one, archive):
                if archive.getinfo(name).file_size > MOST_UNPACKED:  # no more than it says is unpacked
                    raise InputError(f"unpacks to more than {MOST_UNPACKED:,} bytes", f"{label}:{name}")
                with archive.open(name) as raw:
                    yield f"{label}:{name}", normalised(io.TextIOWrapper(raw, encoding="utf-8", errors="replace"))
    except UNREADABLE as error:
        raise InputError(f"is damaged: {error}", label) from None


def _is_zip(source: str) -> bool:
    try:
        with open(source, "rb") as file:
            return file.read(4) in ZIP_MAGIC
    except OSError:
        return False  # who opens it next says why


def _members(one: PuzzleList, archive: zipfile.ZipFile) -> list[str]:
    """The file with the name of the list's, in whatever folder; if there is none, all files."""
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    wanted = PurePosixPath(one.member or "").name
    return [name for name in names if PurePosixPath(name).name == wanted] or names


def _difference(count: int, one: PuzzleList) -> str:
    if count == 0:
        return "it has no 9x9 Sudoku, one to a line"
    if count == one.puzzles:
        return f"{count:,} puzzles is right, but they are others (relabelled?)"
    return f"{count:,} different puzzles instead of {one.puzzles:,}"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
