"""How long a search runs between two looks at the clock: long enough to cost nothing, short enough for limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dibs
from dibs.generate import latin, sat
from dibs.search.nogoods import search as learner
from dibs.search.slices import QUICK, SLOW, fitted
from dibs.search.tree import search as engine
from dibs.search.tree.search import SLICE
from randoms import mixture

NOGOODS = {"strategy": "nogoods", "restart_base": 8}


def test_a_slice_comes_to_take_what_it_should() -> None:
    """Whatever a unit of work takes, from 10 nanoseconds to 10 milliseconds."""
    for unit in (1e-8, 1e-6, 1e-4, 1e-2):
        work = 4096
        for _ in range(30):
            work = fitted(work, work * unit, SLICE)
        assert work * unit <= SLOW
        assert work == SLICE or work * unit >= QUICK / 2


def test_a_slice_is_never_empty() -> None:
    assert fitted(1, 1e9, SLICE) == 1


def outcomes(problems: list[Any], **options: Any) -> list[Any]:
    return [replace(dibs.solve(problem, **options), seconds=0, guide_seconds=0) for problem in problems]


@pytest.mark.parametrize("options", [{"policy": "plain"}, {"strategy": "restarts", "tie": "random"}, NOGOODS])
def test_slices_change_no_counter(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    problems = (
        mixture(seed=5, count=60) + list(latin(2, order=12, holes=0.42, seed=2)) + list(sat(4, variables=40, seed=1))
    )
    long = outcomes(problems, **options)
    drawn = np.random.default_rng(3)
    for module in (engine, learner):
        monkeypatch.setattr(module, "fitted", lambda *_: int(drawn.integers(1, 4)))
    monkeypatch.setattr(engine, "SLICE", 2)
    monkeypatch.setattr(learner, "FIRST_NODES", 1)
    assert outcomes(problems, **options) == long
