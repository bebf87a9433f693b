"""Compiled code on disk: found again, made again when a source changes or a file is damaged, or done without."""

import errno
import io
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Event
from typing import Any

import numba
import pytest

from dibs import compiled

# A package of two files: what is compiled in one calls a part, and has a number in it, of the other.
CALLER = """
from dibs.compiled import entry

from toy.callee import FACTOR, plus

@entry()
def total(x):
    return plus(x) * FACTOR
"""
CALLEE = """
from dibs.compiled import part

FACTOR = 10

@part
def plus(x):
    return x + 1
"""
# Prints what it computes, and how often it was loaded and compiled.
CALL = """
import sys
from pathlib import Path
from dibs import compiled
compiled.PACKAGE = Path(sys.argv[1]) / "toy"
sys.path.insert(0, sys.argv[1])
{before}
from toy.caller import total
print(total(1), sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


class Toy:
    """The package in a folder, and a cache beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kept = folder, folder / "kept"
        (folder / "toy").mkdir()
        self.write("__init__", "")
        self.write("caller", CALLER)
        self.write("callee", CALLEE)

    def write(self, name: str, text: str) -> None:
        (self.folder / "toy" / f"{name}.py").write_text(text)

    def call(self, before: str = "", **environment: str) -> tuple[str, str]:
        """(what a fresh process prints, and its standard error)"""
        code = CALL.format(before=textwrap.dedent(before))
        env = os.environ | {"NUMBA_CACHE_DIR": str(self.kept)} | environment
        env = {name: value for name, value in env.items() if value}
        done = subprocess.run(
            [sys.executable, "-c", code, str(self.folder)], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    def files(self) -> list[Path]:
        return sorted(self.kept.glob("compiled-*/*"))


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def test_what_was_compiled_is_loaded_and_nothing_is_said(toy: Toy) -> None:
    first, line = toy.call()
    assert first == "20 0 1"
    assert line.count("\n") == 1
    assert line.startswith("dibs: compiling")
    assert str(toy.kept) in line
    assert toy.call() == ("20 1 0", "")


def test_a_terminal_has_dots_while_something_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            count = super().write(text)
            if self.getvalue() == "...":
                over.set()
            return count

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(compiled._log, "handlers", [])
    monkeypatch.setattr(compiled, "DOT", 0.001)
    compiled._dots(over)
    assert screen.getvalue() == "...\n"


def test_dots_end_with_what_was_compiled(toy: Toy) -> None:
    at_exit = "import atexit; atexit.register(lambda: print(len(compiled._drawing)))"
    assert toy.call(at_exit)[0].split() == ["20", "0", "1", "0"]


def test_a_part_or_a_number_that_changes_in_another_file_is_seen(toy: Toy) -> None:
    toy.call()
    toy.write("callee", CALLEE.replace("x + 1", "x + 2"))
    assert toy.call()[0] == "30 0 1"
    toy.write("callee", CALLEE.replace("10", "100"))
    assert toy.call()[0] == "200 0 1"
    toy.write("callee", CALLEE)
    assert toy.call()[0] == "20 1 0", "the first version is still there"


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_file_is_made_again(toy: Toy, damage: bytes | None) -> None:
    toy.call()
    [file] = toy.files()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert toy.call()[0] == "20 0 1"
    assert toy.call() == ("20 1 0", "")


def test_a_file_that_cannot_be_unpickled_is_made_again(toy: Toy) -> None:
    toy.call()
    [file] = toy.files()
    compiled._write(file, b"whole, but nothing that a cache has written")
    assert toy.call()[0] == "20 0 1"
    assert toy.call() == ("20 1 0", "")


def test_without_a_folder_it_works_with_one_line(toy: Toy) -> None:
    nowhere = toy.folder / "file"
    nowhere.write_text("")
    for _ in range(2):
        answer, line = toy.call(NUMBA_CACHE_DIR=str(nowhere / "x"))
        assert answer == "20 0 1"
        assert line.count("\n") == 1
        assert "cannot be kept" in line
    # A package that is read-only, and no home.
    shutil.rmtree(toy.folder / "toy" / "__pycache__", ignore_errors=True)  # of the calls above, where Python keeps any
    before = "compiled.PACKAGE.joinpath('__pycache__').write_text('')"
    answer, line = toy.call(before, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(nowhere), PYTHONDONTWRITEBYTECODE="1")
    assert answer == "20 0 1"
    assert line.count("\n") == 1
    assert "cannot be kept" in line


def test_the_line_can_be_silenced(toy: Toy) -> None:
    quiet = "import logging; logging.getLogger('dibs').setLevel('ERROR')"
    assert toy.call(quiet) == ("20 0 1", "")
    assert toy.call(quiet, NUMBA_CACHE_DIR="/dev/null/x") == ("20 0 1", "")


def test_a_full_disk_leaves_nothing_behind(toy: Toy) -> None:
    full = """
        import os
        def replace(*names): raise OSError(28, os.strerror(28))
        compiled.os.replace = replace
        """
    answer, said = toy.call(full)
    assert answer == "20 0 1"
    assert os.strerror(errno.ENOSPC) in said
    assert said.count("\n") == 2
    assert toy.files() == []
    assert toy.call()[0] == "20 0 1"


def test_the_users_folder_or_the_package_is_used_where_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = compiled.parents()
    assert first.name == "dibs"
    assert second == compiled.PACKAGE / "__pycache__"
    if sys.platform == "linux":
        assert first == tmp_path / "dibs"


def test_old_folders_go_and_the_last_ones_stay(tmp_path: Path) -> None:
    names = [f"compiled-{i}" for i in range(10)]
    for age, name in enumerate(names):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
        now = (tmp_path / name).stat().st_mtime
        os.utime(tmp_path / name, (now, now - 3600 * 5 * age))
    (tmp_path / "something-else").mkdir()
    compiled.forget(tmp_path / names[0])
    left = {path.name for path in tmp_path.iterdir()}
    # Those of the last day, whatever their number, and the new one.
    assert left == {"something-else", *names[:5]}
    for name in names[1:5]:
        os.utime(tmp_path / name, (0, 0))
    compiled.forget(tmp_path / names[0])
    assert len(list(tmp_path.glob("compiled-*"))) == compiled.KEPT + 1


def test_every_file_with_compiled_code_is_a_source() -> None:
    found = {path.relative_to(compiled.PACKAGE).as_posix() for path in compiled.sources(compiled.PACKAGE)}
    assert {"search/tree/state.py", "search/tree/tables.py", "machine.py", "guide/native.py", "compiled.py"} <= found
    words = {"cli.py", "errors.py", "wording.py", "guide/card.py", "problem/text.py", "search/options.py"}
    assert not words & found, "changes there compile nothing anew"
    for path in compiled.PACKAGE.rglob("*.py"):
        if "import njit" in path.read_text():
            assert path.name == "compiled.py", f"{path}: use the decorators of dibs.compiled"


def test_the_hash_is_of_content_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    seen = {compiled.version([file])}
    assert compiled.version([file]) in seen
    file.write_text("x = 2\n")
    seen.add(compiled.version([file]))
    monkeypatch.setattr(numba, "__version__", "0.0")
    seen.add(compiled.version([file]))
    assert len(seen) == 3


def test_two_processes_at_once(toy: Toy) -> None:
    code = CALL.format(before="")
    env = os.environ | {"NUMBA_CACHE_DIR": str(toy.kept)}
    many: list[Any] = [
        subprocess.Popen([sys.executable, "-c", code, str(toy.folder)], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {process.communicate()[0].split()[0] for process in many} == {"20"}
    assert len(toy.files()) == 1
    assert toy.call() == ("20 1 0", "")


def test_a_folder_that_can_only_be_read_is_used(toy: Toy) -> None:
    """As in an image that was built by somebody else."""
    toy.call()
    readonly = """
    import tempfile
    def refuse(*_, **__): raise PermissionError("read-only")
    tempfile.TemporaryFile = refuse
    """
    assert toy.call(readonly) == ("20 1 0", "")
