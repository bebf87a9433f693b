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

from dibs.guide.asks import Guide
from dibs.problem.structure import Instance
from dibs.search.engine import MOST, Engine
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status

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
    turn: AbstractContextManager[Any],
    make: Callable[..., Engine] = Engine,
) -> list[Outcome | None]:
    """Outcomes of instances that share a structure; None where the search was stopped.

    `make`: what is called for the plain and then for the guided engine; whoever gives one can watch them.
    """
    options = options.suited(instances[0].structure)
    limit = MOST if options.nodes is None else min(options.nodes, MOST)
    first = min(options.after or 0, limit)
    plain = make(instances, alone(replace(options, nodes=first)), block=block, places=places)
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
        replace(options, nodes=0),
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
        outcomes[row] = _merged(outcomes[row], beside)
    for row in rows:
        outcomes[row] = None
    return outcomes


def alone(options: Options) -> Options:
    """The same search as if there were no guide, to the end of its own budget."""
    select = "mrv" if options.guide_selects else options.select
    return replace(options, select=select, keep=None, strategy="dfs", after=None)


def _going(engine: Engine, rows: NDArray[np.int64], options: Options, limit: Any) -> NDArray[np.bool_]:
    """[rows] whether a search is neither decided nor at the limits of nodes and seconds that hold for both."""
    going: NDArray[np.bool_] = ~engine.decided(rows) & (engine.nodes(rows) < limit)
    if options.seconds is not None:
        going &= engine.used(rows) + engine.elsewhere[rows] < options.seconds
    return going


def _merged(plain: Outcome | None, guided: Outcome | None) -> Outcome | None:
    """The outcome of both together: the status of the one that is decided, the cost of both."""
    if plain is None or guided is None:
        return None
    winner = guided if guided.status != Status.LIMIT else plain
    return replace(
        winner,
        nodes=plain.nodes + guided.nodes,
        backtracks=plain.backtracks + guided.backtracks,
        asks=guided.asks,
        depth=max(plain.depth, guided.depth),
        seconds=plain.seconds + guided.seconds,
        calls=guided.calls,
        guide_seconds=guided.guide_seconds,
        tries=plain.tries + guided.tries,
    )
