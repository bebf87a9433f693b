"""Formulas with several solutions: what the guide for formulas is trained on."""

from itertools import pairwise

import numpy as np

from dibs.generate import sat
from dibs.guide.graph import graph_of, network_groups
from dibs.model.config import Data
from dibs.model.labelled import joined, reduced
from dibs.model.many_solutions import load, states_of
from states import check_targets

FORMULAS = Data(formulas=6, variables=(8, 40), solutions=8, held=0.5)


def test_targets_are_shares_of_solutions() -> None:
    found = [state for number in range(6) for state in states_of(FORMULAS, number)]
    assert len(found) > 10
    for state in found:
        check_targets(state)
        assert state.candidates.sum() >= 2
    assert any(((state.target > 0) & (state.target < 1)).any() for state in found), "nowhere are there two solutions"


def test_states_depend_on_the_seed_only() -> None:
    told: list[tuple[str, int, int]] = []
    first = load(FORMULAS, lambda *args: told.append(args))
    assert first.fingerprint() == load(FORMULAS, lambda *_: None).fingerprint()
    assert 0 < first.held < len(first.states)
    assert told[-1][1:] == (6, 6)
    other = Data(**{**vars(FORMULAS), "seed": 2})
    assert first.fingerprint() != load(other, lambda *_: None).fingerprint()


def test_a_reduced_state_has_the_same_graph() -> None:
    """What the network sees of a state is the same whether closed literals are there or not; joined states as well."""
    rng = np.random.default_rng(0)
    [formula] = sat(1, variables=12, satisfiable=True, seed=3)
    groups = network_groups(formula.structure)
    for _ in range(20):
        value = rng.integers(-1, 2, 12)  # false, unknown, true
        open_ = np.repeat(value == 0, 2)
        true = np.stack([value > 0, value < 0], 1).reshape(-1)
        whole = graph_of(groups, open_[None], true[None])
        small = graph_of(reduced(groups, open_, true), np.ones((1, open_.sum()), bool))
        for name in ("features", "member", "start", "link", "at", "kinds", "cell"):
            assert np.array_equal(getattr(whole, name), getattr(small, name)), name
    some = [state for number in range(3) for state in states_of(FORMULAS, number)]
    union = graph_of(joined(some), np.ones((1, sum(len(s.target) for s in some)), bool))
    ends = np.cumsum([0, *(len(state.target) for state in some)])
    for state, (a, b) in zip(some, pairwise(ends.tolist()), strict=True):
        own = graph_of(state.groups, np.ones((1, b - a), bool))
        assert np.array_equal(union.features[a:b], own.features)
