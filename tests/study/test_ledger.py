"""Ledgers: every node of a search is accounted for, and what a failing sibling costs is what a slow search counts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dibs
from dibs import CNF, Latin, Options, Problem, Sudoku
from dibs.guide.score import DiBS
from dibs.problem import Instance
from dibs.problem.structure import Structure
from dibs.study.ledger import Decision, Ledger, ledgers
from exact import exactly
from guides import BAD, SURE, Scored, seeded
from randoms import cnf, formula, latin, mixture, problem, sudoku
from replay import SOLVED, Slow, State, traced

LEVELS = ("eliminate", "naked", "hidden")
TIES = ("index", "degree", "impact", "random")
ORDERS = ("ascending", "lcv", "mcv", "random")
TRIGGERS = ("always", "binary", "ternary")
SELECTS = ("mrv", "confident")
STRATEGIES = ("dfs", "restarts")
GUIDES = BAD | SURE | {"seeded": seeded}
HARD = [
    Sudoku.parse(line)
    for line in (
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
        "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3..",
        "..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
    )
]


def agreed(instance: Instance, options: Options, guide: dibs.Guide | None, **more: Any) -> Ledger:
    """The ledger of one search; it has the counters of `solve`, and its parts add up."""
    [ledger] = ledgers([instance], options, guide, trees=True, **more)
    [outcome] = exactly([instance], options, guide)
    assert (ledger.status, ledger.nodes, ledger.backtracks) == (outcome.status, outcome.nodes, outcome.backtracks)
    assert ledger.outcome.asks == outcome.asks
    assert ledger.outcome.solution == outcome.solution
    ledger.check()
    assert ledger.nodes == len(ledger.decisions) + ledger.lost + ledger.earlier_nodes + ledger.pathless_nodes
    assert bool(ledger.pathless_nodes) <= (ledger.status != "SAT")
    assert ledger.tree is not None
    assert len(ledger.tree.depth) == ledger.nodes == ledger.tree.by_depth().sum()
    assert ledger.tree.on_path.sum() == len(ledger.decisions)
    below = [one.good for one in ledger.decisions]
    rest = [len(below) - 1 - i + sum(one.lost for one in ledger.decisions[i + 1 :]) for i in range(len(below))]
    assert below == rest
    return ledger


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("select", SELECTS)
def test_parts_add_up_under_all_options(select: Any, strategy: Any) -> None:
    names = cycle(GUIDES)
    levels: Any = cycle(LEVELS)
    orders: Any = cycle(ORDERS)
    ways: Any = cycle(product(TIES, TRIGGERS))
    lost = runs = 0
    seen = set()
    some = [*mixture(seed=71, count=60), *HARD[:1]]
    for instance, (tie, trigger) in zip(some, ways, strict=False):
        options = Options(
            level=next(levels), tie=tie, order=next(orders), trigger=trigger, select=select, strategy=strategy,
            restart_base=2, reuse=0.5 if trigger == "always" else None,
        )  # fmt: skip
        ledger = agreed(instance, options, Scored(GUIDES[next(names)], static=tie == "degree"), limit=500)
        lost += ledger.lost
        runs += ledger.runs
        seen.add(ledger.status)
    assert seen == {"SAT", "UNSAT"}
    assert lost > 20
    assert (runs > len(some)) == (strategy != "dfs")


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    family=st.sampled_from(["4x4", "6x6", "latin", "cnf", "formula", "problem"]),
    level=st.sampled_from(LEVELS),
    tie=st.sampled_from(TIES),
    order=st.sampled_from(ORDERS),
    trigger=st.sampled_from([None, *TRIGGERS]),
)
def test_parts_add_up_on_random_problems(
    seed: int, family: str, level: Any, tie: Any, order: Any, trigger: Any
) -> None:
    rng = np.random.default_rng(seed)
    make: dict[str, Callable[[], Instance]] = {
        "4x4": lambda: sudoku(rng, (2, 2), 3),
        "6x6": lambda: sudoku(rng, (2, 3), 9),
        "latin": lambda: latin(rng, 5, 6),
        "cnf": lambda: cnf(rng),
        "formula": lambda: formula(rng, 12, 4.2),
        "problem": lambda: problem(rng),
    }
    guide = None if trigger is None else Scored(seeded)
    agreed(make[family](), Options(level=level, tie=tie, order=order, trigger=trigger or "always"), guide, limit=200)


def numbers(slow: Slow, literals: tuple[int, ...]) -> list[int]:
    """The slow propagator's numbers of a ledger's literals."""
    return [slow.number[one] if one >= 0 else slow.number[~one] + 1 for one in literals]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_decisions_are_those_of_a_slow_replay(strategy: Any) -> None:
    decisions = 0
    for turn, instance in enumerate([*mixture(seed=72, count=90), *HARD[:1]]):
        options = Options(level=LEVELS[turn % 3], strategy=strategy, restart_base=3, reuse=(None, 0.9)[turn // 3 % 2])  # type: ignore[arg-type]
        found = traced(instance, options, seeded)
        [ledger] = ledgers([instance], options, Scored(seeded), siblings=False)
        assert ledger.runs == len(found.told.runs)
        assert ledger.earlier_nodes == sum(len(run.nodes) for run in found.told.runs[:-1])
        path = [node for node in found.told.stack if SOLVED in node.ends]
        assert len(ledger.decisions) == len(path)
        for one, node in zip(ledger.decisions, path, strict=True):
            assert (one.depth, one.domain) == (node.depth, node.domain)
            assert sorted(numbers(found.slow, one.candidates)) == node.values
            assert numbers(found.slow, one.candidates)[: len(node.tried)] == node.tried
            assert numbers(found.slow, (one.right,)) == node.tried[-1:]
            assert (list(one.entered), one.good) == (node.inside[:-1], node.inside[-1])
            assert one.ranked == ("asked" if node.number in found.asked else one.ranked)
            assert (one.ranked == "no") == (one.score is None)
            assert one.siblings == one.cut == one.solvable == ()
            decisions += 1
    assert decisions > 100


class Solvable(Exception):
    pass


def cost(slow: Slow, state: State | None) -> int:
    """Nodes of a subtree that has no solution, from the definitions; ties by index."""
    if state is None:
        return 0
    if not slow.undecided(state):
        raise Solvable
    domain = slow.mrv(state)
    return 1 + sum(cost(slow, slow.follow(state, [one])) for one in slow.values(state, domain))


@pytest.mark.parametrize("level", LEVELS)
def test_siblings_cost_what_a_slow_search_counts(level: Any) -> None:
    siblings = solvable = complements = 0
    rng = np.random.default_rng(73)
    some: list[Instance] = [HARD[0]] if level == "hidden" else []
    for _ in range(25):
        some += [sudoku(rng, (2, 3), 10), problem(rng), cnf(rng), formula(rng, 16, 4.4), latin(rng, 5, 7)]
    for instance, ledger in zip(some, ledgers(some, Options(level=level), limit=None), strict=True):
        slow = Slow(instance.structure, level)
        state = slow.start(instance)
        for one in ledger.decisions:
            assert state is not None
            for literal, nodes, has in zip(one.others, one.siblings, one.solvable, strict=True):
                below = slow.follow(state, numbers(slow, (literal,)))
                complements += literal < 0
                if has:
                    with pytest.raises(Solvable):
                        cost(slow, below)
                    solvable += 1
                else:
                    assert cost(slow, below) == nodes
                    siblings += 1
            assert not any(one.cut)
            state = slow.follow(state, numbers(slow, (one.right,)))
    assert siblings > 50
    assert solvable > 50
    assert complements > 5


@pytest.mark.parametrize("tie", TIES[:3])
def test_no_order_changes_a_failing_sibling(tie: Any) -> None:
    """Whether a sibling was entered, and counted, or spared, and measured: the same nodes."""

    def costs(ledger: Ledger) -> list[dict[int, int]]:
        return [dict(zip(one.others, one.siblings, strict=True)) for one in ledger.decisions]

    options = Options(level="naked", tie=tie)
    plain = ledgers(HARD, options)
    for name in ("reversed", "random"):
        other = ledgers(HARD, options, Scored(GUIDES[name]))
        assert [costs(ledger) for ledger in plain] == [costs(ledger) for ledger in other]
        for one, two in zip(plain, other, strict=True):
            assert one.nodes + one.saved == two.nodes + two.saved, "the worst order is the same"
        assert [ledger.nodes for ledger in plain] != [ledger.nodes for ledger in other]
    oracle = ledgers(HARD, Options(level="naked", tie=tie, order="oracle"))
    for best, ledger in zip(oracle, plain, strict=True):
        assert best.lost == 0
        assert best.nodes == len(best.decisions) == len(ledger.decisions)
        assert best.saved == ledger.lost + ledger.saved == sum(one.wrong for one in ledger.decisions)
        assert {one.ranked for one in best.decisions} <= {"asked", "kept"}


def test_siblings_against_solve() -> None:
    [ledger] = ledgers(HARD[:1], Options(level="naked", tie="impact"), Scored(seeded))
    values = HARD[0].values.copy()
    for one in ledger.decisions:
        for literal, nodes in zip(one.others, one.siblings, strict=True):
            supposed = values.copy()
            supposed[literal // 9] = literal % 9 + 1
            outcome = dibs.solve(Sudoku(supposed), policy="plain", level="naked", tie="impact")
            assert (outcome.status, outcome.nodes) == ("UNSAT", nodes)
        values[one.right // 9] = one.right % 9 + 1


class Denoiser:
    """Log-probabilities that depend on the state."""

    def log_probabilities(self, structure: Structure, open_: NDArray[np.bool_], true: NDArray[np.bool_]) -> Any:
        n = round(structure.literals ** (1 / 3))
        weights = np.exp(np.stack([np.random.default_rng(int(row.sum())).normal(size=len(row)) for row in open_]))
        cells = np.where(open_, weights, 0).reshape(len(open_), -1, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(cells / cells.sum(axis=2, keepdims=True)).reshape(open_.shape)
        return np.where(true, 0, np.where(open_, found, -np.inf)).astype(np.float32)


@pytest.mark.parametrize("trigger", TRIGGERS[:3])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_what_the_guide_said(trigger: Any, alpha: float) -> None:
    guide = DiBS(Denoiser(), alpha)
    for ledger in ledgers(HARD, Options(level="naked", trigger=trigger), guide):
        for one in ledger.decisions:
            size = len(one.candidates)
            asked = {"always": True, "binary": size == 2, "ternary": size > 2}[trigger]
            assert one.ranked == ("asked" if asked else "no")
            assert (one.probability is not None) == (one.score is not None) == asked
            if one.probability and one.score:
                assert sum(one.probability) == pytest.approx(1)
                assert list(one.score) == sorted(one.score, reverse=True)
                if alpha == 1:
                    assert one.score == pytest.approx(np.log(one.probability), abs=1e-5)


def test_kept_rankings_are_said_to_be() -> None:
    options = Options(level="naked", select="confident", reuse=0.0, strategy="restarts", restart_base=8)
    found = {one.ranked for ledger in ledgers(HARD, options, DiBS(Denoiser())) for one in ledger.decisions}
    assert "kept" in found


def test_a_batch_is_its_parts() -> None:
    some = mixture(seed=74, count=40)
    options = Options(level="naked", tie="impact")
    for together, alone in zip(ledgers(some, options), [ledgers([one], options)[0] for one in some], strict=True):
        assert (together.decisions, together.parts, together.status) == (alone.decisions, alone.parts, alone.status)


def test_no_path() -> None:
    solved = Sudoku.parse("53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79")
    [ledger] = ledgers([solved], Options())
    assert (ledger.status, ledger.parts, ledger.nodes) == ("SAT", (0, 0, 0, 0), 0)
    homes = np.arange(12).reshape(4, 3)
    pigeons = Problem(12, exactly_one=homes.tolist(), at_most_one=homes.T.tolist())
    [ledger] = ledgers([pigeons], Options(level="naked"), trees=True)
    assert (ledger.status, ledger.decisions, ledger.pathless_nodes) == ("UNSAT", (), ledger.nodes)
    assert ledger.nodes > 0
    [ledger] = ledgers(HARD[:1], Options(level="naked", max_nodes=5), trees=True)
    assert (ledger.status, ledger.parts, ledger.saved) == ("LIMIT", (0, 0, 0, 5), 0)
    assert ledgers([], Options()) == []


def test_limits_and_several_solutions() -> None:
    [ledger] = ledgers(HARD[:1], Options(level="naked"), limit=3)
    [whole] = ledgers(HARD[:1], Options(level="naked"), limit=None)
    assert ledger.cut > 0
    assert whole.cut == 0
    for one, all_ in zip(ledger.decisions, whole.decisions, strict=True):
        for i, (nodes, cut) in enumerate(zip(one.siblings, one.cut, strict=True)):
            assert nodes == (3 if cut else all_.siblings[i])
            assert cut == (i >= one.mistakes and all_.siblings[i] > 3)
    [ledger] = ledgers([Latin.parse("." * 16)], Options())
    assert all(all(one.solvable) for one in ledger.decisions)
    assert ledger.saved == 0


def test_refusals() -> None:
    with pytest.raises(ValueError, match="max_solutions = 2"):
        ledgers(HARD, Options(max_solutions=2))
    with pytest.raises(ValueError, match="guide_after = 10"):
        ledgers(HARD, Options(guide_after=10))
    with pytest.raises(ValueError, match="oracle"):
        ledgers(HARD, Options(order="oracle"), Scored(seeded))
    with pytest.raises(ValueError, match="shape"):
        ledgers(HARD, Options(), Scored(lambda asks: np.zeros(3)))


def test_progress_is_reported() -> None:
    heard: list[tuple[int, int]] = []
    found = ledgers(HARD, Options(level="naked"), report=lambda done, total: heard.append((done, total)))
    spared = sum(len(one.siblings) - one.mistakes for ledger in found for one in ledger.decisions)
    assert heard[-1] == (spared, spared)


def test_a_wrong_sum_is_noticed() -> None:
    [ledger] = ledgers([CNF(2, [[1, 2]])], Options())
    decision: Decision = ledger.decisions[0]
    assert decision.mistakes == 0
    with pytest.raises(AssertionError, match="do not add up"):
        Ledger(ledger.outcome, (), 1, 0, 0).check()
