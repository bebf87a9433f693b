"""Whoever performs the tasks, and whoever dies meanwhile: the records are those of an undisturbed run."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from dibs import cluster
from dibs.bench import pool, runner
from dibs.bench.experiment import Experiment, Row
from dibs.bench.instances import Instances
from dibs.bench.runner import Bench, Performed, Task, write_records
from dibs.cli import main
from dibs.compiled import folder
from dibs.guide import Guidance
from dibs.problem import InputError
from dibs.search import Options
from rays import FakeRay
from runs import NEVER, children, command, leftovers, opened, plan, ready, same, short

PATIENCE = 240  # seconds; a first start may have to compile the kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX, and /proc")

# Some seconds of search in many tasks.
HALFWAY = 30  # of the 130 tasks of the experiment: there a run waits until it is killed
LONG = """
puzzles = "sample17"
[[row]]
name = "index"
level = "eliminate"
[[row]]
name = "random"
level = "eliminate"
tie = "random"
order = "random"
seed = 3
[[row]]
name = "DiBS"
guide = "{guide}"
trigger = "binary"
nodes = 100
"""


@pytest.fixture(scope="module")
def long(guides: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("experiments") / "long.toml"
    path.write_text(LONG.format(guide=guides / "relational"))
    return str(path)


@pytest.fixture(scope="module")
def undisturbed(long: str, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert main(["bench", long, "--out", str(folder)]) == 0
    found = same(folder)
    assert len(found) == 3 * 130
    return found


def wait_for(what: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """The first true answer, while the process runs."""
    end = monotonic() + PATIENCE
    while not (found := what()):
        assert process.poll() is None, process.communicate()
        assert monotonic() < end, "nothing happened"
        sleep(0.01)
    return found


def shards(folder: Path) -> int:
    return len(list(folder.glob("[0-9]*.parquet")))


def gone(pids: list[int]) -> bool:
    """Whether none of these processes is left, within some time."""
    end = monotonic() + 30
    while any(map(command, pids)) and monotonic() < end:
        sleep(0.05)
    return not any(map(command, pids))


def test_killed_again_and_again(long: str, undisturbed: list[dict[str, Any]], tmp_path: Path) -> None:
    """With SIGKILL, at random moments; then it goes on where it was."""
    rng = random.Random(1)
    for turn in range(3):
        wanted = shards(tmp_path) + rng.randint(1, 15)
        with short("bench", long, "--out", tmp_path, gates={HALFWAY: NEVER}) as process:
            wait_for(lambda wanted=wanted: shards(tmp_path) >= wanted, process)  # type: ignore[misc]
            process.kill()
            out, err = process.communicate()
        assert out == ""
        assert re.fullmatch(rf"{tmp_path}: \d+ of 390 records are here; going on\n" if turn else "", err)
    with short("bench", long, "--out", tmp_path) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "130 of sample17" in out
    assert same(tmp_path) == undisturbed
    assert leftovers(tmp_path) == []


def spawned(process: subprocess.Popen[str]) -> list[int]:
    return [pid for pid, line in children(process.pid).items() if "spawn_main" in line]


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c(workers: int, long: str, undisturbed: list[dict[str, Any]], tmp_path: Path) -> None:
    """To the whole group of processes, as a terminal sends it."""
    with short("bench", long, "--out", tmp_path, "--workers", workers, gates={HALFWAY: NEVER}) as process:
        wait_for(lambda: shards(tmp_path) > 1, process)
        started = list(children(process.pid))
        assert len(spawned(process)) == (2 if workers == 2 else 0)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    kept = len(same(tmp_path))
    assert 0 < kept < 390
    assert err == f"interrupted: {kept} of 390 records are in {tmp_path}; the same command goes on\n"
    assert out == "" or "the run is not complete" in out
    assert gone(started)
    assert leftovers(tmp_path) == []
    assert main(["bench", long, "--out", str(tmp_path)]) == 0
    assert same(tmp_path) == undisturbed


def test_ctrl_c_while_workers_start(long: str, undisturbed: list[dict[str, Any]], tmp_path: Path) -> None:
    with short("bench", long, "--out", tmp_path, "--workers", 2, gates={HALFWAY: NEVER}) as process:
        wait_for(lambda: spawned(process), process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == f"interrupted: {len(same(tmp_path))} of 390 records are in {tmp_path}; the same command goes on\n"


def test_workers_end_with_a_killed_run(long: str, undisturbed: list[dict[str, Any]], tmp_path: Path) -> None:
    """And a worker that is killed is replaced."""
    folder, gate = tmp_path / "run", tmp_path / "gate"
    with short("bench", long, "--out", folder, "--workers", 2, gates={4: gate, HALFWAY: NEVER}) as process:
        wait_for(lambda: shards(folder) > 1, process)
        workers = spawned(process)
        os.kill(workers[0], signal.SIGKILL)
        gate.touch()
        before = shards(folder)
        wait_for(lambda: shards(folder) > before + 8, process)  # more than was on its way
        others = spawned(process)
        assert not set(others) & set(workers), "there are new ones"
        process.kill()
        process.communicate()
        assert gone(workers + others)
    assert main(["bench", long, "--out", str(folder)]) == 0
    assert same(folder) == undisturbed


@pytest.fixture(scope="module")
def small(guides: Path) -> tuple[Experiment, Instances, Bench]:
    guided = Guidance(guide=str(guides / "relational"))
    rows = Row("plain", Options()), Row("random", Options(tie="random", seed=1)), Row("DiBS", Options(), guided)
    experiment = plan(rows, sample=6)
    bench, instances = ready(experiment)
    return experiment, instances, bench


@pytest.fixture
def tasks(small: tuple[Experiment, Instances, Bench], monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    monkeypatch.setattr(runner, "BLOCK", 1)
    return small[2].tasks([])


@pytest.fixture
def alone(small: tuple[Experiment, Instances, Bench], tasks: list[Task], tmp_path: Path) -> list[dict[str, Any]]:
    experiment, instances, bench = small
    store = opened(tmp_path / "alone", experiment, instances)
    write_records(store, pool.here(bench, tasks))
    store.close()
    return same(tmp_path / "alone")


def test_processes(
    small: tuple[Experiment, Instances, Bench], tasks: list[Task], alone: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Two of them; both die after their first task."""
    experiment, instances, _ = small
    killed: list[int] = []

    def kill(_: int) -> None:
        if not killed:
            killed.extend(pid for pid, line in children(os.getpid()).items() if "spawn_main" in line)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    store = opened(tmp_path / "two", experiment, instances)
    write_records(store, pool.processes(experiment, instances, tasks, 2), kill)
    store.close()
    assert len(killed) == 2
    assert same(tmp_path / "two") == alone


def test_every_task_is_handed_out_by_the_first_pool(
    small: tuple[Experiment, Instances, Bench], tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a worker dies: a second one would have to load everything again."""
    pools: list[list[Task]] = []

    def pooled(experiment: Experiment, instances: Instances, left: list[Task], workers: int) -> Performed:
        pools.append(list(left))
        for task in left:
            yield task, {}

    monkeypatch.setattr(pool, "_pooled", pooled)
    assert [task for task, _ in pool.processes(*small[:2], tasks, 2)] == tasks
    assert pools == [tasks]


def die(*_: object) -> None:
    os._exit(1)


def test_workers_that_always_die(
    small: tuple[Experiment, Instances, Bench], tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "DEATHS", 2)
    monkeypatch.setattr(pool, "_begin", die)
    with pytest.raises(InputError, match=r"^2 worker processes died one after the other: out of memory\?$"):
        list(pool.processes(*small[:2], tasks, 2))


def test_what_a_worker_refuses(guides: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, from another process too."""
    file = tmp_path / "puzzles.txt"
    file.write_text(f"{'.' * 79}12\n{'.' * 79}21\n")
    experiment = tmp_path / "x.toml"
    guide = guides / "relational"
    experiment.write_text(f"[[row]]\n[[row]]\nname = 'path'\nguide = '{guide}'\nasked = 'path'\n")
    assert main(["bench", str(experiment), "--puzzles", str(file), "--out", str(tmp_path / "x"), "--workers", "2"]) == 2
    captured = capfd.readouterr()
    assert captured.err == "asked = 'path' needs instances with one solution each: elsewhere counts differ\n"


# Clusters


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay(CPU=3.0, GPU=1.0)
    monkeypatch.setattr(cluster, "import_module", {"ray": fake}.__getitem__)
    monkeypatch.setattr(pool, "_benches", {})
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    return fake


def test_a_cluster(
    ray: FakeRay,
    small: tuple[Experiment, Instances, Bench],
    tasks: list[Task],
    alone: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    experiment, instances, _ = small
    store = opened(tmp_path / "cluster", experiment, instances)
    write_records(store, pool.cluster(experiment, instances, tasks, "local", 2, 0.25))
    store.close()
    assert same(tmp_path / "cluster") == alone
    assert ray.told["remote"] == {"num_cpus": 1, "num_gpus": 0.25, "max_retries": cluster.DEATHS}
    init = ray.told["init"]
    assert (init["address"], init["num_cpus"], init["log_to_driver"]) == ("local", 2, False)
    assert (ray.ended, ray.most) == (1, 2 * 3)


def test_a_cluster_that_is_there(ray: FakeRay, small: tuple[Experiment, Instances, Bench], tasks: list[Task]) -> None:
    """Its cores are its own business; `workers` says how many tasks are on their way."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert len(list(pool.cluster(*small[:2], tasks, address, 4))) == len(tasks)
    assert ray.told["init"]["address"] == address
    assert "num_cpus" not in ray.told["init"]
    assert ray.most == 4


def test_a_cluster_without_gpus(ray: FakeRay, small: tuple[Experiment, Instances, Bench], tasks: list[Task]) -> None:
    """Ray would wait for one for ever."""
    del ray.resources["GPU"]
    with pytest.raises(InputError, match=r"^the cluster has 0 GPUs: a worker cannot have 0.25$"):
        list(pool.cluster(*small[:2], tasks, "local", None, 0.25))
    assert ray.ended == 1


def test_a_cluster_with_another_dibs(
    ray: FakeRay,
    small: tuple[Experiment, Instances, Bench],
    tasks: list[Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = iter(["mine", "theirs"])
    monkeypatch.setattr(runner, "version", lambda: next(versions))
    with pytest.raises(InputError, match=r"^a worker has other version: theirs, not mine$"):
        list(pool.cluster(*small[:2], tasks, "local"))
    assert ray.ended == 1


def test_a_cluster_whose_workers_always_die(
    ray: FakeRay, small: tuple[Experiment, Instances, Bench], tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashed(handle: Any) -> Any:
        raise LookupError("\nThe worker died.\nMore about it.")

    monkeypatch.setattr(ray, "get", crashed)
    with pytest.raises(InputError, match=r"^the cluster gave a task up after 6 attempts: The worker died\.$"):
        list(pool.cluster(*small[:2], tasks, "local"))
    assert ray.ended == 1


def test_no_ray(long: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["bench", long, "--out", str(tmp_path / "x"), "--cluster", "local"]) == 2
    assert capsys.readouterr() == ("", "a cluster needs Ray: pip install 'dibs[cluster]'\n")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:99999"])
def test_nobody_is_there(address: str, ray: FakeRay, small: tuple[Experiment, Instances, Bench]) -> None:
    with pytest.raises(InputError) as error:
        list(pool.cluster(*small[:2], [], address))
    assert str(error.value).startswith(f"no Ray cluster at {address}: ")
    assert ray.told == {}, "Ray would wait for minutes"


def test_an_address_that_ray_refuses(
    ray: FakeRay, small: tuple[Experiment, Instances, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError("no such\n  thing")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(InputError, match=r"^no Ray cluster at auto: no such thing$"):
        list(pool.cluster(*small[:2], [], "auto"))
    assert ray.ended == 0


@pytest.fixture
def home() -> Iterator[Path]:
    """For Ray's files: its sockets need a short path."""
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'dibs[cluster]'")
def test_a_real_cluster_that_loses_a_worker(
    long: str, undisturbed: list[dict[str, Any]], tmp_path: Path, home: Path
) -> None:
    """Killed inside a task: the later ones wait at a gate."""
    run, gate = tmp_path / "run", tmp_path / "gate"
    words = "bench", long, "--out", run, "--workers", 2, "--cluster", "local", "--markdown"
    compiled = folder()
    assert compiled is not None
    kept = str(compiled.parent)  # another home has none: workers would say that they compile
    running = short(*words, later=(HALFWAY, gate), HOME=str(home), RAY_TMPDIR=str(home), NUMBA_CACHE_DIR=kept)
    with running as process:

        def busy() -> list[int]:
            return [pid for pid, line in children(process.pid).items() if line.startswith("ray::_perform")]

        wait_for(lambda: shards(run) > 1, process)
        victims = wait_for(lambda: len(pids := busy()) == 2 and pids, process)
        started = list(children(process.pid))
        os.kill(victims[0], signal.SIGKILL)
        gate.touch()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert all("(raylet)" in line for line in err.splitlines()), "Ray tells of the dead worker"
    assert out.startswith("**")
    assert out.count("\n") == 4 + 3, "nothing but the table"
    assert same(run) == undisturbed
    assert gone(started)


def test_described_rows_are_what_workers_compare(small: tuple[Experiment, Instances, Bench]) -> None:
    experiment, instances, _ = small
    one = runner.described(experiment, instances)
    rows = (replace(experiment.rows[0], options=Options(seed=9)), *experiment.rows[1:])
    assert runner.described(replace(experiment, rows=rows), instances) != one
