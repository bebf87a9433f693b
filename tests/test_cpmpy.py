"""dibs as a solver of CPMpy: the same answers as its other solvers, and its own errors."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest

cp: Any = pytest.importorskip("cpmpy")
NotSupportedError: Any = pytest.importorskip("cpmpy.exceptions").NotSupportedError
import dibs.cpmpy  # noqa: E402


def test_it_is_registered_once() -> None:
    import importlib

    importlib.reload(dibs.cpmpy)
    names = [name for name, _ in cp.SolverLookup.base_solvers()]
    assert names.count("dibs") == 1
    assert names[0] == "ortools"
    assert cp.SolverLookup.lookup("dibs").supported()
    assert cp.SolverLookup.lookup("dibs").version() == dibs.__version__


def test_queens() -> None:
    n = 6
    queen = cp.intvar(1, n, shape=n)
    rows = range(n)
    model = cp.Model(
        cp.AllDifferent(queen),
        cp.AllDifferent([queen[i] + i for i in rows]),
        cp.AllDifferent([queen[i] - i for i in rows]),
    )
    assert model.solve(solver="dibs")
    assert all(constraint.value() for constraint in model.constraints)
    assert str(model.status().exitstatus) == "ExitStatus.FEASIBLE"
    assert model.solveAll(solver="dibs", solution_limit=10) == 4


def random_model(seed: int) -> Any:
    """Constraints of most kinds over few variables."""
    rng = random.Random(seed)
    x = cp.intvar(0, rng.randint(1, 3), shape=3)
    b = cp.boolvar(shape=3)

    def linear() -> Any:
        total = sum(rng.choice((-2, -1, 1, 1, 1, 3)) * v for v in rng.sample([*x, *b], rng.randint(1, 4)))
        right = rng.randint(-1, 4)
        return rng.choice((total <= right, total >= right, total == right, total != right))

    kinds: list[Any] = [
        linear,
        lambda: cp.AllDifferent(rng.sample([*x], 2)),
        lambda: rng.choice(b).implies(linear()),
        lambda: linear() == rng.choice(b),
        lambda: cp.any([rng.choice(b), ~rng.choice(b), linear()]),
        lambda: cp.sum(b) == rng.randint(0, 3),
        lambda: cp.max(x) == rng.randint(0, 3),
        lambda: cp.Xor(rng.sample([*b], 2)),
        lambda: cp.Element([2, 0, 1, 3], x[0]) >= x[1],
        lambda: x[0] * x[1] == x[2],
        lambda: cp.Table([x[0], x[1]], [[0, 1], [1, 0], [1, 1]]),
        lambda: abs(x[0] - x[1]) <= 1,
    ]
    return cp.Model([rng.choice(kinds)() for _ in range(rng.randint(1, 5))])


@pytest.mark.parametrize("block", range(4))
def test_solution_counts_agree_with_cp_sat(block: int) -> None:
    for seed in range(15 * block, 15 * block + 15):
        model = random_model(seed)
        count = model.solveAll(solver="ortools", solution_limit=40)
        assert model.solveAll(solver="dibs", solution_limit=40) == count, str(model)
        assert model.solve(solver="dibs") == (count > 0)
        assert not count or all(constraint.value() for constraint in model.constraints)


def test_quotients_and_remainders() -> None:
    """CPMpy makes products of them, sums over hundreds of literals: an integer is one step of their diagrams."""
    x, y, d, r = of = cp.intvar(-2, 2, shape=4)
    model = cp.Model(x // y == d, x % y == r)
    found = set()
    solver = cp.SolverLookup.get("dibs", model)
    assert solver.solveAll(display=lambda: found.add(tuple(int(v) for v in of.value()))) == 20
    assert found == {(a, b, int(a / b), a - b * int(a / b)) for a in range(-2, 3) for b in (-2, -1, 1, 2)}
    assert solver.variables < 3_000


def test_hints_are_tried_first() -> None:
    x, b = cp.intvar(0, 9, shape=4), cp.boolvar(shape=6)
    solver = cp.SolverLookup.get("dibs", cp.Model(cp.AllDifferent(x), cp.sum(b) == 3))
    solver.solution_hint([*x, *b], [7, 3, 9, 0, True, False, True, False, False, True])
    assert solver.solve()
    assert x.value().tolist() == [7, 3, 9, 0]
    assert b.value().tolist() == [True, False, True, False, False, True]
    with pytest.raises(ValueError, match="as many values as variables"):
        solver.solution_hint(x, [1])


def test_options_and_limits() -> None:
    x = cp.intvar(0, 40, shape=40)
    model = cp.Model(cp.AllDifferent(x))
    assert cp.Model(cp.AllDifferent(x)).solve(solver="dibs", engine="cadical195")
    with pytest.raises(ValueError, match="must be positive"):
        model.solve(solver="dibs", time_limit=0)
    with pytest.raises(ValueError, match="no option 'timeout'"):
        model.solve(solver="dibs", timeout=3)
    holes = cp.intvar(1, 11, shape=12)
    pigeons = cp.Model([a != b for i, a in enumerate(holes) for b in holes[:i]])
    assert not pigeons.solve(solver="dibs", max_nodes=5)
    assert str(pigeons.status().exitstatus) == "ExitStatus.UNKNOWN"
    assert holes[0].value() is None


def test_what_cannot_be_said_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cp.intvar(0, 5)
    with pytest.raises(NotSupportedError, match="no objective function"):
        cp.Model(x >= 1, minimize=x).solve(solver="dibs")
    with pytest.raises(NotSupportedError, match="no subsolver"):
        cp.Model(x >= 1).solve(solver="dibs:other")
    monkeypatch.setattr(dibs.cpmpy, "LARGEST", 1000)
    weights = [1_000_000 + i * i * 7919 % 10_007 for i in range(30)]
    b = cp.boolvar(shape=30)
    with pytest.raises(NotSupportedError, match="its coefficients are too different"):
        cp.Model(cp.sum(w * v for w, v in zip(weights, b, strict=True)) == sum(weights) // 2).solve(solver="dibs")


def test_all_solutions_are_shown_once() -> None:
    x, b = cp.intvar(1, 4, shape=3), cp.boolvar()
    model = cp.Model(cp.AllDifferent(x), b.implies(x[0] + 2 * x[1] + 3 * x[2] >= 15))
    seen: list[tuple[int, ...]] = []
    solver = cp.SolverLookup.get("dibs", model)
    found = solver.solveAll(display=lambda: seen.append((*map(int, x.value()), int(b.value()))))
    assert found == len(seen) == len(set(seen)) == model.solveAll(solver="ortools")
    assert str(solver.status().exitstatus) == "ExitStatus.OPTIMAL"
    assert solver.solveAll(solution_limit=3) == 3
    assert str(solver.status().exitstatus) == "ExitStatus.FEASIBLE"
    none = cp.SolverLookup.get("dibs", cp.Model(x[0] > 4))
    assert none.solveAll() == 0
    assert str(none.status().exitstatus) == "ExitStatus.UNSATISFIABLE"
    assert x[0].value() is None


def test_what_is_displayed_is_within_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = count(0, 10)
    monkeypatch.setattr("dibs.search.solver.clock", lambda: next(now))  # ten seconds later at each look
    x = cp.intvar(0, 9, shape=5)
    solver = cp.SolverLookup.get("dibs", cp.Model(cp.sum(x) >= 1))
    assert 0 < solver.solveAll(time_limit=500, display=lambda: None) < 50_000
    assert str(solver.status().exitstatus) == "ExitStatus.FEASIBLE"
