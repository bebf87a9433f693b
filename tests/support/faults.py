"""A disk that is full from its n-th step on, under the one writer of dibs."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs import writing

NEVER = 10**9
PIECE = 2048  # bytes that one write takes: few, so that a file takes several


class Disk:
    """Counts what the writer asks of the system (open, write, fsync, replace); from step `full` on, there is no space.

    A write that fails has written half of what it should.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.full = NEVER
        monkeypatch.setattr(writing, "open", self.open, raising=False)
        for name in ("fsync", "replace"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def step(self) -> None:
        self.steps += 1
        if self.steps >= self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **more: Any) -> Any:
            self.step()
            return call(*arguments, **more)

        return step

    def open(self, path: Any, mode: str, **how: Any) -> io.BufferedWriter:
        self.step()
        return io.BufferedWriter(_Raw(self, path, mode, **how), PIECE)

    def faults(self, folder: Path, action: Callable[[], Any], complaints: tuple[type[Exception], ...]) -> int:
        """Perform `action` with a fault at each of its steps, and then whole; how many faults there were.

        After each, every file of `folder` is as it was before or as it would be after; nothing else is there, and what
        was raised is one line.
        """
        before = content(folder)
        states = []
        count = 0
        while True:
            self.steps, self.full = 0, count + 1
            said = self.complaint(action, complaints)
            self.full = NEVER
            if said is None:
                break
            assert "No space left" in said
            assert "\n" not in said
            states.append(content(folder))
            count += 1
        after = content(folder)
        for found in states:
            assert before.keys() <= found.keys() <= after.keys()
            assert all(found[name] in (before.get(name), after[name]) for name in found)
        return count

    @staticmethod
    def complaint(action: Callable[[], Any], complaints: tuple[type[Exception], ...]) -> str | None:
        """What `action` raised, or None."""
        try:
            action()
        except complaints as error:
            return str(error)
        return None


class _Raw(io.FileIO):
    def __init__(self, disk: Disk, path: Any, mode: str, **how: Any) -> None:
        super().__init__(path, mode.replace("b", ""), **how)
        self.disk = disk

    def write(self, data: Any) -> int:
        try:
            self.disk.step()
        except OSError:
            super().write(bytes(data[: PIECE // 2]))
            raise
        return super().write(bytes(data[:PIECE]))


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder and below."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
