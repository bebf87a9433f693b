"""The guide that knows: it solves each instance first, then puts the solution's values first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dibs.clock import never
from dibs.problem.structure import Instance
from dibs.problem.words import true_literals
from dibs.search.contract import Asks, Guide

if TYPE_CHECKING:
    from dibs.search.options import Options


class Oracle(Guide):
    """The best that value ordering can do: a yardstick for learned guides. Unsatisfiable instances stay as they are.

    Its own search has the limits of the search that it is to guide: `solve` looks for the solution before it begins
    (`foresee`), and says LIMIT where the oracle has no answer by then.
    """

    static = True

    def rank(self, asks: Asks) -> NDArray[np.float32]:
        """The solution's literals first.

        Args:
            asks: n waiting states over L literals.

        Returns:
            Scores [n, L].
        """
        from dibs.search.options import Options

        return foresee(asks.instances, Options())[0].rank(asks)


class KnownSolutions(Guide):
    """An oracle that has been found: the solutions of some instances.

    `true` [n, L] are their true literals, all False where there is no solution or where it is not `decided` [n].
    """

    static = True

    def __init__(self, instances: Sequence[Instance], true: NDArray[np.bool_], decided: NDArray[np.bool_]) -> None:
        self.instances = list(instances)  # they live as long as their places are asked for
        self.true, self.decided = true, decided
        self._place = {id(instance): i for i, instance in enumerate(self.instances)}

    def rank(self, asks: Asks) -> NDArray[np.float32]:
        return self.true[[self._place[id(instance)] for instance in asks.instances]].astype(np.float32)


def foresee(
    instances: Sequence[Instance],
    options: Options,
    *,
    block: int = 1,
    stopped: Callable[[], bool] = never,
) -> tuple[KnownSolutions, NDArray[np.float64]]:
    """The oracle of instances that share a structure, found within the limits of `options`, and its seconds [n]."""
    from dibs.search.options import Options
    from dibs.search.tree.search import TreeSearch

    limits = Options(level="hidden", max_nodes=options.max_nodes, max_seconds=options.max_seconds)
    if instances[0].structure.bounded:
        return _by_nogoods(instances, limits, stopped)
    engine = TreeSearch(instances, limits, block=block)
    engine.run(stopped=stopped)
    return KnownSolutions(instances, engine.true(), engine.decided(np.arange(len(instances)))), engine.seconds


def _by_nogoods(
    instances: Sequence[Instance], limits: Options, stopped: Callable[[], bool]
) -> tuple[KnownSolutions, NDArray[np.float64]]:
    """The same where the tree search has no answer: groups with bounds."""
    from dibs.search.nogoods.batch import NogoodSearch

    search = NogoodSearch(instances, limits)
    search.run(stopped=stopped)
    true = np.zeros((len(instances), instances[0].structure.literals), bool)
    decided, seconds = np.zeros(len(instances), bool), np.zeros(len(instances))
    for i, outcome in enumerate(search.outcomes()):
        if outcome is None:
            continue
        decided[i], seconds[i] = outcome.status != "LIMIT", outcome.seconds
        if outcome.solution is not None:
            true[i, true_literals(instances[i], outcome.solution)] = True
    return KnownSolutions(instances, true, decided), seconds
