"""Files are there whole or not at all: links, devices, pipes, a full disk at every step, signals."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from dibs import CNF, Sudoku, generate, lists, writing
from dibs.problem import InputError
from dibs.search.external.formula import encode
from dibs.search.external.proof import ProofFile
from dibs.writing import begun, explained, replacing, write
from faults import Disk, content
from shell import PUZZLE, Run, runner

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links, devices, pipes and signals of POSIX")
FORMULA = CNF(400, [[v, -v - 1] for v in range(1, 400)])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(generate, "sudoku", lambda count, **_: iter([Sudoku.parse(PUZZLE)] * count))
    monkeypatch.setattr(generate, "sat", lambda count, **_: iter([FORMULA] * count))
    return runner(capsys, monkeypatch)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


# What stands at the path.


def test_a_file_that_cannot_be_made_is_called_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        write(tmp_path / "none" / "f", b"new")
    assert refused.value.filename == str(tmp_path / "none" / "f")


def test_a_regular_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write(path, b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["f"]


@POSIX
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_stays_and_its_target_is_written(run: Run, tmp_path: Path, dangling: bool) -> None:
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.parent.mkdir()
    if not dangling:
        target.write_text("old")
    link.symlink_to(Path("there") / "target")
    assert run("generate", "sudoku", 2, "--output", link).code == 0
    assert link.is_symlink()
    assert target.read_text().splitlines()[1:] == [PUZZLE, PUZZLE]
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]
    assert os.listdir(target.parent) == ["target"]


@POSIX
def test_links_in_a_circle_are_refused(run: Run, tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).symlink_to(other)
    complaint = run("generate", "sudoku", "--output", tmp_path / "a").complaint
    assert complaint.startswith(f"{tmp_path}/a: cannot be written: Too many levels of symbolic links")


@POSIX
def test_a_pipe_is_written_to(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    assert run("generate", "sudoku", 2, "--output", pipe).code == 0
    reader.join()
    assert heard[0].splitlines()[1:] == [PUZZLE, PUZZLE]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def device(path: Path, minor: int) -> Path:
    """A device of Linux's own; never the system's, which a defect would destroy."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        with open(path, "wb"):
            return path
    except (OSError, AttributeError):
        pytest.skip("needs the right to make devices")


@pytest.mark.skipif(sys.platform != "linux", reason="devices by their numbers on Linux")
def test_a_device_stays_a_device(run: Run, tmp_path: Path) -> None:
    null = device(tmp_path / "null", 3)
    assert run("generate", "sudoku", 2, "--output", null).code == 0
    proof = ProofFile(null)
    proof.write(FORMULA, encode(FORMULA, written=True), ["1 0"])
    assert stat.S_ISCHR(null.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


@pytest.mark.skipif(sys.platform != "linux", reason="devices by their numbers on Linux")
def test_a_full_device_is_one_line(run: Run, tmp_path: Path) -> None:
    full = device(tmp_path / "full", 7)
    for count in (1, 1000):  # within a buffer, and beyond it
        complaint = run("generate", "sudoku", count, "--output", full).complaint
        assert complaint == f"{full}: cannot be written: No space left on device"
    assert stat.S_ISCHR(full.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["solve", PUZZLE], ["solve", "-"], ["generate", "sudoku", "2"], ["data", "list"]])
def test_standard_output_that_is_full(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dibs", *words],
            input=f"{PUZZLE}\n{PUZZLE}\n".encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (2, b"output: No space left on device\n")


def test_a_folder_is_refused(run: Run, tmp_path: Path) -> None:
    assert run("generate", "sudoku", "--output", tmp_path).complaint == f"{tmp_path}: is a directory"
    with pytest.raises(InputError, match="is a directory"):
        ProofFile(tmp_path)
    assert os.listdir(tmp_path) == []


def test_two_writers_do_not_write_into_each_other_s_file(tmp_path: Path) -> None:
    one, other = begun(tmp_path / "f"), begun(tmp_path / "f")
    one.file.write(b"one")
    other.file.write(b"other")
    one.complete()
    other.complete()
    assert content(tmp_path) == {"f": b"other"}


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError])
def test_whatever_is_raised_leaves_what_was_there(tmp_path: Path, raised: type[BaseException]) -> None:
    def fail() -> None:
        with replacing(tmp_path / "f", durable=True) as file:
            file.write(b"half")
            raise raised

    write(tmp_path / "f", b"old")
    with pytest.raises(raised):
        fail()
    assert content(tmp_path) == {"f": b"old"}


# A full disk at every step of every file that dibs writes.


def shell(run: Run, *words: object) -> Any:
    """A command as an action that raises: its complaint, which is one line, as an InputError."""

    def action() -> None:
        result = run(*words)
        if result.code != 0:
            raise InputError(result.complaint)

    return action


def test_generated_files(run: Run, disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    for name in ("old", "new"):
        action = shell(run, "generate", "sudoku", 40, "--output", tmp_path / name)
        assert disk.faults(tmp_path, action, (InputError,)) >= 4
    formulas = shell(run, "generate", "sat", 10, "--variables", 400, "--output", tmp_path / "formulas")
    assert disk.faults(tmp_path, formulas, (InputError,)) >= 50  # ten files: open, three writes, rename


def test_proofs(disk: Disk, tmp_path: Path) -> None:
    puzzle = Sudoku.parse("1234" + "." * 12)
    (tmp_path / "p").write_text("an older proof")
    for instance in (FORMULA, puzzle):

        def proved(instance: Any = instance) -> None:
            file = ProofFile(tmp_path / "p")
            try:
                file.write(instance, encode(instance, written=True), [f"{v} 0" for v in range(1, 400)])
            finally:
                file.discard()

        assert disk.faults(tmp_path, proved, (InputError,)) >= 4


def test_formulas_and_lists(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk.faults(tmp_path, lambda: FORMULA.write(tmp_path / "f.cnf"), (OSError,)) >= 3
    monkeypatch.setenv("DIBS_DATA", str(tmp_path))
    listed = lists.PuzzleList(name="tiny", puzzles=30, what="", sha256="")
    assert disk.faults(tmp_path, lambda: lists.store(listed, [PUZZLE] * 30), (InputError,)) >= 3


def test_reports(disk: Disk, tmp_path: Path) -> None:
    from dibs.report import writing as report

    page = b"<html>" * 1000
    assert disk.faults(tmp_path, lambda: report.write(tmp_path, "a/report.html", page), (InputError,)) >= 3


def test_records(disk: Disk, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    from dibs.bench.records import COLUMNS, Store, frame

    manifest = {"version": "1", "rows": [{"name": "a"}]}

    def opened() -> None:
        Store.open(tmp_path / "run", manifest).close()

    assert disk.faults(tmp_path, opened, (InputError,)) >= 4
    store = Store.open(tmp_path / "run", manifest)
    empty = frame({name: [] for name in COLUMNS})
    for _ in range(2):
        assert disk.faults(tmp_path, lambda: store.append(empty), (OSError,)) >= 5
    store.close()


def test_checkpoints_logs_and_guides(disk: Disk, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    import tiny
    from dibs.model.checkpoint import Checkpoint, Unwritable
    from dibs.model.export import set_calibration
    from dibs.model.log import Log

    weights = {"w": torch.zeros(3000)}
    for step in (1, 2):
        checkpoint = Checkpoint(step, 0.0, {}, "", weights, weights, {})
        saved = partial(checkpoint.write, tmp_path / "c.pt")
        assert disk.faults(tmp_path, saved, (Unwritable,)) >= 10

    log = Log.__new__(Log)  # without TensorBoard, whose files are its own
    log.path, log.rows = tmp_path / "log.csv", [{"step": str(i)} for i in range(500)]
    log.board = _Nobody()  # type: ignore[assignment]
    rows = list(log.rows)

    def logged() -> None:
        log.rows = list(rows)
        log.write(501)

    assert disk.faults(tmp_path, logged, (OSError,)) >= 3

    guide = tmp_path / "guide"
    for _ in range(2):  # none there, and an older one
        assert disk.faults(tmp_path, lambda: tiny.relational(guide), (InputError,)) >= 15
    assert disk.faults(tmp_path, lambda: set_calibration(guide, (1.0, 0.5)), (InputError,)) >= 4


class _Nobody:
    def flush(self) -> None:
        pass


def test_puzzles_for_training(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from dibs.model import puzzles
    from dibs.model.config import Data

    monkeypatch.setattr(puzzles, "_made", lambda *_: iter([(0, np.zeros((5, 81), np.uint8))]))
    monkeypatch.setattr(puzzles, "PIECE", {"easy": 5})

    def made() -> None:
        puzzles._pieces("easy", Data(), 5, tmp_path, lambda _: None)

    assert disk.faults(tmp_path, made, (InputError,)) >= 2


def test_figures(disk: Disk, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from dibs.commands.explain import _write

    assert disk.faults(tmp_path, lambda: _write(tmp_path / "t.svg", "<svg>" * 500), (InputError,)) >= 3


def test_an_explanation_names_the_path() -> None:
    with pytest.raises(InputError, match=r"^here: cannot be written: No space left on device$"), explained("here"):
        raise OSError(28, "No space left on device")
    with pytest.raises(BrokenPipeError), explained("here"):
        raise BrokenPipeError


# Signals.

WRITER = """
import sys
from dibs.writing import write
for i in range(10**9):
    write(sys.argv[1], bytes([i % 251]) * 1_000_000, durable=i % 2 == 0)
    print(flush=True)
"""


@POSIX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT] if sys.platform != "win32" else [])
def test_signals_at_random_points_of_a_write(tmp_path: Path, number: signal.Signals) -> None:
    rng = random.Random(number)
    path = tmp_path / "f"
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout
            for _ in range(rng.randint(1, 40)):  # writes that are done: it is in one of the next
                process.stdout.readline()
            process.send_signal(number)
        found = path.read_bytes()
        assert (len(found), len(set(found))) == (1_000_000, 1)
    if number == signal.SIGINT:
        assert set(os.listdir(tmp_path)) <= {"f"}


@POSIX
def test_signals_at_random_points_of_generate(tmp_path: Path) -> None:
    rng = random.Random(3)
    path = tmp_path / "puzzles"
    path.write_text("old")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        words = ["generate", "sudoku", "1000000", "--output", str(path)]
        with subprocess.Popen(
            [sys.executable, "-m", "dibs", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wanted, end = rng.randint(1, 50_000), time.monotonic() + 120
            while sum(one.stat().st_size for one in tmp_path.glob(f"*{writing.PARTIAL}")) < wanted:
                assert process.poll() is None
                assert time.monotonic() < end, "nothing is written"
                time.sleep(0.01)
            process.send_signal(number)
        assert path.read_text() == "old"
        for left in tmp_path.iterdir():
            if left != path:
                assert left.name.endswith(writing.PARTIAL)
                left.unlink()
