"""Latin squares with holes: a square drawn uniformly, then cells are blanked at random or evenly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dibs.generate.sudokus import check_count
from dibs.problem.latin import LARGEST, Latin

MIXING = 20  # switches tried for each hole of a balanced pattern


def latin(count: int, *, order: int, holes: int | float, balanced: bool = False, seed: int = 0) -> Iterator[Latin]:
    """Latin squares with holes; each can be completed, in one way or in many.

    The squares come from Jacobson and Matthews's walk (n^3 moves), which is uniform in the limit; square i depends on
    the seed, i and the options only.

    Args:
        count: how many.
        order: rows.
        holes: a number of cells (a whole number), or a fraction of them (0.0 <= holes < 1.0).
        balanced: every row and column has the same number of holes; their number must then be a multiple of the
            order, a fraction is rounded to one.
        seed: the same seed, the same instances.

    Returns:
        An iterator of squares.

    Examples:
        >>> from dibs.generate import latin
        >>> [square] = latin(1, order=5, holes=10)
        >>> square
        <5x5 Latin square, 15 givens>
    """
    check_count(count)
    if not 1 <= order <= LARGEST:
        raise ValueError(f"order = {order}: it must be in 1..{LARGEST}")
    blank = _holes(order, holes, balanced)
    return _squares(count, order, blank, balanced, seed)


def _holes(order: int, holes: int | float, balanced: bool) -> int:
    """The number of blank cells, checked."""
    if isinstance(holes, float):
        if not 0 <= holes < 1:
            raise ValueError(f"holes = {holes}: a fraction must be at least 0 and less than 1")
        return round(holes * order) * order if balanced else round(holes * order**2)
    if not 0 <= holes <= order**2:
        raise ValueError(f"holes = {holes}: a square of order {order} has 0..{order**2} of them")
    if balanced and holes % order:
        near = round(holes / order) * order
        raise ValueError(f"holes = {holes}: balanced holes are a multiple of the order {order}, e.g. {near}")
    return holes


def _squares(count: int, order: int, blank: int, balanced: bool, seed: int) -> Iterator[Latin]:
    for i in range(count):
        rng = np.random.default_rng(np.random.SeedSequence((seed, i)))
        values = (full_square(order, rng) + 1).astype(np.uint8)
        if balanced:
            values[_even_pattern(order, blank // order, rng)] = 0
        else:
            values.reshape(-1)[rng.permutation(order**2)[:blank]] = 0
        yield Latin(values)


def full_square(order: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[n, n] a random Latin square of symbols 0..n-1."""
    # A random isotope of the cyclic square is a better start than the square itself.
    rows, columns, symbols = (rng.permutation(order) for _ in range(3))
    square: NDArray[np.int64] = symbols[(rows[:, None] + columns[None]) % order]
    if order > 2:  # smaller orders have no square that is not an isotope
        from dibs.generate.loops import mix_square

        mix_square(square, int(rng.integers(2**62)), order**3, order)
    return square


def _even_pattern(order: int, each: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """[n, n] with `each` cells on in every row and column: a cyclic pattern, shuffled and mixed by random switches."""
    pattern = (np.arange(order)[:, None] + np.arange(order)) % order < each
    pattern = pattern[rng.permutation(order)][:, rng.permutation(order)]
    if 0 < each < order:
        from dibs.generate.loops import mix_pattern

        mix_pattern(pattern, rng.integers(order, size=(MIXING * order * each, 4)))
    return pattern
