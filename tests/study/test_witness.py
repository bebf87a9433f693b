"""What is said of a guide on the way to the solution, against a slow account of the same asks; nothing is disturbed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs.bench.instances import load, relabelled
from dibs.guide import Asks, DiBS
from dibs.problem import CNF, InputError, Instance, Latin, Sudoku
from dibs.problem.structure import Structure
from dibs.search import Options
from dibs.solving import solve_together
from dibs.study.witness import Path, Witness, solutions
from exact import exactly
from shell import BLANK, UNSAT

PUZZLES = relabelled(load("hard300", 8), 3)


class Denoiser:
    """Log-probabilities that depend on the state; `step` rounds them, so that there are ties."""

    def __init__(self, step: float = 0.0) -> None:
        self.step = step

    def log_probabilities(self, structure: Structure, open_: NDArray[np.bool_], true: NDArray[np.bool_]) -> Any:
        size = structure.literals // structure.decisions
        logits = np.stack([np.random.default_rng(int(row.sum())).normal(size=len(row)) for row in open_])
        if self.step:
            logits = np.round(logits / self.step) * self.step
        cells = np.where(open_, np.exp(logits), 0).reshape(len(open_), -1, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(cells / cells.sum(axis=2, keepdims=True)).reshape(open_.shape)
        return np.where(true, 0, np.where(open_, found, -np.inf)).astype(np.float32)


class Slow:
    """A guide, and beside it the account: state by state, cell by cell, from the solutions as texts."""

    def __init__(self, guide: DiBS, instances: Sequence[Any]) -> None:
        self.guide = guide
        self.passes = guide.passes
        answers = [outcome.solution for outcome in solve_together(instances, policy="plain")]
        self.right = [None if text is None else [int(digit) - 1 for digit in str(text)] for text in answers]
        self.paths = [Path() for _ in instances]
        self.instances = list(instances)

    def rank(self, asks: Asks) -> Any:
        scores = self.guide.rank(asks)
        said = self.guide.denoiser.log_probabilities(asks.structure, asks.open, asks.true)
        for n, instance in enumerate(asks.instances):
            number = next(i for i, one in enumerate(self.instances) if one is instance)
            right = self.right[number]
            if right is not None and all(right[cell] == value for cell, value in self._cells(asks.true[n])):
                self._note(self.paths[number], asks, n, right, said[n], scores[n])
        return scores

    def _cells(self, literals: NDArray[np.bool_]) -> list[tuple[int, int]]:
        return [divmod(int(literal), 9) for literal in np.flatnonzero(literals)]

    def _note(self, path: Path, asks: Asks, n: int, right: list[int], said: Any, scores: Any) -> None:
        values: dict[int, list[int]] = {}
        for cell, value in self._cells(asks.open[n]):
            values.setdefault(cell, []).append(value)
        best = {cell: max(math.exp(said[9 * cell + value]) for value in some) for cell, some in values.items()}
        path.sure.append(sum(best.values()) / len(best))
        asked = {cell for cell, _ in self._cells(asks.candidates[n])}
        cell = max(values, key=lambda one: (best[one], -one)) if asks.selecting else next(iter(asked))
        order = sorted(values[cell], key=lambda value: (-scores[9 * cell + value], value))
        path.place.append(order.index(right[cell]))
        path.p.append(math.exp(said[9 * cell + right[cell]]))


def close(found: Sequence[Path], wanted: Sequence[Path]) -> None:
    assert len(found) == len(wanted)
    for one, two in zip(found, wanted, strict=True):
        assert one.place == two.place
        assert one.p == pytest.approx(two.p, abs=1e-5)
        assert one.sure == pytest.approx(two.sure, abs=1e-5)


WAYS = {
    "binary": Options(trigger="binary"),
    "always": Options(tie="degree"),
    "confident": Options(select="confident", reuse=0.5, strategy="restarts", restart_base=8),
    "race": Options(guide_after=4, tie="degree"),
    "limit": Options(max_nodes=10),
}


@pytest.mark.parametrize("step", [0.0, 2.0])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("way", WAYS)
def test_paths_are_those_of_a_slow_account(way: str, alpha: float, step: float) -> None:
    guide = DiBS(Denoiser(step), alpha)
    witness, slow = Witness(guide, PUZZLES), Slow(guide, PUZZLES)
    one, two = (exactly(PUZZLES, WAYS[way], each) for each in (witness, slow))
    for a, b in zip(one, two, strict=True):
        assert (a.status, a.nodes, a.backtracks, a.asks, a.calls, a.depth, a.solution) == (
            b.status, b.nodes, b.backtracks, b.asks, b.calls, b.depth, b.solution
        )  # fmt: skip
    close(witness.paths(), slow.paths)
    assert sum(len(path.p) for path in slow.paths) > 0
    if step and alpha == 1:
        assert max(place for path in slow.paths for place in path.place) > 0


@pytest.mark.parametrize("steps", [1, 3])
def test_on_the_path_only(steps: int) -> None:
    options: dict[str, Any] = {"level": "hidden", "trigger": "always"}
    guide = DiBS(Denoiser(), 0.8, steps)
    every, some = Witness(guide, PUZZLES), Witness(guide, PUZZLES, path_only=True)
    for one, two in zip(*(solve_together(PUZZLES, guide=each, **options) for each in (every, some)), strict=True):
        assert (one.nodes, one.backtracks, one.depth) == (two.nodes, two.backtracks, two.depth)
        assert one.asks >= two.asks
        assert two.calls == steps * two.asks
    close(every.paths(), some.paths())


def test_batches_change_nothing() -> None:
    guide = DiBS(Denoiser())
    whole = Witness(guide, PUZZLES)
    solve_together(PUZZLES, guide=whole)
    alone = []
    for one in PUZZLES:
        witness = Witness(guide, [one])
        solve_together([one], guide=witness)
        alone += witness.paths()
    close(whole.paths(), alone)


def test_without_a_solution_there_is_no_path() -> None:
    impossible = Sudoku.parse(UNSAT)
    witness = Witness(DiBS(Denoiser()), [impossible, PUZZLES[0]])
    solve_together([impossible, PUZZLES[0]], guide=witness)
    none, some = witness.paths()
    assert none == Path()
    assert len(some.p) == len(some.place) == len(some.sure) > 0


def test_nothing_is_true_yet_and_there_is_no_solution() -> None:
    """The root of such a problem is on no path either."""
    witness = Witness(DiBS(Denoiser()), [PUZZLES[0]])
    witness._truth[0][:] = False
    shape = (1, PUZZLES[0].structure.literals)
    asks = Asks.of(PUZZLES[0].structure, [PUZZLES[0]], np.ones(shape, bool), np.zeros(shape, bool), selecting=False)
    witness.rank(asks)
    assert witness.paths() == [Path()]


def test_solutions_of_several_shapes() -> None:
    some: list[Instance] = [PUZZLES[0], Latin.parse("1..." + "." * 12), CNF(2, [[1], [-1]]), PUZZLES[1]]
    found = solutions(some)
    assert [one.sum() for one in found] == [81, 16, 0, 81]
    assert [len(one) for one in found] == [instance.structure.literals for instance in some]
    for puzzle, true in zip(PUZZLES, solutions(PUZZLES, unique=True), strict=True):
        text = "".join(str(literal % 9 + 1) for literal in np.flatnonzero(true))
        assert puzzle.violation(text) is None
    for bad in (UNSAT, BLANK):
        with pytest.raises(InputError, match="one solution each"):
            solutions([Sudoku.parse(bad)], unique=True)


def test_formulas_with_several_solutions_have_no_way_to_the_solution() -> None:
    one, two = CNF(3, [[1, 2], [-1], [-2, 3]]), CNF(3, [[1, 2], [-1, 3]])
    first, second = solutions([one, two])
    assert np.flatnonzero(first).tolist() == [1, 2, 4]  # not z1, z2, z3
    assert not second.any()
    assert len(second) == 6


def test_a_refusal_is_passed_on() -> None:
    class Picky(Denoiser):
        def refusal(self, structure: Structure) -> str:
            return f"no {structure.family}"

    assert Witness(DiBS(Picky()), PUZZLES).refusal(PUZZLES[0].structure) == "no sudoku"
    assert Witness(DiBS(Denoiser()), PUZZLES).refusal(PUZZLES[0].structure) is None
