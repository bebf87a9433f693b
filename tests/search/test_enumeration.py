"""All solutions, each once: against a SAT solver that blocks them one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Latin, Not, Problem, Sudoku
from dibs.problem import Instance
from dibs.questions import opened
from dibs.search import solver, workers
from dibs.search.nogoods import enumeration
from guides import BAD, Scored
from judge import as_set, clauses, sets
from randoms import bounded, formula, formulas, mixture, problem, tight, union

MOST = 3000
Make = Callable[[np.random.Generator], Instance]
KINDS: dict[str, Make] = {
    "tight bounds": tight,
    "bounds": bounded,
    "groups": problem,
    "parts": union,
    "formulas": formulas,
    "clauses of three": lambda rng: formula(rng, int(rng.integers(8, 15)), float(rng.uniform(1.5, 4.5))),
    "grids": lambda rng: mixture(int(rng.integers(10**9)), 3)[int(rng.integers(3))],
}


def drawn(kind: str, seed: int, count: int) -> list[tuple[Instance, set[frozenset[int]], np.random.Generator]]:
    made = []
    for i in range(count):
        rng = np.random.default_rng((41, seed, i))
        instance = KINDS[kind](rng)
        known = sets(instance, MOST)
        if len(known) < MOST:
            made.append((instance, known, rng))
    return made


def same(instance: Instance, known: set[frozenset[int]], found: Any) -> None:
    listed = [as_set(instance, solution) for solution in found]
    assert len(listed) == len(set(listed)), instance
    assert set(listed) == known, instance


@pytest.mark.parametrize("kind", KINDS)
def test_every_solution_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    total = 0
    for instance, known, rng in drawn(kind, 1, 30):
        monkeypatch.setattr(enumeration, "BLOCKED", int(rng.choice([0, 1, 5, 16])))
        how: dict[str, Any] = {
            "strategy": "nogoods",
            "restart_base": int(rng.choice([1, 4, 256])),
            "level": str(rng.choice(["naked", "hidden"])),
            "order": str(rng.choice(["random", "ascending"])),
        }
        stream = dibs.solutions(instance, **how)
        same(instance, known, stream)
        assert stream.outcome is not None
        assert (stream.outcome.status, stream.outcome.solutions) == ("SAT" if known else "UNSAT", len(known))
        assert dibs.count_solutions(instance, MOST, **how) == len(known)
        total += len(known)
    assert total > 100


@pytest.mark.parametrize("kind", KINDS)
def test_policies_and_limits(kind: str) -> None:
    ways: list[dict[str, Any]] = [{}, {"policy": "plain"}, {"policy": "auto", "seed": 3}, {"policy": "guided"}]
    for i, (instance, known, _) in enumerate(drawn(kind, 2, 16)):
        how = ways[i % 4]
        same(instance, known, dibs.solutions(instance, **how))
        assert dibs.count_solutions(instance, MOST, **how) == len(known)
        few = max(1, len(known) // 2)
        outcome = dibs.solve(instance, max_solutions=few, **how)
        assert outcome.solutions == len(outcome.found) == min(few, len(known))
        assert {as_set(instance, one) for one in outcome.found} <= known
        assert len({as_set(instance, one) for one in outcome.found}) == len(outcome.found)
        assert outcome.solution == (outcome.found[0] if known else None)
        assert dibs.is_unique(instance, **how) == (len(known) == 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "grids"])
def test_projections(kind: str) -> None:
    for instance, known, rng in drawn(kind, 3, 20):
        variables = clauses(instance)[0]
        over = (rng.choice(variables, int(rng.integers(1, variables + 1)), replace=False) + 1).tolist()
        wanted = {solution & frozenset(over) for solution in known}
        names = over if isinstance(instance, CNF) else [v - 1 for v in over]
        found = [as_set(instance, one) & frozenset(over) for one in dibs.solutions(instance, over=names)]
        assert dibs.count_solutions(instance, limit=None, over=names) == len(found)
        assert len(found) == len(set(found))
        assert set(found) == wanted


@pytest.mark.parametrize("name", BAD)
def test_bad_guides_change_nothing(name: str) -> None:
    for kind in ("tight bounds", "formulas", "groups"):
        for instance, known, _ in drawn(kind, 4, 4):
            same(instance, known, dibs.solutions(instance, guide=Scored(BAD[name]), strategy="nogoods"))


def test_far_more_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nogoods are forgotten and their arrays grow while solutions are found; a few rows are handed over at a time."""
    monkeypatch.setattr(enumeration, "ROWS", 3)
    for module in (dibs.search.nogoods.arrays,):
        monkeypatch.setattr(module, "ARENA", 4)
        monkeypatch.setattr(module, "MANY", 2)
        monkeypatch.setattr(module, "FIRST_ROOM", 5)
    for instance, known, _ in drawn("tight bounds", 5, 12):
        same(instance, known, dibs.solutions(instance, strategy="nogoods", restart_base=2))


def test_a_tree_search_streams() -> None:
    square = Latin([0] * 25)
    stream = dibs.solutions(square, 1000, strategy="dfs")
    assert len(set(stream)) == 1000
    assert stream.outcome is not None
    assert stream.outcome.solutions == 1000
    assert len(set(dibs.solutions(Sudoku.parse("." * 16), strategy="dfs"))) == 288
    assert len(set(dibs.solve(Sudoku.parse("." * 16), strategy="dfs", count=200).found)) == 200
    assert len(set(dibs.solve(Sudoku.parse("." * 16), count=10**6).found)) == 288


def test_streams_end_when_they_are_closed() -> None:
    stream = dibs.solutions(Sudoku.parse("." * 81))
    first = [next(stream) for _ in range(5)]
    assert len(set(first)) == 5
    stream.close()
    assert list(stream) == []
    assert stream.outcome is None


@pytest.mark.parametrize("how", [{}, {"strategy": "nogoods"}, {"strategy": "nogoods", "workers": 2}])
def test_reading_is_within_the_limit(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is said to be: each look at the clock is ten seconds after the one before."""
    now = itertools.count(0, 10)
    for module in (solver, workers):
        monkeypatch.setattr(module, "clock", lambda: next(now))
    stream = opened(Latin.parse("." * 81), None, None, {"max_seconds": 1000, **how}, reading=True)
    count = len(list(stream))
    assert stream.outcome is not None
    assert stream.outcome.status == "LIMIT"
    assert stream.outcome.solutions == count > 0
    idle = dibs.solutions(Sudoku.parse("." * 16), max_seconds=1000, **how)  # 288 solutions
    assert len(list(idle)) == 288


def test_limits_are_said() -> None:
    stream = dibs.solutions(Sudoku.parse("." * 81), strategy="nogoods", max_nodes=200)
    found = list(stream)
    assert stream.outcome is not None
    assert stream.outcome.status == "LIMIT"
    assert stream.outcome.solutions == len(found) > 0


def test_cells_and_variables() -> None:
    grid = Sudoku.parse("1...............")
    assert {one.array[0, 1] for one in dibs.solutions(grid, over=["r1c2"])} == {2, 3, 4}
    assert len(list(dibs.solutions(grid, over=["R1C2", "r1c3"]))) == 6
    m = dibs.Model()
    a, b, c = (m.choice(name, range(3)) for name in "abc")
    flag = m.boolean("flag")
    m.all_different([a, b, c])
    m.implies(a == 0, flag)
    assert len(list(m.solutions())) == dibs.count_solutions(m) == 10
    assert sorted(one["a"] for one in dibs.solutions(m, over=[a])) == [0, 1, 2]
    assert len(list(m.solutions(over=["a", "flag"]))) == 5
    assert len(list(m.solutions(over=[b == 1]))) == 2
    assert not dibs.is_unique(m)


@pytest.mark.parametrize(
    ("instance", "over"),
    [
        (Sudoku.parse("." * 16), ["r5c1"]),
        (Sudoku.parse("." * 16), ["a"]),
        (Sudoku.parse("." * 16), "r1c1"),
        (CNF(2, []), [3]),
        (CNF(2, []), ["x"]),
        (Problem(["a"], at_least_one=[["a"]]), ["b"]),
        (Problem(3, at_least_one=[[0, Not(1)]]), [7]),
    ],
)
def test_names_that_are_none(instance: Instance, over: Any) -> None:
    with pytest.raises(ValueError, match="over"):
        dibs.solutions(instance, over=over)


def test_refusals() -> None:
    grid = Sudoku.parse("." * 16)
    for options, said in (
        ({"limit": 0}, "limit = 0"),
        ({"count": 3}, "say limit"),
        ({"order": "oracle"}, "for solve"),
        ({"over": ["r1c1"], "tie": "degree"}, "tree search"),
        ({"over": ["r1c1"], "strategy": "dfs"}, "over is for the nogood search"),
        ({"over": ["r1c1"], "policy": "guided", "strategy": "dfs"}, "over is for the nogood search"),
        ({"over": ["r1c1"], "level": "naked", "strategy": "dfs"}, "over is for the nogood search"),
        ({"over": 1}, "over = 1: give a list"),
        ({"limit": "3"}, "limit = '3': it must be a whole number"),
        ({"limit": 1.5}, "limit = 1.5: it must be a whole number"),
        ({"workers": 1.5}, "workers = 1.5: it must be a whole number"),
        ({"workers": "2"}, "workers = '2': it must be a whole number"),
        ({"engine": "cadical195"}, "dibs' own search"),
        ({"strategy": "restarts"}, "for one solution"),
        ({"policy": "auto", "guide_after": 5}, "for one solution"),
    ):
        with pytest.raises(ValueError, match=said):
            dibs.solutions(grid, **options)
    with pytest.raises(ValueError, match="limit = 0: it must be a whole number, 1 or more"):
        dibs.count_solutions(grid, 0)
    with pytest.raises(ValueError, match="is_unique takes no limit"):
        dibs.is_unique(grid, limit=3)
    with pytest.raises(ValueError, match="is_unique takes no max_seconds"):
        dibs.is_unique(grid, max_seconds=3)


def test_samples() -> None:
    small = Sudoku.parse("1...............")
    drawn = dibs.sample(small, 20, seed=4)
    assert drawn.uniform
    assert len(set(drawn)) == 20
    assert drawn == dibs.sample(small, 20, seed=4) != dibs.sample(small, 20, seed=5)
    assert len(dibs.sample(small, 1000)) == 72
    assert dibs.sample(CNF(1, [[1], [-1]]), 3) == []
    large = dibs.sample(Sudoku.parse("." * 81), 4, seed=1)
    assert not large.uniform
    assert len(set(large)) == 4
    m = dibs.Model()
    m.choice("a", "xyz")
    assert sorted(one["a"] for one in dibs.sample(m, 3)) == ["x", "y", "z"]
    wrong: tuple[tuple[Any, int, str], ...] = (
        (-1, 0, "n = -1"),
        (1.5, 0, "n = 1.5"),
        ("3", 0, "n = '3'"),
        (1, -1, "seed = -1"),
    )
    for n, seed, said in wrong:
        with pytest.raises(ValueError, match=said):
            dibs.sample(small, n, seed)


def test_samples_are_uniform() -> None:
    """Chi-square with 11 degrees of freedom: 31.3 is passed once in a thousand times, and the seeds are fixed."""
    square = Latin([0] * 9)
    drawn = [one for seed in range(400) for one in dibs.sample(square, 3, seed=seed)]
    counts = np.array([drawn.count(one) for one in set(drawn)])
    assert len(counts) == 12
    assert ((counts - 100) ** 2 / 100).sum() < 31.3
