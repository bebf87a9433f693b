"""Numbers that options take, and those that they refuse."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Options
from dibs.generate import sat as dibs_sat

TINY = "4.....1..3.....2"


@pytest.mark.parametrize("five", [5, np.int64(5), np.uint8(5), np.int16(5)])
def test_whole_numbers_of_any_kind(five: Any) -> None:
    options = Options(max_nodes=five, restart_base=five, max_seconds=five)
    assert (options.max_nodes, options.restart_base, options.max_seconds) == (5, 5, 5)
    assert type(options.max_nodes) is int


@pytest.mark.parametrize("half", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_of_any_kind(half: Any) -> None:
    options = Options(max_seconds=half)
    assert options.max_seconds == 0.5
    assert type(options.max_seconds) is float


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("restart_base", value) for value in (0, -1, True, 1.0, np.float64(1), "1", Decimal(1))),
        *(("max_nodes", value) for value in (-1, np.bool_(True), np.datetime64("2026-01-01"), 1j)),
        *(("max_seconds", value) for value in (10**400, float("inf"), float("nan"), -1, True, Fraction(1, 2))),
        ("max_seconds", np.float32("inf")),
        ("reuse", 1.5),
    ],
)
def test_what_is_out_of_range_is_refused_in_one_short_line(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field} = ") as caught:
        Options(**{field: value})
    assert len(str(caught.value)) < 160
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("huge", [2**31, 2**62, 2**63, 2**64, 10**400])
@pytest.mark.parametrize("policy", ["auto", "guided", "plain"])
def test_whole_numbers_have_no_upper_end(policy: str, huge: int) -> None:
    fields = ["nodes", "seed"] + (["restart_base", "max_asks", "guide_after"] if policy != "plain" else [])
    given: dict[str, Any] = dict.fromkeys(fields, huge) | {"seconds": 1e300}
    assert dibs.solve(dibs.Sudoku.parse(TINY), policy=policy, **given).status == "SAT"
    assert dibs.solve(dibs.Sudoku.parse(TINY), policy=policy, nodes=huge, count=huge).status == "SAT"


@pytest.mark.parametrize("strategy", ["restarts", "nogoods"])
@pytest.mark.parametrize("huge", [2**62, 2**63, 10**400])
def test_a_run_that_never_ends_is_one_run(strategy: str, huge: int) -> None:
    """Its length must not overflow: the search would begin again for ever."""
    [formula] = dibs_sat(1, variables=60, seed=3)
    given: dict[str, Any] = {"strategy": strategy, "restart_base": huge, "nodes": huge, "seconds": 20}
    assert dibs.solve(formula, **given).status in ("SAT", "UNSAT")
