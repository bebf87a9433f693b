"""The search for puzzles that a guide doubts, with guides that cost nothing; and the list that it has filled."""

from __future__ import annotations

import lzma
import re
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs import Structure, Sudoku
from dibs.cli import build
from dibs.commands import generate as commands
from dibs.generate import canonical, doubted, doubting, sudoku
from dibs.generate.canonical import canonical_forms, nine
from dibs.generate.check import uniqueness
from dibs.generate.doubting import doubts_of
from dibs.generate.moves import minimal
from dibs.problem.shape import shape
from dibs.search.root import roots
from judge import Judge, PlainSearch

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

KNOWN = Sudoku.parse("000801000000000043500000000000070800000000100020030000600000075003400000000200600")
RESISTS = "..56.....2.3....9..1..4.....9.7.....15.3..4.....2...8.......376.8............1..."
DOUBT = 0.9  # of which UNIFORM has much less in most random puzzles


class Fixed:
    """Every literal has its weight, whatever the state; shares of a cell are those of its open literals' weights."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights  # [729]

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
        odds = np.where(open_, self.weights, 0).reshape(-1, 81, 9)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(odds / odds.sum(axis=2, keepdims=True)).reshape(open_.shape)
        return np.where(true, 0, np.where(open_, found, -np.inf)).astype(np.float32)


UNIFORM = Fixed(np.ones(729, np.float32))
BIASED = Fixed(np.random.default_rng(0).uniform(0.1, 1, 729).astype(np.float32))  # it knows places and digits


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LITTER": 96, "COSTLY": 24, "BRED": 12}.items():
        monkeypatch.setattr(doubting, name, value)


@pytest.mark.parametrize("guide", [UNIFORM, BIASED], ids=["uniform", "biased"])
def test_doubted_puzzles_are_minimal_different_and_doubted(guide: Fixed) -> None:
    looked: list[int] = []
    found = list(doubted(40, guide, doubt=DOUBT, steps=3, seed=1, progress=looked.append))
    assert len(found) == 40
    assert len({canonical(puzzle) for puzzle in found}) == 40
    judge = Judge()
    for puzzle in found:
        assert np.count_nonzero(puzzle.values) >= 18
        assert judge.unique(puzzle.values.tolist())
        assert judge.minimal(puzzle.values.tolist())
    assert doubts_of(guide, nine(found)).min() >= DOUBT
    assert looked == sorted(set(looked))
    assert looked[-1] > 2 * doubting.LITTER  # the first families did not suffice


def test_the_seed_decides() -> None:
    found = list(doubted(12, UNIFORM, doubt=DOUBT, steps=3, seed=1))
    assert list(doubted(12, UNIFORM, doubt=DOUBT, steps=3, seed=1)) == found
    assert list(doubted(5, UNIFORM, doubt=DOUBT, steps=3, seed=1)) == found[:5]
    assert not set(doubted(12, UNIFORM, doubt=DOUBT, steps=3, seed=2)) & set(found)
    assert list(doubted(0, UNIFORM)) == []


class Noting(Fixed):
    """It remembers the states that it is asked about."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats:
        self.asked.append({row.tobytes() for row in open_})
        return super().log_probabilities(structure, open_, true)

    def __init__(self) -> None:
        super().__init__(UNIFORM.weights)
        self.asked: list[set[bytes]] = []


def test_families_begin_with_the_start() -> None:
    start = [Sudoku.parse(RESISTS), Sudoku.parse(RESISTS[::-1])]
    guide = Noting()
    found = list(doubted(6, guide, doubt=0.3, steps=3, start=start, seed=1))
    assert guide.asked[0] == {row.tobytes() for row in roots(start, "hidden").open}
    assert found == list(doubted(6, UNIFORM, doubt=0.3, steps=3, start=iter(start), seed=1))
    assert not {canonical(puzzle) for puzzle in found} & {canonical(puzzle) for puzzle in start}
    assert min(np.count_nonzero(puzzle.values) for puzzle in found) >= 18


@pytest.mark.parametrize("doubt", [0, -1, float("nan"), float("inf")])
def test_bad_arguments(doubt: float) -> None:
    with pytest.raises(ValueError, match=f"doubt = {doubt:g}: it must be a number above 0"):
        doubted(1, UNIFORM, doubt=doubt)
    with pytest.raises(ValueError, match="count = -1"):
        doubted(-1, UNIFORM)
    with pytest.raises(ValueError, match="steps = 13: it must be 1 to 12"):
        doubted(1, UNIFORM, steps=13)
    with pytest.raises(ValueError, match="start puzzle 2 does not have exactly one solution"):
        doubted(1, UNIFORM, start=[Sudoku.parse(RESISTS), Sudoku(np.zeros(81, int))])
    with pytest.raises(ValueError, match="start puzzle 1 has 17 givens"):
        doubted(1, UNIFORM, start=[KNOWN])


def test_doubts_by_hand() -> None:
    puzzles = list(sudoku(40, minimal=True, seed=3))
    wanted = [_doubt(BIASED, puzzle) for puzzle in puzzles]
    assert min(wanted) == 0 < max(wanted)  # singles solve some of them, and the others keep their places
    np.testing.assert_allclose(doubts_of(BIASED, nine(puzzles)), wanted, rtol=1e-5)
    assert len(doubts_of(BIASED, np.zeros((0, 81), np.uint8))) == 0


def _doubt(guide: Fixed, puzzle: Sudoku) -> float:
    """From the definition: a cell at a time, with sets of digits."""
    plain = PlainSearch(puzzle, "hidden", "index", "ascending")
    state = plain._assign({}, [set(range(1, 10)) for _ in range(81)], _given(puzzle))
    assert state
    assert plain.solution
    done, domains = state
    total = 0.0
    for cell in set(range(81)) - done.keys():
        weight = {digit: float(guide.weights[9 * cell + digit - 1]) for digit in domains[cell]}
        total -= np.log(weight[plain.solution[cell]] / sum(weight.values()))
    return total / 81


def _given(puzzle: Sudoku) -> list[tuple[int, int]]:
    return [(cell, digit) for cell, digit in enumerate(puzzle.values.tolist()) if digit]


@pytest.fixture(scope="module")
def bundled() -> list[str]:
    return lzma.decompress(files("dibs").joinpath("data", "doubted.txt.xz").read_bytes()).decode("ascii").splitlines()


def test_the_bundled_list(bundled: list[str]) -> None:
    rows = [line for line in bundled if not line.startswith("#")]
    assert all(re.fullmatch(r"[.1-9]{81}", row) for row in rows)
    puzzles = np.array([list(row.replace(".", "0")) for row in rows]).astype(np.uint8)
    assert np.count_nonzero(puzzles, axis=1).min() >= 18
    assert len(set(rows)) == len(rows)
    assert (uniqueness(shape(9, (3, 3)), puzzles) == 1).all()
    some = puzzles[::50]  # all of them take ten seconds for each of the two
    assert minimal(some).all()
    assert len(set(canonical_forms(some))) == len(some)


def test_the_commands_that_made_it(bundled: list[str]) -> None:
    comments = [line for line in bundled if line.startswith("#")]
    assert bundled[: len(comments)] == comments
    pattern = (
        r"# dibs (generate doubted (\d+) --guide (\S+) --doubt 0\.5 --seed \d+), where the SHA-256 of .* [0-9a-f]{16}"
    )
    made = [found for line in comments if (found := re.fullmatch(pattern, line))]
    assert [found[3] for found in made] == ["relational", "relational-large"]
    assert sum(int(found[2]) for found in made) == len(bundled) - len(comments)
    for found in made:
        command, _, _ = build().parse_args(found[1].split(), exit_on_error=False, print_error=False)
        assert command is commands.doubted
