"""What it would cost to enter a value: a plain search of the state with that value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.clock import never
from dibs.problem.structure import Instance, Level, Structure, by_structure
from dibs.search.options import Options
from dibs.search.plan import without_guide
from dibs.search.tree import state
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.tables import copied, tables

Report = Callable[[int, int], None]  # how many siblings are measured, of how many

BATCH = 256  # searches of one engine
BLOCK = 64  # searches that one call of the kernel advances


class Sibling(NamedTuple):
    instance: Instance
    place: int  # of the instance in the caller's list: with the seed it drives `random` choices
    path: tuple[int, ...]  # the literals chosen on the way, and the value itself; ~l for a false one


class Stopped(Exception):
    """Somebody did not want to wait any longer."""


class SiblingCost(NamedTuple):
    nodes: int
    cut: bool  # it met the limit: it has more nodes, and may have a solution
    solvable: bool  # it has a solution: the nodes up to that


class Supposed(Instance):
    """An instance with some literals more that are taken for true; ~l for a false one."""

    __slots__ = ("_given", "_structure")

    def __init__(self, instance: Instance, structure: Structure, more: Sequence[int]) -> None:
        """`structure` is the instance's, or `with_complements` of it if there are false ones."""
        own = [literal if literal >= 0 else structure.literals + ~literal for literal in more]
        self._structure = structure
        self._given = np.concatenate([instance.given, np.array(own, np.int64)])

    @property
    def structure(self) -> Structure:
        return self._structure

    @property
    def given(self) -> NDArray[np.int64]:
        return self._given


def with_complements(structure: Structure, level: Level) -> Structure:
    """The same for one level, where L + l may be given as well: it says that l, a domain by itself, is false."""
    of = tables(structure, level)
    beside = (of.address + 1).astype(np.uint32)  # a domain {l, its complement}
    return copied(structure, level, of._replace(address=np.concatenate([of.address, beside])))


def measure(
    siblings: Sequence[Sibling],
    options: Options,
    limit: int | None,
    report: Report = lambda done, total: None,
    stopped: Callable[[], bool] = never,
) -> list[SiblingCost]:
    """Search each depth first by MRV, with the level, tie and order of `options`, up to `limit` nodes.

    Raises `Stopped` once `stopped()` is true.
    """
    order = "ascending" if options.order == "oracle" else options.order
    plain = replace(without_guide(options), order=order, max_nodes=limit, max_seconds=None)
    found: dict[int, SiblingCost] = {}
    for shared, numbers in by_structure(sibling.instance for sibling in siblings).items():
        structure = with_complements(shared, options.level)
        for at in range(0, len(numbers), BATCH):
            some = [siblings[i] for i in numbers[at : at + BATCH]]
            supposed = [Supposed(one.instance, structure, one.path) for one in some]
            engine = TreeSearch(supposed, plain, block=BLOCK, places=[one.place for one in some])
            engine.run(stopped=stopped)
            if stopped():
                raise Stopped
            counted = engine.counters
            ends = zip(numbers[at : at + BATCH], counted.phase.tolist(), counted.nodes.tolist(), strict=True)
            for i, phase, nodes in ends:
                found[i] = SiblingCost(nodes, phase == state.LIMIT, phase == state.SAT)
            report(len(found), len(siblings))
    return [found[i] for i in range(len(siblings))]
