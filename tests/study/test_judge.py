"""Orders held against solutions, against a slow account: candidates sorted one state at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dibs.problem import Sudoku
from dibs.study.judge import cells_of, order_of

SMALL = Sudoku.parse("." * 16).structure


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1, 3, 100]))
def test_what_comes_before_the_solution(seed: int, states: int, grades: int) -> None:
    """With few grades there are ties: they go in ascending order."""
    rng = np.random.default_rng(seed)
    scores = (rng.integers(grades, size=(states, 64)) / grades).astype(np.float32)
    candidates = rng.random((states, 64)) < 0.3
    right = rng.integers(64, size=states)
    candidates[np.arange(states), right] = True
    truth = np.zeros((states, 64), bool)
    truth[np.arange(states), right] = True
    found = order_of(scores, candidates, truth)
    assert found.right.tolist() == right.tolist()
    for state in range(states):
        order = sorted(np.flatnonzero(candidates[state]), key=lambda one: (-scores[state, one], one))
        before = order[: order.index(right[state])]
        here = found.state == state
        assert sorted(found.literal[here & found.ahead]) == sorted(before)
        assert sorted(found.literal[here & ~found.ahead]) == sorted(set(order) - {right[state], *before})
        assert found.mistakes()[state] == len(before)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_cells(seed: int, states: int) -> None:
    rng = np.random.default_rng(seed)
    open_ = rng.random((states, 64)) < 0.4
    open_[:, 5] = True
    logs = np.log(rng.random((states, 64))).astype(np.float32)
    found = cells_of(SMALL, open_, logs)
    for state in range(states):
        best = {}
        for cell in range(16):
            values = [literal for literal in range(4 * cell, 4 * cell + 4) if open_[state, literal]]
            assert found.open[state, cell] == bool(values)
            if values:
                best[cell] = max(logs[state, literal] for literal in values)
                assert found.best[state, cell] == best[cell] == logs[state, 4 * cell + found.first[state, cell]]
        assert best[int(found.surest[state])] == max(best.values())
