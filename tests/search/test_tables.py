"""The limits of the tables: a group is as large as its state can count, or it is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dibs
from dibs import CNF, Problem
from dibs.problem.structure import Structure
from dibs.search.tree.tables import MOST_MEMBERS, tables


def test_the_largest_group_is_searched() -> None:
    """All its literals but the last are false."""
    most = 8191
    assert most == MOST_MEMBERS
    for last in (most, -most):
        formula = CNF(most, [list(range(1, most + 1)), *([-v] for v in range(1, most)), [last]])
        outcome = dibs.solve(formula, policy="plain")
        assert outcome.status == ("SAT" if last > 0 else "UNSAT")


@pytest.mark.parametrize("level", ["naked", "hidden"])
def test_a_larger_one_is_refused(level: dibs.problem.structure.Level) -> None:
    too_many = Problem(8192, at_least_one=[range(8192)])
    with pytest.raises(ValueError, match="a group of 8192 literals is too large: at most 8191 members"):
        tables(too_many.structure, level)
    tables(Problem(8191, at_least_one=[range(8191)]).structure, level)


def test_addresses_that_add_up_to_too_much_are_refused() -> None:
    variables, members = 140_000, 8000
    pairs = np.arange(2 * variables).reshape(-1, 2)

    def structure(first: int) -> Structure:
        group = pairs[first : first + members, 0].tolist()
        return Structure.build(2 * variables, decide=pairs, at_least_one=[group], family="cnf")

    tables(structure(0), "naked")
    with pytest.raises(ValueError, match="must add up to less than"):
        tables(structure(variables - members), "naked")
