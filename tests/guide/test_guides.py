"""The guide interface: what a guide is shown, what it may answer, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, Sudoku
from dibs.bench.instances import load
from dibs.problem.structure import Structure
from dibs.search.contract import Around
from dibs.search.tree.search import TreeSearch
from dibs.study.ledger import ledgers
from guides import Scored, seeded

PUZZLE = Sudoku.parse("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..")


def grid(literals: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return literals.reshape(-1, 81, 9)


def test_asks_show_the_state() -> None:
    seen: list[Asks] = []

    def look(asks: Asks) -> NDArray[Any]:
        seen.append(asks)
        return np.zeros(asks.open.shape)

    outcome = dibs.solve(PUZZLE, guide=Scored(look), level="naked")
    assert len(seen) == outcome.asks == outcome.nodes
    for asks in seen:
        assert asks.instances == [PUZZLE]
        true, is_open, candidates = (grid(a) for a in (asks.true, asks.open, asks.candidates))
        assert not (true & is_open).any()
        assert (true.sum(axis=2) <= 1).all()
        assert (true.any(axis=2) ^ is_open.any(axis=2)).all(), "a cell is either decided or has open values"
        assert (candidates.any(axis=2).sum(axis=1) == 1).all(), "one cell is branched on"
        assert not (candidates & ~is_open).any()
        cell = candidates.any(axis=2)
        assert (candidates[cell] == is_open[cell]).all(), "all its open values are candidates"
        assert candidates.sum() >= 2
        given = PUZZLE.values > 0
        assert (true[0].argmax(axis=1) + 1)[given].tolist() == PUZZLE.values[given].tolist()
    assert seen[0].depth.tolist() == [0]


def test_trigger_says_where_a_guide_is_asked() -> None:
    puzzle = Sudoku.parse("1" + "." * 15)  # 72 solutions; nodes with 2 and with more values
    asked: dict[str, list[int]] = {"always": [], "binary": [], "ternary": []}
    for trigger, sizes in asked.items():

        def look(asks: Asks, sizes: list[int] = sizes) -> NDArray[Any]:
            sizes += asks.candidates.sum(axis=1).tolist()
            return np.zeros(asks.open.shape)

        outcome = dibs.solve(puzzle, guide=Scored(look), level="naked", trigger=trigger, count=100)
        assert outcome.asks == len(sizes)
        assert outcome.nodes == dibs.solve(puzzle, level="naked", count=100).nodes
    assert set(asked["binary"]) == {2}
    assert min(asked["ternary"]) == 3
    assert len(asked["binary"]) + len(asked["ternary"]) == len(asked["always"]) == outcome.nodes


def test_the_highest_score_is_tried_first() -> None:
    solution = [9 * cell + int(v) - 1 for cell, v in enumerate(dibs.solve(PUZZLE).solution)]
    scores = np.zeros(729)
    scores[solution] = 1
    best = dibs.solve(PUZZLE, guide=Scored(lambda asks: np.tile(scores, (len(asks), 1))))
    worst = dibs.solve(PUZZLE, guide=Scored(lambda asks: np.tile(-scores, (len(asks), 1))))
    assert best.backtracks == 0
    assert best.nodes < worst.nodes
    assert (best.nodes, best.backtracks) == tuple(getattr(dibs.solve(PUZZLE, order="oracle"), n) for n in NAMES)
    assert best.solution == worst.solution


NAMES = ("nodes", "backtracks")


def test_a_static_guide_is_asked_once() -> None:
    calls = 0

    def count(asks: Asks) -> NDArray[Any]:
        nonlocal calls
        calls += len(asks)
        return np.zeros(asks.open.shape)

    outcome = dibs.solve(PUZZLE, guide=Scored(count, static=True), level="naked")
    assert calls == outcome.asks == 1
    assert dibs.solve(PUZZLE, order="oracle", level="naked").asks == 1


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros(729),
        np.zeros((2, 729)),
        np.zeros((1, 728)),
        np.zeros((1, 729), complex),
        np.array([["x"] * 729]),
        np.array([[None] * 729]),
        [],
        None,
    ],
    ids=lambda a: str(getattr(a, "shape", a)),
)
def test_answers_of_another_shape_or_kind_are_refused(answer: Any) -> None:
    with pytest.raises(ValueError, match="the guide returned"):
        dibs.solve(PUZZLE, guide=Scored(lambda asks: answer))


def test_an_error_in_a_guide_is_the_users_to_see() -> None:
    def fail(asks: Asks) -> NDArray[Any]:
        raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        dibs.solve(PUZZLE, guide=Scored(fail))
    with pytest.raises(RuntimeError, match="no weights"):
        list(dibs.solve_many([PUZZLE] * 5, guide=Scored(fail)))


def test_no_silent_fallback() -> None:
    with pytest.raises(TypeError, match="is not a guide"):
        dibs.solve(PUZZLE, guide=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one or the other"):
        dibs.solve(PUZZLE, guide=dibs.Oracle(), order="oracle")
    engine = TreeSearch([PUZZLE], dibs.Options(), guided=True)
    with pytest.raises(ValueError, match="there is no guide"):
        engine.run()


def test_answering_twice_is_refused() -> None:
    engine = TreeSearch([PUZZLE], dibs.Options(), guided=True)
    asks = engine.advance()
    assert asks
    engine.answer(asks, np.zeros((1, 729)))
    with pytest.raises(ValueError, match="answered already"):
        engine.answer(asks, np.zeros((1, 729)))


# What a guide gets is for reading


def arrays(asks: Asks) -> list[NDArray[Any]]:
    of = asks.structure
    shown = [asks.rows, asks.open, asks.true, asks.candidates, asks.depth]
    return [*shown, of.start, of.member, of.exclusive, of.need, *of.memberships, of.members(0)]


def test_nothing_can_be_written_to() -> None:
    seen: list[Asks] = []

    def look(asks: Asks) -> NDArray[Any]:
        seen.append(asks)
        for array in arrays(asks):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        for field in fields(asks):
            with pytest.raises(FrozenInstanceError):
                setattr(asks, field.name, None)
        return np.zeros(asks.open.shape)

    dibs.solve(PUZZLE, guide=Scored(look), level="naked")
    dibs.solve(PUZZLE, guide=Scored(look), level="hidden", strategy="nogoods")
    dibs.solve(PUZZLE, engine="cadical195", guide=Scored(look))
    assert len(seen) > 3


def forced(array: NDArray[Any], value: Any) -> None:
    """Write to an array, whatever its flags say, if that can be done at all."""
    base: NDArray[Any] | None = array
    while base is not None:
        with suppress(ValueError, AttributeError):
            base.flags.writeable = True
        base = base.base
    with suppress(ValueError):
        array.flags.writeable = True
        array[...] = value


class Vandal(dibs.Guide):
    """Does its worst to all that it was ever given, then answers as if nothing had happened."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.kept: deque[Asks] = deque(maxlen=4)

    def rank(self, asks: Asks) -> NDArray[Any]:
        scores = seeded(asks)
        self.kept.append(asks)
        for one in self.kept:
            match self.way:
                case "rows":
                    forced(one.rows, 0)
                case "arrays":
                    for array in (one.rows, one.open, one.true, one.candidates, one.depth):
                        forced(array, 1)
                case "instances":
                    one.instances.clear()  # type: ignore[attr-defined]
                case "attributes":
                    object.__setattr__(one, "rows", np.zeros(3, np.int64))
                    object.__setattr__(one, "open", np.zeros((3, 3)))
                    object.__setattr__(one, "candidates", None)
                case "everything":
                    one.__dict__.clear()
        return scores


WAYS = ("rows", "arrays", "instances", "attributes", "everything")


@pytest.mark.parametrize("way", WAYS)
def test_every_instance_has_its_outcome_whatever_a_guide_does(way: str) -> None:
    puzzles = load("hard300", 40)
    wanted = [outcome.solution for outcome in dibs.solve_many(puzzles)]
    plain = [o.nodes for o in dibs.solve_many(puzzles, guide=Scored(seeded), level="hidden", workers=1)]
    for workers in (1, 2):
        found = list(dibs.solve_many(puzzles, guide=Vandal(way), level="hidden", workers=workers))
        assert [outcome.solution for outcome in found] == wanted
        assert [outcome.nodes for outcome in found] == plain
        assert all(outcome.asks for outcome in found)
    raced = list(dibs.solve_many(puzzles, guide=Vandal(way), level="hidden", guide_after=2, workers=1))
    assert [outcome.solution for outcome in raced] == wanted
    learnt = dibs.solve_many(puzzles[:20], guide=Vandal(way), strategy="nogoods", workers=1)
    assert [outcome.solution for outcome in learnt] == wanted[:20]


@pytest.mark.parametrize("way", WAYS)
def test_other_engines_do_not_mind_either(way: str) -> None:
    wanted = dibs.solve(PUZZLE).solution
    assert dibs.solve(PUZZLE, engine="cadical195", guide=Vandal(way)).solution == wanted


COMPILED = """
import dibs
from dibs.guide import graph, loops, native
from dibs.search import root
from numba import types

puzzle = dibs.Sudoku.parse("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..")
for steps in (1, 2):
    dibs.solve(puzzle, guide=dibs.load_guide("relational", steps=steps), level="naked", nodes=5)
kernels = root._settle, loops.normalise, loops.temper, loops.keep_surest, loops.open_cells, graph._link, native.logits
for kernel in kernels:
    for signature in kernel.signatures:
        assert all(one.mutable for one in signature if isinstance(one, types.Array)), kernel
"""


def test_no_kernel_is_compiled_for_arrays_that_cannot_be_written_to() -> None:
    """Numba has a type of its own for them: each kernel would be compiled twice."""
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# The base class


class Bare:
    """Not even a subclass."""

    def rank(self, asks: Asks) -> NDArray[Any]:
        return np.zeros(asks.open.shape)


class Rich(Bare):
    static = 1
    passes = np.int64(3)

    def refusal(self, structure: Structure) -> str | None:
        return "not today" if structure.family == "latin" else None


def test_an_object_with_rank_is_a_guide() -> None:
    guide = dibs.as_guide(Bare())
    assert (guide.static, guide.passes, guide.refusal(PUZZLE.structure)) == (False, 0, None)
    assert dibs.as_guide(guide) is guide
    rich = dibs.as_guide(Rich())
    assert (rich.static, rich.passes, rich.refusal(PUZZLE.structure)) == (True, 3, None)
    outcome = dibs.solve(PUZZLE, guide=Rich(), level="naked")
    assert (outcome.asks, outcome.calls) == (1, 3)
    refused = dibs.solve(dibs.Latin.parse("." * 25), guide=Rich(), guide_after=0)
    assert refused.asks == 0
    for wrong in (object(), None, 3):
        with pytest.raises(TypeError, match="is not a guide: it has no method rank"):
            dibs.as_guide(wrong)  # type: ignore[arg-type]


def test_a_subclass_needs_rank_alone() -> None:
    class Mine(dibs.Guide):
        def rank(self, asks: Asks) -> NDArray[Any]:
            return np.zeros(asks.open.shape)

    class Nothing(dibs.Guide):
        pass

    mine, bare = (dibs.solve(PUZZLE, guide=guide, level="naked") for guide in (Mine(), Bare()))
    assert (mine.nodes, mine.asks, mine.calls) == (bare.nodes, bare.asks, 0)
    with pytest.raises(NotImplementedError, match="Nothing is a guide without a method rank"):
        dibs.solve(PUZZLE, guide=Nothing())


def test_a_guide_around_another_says_what_that_says() -> None:
    inner = dibs.as_guide(Rich())
    outer = Around(inner)
    latin = dibs.Latin.parse("." * 25).structure
    assert (outer.static, outer.passes, outer.refusal(latin)) == (True, 3, "not today")


# The oracle has the limits of its search


def hopeless() -> dibs.CNF:
    """A formula that no search of this kind ends within a lifetime: more pigeons than holes."""
    holes = 14
    here = [[1 + holes * pigeon + hole for hole in range(holes)] for pigeon in range(holes + 1)]
    apart = [[-one[hole], -other[hole]] for hole in range(holes) for one, other in combinations(here, 2)]
    return dibs.CNF(holes * (holes + 1), here + apart)


@pytest.mark.parametrize("given", [{"order": "oracle"}, {"guide": dibs.Oracle()}], ids=["order", "guide"])
@pytest.mark.parametrize("limit", [{"seconds": 0.2}, {"nodes": 300}], ids=["seconds", "nodes"])
def test_an_oracle_that_finds_no_answer_in_time(limit: dict[str, Any], given: dict[str, Any]) -> None:
    easy = PUZZLE
    dibs.solve(easy, order="oracle")  # compiles
    formula = hopeless()
    outcome = dibs.solve(formula, **given, **limit)  # without a limit it would never end
    assert outcome.status == dibs.Status.LIMIT
    assert (outcome.nodes, outcome.asks) == (0, 0)
    assert outcome.guide_seconds > 0
    if "seconds" in limit:
        assert outcome.guide_seconds >= 0.1  # building tables is on the clock too
    many = list(dibs.solve_many([formula, easy, formula], **given, **limit))
    assert [one.status for one in many] == [dibs.Status.LIMIT, dibs.Status.SAT, dibs.Status.LIMIT]


def test_the_time_of_an_oracle_is_the_guides_time() -> None:
    outcome = dibs.solve(PUZZLE, order="oracle", level="naked")
    assert outcome.guide_seconds > 0
    limited = dibs.solve(PUZZLE, order="oracle", level="naked", seconds=60, nodes=10_000)
    assert (limited.nodes, limited.backtracks, limited.asks) == (outcome.nodes, outcome.backtracks, outcome.asks)
    assert dibs.solve(PUZZLE, order="oracle", seconds=0).status == dibs.Status.LIMIT


def test_an_oracle_with_restarts_and_nogoods() -> None:
    puzzles = load("hard300", 5)
    for how in ({"strategy": "restarts"}, {"strategy": "nogoods"}):
        for limit in ({}, {"seconds": 60}):
            for outcome in dibs.solve_many(puzzles, order="oracle", **how, **limit):  # type: ignore[arg-type]
                assert outcome.status == dibs.Status.SAT


def test_a_ledger_with_an_oracle_that_finds_no_answer_in_time() -> None:
    options = dibs.Options(order="oracle", max_nodes=2000)
    lost, found = ledgers([hopeless(), PUZZLE], replace(options, level="hidden"), siblings=False)
    assert (lost.outcome.status, lost.nodes) == (dibs.Status.LIMIT, 0)
    assert found.outcome.status == dibs.Status.SAT


def test_oracle_on_many_and_no_solutions() -> None:
    blank = Sudoku.parse("." * 16)
    assert dibs.solve(blank, order="oracle").backtracks == 0
    wrong = Sudoku.parse("1..2" + "..1." + "...." + "2..1")
    assert dibs.solve(wrong, order="oracle").status == dibs.solve(wrong).status


def test_asks_about_states_of_ones_own() -> None:
    """At the root and about all that is open, unless it is said otherwise; some of them are asks of their own."""
    instances = [Sudoku.parse("." * 16), Sudoku.parse("1" + "." * 15)]
    true = np.zeros((2, 64), bool)
    true[1, 0] = True
    asks = Asks.of(instances[0].structure, instances, ~true, true)
    assert asks.selecting
    assert np.array_equal(asks.candidates, ~true)
    assert (asks.rows.tolist(), asks.depth.tolist()) == ([0, 1], [0, 0])
    one = asks.subset(np.array([1]))
    assert (one.instances, one.rows.tolist(), len(one)) == ([instances[1]], [1], 1)
    assert np.array_equal(one.true, true[1:])
    with pytest.raises(ValueError, match="read-only"):
        one.open[0, 0] = False
    assert asks.subset(np.arange(2)) is asks
