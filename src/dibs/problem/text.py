"""Text that users hand in: opening it (plain, gzip or xz) and saying where it is wrong."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from typing import IO, Any, BinaryIO, Self, TextIO, cast

from dibs.errors import InputError as InputError
from dibs.problem.limits import DEFAULT, InputLimits

Source = str | os.PathLike[str] | TextIO

GZIP_MAGIC = b"\x1f\x8b"
XZ_MAGIC = b"\xfd7zXZ\x00"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


@contextmanager
def open_text(source: Source, name: str | None = None, limits: InputLimits = DEFAULT) -> Iterator[tuple[str, Lines]]:
    """The name and the lines of a path, of standard input ("-") or of an open text stream, read as they are needed."""
    with ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            if os.fspath(source) == "-":
                label = name or "<stdin>"
                raw = cast("BinaryIO | None", getattr(sys.stdin, "buffer", None))
                stream = sys.stdin if raw is None else _decoded(_buffered(raw), label, stack, close=False)
            else:
                label = name or os.fspath(source)
                stream = _decoded(stack.enter_context(_open_binary(source, label)), label, stack)
        elif not hasattr(source, "readline"):
            raise TypeError(f"{source!r} is neither a path nor an open text file")
        else:
            label = name or str(getattr(source, "name", "<text>"))
            stream = source
        yield label, Lines(stream, label, limits)


def _open_binary(path: str | os.PathLike[str], label: str) -> io.BufferedReader:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise InputError("does not exist", label) from None
    except IsADirectoryError:
        raise InputError("is a directory", label) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", label) from None


def _buffered(raw: BinaryIO) -> io.BufferedReader:
    """`raw` with a `peek`."""
    return raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))


def _decoded(raw: io.BufferedReader, label: str, stack: ExitStack, close: bool = True) -> TextIO:
    """UTF-8 text of a binary stream, which is unpacked if its first bytes say that it is packed."""
    packed: IO[bytes] = raw
    magic = raw.peek(len(XZ_MAGIC))
    if magic.startswith(GZIP_MAGIC):
        packed = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=raw)))
    elif magic.startswith(XZ_MAGIC):
        packed = cast("IO[bytes]", stack.enter_context(lzma.LZMAFile(raw)))  # noqa: SIM115
    elif b"\0" in magic:
        raise InputError("is not a text file", label)
    text = io.TextIOWrapper(packed, encoding="utf-8-sig")
    if not close:
        stack.callback(_release, text)
    else:
        stack.enter_context(text)
    return text


def _release(text: io.TextIOWrapper) -> None:
    """Leave standard input open for others: a wrapper that is dropped would close it."""
    if not text.closed:
        text.detach()


class Lines:
    """The lines of a stream, one by one, never more of it than the longest line; what is not text raises.

    So does text beyond the limits: `max_text` characters since the beginning, or since `progress` was last called.
    """

    def __init__(self, stream: TextIO, label: str, limits: InputLimits) -> None:
        self.label = label
        self.limits = limits
        self.number = 0  # of the line that was read last
        self._readline = stream.readline
        self._longest = limits.max_line
        self._left = limits.max_text

    def progress(self) -> None:
        """What was read has been handed over, and nobody holds it."""
        self._left = self.limits.max_text

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        try:
            line = self._readline(self._longest + 1)
        except UnicodeDecodeError:
            raise InputError("is not a text file", self.label) from None
        except DAMAGED as error:
            raise InputError(f"is damaged: {error}", self.label) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", self.label) from None
        if not line:
            raise StopIteration
        self.number += 1
        self._left -= len(line)
        if "\0" in line:
            raise InputError("is not a text file", self.label)
        if len(line) > self._longest and not line.endswith("\n"):
            raise InputError(self.limits.excess("max_line", "characters in a line"), self.label, self.number)
        if self._left < 0:
            what = "characters in one formula, or without a puzzle"
            raise InputError(self.limits.excess("max_text", what), self.label, self.number)
        return line


def check_keys(table: Mapping[str, Any], known: Collection[str], file: str, where: str) -> None:
    """Refuse a key of a configuration that is not `known`, naming the nearest one."""
    for key in table.keys() - set(known):
        near = get_close_matches(key, known, 1, 0)
        raise InputError(f"{where}unknown key {key!r}; did you mean {near[0]!r}?", file=file)
