"""Instances on a cluster: the answers are those of this process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

import dibs
from dibs import cluster
from dibs.bench.instances import load
from dibs.cli import main
from dibs.compiled import folder
from dibs.generate import latin, sat
from dibs.search.plan import Request
from randoms import stubborn
from rays import FakeRay

PATIENCE = 240  # seconds; a first start may have to compile
HOW: dict[str, Any] = {"strategy": "nogoods"}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay(CPU=2.0)
    monkeypatch.setattr(cluster, "import_module", {"ray": fake}.__getitem__)
    monkeypatch.setattr(cluster, "_solvers", {})
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    return fake


def solved(problems: list[Any], request: Request, **rest: Any) -> dict[int, Any]:
    batches = cluster.solve_batches(enumerate(problems), request, "local", **rest)
    return {tag: found for batch in batches for tag, _, found in batch}


def test_many(ray: FakeRay) -> None:
    puzzles = [*load("sample17", 20), *latin(3, order=8, holes=0.5, seed=1)]
    found = solved(puzzles, Request())
    for number, puzzle in enumerate(puzzles):
        known = dibs.solve(puzzle)
        assert (found[number].status, found[number].nodes) == (known.status, known.nodes)
    assert ray.ended == 1


@pytest.mark.parametrize("seconds", [0.001, 60.0])
def test_one_in_turns(ray: FakeRay, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that are too short for an answer: cubes are split until they are not."""
    monkeypatch.setattr(cluster, "TURN", seconds)
    seen = set()
    for problem in [*stubborn(seed=3, count=6), *sat(2, variables=60, clauses=280, seed=1)]:
        [found] = solved([problem], Request(None, HOW)).values()
        assert found.status == dibs.solve(problem, **HOW).status
        seen.add(found.status)
        if found.status == "SAT":
            assert problem.violation(found.solution) is None
    assert seen == {"SAT", "UNSAT"}


def test_one_that_is_no_nogood_search(ray: FakeRay) -> None:
    [puzzle] = load("sample17", 1)
    [found] = solved([puzzle], Request()).values()
    assert found.solution == dibs.solve(puzzle).solution


def test_limits_and_stops(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    [square] = latin(1, order=40, holes=0.4, seed=3)
    over = Event()
    over.set()
    assert solved([square], Request(None, HOW), stop=over) == {}
    [found] = solved([square], Request(None, {**HOW, "max_seconds": 1e-9})).values()
    assert found.status == "LIMIT"


def test_what_a_worker_refuses(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "put", lambda what: (what[0], "0") if isinstance(what, tuple) else what)
    with pytest.raises(dibs.InputError, match="a worker has another dibs"):
        solved(load("sample17", 3), Request())


def test_from_the_shell(ray: FakeRay, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "4.....1..3.....2", "--cluster", "local"]) == 0
    alone = capsys.readouterr().out
    assert main(["solve", "4.....1..3.....2"]) == 0
    assert alone.splitlines()[0] == capsys.readouterr().out.splitlines()[0]
    for more, why in ((["--proof", "x"], "proof"), (["--all"], "all solutions")):
        assert main(["solve", "4.....1..3.....2", "--cluster", "local", *more]) == 2
        assert why in capsys.readouterr().err


HELD = """
import sys
from dibs import cluster
from dibs.cli import main

def _held(*task):
    import os, time
    from pathlib import Path
    from dibs import cluster
    folder = Path({folder!r})
    (folder / str(os.getpid())).touch()
    while not (folder / "gate").exists():
        time.sleep(0.01)
    return cluster.{name}(*task)

cluster.{name} = _held
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX")
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'dibs[cluster]'")
@pytest.mark.parametrize("name", ["_some", "_turn"])
def test_a_real_worker_that_is_killed_loses_nothing(name: str, tmp_path: Path) -> None:
    """Many instances, and one that has no solution on all cores: killed inside a task, where all tasks wait."""
    if name == "_some":
        puzzles = [puzzle.line() for puzzle in load("sample17", 12)]
        expected = [f"{n} SAT {dibs.solve(dibs.Sudoku.parse(line)).solution}" for n, line in enumerate(puzzles, 1)]
        file, code = tmp_path / "puzzles.txt", 0
        file.write_text("\n".join(puzzles) + "\n", encoding="utf-8")
    else:
        formula = next(one for one in sat(9, variables=60, clauses=290, seed=1) if dibs.solve(one).status == "UNSAT")
        expected, file, code = ["s UNSATISFIABLE"], tmp_path / "formula.cnf", 20
        file.write_text(formula.format(), encoding="utf-8")
    held, home = tmp_path / "held", Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))  # Ray's sockets need a short path
    held.mkdir()
    compiled = folder()
    assert compiled is not None
    words = ["solve", str(file), "--cluster", "local", "--workers", "2", *(["--strategy", "nogoods"] if code else [])]
    process = subprocess.Popen(
        [sys.executable, "-c", HELD.format(folder=str(held), name=name), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"HOME": str(home), "RAY_TMPDIR": str(home), "NUMBA_CACHE_DIR": str(compiled.parent)},
    )
    try:
        end = monotonic() + PATIENCE
        while len(busy := list(held.iterdir())) < 2:
            assert process.poll() is None, process.communicate()
            assert monotonic() < end, "no task has begun"
            sleep(0.01)
        os.kill(int(busy[0].name), signal.SIGKILL)
        (held / "gate").touch()
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        shutil.rmtree(home, ignore_errors=True)
    assert process.returncode == code, out
    assert [line for line in expected if line not in out.splitlines()] == [], out
