"""Where generated instances go: standard output, a file or a folder. Nothing half-written keeps its final name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dibs.commands import Refused
from dibs.commands.terminal import Terminal


class Output:
    """A sink for texts, one for each instance; `done` counts them."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.done = 0

    def put(self, text: str) -> None:
        """One instance, whole."""
        self.write(text)
        self.done += 1

    def write(self, text: str) -> None:
        self.terminal.rows(text)

    def complete(self) -> None:
        """All is there."""

    def kept(self) -> str:
        """What an interrupted run leaves, in words."""
        return ""

    def discard(self) -> None:
        """Something failed: leave nothing."""


class FileOutput(Output):
    """Written as FILE.partial, and renamed when it is complete."""

    def __init__(self, terminal: Terminal, path: Path) -> None:
        super().__init__(terminal)
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        if path.is_dir():
            raise Refused(f"{path}: is a directory")
        self._file: TextIO = open(self.partial, "w", encoding="ascii")  # noqa: SIM115

    def write(self, text: str) -> None:
        self._file.write(text)

    def complete(self) -> None:
        self._file.close()
        os.replace(self.partial, self.path)

    def kept(self) -> str:
        if not self.done:
            self.discard()
            return ""
        self._file.close()
        return f"; they are in {self.partial}"

    def discard(self) -> None:
        self._file.close()
        self.partial.unlink(missing_ok=True)


class FolderOutput(Output):
    """A file for each instance; each is there whole or not at all."""

    def __init__(self, terminal: Terminal, folder: Path, stem: str) -> None:
        super().__init__(terminal)
        self.folder = folder
        self.stem = stem
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder}: is not a directory, and more than one formula needs one")
        folder.mkdir(exist_ok=True)

    def write(self, text: str) -> None:
        path = self.folder / f"{self.stem}{self.done + 1}.cnf"
        partial = path.with_name(path.name + ".partial")
        try:
            partial.write_text(text, encoding="ascii")
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def kept(self) -> str:
        return f"; they are in {self.folder}" if self.done else ""


@contextmanager
def writing(output: Output, count: int) -> Iterator[None]:
    """Complete the output in the end; after Ctrl-C say what is there; after a failure leave nothing."""
    try:
        yield
        output.complete()
    except KeyboardInterrupt:
        output.terminal.say(f"interrupted, {output.done} of {count} made{output.kept()}")
        raise
    except BaseException:
        output.discard()
        raise
