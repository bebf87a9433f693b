"""Right and within limits under every policy: who selects, where it is asked, what is kept, how it is begun again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import cycle, product
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import CNF, Asks, Options, Outcome, Problem, Sudoku
from dibs.bench.instances import load
from dibs.clock import left
from dibs.problem import Instance
from dibs.search.plan import Request
from dibs.search.policies import POLICIES
from dibs.search.race import race
from dibs.search.tree import search as engine_module
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.tables import tables
from dibs.solving import solve_together
from guides import BAD, SURE, Scored, knowing, seeded
from queens import queens
from randoms import mixture, stubborn, sudoku

MOST = 7  # solutions counted
LEVELS = ("eliminate", "naked", "hidden")
SELECTS = ("mrv", "confident", "first")
STRATEGIES = ("dfs", "restarts")
KEEPS = (None, 0, 0.9)
TRIGGERS = ("always", "binary", "ternary")
GUIDES: dict[str, Callable[[Asks], NDArray[Any]]] = BAD | SURE
Problems = tuple[list[Instance], list[Outcome]]  # and what the plain search says of them


@pytest.fixture(scope="module")
def judged() -> Problems:
    """All families, no solution, one, many; 9x9 puzzles with few givens, some of them changed."""
    rng = np.random.default_rng(7)
    problems = mixture(seed=21, count=150) + stubborn(seed=22, count=60)
    problems += [sudoku(rng, (3, 3), int(rng.integers(22, 30))) for _ in range(15)]
    plain = list(dibs.solve_many(problems, policy="plain", count=MOST))
    assert {outcome.solutions for outcome in plain} >= {0, 1, 2, MOST}
    assert sum(outcome.nodes > 5 for outcome in plain) > 20
    assert sum(outcome.status == "UNSAT" and outcome.nodes > 1 for outcome in plain) > 10
    return problems, plain


def compare(problems: Sequence[Instance], plain: Sequence[Outcome], **options: Any) -> list[Outcome]:
    outcomes = list(dibs.solve_many(problems, workers=1, **options))
    for problem, known, outcome in zip(problems, plain, outcomes, strict=True):
        assert outcome.status == known.status, (problem, options)
        assert outcome.solutions == min(known.solutions, options.get("count", 1)), (problem, options)
        if known.solutions:
            assert problem.violation(outcome.solution) is None
    return outcomes


def some(judged: Problems, turn: int, every: int) -> Problems:
    """Each `every`-th problem, others in each turn."""
    problems, plain = judged
    return problems[turn % every :: every], plain[turn % every :: every]


def runs(strategy: str, unit: int) -> dict[str, Any]:
    """The shortest run, where there is more than one."""
    return {"restart_base": unit} if strategy != "dfs" else {}


def test_every_way_to_search_gives_the_answer_of_the_plain_one(judged: Problems) -> None:
    """All 54 combinations; each meets some of the problems at one level with one guide, dfs for all solutions too."""
    names, units, ties = cycle(GUIDES), cycle((1, 2, 5, 64)), cycle(("index", "degree", "impact"))
    asked = again = 0
    for turn, (select, strategy, keep, trigger) in enumerate(product(SELECTS, STRATEGIES, KEEPS, TRIGGERS)):
        level = LEVELS[(turn + turn // 3) % 3]
        problems, plain = some(judged, turn, 7 if level != "eliminate" else 67)
        options: dict[str, Any] = {
            "select": select, "strategy": strategy, "reuse": keep, "trigger": trigger,
            "level": level, "tie": next(ties), **runs(strategy, next(units)),
        }  # fmt: skip
        outcomes = compare(problems, plain, guide=Scored(GUIDES[next(names)]), **options)
        asked += sum(outcome.asks for outcome in outcomes)
        if strategy == "dfs":
            compare(problems, plain, guide=Scored(GUIDES[next(names)]), count=MOST, **options)
        else:
            again += sum(outcome.nodes > 2 * known.nodes for known, outcome in zip(plain, outcomes, strict=True))
    assert asked > 1000
    assert again > 30, "some were begun again"


@pytest.mark.parametrize("name", GUIDES)
def test_every_bad_guide_with_every_select_and_strategy(judged: Problems, name: str) -> None:
    for turn, (select, strategy) in enumerate(product(SELECTS, STRATEGIES)):
        keep, static = KEEPS[turn % 2 + 1], turn % 4 == 3
        guide = Scored(GUIDES[name], static)
        how: dict[str, Any] = {"select": select, "strategy": strategy, "reuse": keep, **runs(strategy, 1 + turn % 3)}
        compare(*some(judged, turn, 19), guide=guide, **how)


@pytest.mark.parametrize("name", GUIDES)
def test_every_policy_with_every_bad_guide(judged: Problems, name: str) -> None:
    for turn, policy in enumerate(POLICIES):
        for count in (1, MOST):
            strategy = Request(policy).options.strategy if count == 1 else "dfs"
            how: dict[str, Any] = {"policy": policy, "count": count, **runs(strategy, 3)}
            compare(*some(judged, turn, 11), guide=Scored(GUIDES[name]), **how)


def test_strategies_without_a_guide(judged: Problems) -> None:
    for turn, (strategy, level, order) in enumerate(product(STRATEGIES, LEVELS, ("ascending", "random"))):
        options: dict[str, Any] = {"strategy": strategy, "level": level, "order": order, **runs(strategy, 2)}
        compare(*some(judged, turn, 3), policy="plain", tie="random", **options)


class Counting:
    """A guide that counts the asks of each search; searches are known by their instance."""

    def __init__(self, scores: Callable[[Asks], NDArray[Any]], static: bool = False) -> None:
        self.scores = scores
        self.static = static
        self.asked: dict[int, int] = {}

    def rank(self, asks: Asks) -> NDArray[Any]:
        for instance in asks.instances:
            self.asked[id(instance)] = self.asked.get(id(instance), 0) + 1
        return self.scores(asks)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_the_race_gives_the_answer_of_the_plain_search(
    judged: Problems, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    for turn, (name, ask, share) in enumerate(product(GUIDES, (0, 200), (0.5, 3.0))):
        monkeypatch.setattr("dibs.search.race.ASK", ask)
        monkeypatch.setattr("dibs.search.race.SHARE", share)
        guide = Counting(GUIDES[name])
        part = some(judged, turn, 13)
        select, strategy = SELECTS[turn % 3], STRATEGIES[turn // 2 % 2]
        how: dict[str, Any] = {"select": select, "strategy": strategy, "reuse": 0.9, **runs(strategy, 2)}
        outcomes = compare(*part, guide=guide, guide_after=after, **how)
        assert [outcome.asks for outcome in outcomes] == [guide.asked.get(id(problem), 0) for problem in part[0]]
        asked += sum(guide.asked.values())
    assert asked > 100, "the guided side has run"


def test_a_guide_that_knows_wins_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.search.race.ASK", 1)
    puzzles = load("hard300", 30)
    plain = solve_together(puzzles, policy="plain", level="naked")
    raced = solve_together(puzzles, policy="auto", level="naked", guide=Scored(knowing), guide_after=30)
    assert sum(outcome.nodes > 100 for outcome in plain) > 5
    for alone, beside in zip(plain, raced, strict=True):
        assert alone.solution == beside.solution
        if alone.nodes <= 30:
            assert (beside.nodes, beside.asks) == (alone.nodes, 0), "it is easy"
        else:
            assert beside.asks == 1
            assert beside.nodes < 50


LIMITED = [
    {"policy": "guided"},
    {"policy": "paper"},
    {"policy": "plain"},
    {"policy": "auto", "guide_after": 2},
    {"policy": "auto", "guide_after": 0, "strategy": "restarts"},
    {"reuse": 0.5, "select": "confident"},
    {"strategy": "restarts", "restart_base": 1, "select": "confident"},
]


@pytest.mark.parametrize("options", LIMITED, ids=str)
def test_limits_of_nodes(judged: Problems, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.search.race.ASK", 2)
    ended = 0
    for turn, nodes in enumerate((0, 1, 2, 3, 7, 20, 50)):
        problems, plain = some(judged, turn, 2)
        scores = GUIDES[list(GUIDES)[turn]]
        for known, outcome in zip(
            plain, dibs.solve_many(problems, guide=Scored(scores), nodes=nodes, **options), strict=True
        ):
            assert outcome.nodes <= nodes
            if outcome.status == "LIMIT":
                assert (outcome.solution, outcome.solutions, outcome.nodes) == (None, 0, nodes)
                ended += 1
            else:
                assert outcome.status == known.status
    assert ended > 50


def test_no_time_at_all(judged: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    """LIMIT at the first ask, or before it; what propagation decides is decided."""
    problems, _ = judged
    alone = [TreeSearch([problem], Options(max_nodes=0)) for problem in problems]
    for engine in alone:
        engine.run()
    first = [outcome for engine in alone for outcome in engine.outcomes() if outcome]
    assert 50 < sum(outcome.status == "LIMIT" for outcome in first) < len(first)
    guide = Counting(BAD["random"])
    for options in ({"policy": "guided"}, {"policy": "auto", "guide_after": 0}, {"strategy": "restarts", "reuse": 0.0}):
        outcomes = list(dibs.solve_many(problems, guide=guide, seconds=0, level="hidden", **options))
        for problem, one, other in zip(problems, first, outcomes, strict=True):
            # Where all clauses of a formula are satisfied nobody is asked: it may be solved before time is looked at.
            # So may a problem of one's own, which gets a plain search first.
            unasked = problem.family == "problem" or len(tables(problem.structure, "hidden").clause)
            solved = bool(unasked) and other.status in ("SAT", "UNSAT")
            assert other.status == one.status or solved
            assert (other.asks, other.calls) == (0, 0)
    assert not guide.asked
    monkeypatch.setattr(engine_module, "SLICE", 1)
    for policy in POLICIES:
        for one, other in zip(first, dibs.solve_many(problems, policy=policy, guide=guide, seconds=0), strict=True):
            assert other.status in ("LIMIT", one.status)


class ByNodes(TreeSearch):
    """A clock that ticks once a node."""

    def used(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.nodes(rows).astype(np.float64)


@pytest.mark.parametrize("seconds", [180, 230, 280, 380])
def test_the_time_of_both_sides_of_a_race_is_limited_together(seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain search has 100 nodes, guided search 50, plain 200, guided 100, plain 400: time ends in each turn."""
    monkeypatch.setattr("dibs.search.race.ASK", 0)
    monkeypatch.setattr(engine_module, "SLICE", 1)
    homes = np.arange(9 * 8).reshape(9, 8)
    pigeons = Problem(homes.size, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())
    options = Options(guide_after=100, max_seconds=seconds, level="naked")
    [outcome] = race(
        [pigeons], options, Scored(BAD["constant"]), places=[0], block=1, stopped=lambda: False, turn=nullcontext(),
        make=ByNodes,
    )  # fmt: skip
    assert outcome is not None
    assert outcome.status == "LIMIT"
    assert seconds <= outcome.nodes <= seconds + 5
    assert outcome.asks > 0


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_asks_are_never_exceeded(judged: Problems, most: int, static: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.search.race.ASK", 0)
    ways: list[dict[str, Any]] = [
        {"policy": "guided", "restart_base": 2},
        {"policy": "paper"},
        {"policy": "auto", "guide_after": 1},
    ]
    ways += [{"select": select, "strategy": strategy} for select, strategy in product(SELECTS, STRATEGIES)]
    for turn, way in enumerate(ways):
        problems, plain = some(judged, turn, 7)
        guide = Counting(seeded, static)
        outcomes = compare(problems, plain, guide=guide, max_asks=most, **way)
        assert [outcome.asks for outcome in outcomes] == [guide.asked.get(id(problem), 0) for problem in problems]
        assert max(outcome.asks for outcome in outcomes) == (min(most, 1) if static else most), way


def counters(outcomes: Any) -> list[tuple[Any, ...]]:
    return [(o.status, o.solution, o.nodes, o.backtracks, o.asks, o.depth, o.solutions, o.calls) for o in outcomes]


WAYS: list[dict[str, Any]] = [
    *({"policy": policy} for policy in POLICIES),
    {"policy": "auto", "guide_after": 3, "restart_base": 2},
    {"select": "confident", "strategy": "restarts", "restart_base": 1, "reuse": 0.5},
    {"strategy": "nogoods", "restart_base": 2, "max_asks": 2},
    {"strategy": "nogoods", "restart_base": 2, "guide_after": 2},
    {"select": "confident", "reuse": 0, "trigger": "ternary", "count": 3},
]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_same_seed_same_counters_in_any_batch(
    judged: Problems, way: dict[str, Any], static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after other searches have left their numbers in the arrays, and suspended after every step."""
    monkeypatch.setattr("dibs.search.race.ASK", 3)
    problems = some(judged, 1, 11)[0] + list(load("hard300", 2))

    def scores(asks: Asks) -> NDArray[Any]:
        return BAD["reversed"](asks) % 7 if static else seeded(asks, 2.0)  # a static guide scores without the state

    guide = Scored(scores, static)
    alone = counters(dibs.solve(problem, guide=guide, **way) for problem in problems)
    assert counters(solve_together(problems, guide=guide, **way)) == alone
    for other in ({"trigger": "binary"}, {"strategy": "restarts", "restart_base": 1, "reuse": 0.9}):
        list(dibs.solve_many(problems[::-1], guide=Scored(seeded), workers=1, **other))
        assert counters(dibs.solve(problem, guide=guide, **way) for problem in problems) == alone
    assert counters(dibs.solve_many(problems, guide=guide, workers=1, **way)) == alone
    assert counters(dibs.solve_many(problems, guide=guide, workers=3, **way)) == alone
    monkeypatch.setattr(engine_module, "SLICE", 1)
    assert counters(solve_together(problems[::2], guide=guide, **way)) == alone[::2]


def test_random_choices_follow_the_seed(judged: Problems) -> None:
    problems = some(judged, 0, 7)[0]
    for policy in POLICIES:
        options: dict[str, Any] = {"policy": policy, "tie": "random", "order": "random", "guide": Scored(seeded)}
        first = counters(dibs.solve_many(problems, seed=1, workers=1, **options))
        assert counters(dibs.solve_many(problems, seed=1, workers=2, **options)) == first
        assert counters(dibs.solve_many(problems, seed=2, workers=1, **options)) != first


def test_policies_with_their_own_guide() -> None:
    puzzles = list(load("hard300", 4))
    known = [outcome.solution for outcome in solve_together(puzzles, policy="plain")]
    for policy in POLICIES:
        assert [outcome.solution for outcome in solve_together(puzzles, policy=policy)] == known
    raced = solve_together(puzzles, policy="auto", guide_after=1)
    assert [outcome.solution for outcome in raced] == known
    assert any(outcome.asks for outcome in raced)
    formula = CNF(4, [[1, 2], [-1, 3], [-2, -3, 4], [-4, 1], [-1, -3, -4], [1, -2, 4]])
    plain = dibs.solve(formula, policy="plain", level="eliminate")
    assert plain.nodes > 1
    raced = [dibs.solve(formula, policy="auto", guide_after=1, level="eliminate")]
    assert (raced[0].status, raced[0].asks) == (plain.status, 1)  # that for formulas
    board = queens(6).problem()
    plain = dibs.solve(board, policy="plain", level="eliminate")
    alone = dibs.solve(board, policy="auto", level="eliminate")  # no guide for a problem of one's own
    assert (alone.status, alone.nodes, alone.asks) == (plain.status, plain.nodes, 0)
    assert plain.nodes > 1
    assert dibs.solve(Sudoku.parse("." * 81), policy="auto").status == "SAT"


@pytest.mark.parametrize("strategy", ["dfs", "nogoods"])
def test_a_guide_knows_how_long_it_is_waited_for(strategy: str) -> None:
    seen: list[float] = []

    def rank(asks: Asks) -> NDArray[Any]:
        seen.append(left())
        return np.zeros(asks.open.shape)

    blank = dibs.Sudoku.parse("." * 81)
    given = {"strategy": strategy, "level": "naked", "guide": Scored(rank), "max_asks": 2}
    given |= {"trigger": "always"} if strategy == "dfs" else {"guide_after": 0}
    for count, limit, least, most in ((1, None, inf, inf), (1, 1000, 0, 1000), (3, 1000, 2000, 3000)):
        seen.clear()
        solve_together([blank] * count, max_seconds=limit, **given)  # type: ignore[arg-type]
        assert seen
        assert least <= min(seen) <= max(seen) <= most  # those who wait together share the answer's time
    assert left() == inf
