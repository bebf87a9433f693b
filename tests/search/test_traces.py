"""What a search did, event by event: an independent checker tells its trace again and counts for itself."""

from __future__ import annotations

from itertools import cycle, pairwise, product
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Options, Problem, Sudoku
from dibs.problem import Instance
from dibs.search.tree import search as engine_module
from dibs.search.tree.search import TreeSearch
from guides import BAD, SURE, seeded
from randoms import mixture, stubborn
from replay import FAILED, SOLVED, Node, Traced, traced

LEVELS = ("eliminate", "naked", "hidden")
SELECTS = ("mrv", "confident")
STRATEGIES = ("dfs", "restarts")
KEEPS = (None, 0, 0.9)
GUIDES = BAD | SURE | {"seeded": seeded}
PUZZLES = [
    Sudoku.parse(line)
    for line in (
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
        "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
        "..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
    )
]


@pytest.fixture(scope="module")
def problems() -> list[Instance]:
    small: list[Instance] = mixture(seed=31, count=90)
    return small + [one for one in stubborn(seed=32, count=40) if not isinstance(one, Sudoku)]


def options(**given: Any) -> Options:
    return Options(**given)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("select", SELECTS)
def test_every_event_is_the_one_that_has_to_come(problems: list[Instance], select: str, strategy: str) -> None:
    """`traced` replays: counters, order of events, failing and succeeding values, exhaustion before UNSAT."""
    names, units = cycle(GUIDES), cycle((1, 2, 7))
    every = 17
    seen: set[str] = set()
    again = 0
    for turn, (keep, level, trigger) in enumerate(product(KEEPS, LEVELS, ("always", "binary", "ternary"))):
        for problem in problems[turn % every :: every]:
            how = options(
                select=select, strategy=strategy, reuse=keep, level=level, trigger=trigger, restart_base=next(units)
            )
            found = traced(problem, how, GUIDES[next(names)], static=turn % 5 == 4)
            seen.add(found.outcome.status)
            again += len(found.told.runs) > 1
            if strategy == "restarts":
                lengths(found, how.restart_base)
            if strategy == "dfs":
                assert len(found.told.runs) == 1
    assert seen == {"SAT", "UNSAT"}
    assert strategy == "dfs" or again > 20


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_events_without_a_guide_and_of_all_solutions(problems: list[Instance], strategy: str) -> None:
    for turn, problem in enumerate(problems):
        level, tie = LEVELS[turn % 3], ("index", "degree", "impact", "random")[turn // 3 % 4]
        how = options(strategy=strategy, level=level, tie=tie, order="random", restart_base=2)
        assert traced(problem, how).outcome.status == dibs.solve(problem, policy="plain").status
        every = options(level=level, tie=tie, max_solutions=50)
        guided = traced(problem, every, GUIDES[list(GUIDES)[turn % len(GUIDES)]])
        assert guided.outcome.solutions == traced(problem, every).outcome.solutions
        assert len(guided.told.runs) == 1


def test_limits_end_a_trace_where_they_say(problems: list[Instance]) -> None:
    for turn, problem in enumerate(problems):
        for strategy in STRATEGIES:
            traced(problem, options(strategy=strategy, max_nodes=turn % 7, restart_base=2, reuse=0), GUIDES["seeded"])


def test_a_trace_in_pieces_is_the_same(problems: list[Instance], monkeypatch: pytest.MonkeyPatch) -> None:
    hard = [problem for problem in problems if dibs.solve(problem, policy="plain").nodes > 5]
    assert len(hard) > 10
    for problem, strategy in zip(hard[:12], cycle(STRATEGIES), strict=False):
        how = options(strategy=strategy, select="confident", reuse=0.9, restart_base=2)
        with monkeypatch.context() as patch:
            whole = traced(problem, how, seeded)
            patch.setattr(engine_module, "EVENTS", 3)
            assert traced(problem, how, seeded).events == whole.events
            patch.setattr(engine_module, "SLICE", 1)
            assert traced(problem, how, seeded).events == whole.events


def test_tracing_changes_nothing() -> None:
    for strategy, select in zip(STRATEGIES, SELECTS, strict=True):
        how = options(strategy=strategy, select=select, reuse=0.9, restart_base=3)
        engine = TreeSearch(PUZZLES, how, guided=True)
        while asks := engine.advance():
            engine.answer(asks, seeded(asks))
        for puzzle, outcome in zip(PUZZLES, engine.outcomes(), strict=True):
            alone = traced(puzzle, how, seeded).outcome
            assert outcome is not None
            assert (outcome.nodes, outcome.backtracks, outcome.asks, outcome.depth) == (
                alone.nodes, alone.backtracks, alone.asks, alone.depth,
            )  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
def test_ties_go_to_the_domain_that_reaches_farthest(problems: list[Instance], level: str) -> None:
    """Of the domains with the fewest values: how far all choices reach together, then the lowest."""
    changed = 0
    for problem in [*problems, *PUZZLES]:
        found = traced(problem, options(tie="impact", level=level, max_nodes=100))
        if found.slow.clauses:
            continue  # there it is about clauses: test_sat.py
        for node in found.told.nodes:
            slow, state = found.slow, node.state
            reach = {d: sum(slow.reach(state, v) for v in slow.values(state, d)) for d in slow.fewest(state)}
            farthest = [domain for domain, far in reach.items() if far == max(reach.values())]
            assert node.domain == farthest[0]
            changed += node.domain != next(iter(reach))
    assert changed > 50


def luby() -> list[int]:
    """1, then the sequence so far twice and the next power of two, and so on."""
    made = [1]
    while len(made) < 4000:
        made = [*made, *made, 2 * made[-1]]
    return made


LUBY = luby()


def lengths(found: Traced, unit: int) -> int:
    """Runs are as long as they may be; returns how many were cut."""
    *cut, last = found.told.runs
    for number, run in enumerate(cut):
        assert len(run.nodes) == unit * LUBY[number]
        assert run.cut is not None
    assert len(last.nodes) <= unit * LUBY[len(cut)]
    assert last.cut is None
    return len(cut)


def test_restarts_have_lubys_lengths() -> None:
    assert LUBY[:15] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    most = 0
    for puzzle, unit, keep in product(PUZZLES, (1, 5), KEEPS):
        found = traced(puzzle, options(strategy="restarts", restart_base=unit, reuse=keep), GUIDES["seeded"])
        most = max(most, lengths(found, unit))
        roots = [run.nodes[0] for run in found.told.runs]
        for before, after in pairwise(roots):
            assert after.state.open & ~before.state.open == 0, "what is refuted stays refuted"
    assert most > 15


def test_what_is_refuted_at_the_root_stays_out() -> None:
    """Pigeons without a hole for each: every run refutes, and no later one tries again what was refuted."""
    homes = np.arange(30).reshape(6, 5)
    problem = Problem(30, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())
    kept_out = 0
    for unit, scores in product((8, 30), (BAD["random"], seeded, BAD["constant"])):
        found = traced(problem, options(strategy="restarts", restart_base=unit, level="naked"), scores)
        assert found.outcome.status == "UNSAT"
        gone: set[int] = set()
        for run in found.told.runs:
            root = run.nodes[0] if run.nodes else None
            assert root is None or not gone & set(root.values)
            if run.cut is not None and root is not None:
                gone |= set(root.tried[:-1])
        kept_out += len(gone)
    assert kept_out > 5


WAYS = [("mrv", None), ("mrv", 0.9), ("confident", None), ("confident", 0), ("confident", 0.9)]


def on_path(found: Traced) -> list[Node]:
    """The nodes whose state agrees with the solution."""
    slow, line = found.slow, found.outcome.solution
    solution = sum(1 << slow.number[9 * cell + int(digit) - 1] for cell, digit in enumerate(line))
    return [node for node in found.told.nodes if not node.state.true & ~solution]


@pytest.mark.parametrize(("select", "keep"), WAYS)
@pytest.mark.parametrize("level", LEVELS[1:])
def test_node_identity(select: str, keep: float | None, level: str) -> None:
    """nodes = decisions on the solution path + nodes of the failing siblings that were entered, whoever selects."""
    entered = 0
    names = ("overconfident", "against", "seeded") if level == "hidden" else ("random",)
    for puzzle, name in product(PUZZLES[:2], names):
        found = traced(puzzle, options(select=select, reuse=keep, level=level), GUIDES[name])
        path = on_path(found)
        assert [node.depth for node in path] == list(range(len(path)))
        wasted = 0
        for node in path:
            assert node.ends[-1] == SOLVED
            assert set(node.ends[:-1]) <= {FAILED}
            wasted += sum(node.inside[:-1])
            entered += len(node.ends) - 1
        assert found.outcome.nodes == len(path) + wasted
    assert entered > 5


def as_puzzle(found: Traced, node: Node, value: int) -> Sudoku:
    values = np.zeros(81, np.uint8)
    for literal in range(729):
        number = found.slow.number[literal]
        if node.state.true >> number & 1 or number == value:
            values[literal // 9] = literal % 9 + 1
    return Sudoku(values)


def test_value_order_cannot_change_the_cost_of_failing_under_mrv_only() -> None:
    """A failing sibling costs what it costs a plain search, whatever the guide; not where the guide selects."""
    other = dict.fromkeys(SELECTS, 0)
    for select, puzzle, name in product(SELECTS, PUZZLES[:2], ("random", "seeded")):
        found = traced(puzzle, options(select=select, level="naked"), GUIDES[name])
        for node in on_path(found):
            for value, inside in zip(node.tried[:-1], node.inside[:-1], strict=True):
                plain = dibs.solve(as_puzzle(found, node, value), policy="plain", tie="index", level="naked")
                assert plain.status == "UNSAT"
                other[select] += inside != plain.nodes
    assert other["mrv"] == 0
    assert other["confident"] > 0
