"""Several nogood searches on one instance: the answer is that of one."""

from __future__ import annotations

from threading import Event
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Options
from dibs.generate import latin, sat
from dibs.search import workers
from dibs.search.contract import as_guide
from dibs.search.nogoods import search, team
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.outcome import Outcome, gathered
from dibs.search.workers import stream
from guides import Scored, seeded
from judge import as_set, sets
from randoms import bounded, formula, stubborn, tight

HOW: dict[str, Any] = {"strategy": "nogoods"}


def side_by_side(*of: Any, **how: Any) -> Outcome | None:
    return gathered(stream(*of, **how))


def test_answers_are_those_of_one_search() -> None:
    for problem in stubborn(seed=7, count=15):
        known = dibs.solve(problem, **HOW)
        found = side_by_side(problem, Options(**HOW), None, workers=2)
        assert found is not None
        assert found.status == known.status
        if found.status == "SAT":
            assert problem.violation(found.solution) is None


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[team.Cube]:
    """The space is split again and again from the first failure on, whatever the family; the cubes that were made."""
    made: list[team.Cube] = []
    split, post = team.Team.split, team.Team.post

    def noted(of: team.Team, worker: int, cubes: Any) -> Any:
        made.extend(cubes)
        return split(of, worker, cubes)

    def posted(of: team.Team, cube: team.Cube) -> None:
        made.append(cube)
        post(of, cube)

    monkeypatch.setattr(team, "SPLIT_AFTER", 1)
    monkeypatch.setattr(team, "LEAST", 1)
    monkeypatch.setattr(search, "FIRST_NODES", 4)
    monkeypatch.setattr(search, "NODES", 8)
    monkeypatch.setattr(workers, "splits", lambda instance: True)
    monkeypatch.setattr(team.Team, "hungry", property(lambda of: len(of._cubes) < 4))
    monkeypatch.setattr(team.Team, "split", noted)
    monkeypatch.setattr(team.Team, "post", posted)
    return made


@pytest.mark.parametrize("count", [2, 3])
def test_answers_from_parts_of_the_space(at_once: list[team.Cube], count: int) -> None:
    seen = set()
    for problem in [*stubborn(seed=8, count=15), *sat(4, variables=120, clauses=540, seed=3)]:
        known = dibs.solve(problem, **HOW)
        found = dibs.solve(problem, **HOW, restart_base=4, workers=count)
        assert found.status == known.status
        seen.add(found.status)
    assert {"SAT", "UNSAT"} <= seen
    assert max(map(len, at_once)) > 1  # parts of parts


@pytest.mark.parametrize("kind", [tight, bounded, lambda rng: formula(rng, 12, 2.5)])
def test_all_solutions_each_once(at_once: list[team.Cube], kind: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(15):
        problem = kind(rng)
        known = sets(problem, 501)
        if len(known) > 500:
            continue
        how = {**HOW, "restart_base": int(rng.choice([1, 4, 256])), "workers": int(rng.integers(2, 4))}
        listed = [as_set(problem, solution) for solution in dibs.solutions(problem, **how)]
        assert len(listed) == len(set(listed))
        assert set(listed) == known
        assert dibs.count_solutions(problem, 10_000, **how) == len(known)
        if len(known) > 6:
            some = [as_set(problem, solution) for solution in dibs.solutions(problem, len(known) - 1, **how)]
            assert len(set(some)) == len(known) - 1
            assert set(some) <= known
            assert dibs.count_solutions(problem, len(known) - 1, **how) == len(known) - 1
    assert at_once


def test_all_solutions_over_some_variables() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        problem = formula(rng, 12, 2.5)
        over = [1, 4, 7, 9]
        known = {solution & frozenset(over) for solution in sets(problem, 5000)}
        found = [as_set(problem, s) & frozenset(over) for s in dibs.solutions(problem, over=over, **HOW, workers=2)]
        assert len(found) == len(set(found))
        assert set(found) == known


def test_a_stream_can_be_left() -> None:
    stream = dibs.solutions(dibs.Latin.parse("." * 25), **HOW, workers=2)
    assert dibs.Latin.parse("." * 25).violation(next(stream)) is None
    stream.close()
    assert list(stream) == []


def test_limits_of_all_solutions() -> None:
    stream = dibs.solutions(dibs.Latin.parse("." * 36), **HOW, workers=2, max_nodes=300)
    found = [tuple(solution) for solution in stream]
    assert stream.outcome is not None
    assert stream.outcome.status == "LIMIT"
    assert stream.outcome.solutions == len(set(found)) == len(found) > 0


def test_a_search_that_raises_costs_no_answer(at_once: list[team.Cube]) -> None:
    """Whoever asks first dies at it, with whatever part of the space it had."""
    for problem in stubborn(seed=9, count=6):
        known = dibs.solve(problem, **HOW)
        asked: list[Any] = []

        def once(asks: Any, asked: list[Any] = asked) -> Any:
            asked.append(asks)
            if len(asked) == 1:
                raise RuntimeError("dead")
            return seeded(asks)

        found = side_by_side(problem, Options(**HOW, guide_after=5), as_guide(Scored(once)), workers=2)
        assert found is not None
        assert found.status == known.status


def test_nogoods_are_told_and_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []
    hears = team.Team.heard

    def noted(of: team.Team, worker: int) -> Any:
        found = hears(of, worker)
        heard.extend(found)
        return found

    monkeypatch.setattr(team.Team, "heard", noted)
    [problem] = sat(1, variables=150, clauses=690, seed=2)
    assert dibs.solve(problem, **HOW, workers=2).status == "UNSAT"
    assert heard


def test_variants_are_other_searches() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    counts = set()
    for variant in range(3):
        one = NogoodSearch([square], Options(**HOW), guided=True, variant=variant)
        one.run(Scored(seeded))
        [found] = one.outcomes()
        assert found is not None
        assert found.status == "SAT"
        counts.add((found.nodes, found.backtracks))
    assert len(counts) == 3


def test_variants_differ_without_a_guide() -> None:
    """In a formula nobody walks either: two of the same search would be one too many."""
    [formula] = sat(1, variables=100, clauses=470, seed=2)
    counts = set()
    for variant in range(3):
        one = NogoodSearch([formula], Options(**HOW), variant=variant)
        one.run()
        [found] = one.outcomes()
        assert found is not None
        counts.add((found.nodes, found.backtracks))
    assert len(counts) == 3


def test_limits_and_stops() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    found = side_by_side(square, Options(**HOW, max_nodes=3), None, workers=2)
    assert found is not None
    assert found.status == "LIMIT"
    over = Event()
    over.set()
    assert side_by_side(square, Options(**HOW), None, workers=2, stopped=over.is_set) is None
    with pytest.raises(ValueError, match="workers = 0"):
        side_by_side(square, Options(**HOW), None, workers=0)


def test_what_a_guide_raises_is_raised() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)

    def broken(asks: Any) -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        side_by_side(square, Options(**HOW), as_guide(Scored(broken)), workers=2)


def test_workers_of_solve() -> None:
    [square] = latin(1, order=25, holes=0.4, balanced=True, seed=3)
    assert dibs.solve(square, policy="auto", workers=2).status == "SAT"
    assert dibs.solve(dibs.Sudoku.parse("." * 16), workers=2).status == "SAT"
    with pytest.raises(ValueError, match="workers = 0"):
        dibs.solve(square, workers=0)
    for odd in (0, 1.5, "2"):
        with pytest.raises(ValueError, match=f"workers = {odd!r}: it must be a whole number, 1 or more"):
            dibs.solve_many([square], workers=odd)  # type: ignore[arg-type]
