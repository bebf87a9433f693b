"""Instances on a cluster: the answers are those of this process."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

import dibs
from dibs import cluster
from dibs.bench.instances import load
from dibs.cli import main
from dibs.generate import latin, sat
from dibs.search.plan import Request
from randoms import stubborn
from rays import FakeRay

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
