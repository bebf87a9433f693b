"""The first moments of the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dibs

INTERRUPTED = """
import builtins, signal, sys
load = builtins.__import__
def interrupted(name, *rest):
    if name == {name!r}:
        signal.raise_signal(signal.SIGINT)
    return load(name, *rest)
builtins.__import__ = interrupted
from dibs.__main__ import main
sys.argv = ["dibs", "--help"]
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["cyclopts", "numpy", "dibs.commands.solve"])
def test_ctrl_c_while_it_is_still_loading_is_silent(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(name=name)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


def test_importing_dibs_loads_nothing() -> None:
    code = "import sys, dibs; print([m for m in ('numpy', 'numba', 'onnxruntime', 'torch') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_every_public_name_is_there() -> None:
    code = "import dibs; print(all(hasattr(dibs, name) for name in dibs.__all__), set(dibs.__all__) <= set(dir(dibs)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True True\n"


def test_what_is_left_to_do_at_the_end_is_done() -> None:
    code = """
import atexit, sys, threading
from dibs.__main__ import main
atexit.register(print, "at exit")
sys.argv = ["dibs", "--version"]
ended = threading.Event()
thread = threading.Thread(target=lambda: ended.wait() and print("a thread"))
if {threaded}:
    thread.start()
code = main()
ended.set()
sys.exit(code)
"""
    for threaded, last in ((False, ["at exit"]), (True, ["a thread", "at exit"])):
        words = [sys.executable, "-c", code.format(threaded=threaded)]
        assert subprocess.check_output(words, text=True).splitlines()[1:] == last


def test_completion_is_installed_for_the_shell_that_is_named(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "dibs", "--install-completion", "--shell", "bash"]
    subprocess.run(words, env={**os.environ, "HOME": str(tmp_path)}, check=True, capture_output=True)
    [script] = tmp_path.rglob("completions/dibs")
    text = script.read_text(encoding="utf-8")
    assert all(word in text for word in ("solve", "--max-seconds", "explain"))


def test_dibs_lib_in_the_same_folder_is_named_at_import(tmp_path: Path) -> None:
    """It has files below dibs/ and no dibs/__init__.py, so both are installed."""
    shutil.copytree(Path(dibs.__file__).parent, tmp_path / "dibs", ignore=shutil.ignore_patterns("weights", "data"))
    for folder, lines in ((None, 0), (tmp_path / "dibs" / "inference", 1)):
        if folder is not None:
            folder.mkdir()
            (folder / "dibs.py").write_text("")
        world = {**os.environ, "PYTHONPATH": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", "import dibs"], env=world, check=True, capture_output=True, text=True
        )
        assert run.stderr.count("\n") == lines
        assert ("dibs-lib" in run.stderr) == bool(lines)
