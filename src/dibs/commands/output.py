"""Where generated instances go: standard output, a file or a folder. Nothing half-written keeps its final name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dibs.commands.terminal import Terminal
from dibs.errors import Refused
from dibs.writing import begun, explained
from dibs.writing import write as write_file


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
    """One file; after Ctrl-C what was made stays beside it, as FILE.partial."""

    def __init__(self, terminal: Terminal, path: Path) -> None:
        super().__init__(terminal)
        self.path = path
        with explained(path):
            self._fresh = begun(path)

    def write(self, text: str) -> None:
        with explained(self.path):
            self._fresh.file.write(text.encode("ascii"))

    def complete(self) -> None:
        with explained(self.path):
            self._fresh.complete()

    def kept(self) -> str:
        if not self.done:
            self.discard()
            return ""
        with explained(self.path):
            where = self._fresh.keep() or self.path
        return f"; they are in {where}"

    def discard(self) -> None:
        self._fresh.discard()


class FolderOutput(Output):
    """A file for each instance; each is there whole or not at all."""

    def __init__(self, terminal: Terminal, folder: Path, stem: str, suffix: str) -> None:
        super().__init__(terminal)
        self.folder = folder
        self.stem, self.suffix = stem, suffix
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder}: is not a directory, and more than one instance needs one")
        with explained(folder):
            folder.mkdir(exist_ok=True)

    def write(self, text: str) -> None:
        path = self.folder / f"{self.stem}{self.done + 1}{self.suffix}"
        with explained(path):
            write_file(path, text.encode("ascii"))

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
