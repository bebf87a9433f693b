"""Strategy `nogoods`: nogoods, and the search that jumps back by them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Latin, Options, Problem
from dibs.generate import latin, sat
from dibs.generate.families import families
from dibs.problem import Instance
from dibs.search.nogoods import arrays, dives, loop
from dibs.search.nogoods import search as learner
from dibs.search.nogoods.arrays import memory
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.nogoods.search import Search
from dibs.search.nogoods.walker import Walker
from dibs.search.outcome import Outcome
from dibs.search.root import roots
from dibs.search.tree.search import TreeSearch
from guides import BAD, SURE, Scored, seeded
from randoms import mixture, squares, stubborn, sudoku
from stores import RESTLESS

HOW: dict[str, Any] = {"strategy": "nogoods"}
Judged = tuple[list[Instance], list[Outcome]]


@pytest.fixture(scope="module")
def judged() -> Judged:
    """All families, with and without solutions, and what the plain search says of them."""
    rng = np.random.default_rng(8)
    problems = mixture(seed=41, count=150) + stubborn(seed=42, count=120)
    problems += [sudoku(rng, (3, 3), int(rng.integers(20, 30))) for _ in range(15)]
    problems += squares(seed=43, count=20)
    plain = list(dibs.solve_many(problems, policy="plain"))
    assert sum(outcome.status == "UNSAT" and outcome.backtracks > 4 for outcome in plain) > 20
    return problems, plain


def same_answers(judged: Judged, every: int = 1, turn: int = 0, **options: Any) -> int:
    """Conflicts of all searches, whose answers must be those of the plain one."""
    conflicts = 0
    for problem, known in list(zip(*judged, strict=True))[turn % every :: every]:
        found = dibs.solve(problem, **HOW, **options)
        assert found.status == known.status, (problem, options)
        assert found.solutions == (known.status == "SAT")
        if found.status == "SAT":
            assert problem.violation(found.solution) is None
        conflicts += found.backtracks
    return conflicts


@pytest.mark.parametrize("level", ["naked", "hidden"])
def test_the_answers_are_those_of_the_plain_search(judged: Judged, level: str) -> None:
    for order, unit in product(("ascending", "random"), (1, 3, 256)):
        assert same_answers(judged, level=level, order=order, restart_base=unit) > 500


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dives begin after two failures, and ask at every other node; walks are short and many."""
    for (module, name), value in RESTLESS.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(dives, "PART", 1000)


def test_no_guide_changes_an_answer(judged: Judged, restless: None, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[int] = []
    more = Walker.advance
    monkeypatch.setattr(Walker, "advance", lambda *of: walked.append(1) or more(*of))  # type: ignore[func-returns-value]
    for turn, (scores, after) in enumerate(product([*BAD.values(), *SURE.values(), seeded], (None, 0, 4))):
        same_answers(judged, 5, turn, guide=Scored(scores), guide_after=after, restart_base=1 + turn % 3)
    assert len(walked) > 10, "walks are tried, too"


def test_answers_where_much_is_forgotten(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a few nogoods only: it grows, and most of them are dropped at every run."""
    monkeypatch.setattr(arrays, "ARENA", 40)
    monkeypatch.setattr(arrays, "MANY", 2)
    monkeypatch.setattr(arrays, "FIRST_ROOM", 1)
    grown: list[int] = []
    more = arrays.grown
    monkeypatch.setattr(arrays, "grown", lambda m: grown.append(1) or more(m))  # type: ignore[func-returns-value]
    same_answers(judged, restart_base=2)
    assert len(grown) > 50


def searches(problem: Instance, **options: Any) -> Search:
    """A search that has run to its end."""
    how = Options(**HOW, **options)
    root = TreeSearch([problem], Options(level=how.level, max_nodes=0))
    root.run()
    open_, true = root.literals(np.array([0]))
    search = Search(problem, how, open_[0], true[0], 0, 0.0)
    assert not search.advance(lambda: False)
    return search


def pigeons(holes: int) -> Problem:
    """One more than there are holes."""
    homes = np.arange((holes + 1) * holes).reshape(-1, holes)
    return Problem(homes.size, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())


def test_the_room_for_nogoods_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the search ends rests on it: were the room the same for ever, it could forget the same nogoods for ever."""
    monkeypatch.setattr(arrays, "FIRST_ROOM", 5)
    search = searches(pigeons(7), restart_base=1)
    room, failures = (int(search.memory.counts[i]) for i in (arrays.ROOM, arrays.CONFLICTS))
    assert failures > 100
    assert room > 5
    assert (room - 5) % arrays.MORE_ROOM == 0
    usual = memory(search.problem).counts[arrays.ROOM]
    monkeypatch.undo()
    assert usual == 5
    assert memory(search.problem).counts[arrays.ROOM] == 2000


def test_recent_failures_count_more() -> None:
    """By two percent from one to the next: a hundred failures later one counts seven times as much."""
    search = searches(pigeons(6))
    failures = int(search.memory.counts[arrays.CONFLICTS])
    assert 50 < failures < 10_000  # before all weights are made smaller together
    assert search.memory.real[0] == pytest.approx(1.02 ** (failures - 1), rel=1e-6)  # the last one ends the search


def test_in_an_exact_cover_all_groups_of_what_failed_count() -> None:
    """After one failure more groups have weight than literals were behind it; otherwise its reasons alone."""
    [square] = latin(1, order=20, holes=0.42, balanced=True, seed=3)
    for problem, cover in ((square, True), (pigeons(4), False)):
        search = searches(problem, max_nodes=0)
        m = search.memory
        m.counts[[arrays.PHASE, arrays.MOST]] = arrays.RUNNING, arrays.NEVER
        loop.advance(search.problem, m, 256, 1)
        counted = np.count_nonzero(m.weight > 1)
        assert m.counts[arrays.CONFLICTS] == 1
        assert m.counts[arrays.COVER] == cover
        assert (counted > m.counts[arrays.TOUCHED]) == cover


def test_what_a_nogood_says_has_no_solution() -> None:
    """Also after nogoods were dropped, and literals that the root has decided were taken out of others."""
    seen = 0
    squares = list(latin(4, order=22, holes=0.41, balanced=True, seed=5))
    for square, unit in product(squares, (1, 8)):
        search = searches(square, restart_base=unit, order="random")
        m = search.memory
        for c in range(m.counts[arrays.NOGOODS]):
            literals = search.open[m.arena[m.place[c] : m.place[c] + m.length[c]]]
            values = square.values.copy()
            values[literals // square.size] = literals % square.size + 1
            assert dibs.solve(Latin(values), policy="plain").status == "UNSAT"
            seen += 1
    assert seen > 100


def test_the_same_counters_however_it_is_cut(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = judged[0][::7]
    whole = [dibs.solve(problem, **HOW, restart_base=2) for problem in problems]
    monkeypatch.setattr(learner, "SLICE", 1)
    for one, known in zip(problems, whole, strict=True):
        found = dibs.solve(one, **HOW, restart_base=2)
        assert (found.solution, found.nodes, found.backtracks, found.depth) == (
            known.solution,
            known.nodes,
            known.backtracks,
            known.depth,
        )
    together = list(dibs.solve_many(problems, **HOW, restart_base=2))
    assert [(one.status, one.nodes, one.backtracks) for one in together] == [
        (one.status, one.nodes, one.backtracks) for one in whole
    ]


def test_limits(judged: Judged) -> None:
    cut = 0
    for problem in judged[0][::5]:
        whole = dibs.solve(problem, **HOW)
        for most in {0, 1, whole.nodes // 2, whole.nodes}:
            found = dibs.solve(problem, **HOW, nodes=most)
            if found.status == "LIMIT":
                assert found.nodes == most
                assert found.solution is None
                cut += 1
            else:
                assert (found.status, found.nodes) == (whole.status, whole.nodes)
        assert dibs.solve(problem, **HOW, seconds=0).status in ("LIMIT", whole.status)
    assert cut > 30


def test_stopped_searches_have_no_outcome() -> None:
    squares = list(latin(3, order=20, holes=0.42, balanced=True, seed=2))
    search = NogoodSearch(squares, Options(**HOW))
    search.run(stopped=lambda: True)
    assert search.outcomes() == [None, None, None]
    search.run()  # they can be taken up again
    assert [found and found.status for found in search.outcomes()] == ["SAT"] * 3


def test_the_guide_is_asked_about_the_root_once() -> None:
    squares = list(latin(5, order=20, holes=0.42, balanced=True, seed=2))
    known = [dibs.solve(square, policy="plain") for square in squares]
    asked: list[Any] = []

    def scores(asks: Any) -> Any:
        asked.append(asks)
        grids = [np.array(Latin.parse(known[squares.index(one)].solution).values) for one in asks.instances]
        return np.array([np.eye(20)[grid - 1].ravel() for grid in grids])

    found = list(dibs.solve_many(squares, **HOW, guide=Scored(scores), guide_after=0, workers=1))
    assert [one.backtracks for one in found] == [0] * 5  # it knew the solutions
    assert [one.asks for one in found] == [1] * 5
    assert all((asks.depth == 0).all() and (asks.open == asks.candidates).all() for asks in asked)
    asked.clear()
    assert not dibs.solve(squares[0], **HOW, guide=Scored(scores), guide_after=100_000).asks
    assert not dibs.solve(squares[0], **HOW, guide=Scored(scores), max_asks=0).asks
    assert not asked
    with pytest.raises(ValueError, match="a score for each literal of each state"):
        dibs.solve(squares[0], **HOW, guide=Scored(lambda asks: np.zeros(3)))


def hard() -> list[Latin]:
    """Squares that take some hundred failures each."""
    return list(latin(4, order=25, holes=0.4, balanced=True, seed=3))


def test_what_a_dive_asks_about(restless: None) -> None:
    """States on the way down: what propagation leaves, one below the other until something fails."""
    [square] = hard()[:1]
    asked: list[Any] = []

    def scores(asks: Any) -> Any:
        asked.append(asks)
        return seeded(asks)

    found = dibs.solve(square, **HOW, restart_base=256, guide=Scored(scores))
    assert found.status == "SAT"
    assert found.asks == len(asked) > 5
    roots = [i for i, asks in enumerate(asked) if asks.depth[0] == 0]
    assert roots[:2] == [0, 1]  # the root alone, then at the beginning of a dive
    assert max(asks.depth[0] for asks in asked) > 5
    for asks in asked:
        assert not (asks.open & asks.true).any()
        grid = asks.true[0].reshape(-1, square.size)
        assert (grid.sum(axis=1) <= 1).all()  # at most one value in a cell
        assert (grid | asks.open[0].reshape(grid.shape)).any(axis=1).all()
        given = square.values > 0
        assert (grid[given].argmax(axis=1) + 1 == square.values[given]).all()


def test_how_often_a_guide_is_asked(restless: None, monkeypatch: pytest.MonkeyPatch) -> None:
    [square] = hard()[:1]
    for most in (0, 1, 2, 5):
        assert dibs.solve(square, **HOW, guide=Scored(seeded), max_asks=most).asks == most
    assert dibs.solve(square, **HOW, guide=Scored(lambda asks: seeded(asks), static=True)).asks == 1
    monkeypatch.setattr(dives, "LARGEST_SHARE", 0.0)  # a walk would solve it before the guide is asked again
    assert dibs.solve(square, policy="auto", guide=Scored(seeded)).asks > 5
    assert dibs.solve(square, policy="auto", guide=Scored(seeded), max_asks=1).asks == 1


def test_asks_of_many_searches_change_no_counter(restless: None) -> None:
    squares = hard()
    alone = [dibs.solve(square, **HOW, guide=Scored(seeded), restart_base=8) for square in squares]
    together = dibs.solve_many(squares, **HOW, guide=Scored(seeded), restart_base=8, workers=1)
    assert [(one.nodes, one.backtracks, one.asks) for one in together] == [
        (one.nodes, one.backtracks, one.asks) for one in alone
    ]


def test_groups_weigh_what_the_guide_is_sure_of() -> None:
    [square] = hard()[:1]
    [open_], [true], _ = roots([square])
    search = Search(square, Options(**HOW), open_, true, 0, 0.0, asks=1)
    assert search.advance(lambda: False)
    scores = np.log(np.random.default_rng(5).random(square.structure.literals))
    scores[np.flatnonzero(open_)[:3]] = np.nan, np.inf, -np.inf
    search.answer(scores)
    p = search.problem
    for group in range(len(p.need)):
        members = p.group_member[p.group_start[group] : p.group_start[group + 1]]
        mine = scores[search.open[members[search.memory.state[members] == arrays.OPEN]]]
        known = mine[~np.isnan(mine)]
        surest = np.clip(known.max(initial=-np.inf), learner.FAINT, 0)
        assert np.isclose(search.memory.weight[group], learner.SURE * np.exp(surest / 2), rtol=1e-5)


def test_where_there_are_many_groups_choices_are_the_same(restless: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the best group of each block is remembered, in place of looking at all of them."""
    [square], [formula] = latin(1, order=28, holes=0.42, seed=1), sat(1, variables=250, clauses=1050, seed=3)
    car = families()["cars"].make(0)
    found = []
    assert formula.structure.groups > arrays.BLOCK
    for many in (arrays.MANY_GROUPS, 0):
        monkeypatch.setattr(arrays, "MANY_GROUPS", many)
        ways = [(square, Scored(seeded)), (square, None), (formula, None), (car, None)]
        some = [dibs.solve(one, **HOW, guide=guide, max_nodes=2000) for one, guide in ways]
        found.append([(one.nodes, one.backtracks, one.asks, one.solution) for one in some])
    assert found[0] == found[1]


def test_variables_in_no_group_need_no_order() -> None:
    formula = CNF(1000, [], [(2, 2, [1, 2, 1000])])
    [open_], [true], _ = roots([formula])
    assert len(Search(formula, Options(**HOW), open_, true, 0, 0.0).problem.need) == 1000 + 2


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="needs order ascending, random, oracle, not lcv"):
        dibs.solve(CNF(1, [[1]]), **HOW, order="lcv")
    with pytest.raises(ValueError, match="a plan would have chosen another"):
        TreeSearch([CNF(1, [[1]])], Options(**HOW))
