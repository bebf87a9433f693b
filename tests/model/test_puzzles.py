"""The sources `doubted` and `listed`: puzzles that come with dibs, or from a file, instead of being made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dibs.model import puzzles as source
from dibs.model.config import Config
from dibs.model.puzzles import Puzzles, load
from dibs.problem import InputError
from judge import units


def _load(folder: Path, **data: Any) -> dict[str, Puzzles]:
    return load(Config.of("x", {"data": data}, "x").data, folder, lambda *_: None)


def test_the_first_of_the_list_in_its_order(tmp_path: Path) -> None:
    found = _load(tmp_path, doubted=300, held=0.1)["doubted"]
    assert found.puzzles.shape == found.solutions.shape == (300, 81)
    assert found.held == 30
    assert np.array_equal(_load(tmp_path, doubted=20, seed=9)["doubted"].puzzles, found.puzzles[:20])
    assert np.count_nonzero(found.puzzles, axis=1).min() > source.TEST_CLUES
    assert ((found.puzzles == 0) | (found.puzzles == found.solutions)).all()
    for unit in units(9, (3, 3)):
        assert (np.sort(found.solutions[:, unit], axis=1) == np.arange(1, 10)).all()
    assert list(tmp_path.iterdir()) == []  # nothing to keep for the next run


def test_beside_other_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PIECE", source.PIECE | {"minimal": 20})
    monkeypatch.setattr(source, "cores", lambda: 1)
    found = _load(tmp_path, doubted=10, minimal=20)
    assert {name: len(some.puzzles) for name, some in found.items()} == {"doubted": 10, "minimal": 20}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"doubted": 10**6}, "[data] doubted = 1000000: there are 21500"),
        ({"doubted": 10, "box": [2, 2]}, "[data] doubted: these puzzles are 9x9, box must be [3, 3]"),
        ({"doubted": -1}, "x: [data] doubted = -1: 0 or more"),
    ],
)
def test_refusals(tmp_path: Path, data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, **data)
    assert str(error.value) == message


def test_17_clue_puzzles_are_kept_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_puzzle = np.zeros((1, 81), np.uint8)
    test_puzzle[0, :17] = 1
    monkeypatch.setattr(source, "_doubted", lambda *_: test_puzzle)
    with pytest.raises(InputError, match="17 givens among doubted: such puzzles are for testing only"):
        _load(tmp_path, doubted=1)


@pytest.mark.parametrize("name", ["relational-9x9", "relational-9x9-large"])
def test_the_configurations_that_use_it(name: str) -> None:
    plan = Config.read(name)
    assert len(source._doubted(source.shape_of(plan.data), plan.data.doubted)) == plan.data.doubted > 0
    assert sum(plan.train.mix.values()) == pytest.approx(1)
    assert all(getattr(plan.data, wanted) for wanted in plan.train.mix)


def _lines(path: Path, *puzzles: str) -> str:
    path.write_text("\n".join(("# mine", *puzzles)) + "\n")
    return str(path)


def test_a_list_of_ones_own_beside_another_source(tmp_path: Path) -> None:
    mine = ["".join(map(str, puzzle)) for puzzle in _load(tmp_path, doubted=30)["doubted"].puzzles[10:].tolist()]
    found = _load(tmp_path, doubted=30, listed=_lines(tmp_path / "mine.txt", *mine), held=0.1)
    assert found["listed"].held == 2
    for part in ("puzzles", "solutions"):
        assert np.array_equal(getattr(found["listed"], part), getattr(found["doubted"], part)[10:])


@pytest.mark.parametrize(
    ("puzzle", "message"),
    [
        ("0" * 81, "{file}:2: a puzzle to learn from must have exactly one solution"),
        ("1000000200300004", "{file}:2:16: 16 cells; boxes of 3 rows and 3 columns make 81 (9x9)"),
        ("11" + "0" * 79, "{file}:2:2: r1c1 and r1c2 are both 1"),
        (
            "000000010400000000020000000000050407008000300001090000300400200050100000000806000",
            "[data] a puzzle with 17 givens",
        ),
    ],
    ids=["many solutions", "another size", "a contradiction", "17 givens"],
)
def test_lists_that_are_refused(tmp_path: Path, puzzle: str, message: str) -> None:
    file = _lines(tmp_path / "mine.txt", puzzle)
    with pytest.raises(InputError) as error:
        _load(tmp_path, listed=file)
    assert str(error.value).startswith(message.format(file=file))
