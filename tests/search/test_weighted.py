"""Selection `weighted`: any group, few open members for many failures. And what selection `auto` stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Asks, Latin, Options, Sudoku
from dibs.cli import main
from dibs.generate import latin, sudoku
from dibs.guide import Guidance
from dibs.problem import Instance
from dibs.problem.structure import Level, Need, Structure
from dibs.search.tree.search import TreeSearch
from dibs.search.pieces import NO_PIECES, pieces
from dibs.search.policy import LARGE_SUDOKU, SUITED, Waiting, suited
from dibs.search.tree.tables import DOMAIN, plane_bit, tables
from guides import BAD, Scored, seeded
from randoms import mixture, stubborn


class Cut(Exception):
    """A run is over."""


class Slow:
    """The same search on Python's sets, from what docs/SEARCH.md says of it. Only the order of what follows from a
    choice is taken from the kernel's layout: it decides which of several groups fails first."""

    def __init__(
        self, instance: Instance, level: Level, order: dict[int, float] | None = None, unit: int | None = None
    ) -> None:
        t = tables(instance.structure, level, watching=True)
        domain = np.repeat(np.arange(len(t.base) - 1), np.diff(t.base))
        address = domain * DOMAIN + np.arange(len(t.outer)) - t.base[domain].astype(np.int64)
        self.place = plane_bit(address, t.values).tolist()
        number = {a: i for i, a in enumerate(address.tolist())}
        self.domain = domain.tolist()
        self.own = [list(range(t.base[d], t.base[d + 1])) for d in range(len(t.base) - 1)]
        self.groups = [
            [number[a] for a in t.member[t.member_start[g] : t.member_start[g + 1]].tolist()]
            for g in range(len(t.exact))
        ]
        self.exact = t.exact.tolist()
        cut = pieces(instance.structure, self._shareable(instance.structure)) if level == "locked" else NO_PIECES
        inner = [number[a] for a in t.address.tolist()]
        parts = np.split(cut.member, cut.start[1:-1]) if len(cut.groups) else []
        self.pieces = [{inner[literal] for literal in part.tolist()} for part in parts]
        self.whole = cut.whole.ravel().tolist()
        self.within: list[list[int]] = [[] for _ in address]
        for g, members in enumerate(self.groups):
            for literal in members:
                self.within[literal].append(g)
        self.mates = [self._mates(t, row) for row in range(len(t.mate_start) - 1)]
        self.open = set(range(len(address)))
        self.true: set[int] = set()
        self.weight = [1] * len(self.groups)
        self.score = order or {}
        self.outer = t.outer
        self.nodes = self.backtracks = 0
        self.end: int | None = None  # where the run is cut
        given = [number[int(t.address[one])] for one in instance.given]
        units = [number[a] for a in t.unit.tolist()]
        self.status = "UNSAT"
        if not t.hopeless and self.follow([*given, *units]):
            self.status = self.runs(unit)

    def runs(self, unit: int | None) -> str:
        for length in chain.from_iterable(luby(k) for k in range(1, 30)):
            self.end = None if unit is None else self.nodes + unit * length
            self.standing = [g for g in range(len(self.groups)) if not self.satisfied(g)]
            self.refuted: list[int] = []
            root = set(self.open), set(self.true)
            try:
                return "SAT" if self.search(0) else "UNSAT"
            except Cut:
                self.open, self.true = root
                if not self.follow([], self.refuted):
                    return "UNSAT"
        raise AssertionError("no run was long enough")

    def _shareable(self, structure: Structure) -> Any:
        return structure.exclusive & (structure.need != Need.NONE)

    def _mates(self, t: Any, row: int) -> list[int]:
        words = range(t.mate_start[row], t.mate_start[row + 1])
        bits = {int(t.mate_word[k]) * 64 + b for k in words for b in range(64) if int(t.mate_mask[k]) >> b & 1}
        return sorted((one for one, place in enumerate(self.place) if place in bits), key=self.place.__getitem__)

    def satisfied(self, g: int) -> bool:
        return any(literal in self.true for literal in self.groups[g])

    def follow(self, queue: list[int], refuted: Sequence[int] = ()) -> bool:
        locks: list[int] = []  # twice the piece, plus the side of the whole that it is alone in
        done = 0
        if not self.lose(refuted, queue, locks):
            return False
        while done < len(queue) or locks:  # both grow on the way
            if done < len(queue):
                literal = queue[done]
                done += 1
                if literal not in self.open:
                    return False
                if literal in self.true:
                    continue
                self.true.add(literal)
                rest = [one for one in self.own[self.domain[literal]] if one != literal] + self.mates[literal]
            else:
                side = locks.pop()
                rest = self.mates[len(self.outer) + side]
            if not self.lose(rest, queue, locks):
                return False
        return True

    def lose(self, rest: Sequence[int], queue: list[int], locks: list[int]) -> bool:
        consistent = True
        for dead in [one for one in rest if one in self.open]:
            self.open.discard(dead)
            consistent &= self.kill(dead, queue, locks)
        return consistent

    def kill(self, dead: int, queue: list[int], locks: list[int]) -> bool:
        consistent = True
        for g in self.within[dead]:
            left = [one for one in self.groups[g] if one in self.open]
            if self.satisfied(g) or len(left) > 1:
                continue
            if left:
                queue.append(left[0])
            else:
                consistent = False
                self.weight[g] += 1
        for number, piece in enumerate(self.pieces):
            if dead in piece and not piece & self.open:
                for whole in self.whole[2 * number : 2 * number + 2]:
                    sides = [side for side, other in enumerate(self.whole) if other == whole]
                    left = [side for side in sides if self.pieces[side // 2] & self.open]
                    if whole >= 0 and len(left) == 1:
                        locks.append(left[0])
        return consistent

    def search(self, depth: int) -> bool:
        best: list[int] | None = None
        least = (1.0, 0.0)  # open members, weight
        for g in self.standing:
            size = sum(literal in self.open for literal in self.groups[g])
            if not self.satisfied(g) and size * least[1] < least[0] * self.weight[g]:
                least = size, self.weight[g]
                best = [literal for literal in self.groups[g] if literal in self.open]
                if not self.exact[g]:
                    best = [one for one in self.own[self.domain[best[0]]] if one in self.open]
        if best is None:
            undecided = (own for own in self.own if not self.true.intersection(own))
            best = [one for one in next(undecided, []) if one in self.open]
            if not best:
                return True
        if depth and self.end is not None and self.nodes >= self.end:
            raise Cut
        self.nodes += 1
        for literal in sorted(best, key=lambda one: -self.score.get(int(self.outer[one]), 0.0)):
            before = set(self.open), set(self.true)
            if self.follow([literal]) and self.search(depth + 1):
                return True
            self.backtracks += 1
            self.open, self.true = before
            if not depth:
                self.refuted.append(literal)
        return False


def luby(k: int) -> list[int]:
    """The first 2^k - 1 lengths after the ones before: 1; 1 2; 1 1 2 4; ..."""
    whole = [1]
    for i in range(1, k):
        whole = whole + whole + [2**i]
    return whole if k == 1 else whole[len(whole) // 2 :]


@pytest.mark.parametrize("level", ["naked", "hidden", "locked"])
def test_counters_are_those_of_a_slow_search(level: Level) -> None:
    problems = mixture(seed=31, count=60) + stubborn(seed=32, count=25)
    problems += list(latin(4, order=6, holes=0.75, seed=3))
    problems += list(sudoku(6, box=(2, 3), kept=0.2, seed=3)) + list(sudoku(3, box=(3, 3), kept=0.22, seed=4))
    branched = failed = 0
    for problem in problems:
        slow = Slow(problem, level)
        found = dibs.solve(problem, level=level, select="weighted")
        assert (found.status, found.nodes, found.backtracks) == (slow.status, slow.nodes, slow.backtracks), problem
        branched += found.nodes > 0
        failed += found.backtracks > 3
    assert branched > 40
    assert failed > 8


def test_counters_of_several_runs_are_those_of_a_slow_search() -> None:
    problems = [*stubborn(seed=36, count=60), *mixture(seed=34, count=30), *latin(6, order=8, holes=0.6, seed=3)]
    several = 0
    problems = [one for one in problems if (one.structure.need != Need.NONE).any()]  # else there is nothing to weigh
    for turn, problem in enumerate(problems):
        unit = 1 + turn % 4
        scores = np.random.default_rng(turn).random(problem.structure.literals)
        guide = Scored(lambda asks, scores=scores: np.tile(scores, (len(asks), 1)))  # type: ignore[misc]
        for given in (None, scores):
            ranked: dict[str, Any] = {} if given is None else {"guide": guide, "keep": 0, "asks": 1}
            slow = Slow(problem, "hidden", None if given is None else dict(enumerate(given)), unit)
            found = dibs.solve(problem, select="weighted", strategy="restarts", unit=unit, **ranked)
            assert (found.status, found.nodes, found.backtracks) == (slow.status, slow.nodes, slow.backtracks), problem
            several += slow.nodes > 3 * unit
    assert several > 15


def test_a_ranking_orders_the_members_of_a_group() -> None:
    for turn, problem in enumerate(latin(12, order=7, holes=0.8, seed=5)):
        scores = np.random.default_rng(turn).random(problem.structure.literals)
        guide = Scored(lambda asks, scores=scores: np.tile(scores, (len(asks), 1)))  # type: ignore[misc]
        slow = Slow(problem, "hidden", dict(enumerate(scores.tolist())))
        found = dibs.solve(problem, select="weighted", level="hidden", guide=guide, keep=0, asks=1)
        assert (found.status, found.nodes, found.backtracks) == (slow.status, slow.nodes, slow.backtracks)
        assert found.asks == min(1, found.nodes)


def test_all_solutions_are_found_once() -> None:
    for problem in [*latin(6, order=5, holes=0.6, seed=2), *mixture(seed=33, count=30)]:
        for level in ("naked", "hidden", "locked"):
            known = dibs.count_solutions(problem, 200)
            assert dibs.count_solutions(problem, 200, select="weighted", level=level) == known, problem


def test_no_guide_changes_an_answer_in_a_large_grid() -> None:
    squares = list(latin(2, order=18, holes=0.4, balanced=True, seed=1))
    values = squares[0].values.copy()
    hole = int(np.flatnonzero(values == 0)[0])
    row = values[hole // 18 * 18 : hole // 18 * 18 + 18]
    absent = [v for v in range(1, 19) if v not in row and v not in values[hole % 18 :: 18]]
    for value in absent:  # a value that leaves no solution, if there is one
        values[hole] = value
        squares.append(Latin(values))
    known = [dibs.solve(square, policy="plain").status for square in squares]
    for name, scores in (BAD | {"seeded": seeded}).items():
        for policy in ("auto", "guided"):
            found = dibs.solve_many(squares, policy=policy, guide=Scored(scores))
            assert [one.status for one in found] == known, name


def test_what_auto_stands_for() -> None:
    auto = Options(select="auto", keep=0.9, strategy="restarts", after=1000)
    small, formula = Sudoku.parse("." * 81), CNF(2, [[1, 2]])
    for instance in (small, formula, Sudoku.parse("." * 256)):
        assert auto.suited(instance.structure) == Options(select="confident", keep=0.9, strategy="restarts", after=1000)
    assert replace(auto, strategy="learn").suited(small.structure) == auto.suited(small.structure)
    for grid in (Latin([0] * 289), Sudoku([0] * 625)):
        large = auto.suited(grid.structure)
        assert (large.select, large.strategy, large.asks, large.keep) == ("weighted", "learn", None, 0)
        assert replace(auto, strategy="dfs").suited(grid.structure).strategy == "dfs"
        assert large.level == ("locked" if isinstance(grid, Sudoku) else "hidden")
        assert replace(auto, level="naked").suited(grid.structure).level == "naked"
        assert large.after is not None
        assert large.after < 1000
    assert Options(select="mrv").suited(small.structure) == Options(select="mrv")


def test_the_guide_of_a_policy_is_that_of_the_family() -> None:
    asked: set[str] = set()
    auto = Waiting(Guidance(guide="auto"))
    for instance in (Sudoku.parse("." * 81), Latin([0] * 16), CNF(2, [[1, 2]]), Sudoku([0] * 625)):
        assert auto.refusal(instance.structure) is None
        asked.add(suited("auto", instance.structure))
    assert asked == {*SUITED.values(), LARGE_SUDOKU}
    own = dibs.Problem(2, exactly_one=[[0, 1]])
    assert auto.refusal(own.structure) == "no guide for the family problem comes with dibs"
    with pytest.raises(dibs.InputError, match="no guide for the family problem"):
        dibs.solve(own, policy="guided")
    assert suited("transformer", own.structure) == "transformer"
    [square] = latin(1, order=20, holes=0.42, balanced=True, seed=4)
    assert dibs.solve(square, policy="guided").asks == 1


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="needs level naked, hidden or locked"):
        Options(select="weighted", level="eliminate")
    with pytest.raises(ValueError, match="cannot be followed node by node"):
        TreeSearch([Latin([0] * 16)], Options(select="weighted"), traced=True)


def test_it_cannot_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    [square] = latin(1, order=17, holes=0.3, seed=1)
    for words in (["--policy", "auto"], ["--select", "weighted", "--policy", "plain"], ["--compare", "guided"]):
        assert main(["explain", square.line(), "--family", "latin", *words]) == 2
        assert "select weighted cannot be explained" in capsys.readouterr().err


def test_every_open_literal_is_asked_about() -> None:
    seen: list[Asks] = []

    def scores(asks: Asks) -> Any:
        seen.append(asks)
        return np.zeros(asks.open.shape)

    [square] = latin(1, order=7, holes=0.8, seed=9)
    dibs.solve(square, select="weighted", guide=Scored(scores), keep=0, asks=1)
    assert [asks.selecting for asks in seen] == [True]
    assert (seen[0].candidates == seen[0].open).all()


@pytest.mark.parametrize("said", [{"level": "eliminate"}, {"order": "lcv"}, {"order": "mcv"}, {"order": "jw"}])
@pytest.mark.parametrize("policy", ["auto", "guided"])
def test_what_looks_at_domains_is_a_search_of_domains_in_a_large_grid(policy: str, said: dict[str, Any]) -> None:
    """It used to be a traceback: selection `auto` took groups, for which these words have no meaning."""
    for grid in (next(latin(1, order=20, holes=0.2, seed=1)), next(sudoku(1, box=(5, 5), kept=0.6, seed=1))):
        outcome = dibs.solve(grid, policy=policy, nodes=2000, **said)
        assert outcome.status in ("SAT", "LIMIT")
