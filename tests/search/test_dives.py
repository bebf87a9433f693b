"""When the guide is asked, and when the search walks."""

from __future__ import annotations

from typing import Any

import numpy as np

import dibs
from dibs.generate import latin
from dibs.search.nogoods import dives
from dibs.search.nogoods.arrays import NEVER
from dibs.search.nogoods.dives import Dives
from guides import Scored, seeded


def steps(plan: Dives, failing: float, rounds: int, seed: int = 0) -> list[str]:
    """The steps of a search that fails with this probability at each node."""
    rng = np.random.default_rng(seed)
    found: list[str] = []
    nodes, failures, effort = 0, 0, 0
    for _ in range(rounds):
        while nodes < plan.ask_at and failures < plan.pause_at and nodes < 10_000_000:
            nodes += 1
            failures += int(rng.random() < failing)
            effort += 40
        step = plan.next(nodes, failures, effort)
        found.append(step)
        if step in ("ask", "dive"):
            plan.answered(nodes, failures, 3000, 500)
        elif step == "walk":
            plan.walked(plan.budget(effort))
    return found


def test_a_dive_asks_until_nothing_is_open() -> None:
    """The second dive, which does not fail: the search ends it, not the plan."""
    plan = Dives(3000, NEVER, 96)
    plan.walks = False
    plan.next(96, 10, 4000)
    plan.answered(96, 10, 3000, 500)
    nodes, failures = 5000, 10 + dives.DIVE
    assert plan.next(nodes, failures, 10**7) == "dive"
    plan.answered(nodes, failures, 3000, 500)
    literals, groups = 3000, 500
    while groups:
        assert nodes < plan.ask_at < nodes + 1000
        groups -= min(groups, 2 * (plan.ask_at - nodes))
        literals = 6 * groups
        nodes = plan.ask_at
        assert plan.next(nodes, failures, 10**7) == "ask"
        plan.answered(nodes, failures, literals, groups)


def test_a_dive_that_fails_asks_no_more() -> None:
    plan = Dives(3000, NEVER, 96)
    plan.walks = False
    found = steps(plan, 0.5, 2000)
    longest = max(len(run) for run in "".join({"ask": "a"}.get(step, " ") for step in found).split())
    assert 2 <= longest <= 2 + 2 * dives.FAILURES // dives.EVERY + dives.FAILURES
    assert found[0] == "dive"
    assert found.count("dive") >= 3


def test_no_part_takes_more_than_its_share() -> None:
    for failing in (0.05, 0.3, 0.6):
        plan = Dives(3000, NEVER, 96)
        found = steps(plan, failing, 4000)
        assert {"ask", "dive", "walk", "search"} >= set(found)
        assert found.count("walk") > 10
        effort = 40 * plan.ask_at if plan.ask_at < NEVER else None
        assert plan._walked <= dives.LARGEST_SHARE * (plan._asked + (effort or 10**12)) + dives.LEAST


def test_the_number_of_asks_is_a_limit() -> None:
    for most in (0, 1, 2, 7):
        found = steps(Dives(3000, most, 96), 0.4, 2000)
        assert found.count("ask") + found.count("dive") == most


def test_what_a_search_asks_on_its_way_down() -> None:
    """States of a dive that meets no failure: each below the one before it, until the last is solved."""
    [square] = latin(1, order=20, holes=0.42, seed=2)
    solution = np.array(dibs.Latin.parse(dibs.solve(square, policy="plain").solution).values)
    wanted = np.eye(20, dtype=bool)[solution.ravel() - 1].ravel()
    asked: list[Any] = []

    def known_late(asks: Any) -> Any:
        """Misleads at the root, until the first dive."""
        asked.append(asks)
        return seeded(asks) if len(asked) == 1 else np.log(np.where(wanted, 1.0, 0.01))[None]

    found = dibs.solve(square, strategy="nogoods", guide=Scored(known_late))
    assert found.status == "SAT"
    assert found.asks == len(asked)
