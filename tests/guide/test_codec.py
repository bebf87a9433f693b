"""Grids as tokens: every digit has its own token, and search states become the grids that a model was trained on."""

from __future__ import annotations

import sys
from subprocess import run

import numpy as np
import pytest

from dibs import Sudoku
from dibs.guide.codec import MASK, SPECIALS, VOCABULARY, decode, digits, encode, from_true
from dibs.problem.shape import shape
from dibs.search.options import Options
from dibs.search.tree.search import TreeSearch

PUZZLE = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


@pytest.mark.parametrize("size", [4, 9, 16, 25])
def test_round_trip_of_every_value(size: int) -> None:
    values = np.random.default_rng(0).integers(size + 1, size=(7, size * size)).astype(np.uint8)
    tokens = encode(values, size)
    assert tokens.dtype == np.int64
    assert np.array_equal(decode(tokens, size), values)


@pytest.mark.parametrize("size", [4, 9, 16, 25, 30])
def test_no_digit_is_a_special_token(size: int) -> None:
    ids = list(range(VOCABULARY))[digits(size)]
    assert len(set(ids)) == size
    assert not set(ids) & set(range(SPECIALS))
    assert MASK in range(SPECIALS)
    grid = np.resize(np.arange(size + 1), (1, size * size)).astype(np.uint8)
    assert encode(grid, size)[0, : size + 1].tolist() == [MASK, *ids], "a digit's logit is where its token is"


def test_vocabulary_is_the_papers_and_can_grow() -> None:
    assert VOCABULARY == 31
    with pytest.raises(ValueError, match="vocabulary = 31: a 36x36 grid needs at least 37 tokens"):
        encode(np.zeros((1, 36 * 36), np.uint8), 36)
    assert encode(np.full((1, 36 * 36), 36, np.uint8), 36, vocabulary=37).max() == 36


def test_wrong_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="no value 10"):
        encode(np.full((1, 81), 10, np.uint8), 9)
    with pytest.raises(ValueError, match=r"values \[1, 80\]: a 9x9 grid needs \[n, 81\]"):
        encode(np.zeros((1, 80), np.uint8), 9)
    with pytest.raises(ValueError, match=r"tokens 0\.\.9, not 0\.\.10"):
        decode(np.array([[0, 10]]), 9)
    with pytest.raises(ValueError, match=r"true \[1, 81\]: a 9x9 grid needs \[n, 729\]"):
        from_true(np.zeros((1, 81), bool), 9)
    with pytest.raises(ValueError, match="two values"):
        from_true(np.ones((1, 64), bool), 4)


def test_assigned_cells_of_literals() -> None:
    true = np.zeros((2, 64), bool)
    true[0, 5 * 4 + 3 - 1] = True  # cell 5 is 3
    true[1, [0, 63]] = True  # cell 0 is 1, cell 15 is 4
    wanted = np.zeros((2, 16), np.uint8)
    wanted[0, 5], wanted[1, 0], wanted[1, 15] = 3, 1, 4
    assert np.array_equal(from_true(true, 4), wanted)
    assert from_true(true, 4).dtype == np.uint8


def test_a_search_state_shows_its_givens() -> None:
    puzzle = Sudoku.parse(PUZZLE)
    asks = TreeSearch([puzzle], Options(level="naked"), guided=True).advance()
    assert asks
    values = from_true(asks.true, 9)
    assert values.shape == (1, shape(9, (3, 3)).cells)
    given = puzzle.values > 0
    assert np.array_equal(values[0][given], puzzle.values[given])
    decided = ~asks.open.reshape(81, 9).any(axis=1)
    assert np.array_equal(values[0] > 0, decided)


def test_needs_no_torch() -> None:
    code = "import sys; import dibs.guide.codec; sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
