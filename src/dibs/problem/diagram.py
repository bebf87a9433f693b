"""A linear sum that is at most some number, as clauses: a decision diagram with one step for each block of literals.

A block is a set of literals of which the sum can say more than of each alone: the values of an integer, of which
exactly one is true, or a chain in which each literal implies the one before. A node of the diagram is what is left for
the blocks from some step on (Bofill, Coll, Suy and Villaret 2017). A literal that is in no block is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple


class Block(NamedTuple):
    """Signed variables of which exactly one is true; `chain`: each of which implies the one before it."""

    literals: tuple[int, ...]
    chain: bool = False


class Step(NamedTuple):
    """What a block adds to the sum, apart from a constant: so much where a literal is true, nothing where none is."""

    edges: list[tuple[int, int]]  # (weight, literal), weights are positive

    @property
    def largest(self) -> int:
        return max((weight for weight, _ in self.edges), default=0)


class TooLarge(ValueError):
    """A diagram has more nodes than it may have."""


def at_most(
    terms: Iterable[tuple[int, int]],
    most: int,
    block_of: Callable[[int], Block | None],
    fresh: Callable[[], int],
    condition: Sequence[int] = (),
    largest: int = 200_000,
) -> list[list[int]]:
    """Clauses for: the sum of coefficient x literal is at most `most`, or a literal of `condition` is true.

    Args:
        terms: (coefficient, signed variable); a variable may be there several times.
        most: the bound.
        block_of: the block that a variable is in, if there is one; no variable is in two.
        fresh: a new variable for a node.
        condition: signed variables; clauses hold if one of them is true.
        largest: nodes, at most; raises TooLarge.

    A literal that does not fit beside those that are true is excluded by unit propagation.
    """
    weights: dict[int, int] = {}
    for coefficient, literal in terms:
        if literal < 0:  # c (1 - x)
            most -= coefficient
            coefficient = -coefficient
        weights[abs(literal)] = weights.get(abs(literal), 0) + coefficient
    steps, constant = _steps({variable: c for variable, c in weights.items() if c}, block_of)
    most -= constant
    if most < 0:
        return [[*condition]]
    clauses: list[list[int]] = []
    rest = [*accumulate((step.largest for step in reversed(steps)), initial=0)][::-1]
    level: dict[int, list[int]] = {most: [*condition]}  # what is left -> a clause part: the node does not hold
    made = 0
    for step, ahead, after in zip(steps, rest, rest[1:], strict=False):
        below: dict[int, list[int]] = {}
        for left, denied in level.items():
            if ahead <= left:
                continue  # holds whatever comes
            for taken, reason in ((0, []), *((weight, [-literal]) for weight, literal in step.edges)):
                remains = left - taken
                if remains < 0:
                    clauses.append([*denied, *reason])
                elif after > remains:
                    if remains not in below:
                        below[remains] = [-fresh()]
                        made += 1
                    clauses.append([*denied, *reason, -below[remains][0]])
        if made > largest:
            raise TooLarge(f"{made} nodes")
        level = below
    return clauses


def _steps(weights: dict[int, int], block_of: Callable[[int], Block | None]) -> tuple[list[Step], int]:
    """The steps of a sum of coefficient x variable, those that weigh most first, and the constant beside them."""
    steps: list[Step] = []
    constant = 0
    left = dict(weights)
    for variable in weights:
        if variable not in left:
            continue
        block = block_of(variable)
        found = None if block is None else _of_block(block, weights)
        if block is None or found is None:
            coefficient = left.pop(variable)
            constant += min(coefficient, 0)  # -c x = c (1 - x) - c
            found = Step([(abs(coefficient), variable if coefficient > 0 else -variable)]), 0
        else:
            for literal in block.literals:
                left.pop(abs(literal), None)
        steps.append(found[0])
        constant += found[1]
    return sorted(steps, key=lambda step: -step.largest), constant


def _of_block(block: Block, weights: dict[int, int]) -> tuple[Step, int] | None:
    """A block as a step, and a constant; None for a chain in which some weights are positive and some negative."""
    constant = sum(weights.get(-literal, 0) for literal in block.literals if literal < 0)
    of = [weights.get(abs(literal), 0) * (1 if literal > 0 else -1) for literal in block.literals]
    if not block.chain:
        least = min(of)
        edges = [(weight - least, literal) for weight, literal in zip(of, block.literals, strict=True)]
        return Step([edge for edge in edges if edge[0]]), constant + least
    if min(of) < 0 < max(of):
        return None
    if max(of) > 0:
        sums = [*accumulate(of)]
        edges = [(total, literal) for total, literal, own in zip(sums, block.literals, of, strict=True) if own]
        return Step(edges), constant
    sums = [*accumulate(-weight for weight in reversed(of))][::-1]  # added where this one is false, and all after it
    edges = [(total, -literal) for total, literal, own in zip(sums, block.literals, of, strict=True) if own]
    return Step(edges), constant + sum(of)
