"""What goes wrong at a user's side, each in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(Exception):
    """Options or arguments that make no sense: one line for the user, exit code 2."""


class InputError(ValueError):
    """Something wrong in a user's text; lines and columns count from 1, None is unknown."""

    def __init__(
        self, message: str, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message, file, line, column)  # all of them, so that it pickles
        self.message = message
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if self.file is not None:
            place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        else:
            named = (("line", self.line), ("column", self.column))
            place = ", ".join(f"{name} {number}" for name, number in named if number is not None)
        return f"{place}: {self.message}" if place else self.message

    def moved(self, file: str | None, lines: int = 0, columns: int = 0) -> InputError:
        """The same error of a text that begins further down in a file.

        Args:
            file: the file.
            lines: before the text.
            columns: before the text's first line.

        Returns:
            The error as seen from the file.
        """
        line = 1 if self.line is None else self.line
        # Only the first line of a text can begin further right than its file's line does.
        column = self.column + (columns if line == 1 else 0) if self.column is not None else None
        return InputError(self.message, file, line + lines, column)


@contextmanager
def refusing() -> Iterator[None]:
    """What makes no sense becomes the line of a command; an InputError names its place itself."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise Refused(f"dibs: {error}") from None
