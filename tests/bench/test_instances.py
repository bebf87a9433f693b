"""Which instances an experiment searches: the same seed, the same puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dibs
from dibs.bench.experiment import Choice
from dibs.bench.instances import BUNDLED, FORMULAS, chosen, load, relabelled, revealed
from dibs.bench.kinds import InstanceKind
from dibs.problem import CNF, InputError, Latin, Sudoku
from shell import BLANK, PUZZLE, SEARCHED, UNSAT


def lines(**choice: Any) -> list[str]:
    return [one.line() for one in chosen(Choice(**choice)).every]


def test_bundled_lists_load() -> None:
    assert [len(load(name)) for name in BUNDLED] == [130, 300, 21_500]
    assert [one.line() for one in load("hard300", 5)] == lines(puzzles="hard300")[:5]


def test_all_of_a_list() -> None:
    found = chosen(Choice(puzzles="sample17"))
    assert len(found) == 130
    assert found.number == list(range(130))
    assert found.givens == found.variables == [0] * 130
    assert set(found.kind) == {""}
    assert chosen(Choice(puzzles="sample17", sample=130)).digest == found.digest
    assert chosen(Choice(puzzles="sample17", sample=1000, seed=3)).digest == found.digest


@settings(max_examples=20)
@given(st.integers(1, 129), st.integers(0, 2**40))
def test_a_sample_is_drawn_by_its_seed(sample: int, seed: int) -> None:
    found = chosen(Choice(puzzles="sample17", sample=sample, seed=seed))
    every = load("sample17")
    assert len(found) == len(set(found.number)) == sample
    assert list(found.number) == sorted(found.number)
    assert [one.line() for one in found.every] == [every[i].line() for i in found.number]
    again = chosen(Choice(puzzles="sample17", sample=sample, seed=seed))
    assert (again.number, again.digest) == (found.number, found.digest)


def test_another_seed_is_another_sample() -> None:
    drawn = {tuple(lines(puzzles="sample17", sample=20, seed=seed)) for seed in range(10)}
    assert len(drawn) == 10
    first = lines(puzzles="sample17")[:20]
    assert tuple(first) not in drawn, "a sample is not the head of the list"


def test_relabelled_puzzles_are_the_same_puzzles() -> None:
    plain = chosen(Choice(puzzles="hard300", sample=10))
    other = chosen(Choice(puzzles="hard300", sample=10, relabel=4))
    assert other.number == plain.number
    assert other.digest != plain.digest
    assert other.digest == chosen(Choice(puzzles="hard300", sample=10, relabel=4)).digest
    assert other.digest != chosen(Choice(puzzles="hard300", sample=10, relabel=5)).digest
    for one, two in zip(plain.every, other.every, strict=True):
        assert isinstance(one, Sudoku)
        assert isinstance(two, Sudoku)
        assert one.line() != two.line()
        counts = [sorted(np.bincount(puzzle.values, minlength=10)[1:]) for puzzle in (one, two)]
        assert counts[0] == counts[1]
        assert dibs.is_unique(two)
    formula = CNF(2, [[1, 2]])
    assert relabelled([formula], 1) == [formula]


def test_more_givens() -> None:
    found = chosen(Choice(puzzles="sample17", sample=3, givens=(17, 20, 81)))
    plain = chosen(Choice(puzzles="sample17", sample=3))
    assert len(found) == 9
    assert found.givens == [17] * 3 + [20] * 3 + [81] * 3
    assert list(found.number) == list(plain.number) * 3
    assert [np.count_nonzero(one.values) for one in found.every if isinstance(one, Sudoku)] == found.givens
    assert [one.line() for one in found.every[:3]] == [one.line() for one in plain.every]
    for i in range(3):
        fewer, more, whole = (found.every[i + 3 * bucket] for bucket in range(3))
        assert isinstance(fewer, Sudoku)
        assert isinstance(more, Sudoku)
        assert isinstance(whole, Sudoku)
        solution = np.array([int(digit) for digit in str(dibs.solve(plain.every[i]).solution)])
        assert (whole.values == solution).all()
        assert (more.values[fewer.values > 0] == fewer.values[fewer.values > 0]).all(), "what was given stays"


def test_givens_are_nested_and_by_seed() -> None:
    some = load("sample17", 4)
    one, two = revealed(some, 19, 1), revealed(some, 24, 1)
    for a, b in zip(one, two, strict=True):
        assert isinstance(a, Sudoku)
        assert isinstance(b, Sudoku)
        assert (b.values[a.values > 0] == a.values[a.values > 0]).all()
    other = revealed(some, 24, 2)
    assert [one.line() for one in other] != [one.line() for one in two]


@pytest.mark.parametrize("givens", [(16,), (82,), (17, 90)])
def test_givens_that_cannot_be(givens: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"a puzzle with 17 givens cannot have \d\d$"):
        chosen(Choice(puzzles="sample17", sample=2, givens=givens))


def test_givens_need_a_solution(tmp_path: Path) -> None:
    path = tmp_path / "puzzles.txt"
    path.write_text(UNSAT)
    with pytest.raises(InputError, match="Sudokus with a solution only"):
        chosen(Choice(puzzles=str(path), givens=(70,)))
    path.write_text("p cnf 2 1\n1 2 0\n")
    with pytest.raises(InputError, match="Sudokus with a solution only"):
        chosen(Choice(puzzles=str(path), givens=(70,)))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "puzzles.txt"
    path.write_text(f"{PUZZLE}\n{SEARCHED}\n{'.' * 16}\n")
    assert lines(puzzles=str(path)) == [PUZZLE, SEARCHED, "." * 16]
    path.write_text(f"{PUZZLE}\n{BLANK[:-1]}x\n")
    with pytest.raises(InputError, match=r"puzzles.txt:2:81"):
        chosen(Choice(puzzles=str(path)))
    path.write_text("")
    with pytest.raises(InputError, match=r"puzzles\.txt"):
        chosen(Choice(puzzles=str(path)))
    with pytest.raises(InputError, match="does not exist"):
        chosen(Choice(puzzles=str(tmp_path / "nowhere")))


def test_a_list_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="dibs data get royle17"):
        chosen(Choice(puzzles="royle17"))
    (tmp_path / "royle17").write_text(PUZZLE)  # a file of that name in this folder is what is meant
    assert lines(puzzles="royle17") == [PUZZLE]


def test_formulas() -> None:
    found = chosen(Choice(variables=(9, 5, 20), sample=4))
    assert found.variables == [9] * 4 + [5] * 4 + [20] * 4
    assert found.number == [0, 1, 2, 3] * 3
    assert found.givens == [0] * 12
    for one, variables in zip(found.every, found.variables, strict=True):
        assert isinstance(one, CNF)
        assert one.variables == variables
        assert len(one.clauses) == {5: 41, 9: 52, 20: 93}[variables]
        assert len({tuple(sorted(clause)) for clause in one.clauses}) == len(one.clauses)
        assert dibs.solve(one).status == "SAT"


def test_formulas_are_made_by_their_seed() -> None:
    found = chosen(Choice(variables=(9, 20), sample=6, seed=1))
    assert found.digest == chosen(Choice(variables=(9, 20), sample=6, seed=1)).digest
    assert found.digest == "d3109d101e0d17df", "records of earlier runs are about these formulas"
    assert found.digest != chosen(Choice(variables=(9, 20), sample=6, seed=2)).digest
    assert lines(variables=(20,), sample=3, seed=1) == [one.line() for one in found.every[6:9]]


def test_as_many_formulas_of_each_size_as_are_wanted() -> None:
    found = chosen(Choice(variables=(20, 9), sample=(1, 3), seed=1))
    assert (found.variables, found.number) == ([20, 9, 9, 9], [0, 0, 1, 2])
    assert lines(variables=(9,), sample=3, seed=1) == [one.line() for one in found.every[1:]]


def test_a_thousand_formulas_of_each_size() -> None:
    assert len(chosen(Choice(variables=(12,)))) == FORMULAS == 1000


EVEN = InstanceKind(family="latin", order=10, holes=0.4, balanced=True)


def test_cells_have_labels() -> None:
    assert EVEN.label == "latin 10, 40 %"
    assert InstanceKind(family="latin", order=30, holes=0.367, balanced=True).label == "latin 30, 36.7 %"
    assert InstanceKind(family="latin", order=25, holes=0.41, balanced=True).label == "latin 25, 40 %", "10 in each row"
    assert InstanceKind(family="latin", order=10, holes=0.44).label == "latin 10, 44 % anywhere"
    assert InstanceKind(family="latin", order=10, holes=40, balanced=True).label == "latin 10, 40 holes"
    assert InstanceKind(family="sudoku", size=25, kept=0.44).label == "sudoku 25x25, 44 % kept"
    assert InstanceKind(family="sat", variables=50).label == "sat 50"


def test_cells_of_latin_squares() -> None:
    found = chosen(Choice(kind=(EVEN, InstanceKind(family="latin", order=8, holes=30)), sample=(3, 2)))
    assert found.kind == ["latin 10, 40 %"] * 3 + ["latin 8, 30 holes anywhere"] * 2
    assert (found.number, found.variables) == ([0, 1, 2, 0, 1], [0] * 5)
    for one in found.every[:3]:
        assert isinstance(one, Latin)
        blank = one.values.reshape(10, 10) == 0
        assert (blank.sum(axis=0) == 4).all()
        assert (blank.sum(axis=1) == 4).all()
    for two in found.every[3:]:
        assert isinstance(two, Latin)
        assert np.count_nonzero(two.values == 0) == 30


def test_a_cell_does_not_depend_on_the_others() -> None:
    alone = lines(kind=(EVEN,), sample=2, seed=3)
    other = InstanceKind(family="latin", order=10, holes=0.5, balanced=True)
    assert lines(kind=(other, EVEN), sample=4, seed=3)[4:6] == alone
    assert lines(kind=(EVEN,), sample=2, seed=4) != alone
    full = [one.line() for kind in (EVEN, other) for one in kind.made(1, kind.seed(3))]
    assert full[0].replace("0", ".") != full[1].replace("0", ".")
    assert EVEN.seed(3) != other.seed(3), "not the same squares with more holes"


def test_cells_of_sudokus() -> None:
    kind, full = InstanceKind(family="sudoku", size=9, kept=0.4), InstanceKind(family="sudoku", size=4, kept=5)
    found = chosen(Choice(kind=(kind, full), sample=2, seed=5))
    assert found.kind == ["sudoku 9x9, 40 % kept"] * 2 + ["sudoku 4x4, 5 kept"] * 2
    assert [np.count_nonzero(one.values) for one in found.every if isinstance(one, Sudoku)] == [32, 32, 5, 5]
    assert [one.line() for one in dibs.generate.sudoku(2, kept=0.4, seed=kind.seed(5))] == [
        one.line() for one in found.every[:2]
    ]


def test_cells_of_formulas_know_their_variables() -> None:
    found = chosen(Choice(kind=(InstanceKind(family="sat", variables=9),), sample=2))
    assert (found.variables, found.kind) == ([9, 9], ["sat 9", "sat 9"])
