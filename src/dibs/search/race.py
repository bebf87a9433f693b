"""Plain search first; a guided one beside it as soon as an instance has proved to be hard. Whoever ends first answers.

The guided search gets a share of what the plain one has used, an ask counted as so many nodes, so that a guide that is
no good costs little; a good one ends the search long before the plain one would. Both are exact, and so is the race.
Budgets are counted in nodes, not in seconds: the same seed gives the same counts on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance
from dibs.search.contract import Guide
from dibs.search.options import Options
from dibs.search.outcome import Outcome, together
from dibs.search.plan import without_guide
from dibs.search.slices import MOST
from dibs.search.tree.search import TreeSearch

SHARE = 0.5  # what the guided search may use, of what the plain one has used
ASK = 200  # nodes that an ask counts for: about what it takes on 9x9 as on 25x25
GROWTH = 2  # of the plain search's budget from round to round


def race(
    instances: Sequence[Instance],
    options: Options,
    guide: Guide,
    *,
    places: Sequence[int],
    block: int,
    stopped: Callable[[], bool],
    turn: AbstractContextManager[Any] | None,
    make: Callable[..., TreeSearch] = TreeSearch,
) -> list[Outcome | None]:
    """Outcomes of instances that share a structure; None where the search was stopped.

    `make`: what is called for the plain and then for the guided engine; whoever gives one can watch them.
    """
    limit = MOST if options.max_nodes is None else min(options.max_nodes, MOST)
    first = min(options.guide_after or 0, limit)
    plain = make(instances, replace(without_guide(options), max_nodes=first), block=block, places=places)
    plain.run(stopped=stopped)
    rows = np.flatnonzero(_going(plain, np.arange(len(instances)), options, limit))
    hard = rows
    if not len(rows) or guide.refusal(instances[0].structure):
        plain.allow(rows, np.full(len(rows), limit))
        plain.run(stopped=stopped)
        return plain.outcomes()

    some = [instances[i] for i in rows.tolist()]
    guided = make(
        some,
        replace(options, max_nodes=0),
        guided=True,
        static=guide.static,
        block=block,
        places=[places[i] for i in rows.tolist()],
        ask_nodes=ASK,
    )
    mine = np.arange(len(rows))
    while len(rows) and not stopped():
        guided.elsewhere[mine] = plain.used(rows)
        share = (SHARE * plain.nodes(rows)).astype(np.int64)
        guided.allow(mine, np.minimum(share, limit - plain.nodes(rows)))
        guided.run(guide, stopped, turn)
        going = _going(guided, mine, options, limit - plain.nodes(rows))
        rows, mine = rows[going], mine[going]
        if not len(rows) or stopped():
            break
        plain.elsewhere[rows] = guided.used(mine)
        plain.allow(rows, np.minimum(np.maximum(GROWTH * plain.nodes(rows), 1), limit - guided.nodes(mine)))
        plain.run(stopped=stopped)
        going = _going(plain, rows, options, limit - guided.nodes(mine))
        rows, mine = rows[going], mine[going]

    outcomes = plain.outcomes()
    for row, beside in zip(hard, guided.outcomes(), strict=True):
        alone = outcomes[row]
        outcomes[row] = None if alone is None or beside is None else together(alone, beside)
    for row in rows:
        outcomes[row] = None
    return outcomes


def _going(engine: TreeSearch, rows: NDArray[np.int64], options: Options, limit: Any) -> NDArray[np.bool_]:
    """[rows] whether a search is neither decided nor at the limits of nodes and seconds that hold for both."""
    going: NDArray[np.bool_] = ~engine.decided(rows) & (engine.nodes(rows) < limit)
    if options.max_seconds is not None:
        going &= engine.used(rows) + engine.elsewhere[rows] < options.max_seconds
    return going
