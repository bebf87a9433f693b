"""`dibs.why`: what it names contradicts each other, and each part of it is needed, as an independent solver sees it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Model, Not, Problem, Sudoku
from dibs.problem.parts import parts_of
from dibs.search.hitting import Hitting
from dibs.search.options import Options
from judge import solutions
from randoms import bounded, cnf, problem
from why import KINDS, wrong


@pytest.mark.parametrize("kind", ["sudoku", "latin", "formula", "bounds"])
def test_explanations_are_contradictions_and_minimal(kind: str) -> None:
    rng = np.random.default_rng((30, len(kind)))
    explained = 0
    for _ in range(14):
        found = dibs.why(KINDS[kind](rng))
        if found.status == "UNSAT":
            assert (found.minimal, found.checked_by, wrong(found)) == (True, "glucose4", None)
            explained += 1
    assert explained >= 7


def test_the_status_is_that_of_a_solver() -> None:
    rng = np.random.default_rng(31)
    seen = set()
    for i in range(90):
        instance = (cnf(rng), problem(rng), bounded(rng, 9))[i % 3]
        found = dibs.why(instance)
        assert found.status == ("SAT" if solutions(instance, 1) else "UNSAT")
        if found.status == "SAT":
            assert instance.violation(found.solution) is None
        else:
            assert wrong(found) is None
        seen.add(found.status)
    assert len(seen) == 2


def smallest_by_hand(instance: dibs.Instance) -> int:
    """How many parts fail together, at the least: by looking at all sets of them."""
    known = parts_of(instance)
    for size in range(1, len(known.parts) + 1):
        for some in combinations(known.parts, size):
            groups = [group for part in some for group in part.groups]
            alone = Problem(
                instance.structure.literals,
                groups=[*known.certain, *(group for group in groups if group[2])],
                at_least_one=[() for least, _, literals in groups if least and not literals],
            )
            if not solutions(alone, 1):
                return size
    raise AssertionError("it has a solution")


def test_smallest_ones_are_smallest() -> None:
    rng = np.random.default_rng(32)
    sizes: list[int] = []
    while len(sizes) < 12:
        instance = cnf(rng)
        if not 5 <= len(instance.clauses) <= 12:
            continue
        found = dibs.why(instance, smallest=True)
        if found.status == "UNSAT":
            assert found.smallest is True
            assert wrong(found) is None
            assert len(found.parts) == smallest_by_hand(instance)
            sizes.append(len(found.parts))
    assert max(sizes) > 2


def test_smallest_hitting_sets() -> None:
    rng = np.random.default_rng(33)
    for _ in range(20):
        sets = [set(rng.choice(8, int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(6)]
        hitting = Hitting(8)
        for i, some in enumerate(sets, 1):
            hitting.add(some)
            found = hitting.smallest(Options(strategy="nogoods"))
            assert found is not None
            assert all(one & set(found) for one in sets[:i])
            fewer = combinations(range(8), len(found) - 1)
            assert not any(all(one & set(few) for one in sets[:i]) for few in fewer)


def test_words() -> None:
    found = dibs.why(Sudoku.parse("..4....." + "..4.....", repeats=True))
    assert (found.givens, found.constraints) == (("r1c3=4", "r3c3=4"), ("column 3: 4",))
    assert str(found) == "r1c3=4; r3c3=4; column 3: 4"
    found = dibs.why(CNF(2, [[1], [2], [-1, -1], [1, -1]], groups=[(2, 2, [1, 2])]))
    assert found.constraints in (("clause 1: 1", "clause 3: -1 -1"), ("clause 3: -1 -1", "group 1: exactly 2 of 1, 2"))
    assert dibs.why(CNF(1, [[1], []])).constraints == ("clause 2: empty",)

    model = Model()
    seat = {guest: model.choice(guest, [1, 2]) for guest in ("Ann", "Bob", "Cy")}
    for table in (1, 2):
        model.at_most(1, [choice == table for choice in seat.values()], role=f"table {table}")
    model.boolean("music")
    found = dibs.why(model)
    assert found.constraints == (
        "at most 1 of Ann = 1, Bob = 1, Cy = 1 (table 1)",
        "at most 1 of Ann = 2, Bob = 2, Cy = 2 (table 2)",
    )
    named = Problem(["a", "b"], exactly_one=[["a", "b"]], at_least_one=[["a"]], given=[Not("a")])
    found = dibs.why(named)
    assert (found.givens, found.constraints) == ((Not("a"),), ("at_least_one[0]: exactly 1 of a",))
    assert found.as_dict()["givens"] == ["not a"]


def test_a_limit_is_no_answer() -> None:
    pigeons = np.arange(90).reshape(10, 9)
    hard = Problem(90, exactly_one=pigeons.tolist(), at_most_one=pigeons.T.tolist())
    found = dibs.why(hard, max_seconds=0.0)
    assert (found.status, found.parts, found.minimal) == ("LIMIT", (), False)
    puzzle = Sudoku.parse("4.....1..3.....2")
    assert dibs.why(puzzle).status == "SAT"
    for wrong_one in ("4.....1..3.....2", 5):
        with pytest.raises((TypeError, AttributeError)):
            dibs.why(wrong_one)


def test_without_another_solver_it_is_a_search_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs import contradiction

    monkeypatch.setattr(contradiction, "installed", lambda engine: False)
    found = dibs.why(Sudoku.parse("44..............", repeats=True))
    assert (found.checked_by, found.minimal) == ("a search from scratch", True)


def test_a_wrong_explanation_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds failures where there are none."""
    from dibs.contradiction import _Inquiry

    honest = _Inquiry.fails

    def fails(self: _Inquiry, parts: Any) -> Any:
        found = honest(self, parts)
        return found if isinstance(found, list) else list(parts)[:1]

    monkeypatch.setattr(_Inquiry, "fails", fails)
    with pytest.raises(dibs.WrongSolution, match="finds a solution of what is said to fail"):
        dibs.why(Sudoku.parse("4.....1..3.....2"))
