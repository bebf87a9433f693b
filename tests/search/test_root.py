"""The root propagation: against a slow closure from the definition, the tree search, and all solutions."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import dibs
from dibs import Options, Sudoku
from dibs.bench.instances import load
from dibs.generate import latin, sudoku
from dibs.problem import Instance
from dibs.problem.structure import Level, Need
from dibs.search.root import roots, settle
from dibs.search.tree.search import TreeSearch
from randoms import mixture, stubborn

LEVELS = get_args(Level)
LEAST = {"eliminate": Need.REQUIRED + 1, "naked": Need.REQUIRED, "hidden": Need.IMPLIED}


@pytest.fixture(scope="module")
def problems() -> list[Instance]:
    made: list[Instance] = [*mixture(seed=51, count=150), *stubborn(seed=52, count=40), *load("hard300", 20)]
    made += [*sudoku(4, box=(3, 3), kept=0.35, seed=1, workers=1), *latin(4, order=6, holes=0.5, seed=1)]
    return made


def closure(instance: Instance, level: Level, locked: bool) -> tuple[set[int], set[int]] | None:
    """(open, true) by sets, rule after rule until nothing changes; None: it fails."""
    of = instance.structure
    groups = [set(of.members(g).tolist()) for g in range(of.groups)]
    true = set(instance.given.tolist())
    open_ = set(range(of.literals)) - true
    while True:
        before = len(open_), len(true)
        for group, exclusive, need in zip(groups, of.exclusive, of.need, strict=True):
            if exclusive and group & true:
                if len(group & true) > 1:
                    return None
                open_ -= group
            if need >= LEAST[level] and not group & true:
                if not group & open_:
                    return None
                if len(group & open_) == 1:
                    true |= group & open_
                    open_ -= group & true
                elif locked and exclusive:
                    for other, alone in zip(groups, of.exclusive, strict=True):
                        if alone and group & open_ <= other:
                            open_ -= other - group
        if before == (len(open_), len(true)):
            return open_, true


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_it_is_the_closure_of_its_rules(problems: list[Instance], level: Level, locked: bool) -> None:
    failed = moved = 0
    for problem in problems:
        [open_], [true], [consistent] = roots([problem], level, locked=locked)
        wanted = closure(problem, level, locked)
        assert consistent == (wanted is not None)
        assert not (open_ & true).any()
        if wanted:
            assert (set(np.flatnonzero(open_).tolist()), set(np.flatnonzero(true).tolist())) == wanted
            moved += len(wanted[1]) > len(problem.given)
        failed += wanted is None
    assert (moved > 40) == (level != "eliminate")
    assert failed > (5 if level != "eliminate" else -1)


@pytest.mark.parametrize("level", ["naked", "hidden"])
def test_it_is_the_root_of_the_tree_search(problems: list[Instance], level: Level) -> None:
    for problem in problems:
        engine = TreeSearch([problem], Options(level=level, max_nodes=0))
        engine.run()
        [outcome] = engine.outcomes()
        assert outcome is not None
        [open_], [true], [consistent] = roots([problem], level)
        assert consistent == (outcome.status != "UNSAT")
        if outcome.status == "LIMIT":
            [wanted_open], [wanted_true] = engine.literals(np.zeros(1, np.int64))
            assert (open_ == wanted_open).all()
            assert (true == wanted_true).all()


def test_it_takes_no_solution(problems: list[Instance]) -> None:
    """What groups lock included."""
    decided = 0
    for problem in problems:
        [open_], [true], [consistent] = roots([problem], locked=True)
        engine = TreeSearch([problem], Options(max_solutions=30), answers=1)
        engine.run()
        [solution] = engine.true()
        if engine.counters.solutions[0]:
            assert consistent
            assert not (true & ~solution).any()
            assert not (solution & ~(open_ | true)).any()
            decided += not open_.any()
    assert decided > 5


def test_many_at_once_are_as_one_by_one() -> None:
    puzzles = list(load("hard300", 30))
    together = roots(puzzles, locked=True)
    for i, puzzle in enumerate(puzzles):
        alone = roots([puzzle], locked=True)
        assert all((many[i] == one[0]).all() for many, one in zip(together, alone, strict=True))


def test_what_is_locked_is_more_than_singles() -> None:
    puzzles = load("hard300", 50)
    hidden, locked = (roots(list(puzzles), locked=locked).open for locked in (False, True))
    assert not (locked & ~hidden).any()
    assert locked.sum() < 0.97 * hidden.sum()


def test_givens_that_exclude_each_other_still_exclude() -> None:
    grid = Sudoku.parse("11" + "." * 79, repeats=True)
    [open_], [true], [consistent] = roots([grid], "eliminate")
    assert not consistent
    assert set(np.flatnonzero(true)) == {0, 9}
    left = open_.reshape(81, 9)
    assert not left[:2].any()
    assert not left[2:21, 0][[0, 1, 5, 6, 7, 8, 9, 17, 18]].any()
    assert left[80].all()


def test_nothing_given_is_changed() -> None:
    structure = dibs.Sudoku.parse("." * 16).structure
    true = np.zeros((2, structure.literals), bool)
    true[1, 0] = True
    before = true.copy()
    settle(structure, true)
    assert (true == before).all()
