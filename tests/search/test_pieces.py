"""Level `locked`: which literals are pieces, how they make up groups, and what follows from it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import dibs
from dibs import Latin, Sudoku
from dibs.bench.instances import load
from dibs.generate import sudoku
from dibs.problem.structure import Need, Structure
from dibs.search.pieces import Pieces, pieces
from randoms import mixture


def of(structure: Structure) -> Pieces:
    return pieces(structure, structure.exclusive & (structure.need != Need.NONE))


def literals(cut: Pieces, piece: int) -> set[int]:
    return set(cut.member[cut.start[piece] : cut.start[piece + 1]].tolist())


def test_lines_cross_boxes() -> None:
    cut = of(Sudoku.parse("." * 81).structure)
    assert len(cut.groups) == 9 * (27 + 27), "for each value, lines with three boxes each"
    assert {len(literals(cut, q)) for q in range(len(cut.groups))} == {3}
    assert cut.wholes == 9 * (9 + 9 + 2 * 9), "lines are cut up once, boxes twice"
    wide = of(Sudoku([0] * 36, (2, 3)).structure)
    assert {len(literals(wide, q)) for q in range(len(wide.groups))} == {2, 3}
    assert len(of(Latin([0] * 25).structure).groups) == 0


def test_wholes_are_all_of_a_group_in_parts() -> None:
    """In any problem: what two groups share is a part of one whole of either, unless it is all of it."""
    shared = left = 0
    for problem in mixture(seed=41, count=150):
        s, cut = problem.structure, of(problem.structure)
        whole: dict[int, list[int]] = {}
        for side, number in enumerate(cut.whole.ravel().tolist()):
            if number >= 0:
                whole.setdefault(number, []).append(side)
        assert set(whole) == set(range(cut.wholes))
        for sides in whole.values():
            (group,) = {int(cut.groups.flat[side]) for side in sides}
            parts = [literals(cut, side // 2) for side in sides]
            assert len(parts) > 1
            assert sum(map(len, parts)) == len(set().union(*parts))
            assert set().union(*parts) == set(s.members(group).tolist())
        exact = [g for g in range(s.groups) if s.exclusive[g] and s.need[g] != Need.NONE]
        found = {tuple(pair): q for q, pair in enumerate(cut.groups.tolist())}
        for one, other in permutations(exact, 2):
            mine, common = set(s.members(one).tolist()), set(s.members(one).tolist()) & set(s.members(other).tolist())
            assert (len(common) > 1) == ((min(one, other), max(one, other)) in found)
            if len(common) > 1:
                piece = found[min(one, other), max(one, other)]
                assert literals(cut, piece) == common
                assert (cut.whole[piece, int(one > other)] >= 0) == (common != mine)
                shared += 1
        left += sum(-1 in pair for pair in found)
    assert shared > 100
    assert left > 5


def test_it_spares_nodes() -> None:
    puzzles = load("hard300")
    hidden, locked = (sum(o.nodes for o in dibs.solve_many(puzzles, level=level)) for level in ("hidden", "locked"))
    assert 0 < locked < 0.7 * hidden


def test_a_large_grid() -> None:
    """Where it is used: answers are checked, and the same limit of nodes solves more."""
    puzzles = list(sudoku(6, box=(5, 5), kept=0.46, seed=2))
    solved = {}
    for level in ("hidden", "locked"):
        how: dict[str, Any] = {"select": "weighted", "strategy": "restarts", "unit": 64, "nodes": 800}
        found = [dibs.solve(puzzle, level=level, **how) for puzzle in puzzles]
        solved[level] = sum(outcome.status == "SAT" for outcome in found)
        assert all(outcome.status in ("SAT", "LIMIT") for outcome in found)
    assert solved["locked"] > solved["hidden"]
