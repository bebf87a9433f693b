"""Policy `auto` on formulas: the nogood search goes on beside the engine, and no answer of either is lost."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

import dibs
from dibs import CNF, generate
from dibs.search import beside, formulas, plan
from dibs.search.external import cdcl
from dibs.search.external.formula import encode

pytest.importorskip("pysat")


def pigeons(holes: int) -> CNF:
    """One more than there are holes."""
    at = [[p * holes + h + 1 for h in range(holes)] for p in range(holes + 1)]
    pairs = [[-a[h], -b[h]] for a, b in combinations(at, 2) for h in range(holes)]
    return CNF((holes + 1) * holes, [*at, *pairs])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of few conflicts, and turns of few nodes: small formulas are handed to and fro often."""
    monkeypatch.setattr(plan, "NODES", 5)
    monkeypatch.setattr(cdcl, "SLICE", 4)
    monkeypatch.setattr(beside, "TURN", 2)
    monkeypatch.setattr(beside, "LATE", 40)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("share", [0.5, 8.0])
def test_answers_are_those_of_either_alone(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "SHARE", share)
    answered = set()
    for formula in [*generate.sat(30, variables=60, seed=5), pigeons(4), pigeons(5)]:
        found = dibs.solve(formula, max_seconds=60)
        assert found.status == dibs.solve(formula, engine="cadical195").status
        if found.parts:
            assert found.parts[0].search == "nogoods"
            assert all(part.seconds >= 0 for part in found.parts)
            answered.add(found.search)
        again = dibs.solve(formula, max_seconds=60)
        assert (again.status, again.nodes, again.solution) == (found.status, found.nodes, found.solution)
    assert any(name.startswith("cadical195") for name in answered)
    assert share < 1 or "nogoods" in answered


@pytest.mark.usefixtures("short")
def test_an_exact_cover_goes_on_beside_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two search different problems, the cover and the formula, and answer for the same one."""
    monkeypatch.setattr(plan, "NODES_OF_COVERS", 2)
    answered = set()
    for square in generate.latin(12, order=14, holes=0.42, balanced=True, seed=8):
        formula = encode(square).as_cnf()
        found = dibs.solve(formula, max_seconds=60)
        assert found.status == "SAT"
        assert formula.violation(found.solution) is None
        if found.parts:
            assert [part.search for part in found.parts] == ["nogoods", "cadical195"]
            answered.add(found.search)
    assert answered
    groups = [[1, 2, 3], [3, 4, 5], [5, 6, 1], [1, 3, 5], [2, 4], [4, 6], [2, 6]]  # no solution
    clauses = [*groups, *([-a, -b] for group in groups for a, b in combinations(group, 2))]
    assert dibs.solve(CNF(6, clauses)).status == dibs.solve(CNF(6, clauses), engine="cadical195").status == "UNSAT"


@pytest.mark.usefixtures("short")
def test_an_engine_that_never_ends_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        """It uses its conflicts up, and has no answer."""

        def __init__(self, **of: Any) -> None: ...
        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *of: Any) -> None: ...
        def append_formula(self, clauses: Any) -> None: ...
        def set_phases(self, literals: Any) -> None: ...
        def conf_budget(self, size: int) -> None: ...
        def solve_limited(self) -> None: ...
        def accum_stats(self) -> dict[str, int]:
            return {"decisions": 0, "conflicts": 0}

    monkeypatch.setattr(cdcl, "Solver", Endless)
    for formula in [*generate.sat(5, variables=80, seed=2), pigeons(5)]:
        found = dibs.solve(formula)
        assert (found.status, found.search) == (dibs.solve(formula, strategy="nogoods").status, "nogoods")
        if found.nodes > 5:
            assert [part.search.split()[0] for part in found.parts] == ["nogoods", "cadical195"]


@pytest.mark.usefixtures("short")
def test_a_limit_is_for_both() -> None:
    found = dibs.solve(pigeons(12), max_seconds=0.3)
    assert found.status == "LIMIT"
    assert len(found.parts) == 2


def test_turns_grow_with_what_the_engine_has_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "LATE", 10_000)
    formula = pigeons(9)
    options = plan.Request("auto", {}).plan(formula.structure).options
    own = beside.BesideEngine(formula, replace(options, max_nodes=formulas.NODES), 0, lambda: False)
    assert own.outcome is not None
    before = own.outcome.nodes
    for _ in range(5):
        assert not own.turn(2_000)
    early = own.outcome.nodes - before
    for _ in range(5):
        assert not own.turn(2_000)
    assert early == 5 * 2_000 * beside.SHARE
    assert own.outcome.nodes - before - early == 5 * 2_000 * beside.LATE_SHARE
    assert own.seconds > 0


def squares(count: int) -> list[CNF]:
    """Latin squares as formulas, which are exact covers."""
    found = generate.latin(count, order=26, holes=0.42, balanced=True, seed=8)
    return [encode(square).as_cnf() for square in found]


@pytest.mark.parametrize(
    ("some", "nodes"),
    [
        ([*generate.sat(8, variables=60, seed=5), *generate.sat(4, variables=120, seed=6), pigeons(6)], 150),
        (squares(4), 300),
    ],
    ids=["formulas", "covers"],
)
def test_what_the_engine_begins_with_follows_from_the_formula(some: list[CNF], nodes: int) -> None:
    from pysat.solvers import Solver

    seen = 0
    for formula in some:
        options = plan.Request("auto", {}).plan(formula.structure).options
        own = beside.BesideEngine(formula, replace(options, max_nodes=nodes), 0, lambda: False)
        with Solver(name="cadical195", bootstrap_with=formula.clauses) as solver:
            for lemma in own.lemmas:
                assert not solver.solve(assumptions=[-z for z in lemma])
                seen += 1
    assert seen


def test_the_engine_does_not_begin_with_what_holds_up_to_symmetries() -> None:
    formula = CNF(6, pigeons(2).clauses, [(2, 3, [1, 2, 3, 4])])
    options = plan.Request("auto", {}).plan(formula.structure).options
    own = beside.BesideEngine(formula, replace(options, max_nodes=0), 0, lambda: False)
    assert own.outcome is not None
    assert own.outcome.status == "LIMIT"
    assert own.lemmas == []
