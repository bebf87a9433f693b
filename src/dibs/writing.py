"""How dibs writes a file: it is there whole or not at all, and what was there before stays until then.

A regular file is written under another name beside it and renamed when it is complete. A symbolic link stays a link:
what it points to is written. A device or a pipe cannot be there as a whole, so it is written to; a folder is refused.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from dibs.errors import InputError
from dibs.interrupt import interrupts_later

PARTIAL = ".partial"  # how names of files end that are not complete

PathLike = str | os.PathLike[str]


class Replacement:
    """A file in the making: `open` it, write to `file`, then call `complete`; `discard` leaves what was there before.

    Making the object touches nothing: whoever has it can `discard` it, wherever an interrupt came in `open`.
    `durable`: `complete` returns when the content and the name are on the disk, whatever happens to the machine.
    """

    file: BinaryIO

    def __init__(self, path: PathLike, *, durable: bool = False) -> None:
        self.durable = durable
        self._path = path
        self._target = Path(os.path.realpath(path))
        self.partial: Path | None = None  # under which name it is written; None: a device or a pipe

    def open(self) -> BinaryIO:
        path = self._path
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory", os.fspath(path))
        if mode is not None and not stat.S_ISREG(mode):
            # Without O_CREAT: if it is gone by now, no regular file takes its place. Opening a pipe may wait for long.
            self.file = open(path, "wb", opener=lambda name, _: os.open(name, os.O_WRONLY))  # noqa: SIM115
            return self.file
        # A name that nobody else has: two processes that write the same file do not write into each other's.
        self.partial = self._target.with_name(f"{self._target.name}.{token_hex(4)}{PARTIAL}")
        with interrupts_later(signal.SIGINT, signal.SIGTERM):  # a file that is open is known here, so that it is closed
            try:
                self.file = open(self.partial, "xb")  # noqa: SIM115
            except OSError as error:
                error.filename = os.fspath(path)  # the name that somebody knows
                raise
        if mode is not None:
            with suppress(OSError):  # a file system without permissions
                os.chmod(self.partial, stat.S_IMODE(mode) & 0o777)
        return self.file

    def complete(self) -> None:
        """All is written: it takes its name."""
        self.file.flush()
        if self.partial is None:
            self.file.close()
            return
        if self.durable:
            os.fsync(self.file.fileno())
        self.file.close()
        os.replace(self.partial, self._target)
        if self.durable:
            _sync_folder(self._target.parent)

    def keep(self) -> Path | None:
        """It will never be complete, but what there is shall stay, as FILE.partial; where that is."""
        self.file.close()
        if self.partial is None:
            return None
        kept = self._target.with_name(self._target.name + PARTIAL)
        os.replace(self.partial, kept)
        return kept

    def discard(self) -> None:
        """Leave nothing that was not there before; after `complete` this does nothing."""
        with suppress(OSError, AttributeError):  # the last bytes of a file that nobody wants; never opened
            self.file.close()
        if self.partial is not None:
            self.partial.unlink(missing_ok=True)


def begun(path: PathLike) -> Replacement:
    """A replacement that is open: for files that are written over the length of a command."""
    fresh = Replacement(path)
    try:
        fresh.open()
    except BaseException:
        fresh.discard()
        raise
    return fresh


@contextmanager
def replacing(path: PathLike, *, durable: bool = False) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` at the end of the block, unless the block raises."""
    fresh = Replacement(path, durable=durable)
    try:
        yield fresh.open()
        fresh.complete()
    except BaseException:
        fresh.discard()
        raise


def write(path: PathLike, content: bytes, *, durable: bool = False) -> None:
    """The whole content of a file."""
    with replacing(path, durable=durable) as file:
        file.write(content)


@contextmanager
def explained(path: PathLike) -> Iterator[None]:
    """What the file system refuses becomes one line about `path`. A reader of a pipe that went away is no fault."""
    try:
        yield
    except BrokenPipeError:
        raise
    except IsADirectoryError:
        raise InputError("is a directory", os.fspath(path)) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", os.fspath(path)) from None


def _mode(path: PathLike) -> int | None:
    """What `path` is, or what the link there points to; None if it is nothing yet."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """A new name is safe when its folder is."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows, where folders cannot be opened
        return
    number = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
