"""Latin squares with holes: valid, well mixed, with the wanted holes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from dibs.generate import latin
from dibs.generate.squares import full_square
from uniform import chi_square


def _is_latin(square: NDArray[np.int64]) -> bool:
    wanted = np.arange(len(square))
    return bool((np.sort(square, axis=0) == wanted[:, None]).all() and (np.sort(square, axis=1) == wanted).all())


@pytest.mark.parametrize("order", [1, 2, 3, 7, 20, 60])
def test_full_squares_are_latin(order: int) -> None:
    assert _is_latin(full_square(order, np.random.default_rng(order)))


def test_order_4_squares_are_uniform() -> None:
    # 576 squares of two kinds, 144 and 432: a walk that stays with its start's kind, or prefers one, fails.
    rng = np.random.default_rng(0)
    seen = Counter(full_square(4, rng).tobytes() for _ in range(8640))
    assert len(seen) == 576
    assert abs(chi_square(list(seen.values()), 576)) < 4


def test_the_uniformity_test_can_fail() -> None:
    rng = np.random.default_rng(0)
    skewed = rng.multinomial(8640, [0.8 / 144] * 144 + [0.2 / 432] * 432)
    assert chi_square(skewed.tolist(), 576) > 50


def test_order_3_squares_are_uniform() -> None:
    rng = np.random.default_rng(1)
    seen = Counter(full_square(3, rng).tobytes() for _ in range(1200))
    assert len(seen) == 12
    assert abs(chi_square(list(seen.values()), 12)) < 4


@pytest.mark.parametrize(("holes", "wanted"), [(100, 100), (0.42, 168), (0, 0), (0.0, 0), (400, 400)])
def test_number_of_holes(holes: float, wanted: int) -> None:
    for square in latin(3, order=20, holes=holes):
        assert np.count_nonzero(square.values == 0) == wanted
        assert not square.shape.repeats(square.values)


@pytest.mark.parametrize(("holes", "each"), [(0.4, 12), (360, 12), (0.0, 0), (870, 29)])
def test_balanced_holes(holes: float, each: int) -> None:
    patterns = []
    for square in latin(3, order=30, holes=holes, balanced=True, seed=4):
        pattern = square.values.reshape(30, 30) == 0
        assert (pattern.sum(axis=0) == each).all()
        assert (pattern.sum(axis=1) == each).all()
        patterns.append(pattern.tobytes())
    assert each == 0 or len(set(patterns)) == 3


def test_balanced_patterns_are_mixed() -> None:
    # Two rows of a merely shuffled cyclic pattern share 8..11 holes of 12 with some other row; mixed ones do not.
    (square,) = latin(1, order=30, holes=360, balanced=True)
    pattern = (square.values.reshape(30, 30) == 0).astype(int)
    shared = pattern @ pattern.T
    np.fill_diagonal(shared, 0)
    assert np.count_nonzero(shared.max(axis=1) >= 10) < 10


def test_same_seed_same_squares() -> None:
    first = list(latin(4, order=9, holes=30, seed=7))
    assert list(latin(4, order=9, holes=30, seed=7)) == first
    assert len({*first, *latin(4, order=9, holes=30, seed=8)}) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0, "holes": 0}, "1..255"),
        ({"order": 5, "holes": 26}, "0..25"),
        ({"order": 5, "holes": -1}, "0..25"),
        ({"order": 5, "holes": 1.0}, "less than 1"),
        ({"order": 5, "holes": 12, "balanced": True}, "multiple of the order 5, e.g. 10"),
    ],
)
def test_latin_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latin(1, **options)  # type: ignore[arg-type]
