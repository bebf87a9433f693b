"""`dibs warm` leaves nothing to compile."""

import subprocess
import sys
from pathlib import Path

import pytest

HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


def dibs(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def warmed() -> str:
    done = dibs("warm")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_says_what_it_did_and_where(warmed: str) -> None:
    assert "tree search: " in warmed
    assert warmed.splitlines()[-1].startswith("kept in ")


@pytest.mark.parametrize(
    "words",
    [
        ["solve", HARD],
        ["solve", HARD, "--policy", "paper", "--steps", "2"],
        ["solve", HARD, "--policy", "guided", "--level", "naked", "--reuse", "0.95"],
        ["solve", HARD, "--strategy", "nogoods"],
        ["solve", "square.txt", "--family", "latin"],
        ["solve", "large.txt", "--family", "latin"],
        ["solve", "formula.cnf"],
        ["solve", "formula.cnf", "--policy", "guided"],
        ["generate", "sudoku", "1", "--size", "16", "--kept", "0.6"],
        ["generate", "latin", "1", "--order", "6", "--holes", "12", "--balanced"],
    ],
)
@pytest.mark.usefixtures("warmed")
def test_nothing_is_left_to_compile(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("square.txt").write_text("1... .... .... ....\n".replace(" ", ""))
    Path("large.txt").write_text("." * 400 + "\n")
    Path("formula.cnf").write_text("p cnf 3 3\n1 2 3 0\n-1 2 0\n-2 3 0\n")
    done = dibs(*words)
    assert done.returncode in (0, 10), done.stderr
    assert "compiling" not in done.stderr
