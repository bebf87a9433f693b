"""Sums as clauses: what a sum allows, and nothing else, over blocks of literals and single ones."""

from __future__ import annotations

from itertools import count, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.problem.diagram import Block, TooLarge, at_most


def propagated(clauses: list[list[int]], true: set[int]) -> set[int] | None:
    """All that follows by unit propagation; None where a clause fails."""
    true = set(true)
    while True:
        units = set()
        for clause in clauses:
            if not true.isdisjoint(clause):
                continue
            open_ = [z for z in clause if -z not in true]
            if not open_:
                return None
            if len(open_) == 1:
                units.add(open_[0])
        if any(-z in units for z in units):
            return None
        if not units:
            return true
        true |= units


def blocks_of(sizes: list[tuple[int, bool, bool]]) -> list[Block]:
    """Blocks over variables 1, 2, ...: (size, whether it is a chain, whether its literals are negated)."""
    number = count(1)
    return [Block(tuple((-1 if negated else 1) * next(number) for _ in range(n)), chain) for n, chain, negated in sizes]


def values(block: Block | int) -> list[list[int]]:
    """The literals of a block, or of one variable, in each way in which they can be."""
    if isinstance(block, int):
        return [[block], [-block]]
    size = len(block.literals)
    if block.chain:
        return [[z if i < n else -z for i, z in enumerate(block.literals)] for n in range(size + 1)]
    return [[z if i == n else -z for i, z in enumerate(block.literals)] for n in range(size)]


@given(st.data())
def test_clauses_allow_just_what_the_sum_allows(data: st.DataObject) -> None:
    blocks = blocks_of(data.draw(st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), max_size=3)))
    last = sum(len(block.literals) for block in blocks)
    singles = list(range(last + 1, last + 1 + data.draw(st.integers(0, 3))))
    variables = last + len(singles)
    of = {abs(z): block for block in blocks for z in block.literals}
    literal = st.integers(1, max(variables, 1)).flatmap(lambda v: st.sampled_from([v, -v]))
    terms = data.draw(st.lists(st.tuples(st.integers(-4, 4), literal), max_size=10)) if variables else []
    most = data.draw(st.integers(-12, 15))
    condition = [variables + 1] if data.draw(st.booleans()) else []
    fresh = count(variables + 2)
    clauses = at_most(terms, most, of.get, lambda: next(fresh), condition)
    for parts in product(*map(values, blocks), *map(values, singles)):
        true = {z for part in parts for z in part}
        holds = sum(c for c, z in terms if z in true) <= most
        # Nodes are forced where a choice needs them: a clause fails just where the sum is too large.
        assert (propagated(clauses, true | {-z for z in condition}) is not None) == holds
        if condition:
            assert propagated(clauses, true | set(condition)) is not None


def test_a_literal_that_does_not_fit_is_excluded() -> None:
    chain, values_ = Block((1, 2, 3), chain=True), Block((4, 5, 6))
    of = {abs(z): block for block in (chain, values_) for z in block.literals}
    fresh = count(8)
    # x + 2 y + 3 z <= 6, x and y from 0 to 3 and 0 to 2
    clauses = at_most([(1, 1), (1, 2), (1, 3), (2, 5), (4, 6), (3, 7)], 6, of.get, lambda: next(fresh))
    assert -3 in (propagated(clauses, {6}) or set())
    assert {-6, -5} <= (propagated(clauses, {2, 7}) or set())
    assert -7 in (propagated(clauses, {6}) or set())


def test_an_integer_is_one_step() -> None:
    """Twelve integers of ten values each: the nodes of a level are sums, not sets of literals."""
    numbers = [Block(tuple(range(10 * i + 1, 10 * i + 11))) for i in range(12)]
    of = {z: block for block in numbers for z in block.literals}
    terms = [(v, z) for block in numbers for v, z in enumerate(block.literals)]
    fresh = count(121)
    at_most(terms, 54, of.get, lambda: next(fresh))
    assert next(fresh) - 121 <= 12 * 55
    with pytest.raises(TooLarge):
        at_most(terms, 54, of.get, lambda: next(fresh), largest=100)
