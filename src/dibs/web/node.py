"""One node of a search, looked at closely: the same search again, up to that node and on until it is left.

Nothing is kept between requests. A search is a function of puzzle and options, so the node with a number is the same
node every time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.bench.experiment import Row
from dibs.guide.lazy import LazyGuide
from dibs.problem import CNF, InputError, Sudoku
from dibs.search.contract import Guide
from dibs.search.options import Options
from dibs.search.plan import without_guide
from dibs.search.root import roots
from dibs.search.tree import state
from dibs.search.tree.inspection import OpenNode
from dibs.search.tree.search import TreeSearch
from dibs.search.tree.tables import DOMAIN
from dibs.study.listener import Listener, Ranking
from dibs.web.board import place, shown, symbol
from dibs.web.scheduling import Cancelled, Job
from dibs.web.trace import Nodes, Trace, TracedSearch, foreseen
from dibs.wording import plural

Result = Literal["failed", "solution", "not entered", "cut"]
ROW = np.zeros(1, np.int64)


@dataclass
class Value:
    """A value of the node, and what came of it."""

    address: int
    nodes: int | None = None  # below it; None if it was not tried
    result: Result = "not entered"


@dataclass
class Watch:
    """Listens to the events of a search, and notes what happens at one node."""

    trace: Trace
    number: int  # of the node, in the order entered
    values: list[Value] = field(default_factory=list)  # in the order tried
    above: list[int] = field(default_factory=list)  # the nodes on the way to it
    domain: int = -1
    depth: int = 0
    open: bool = False  # the search is inside of it
    left: bool = False  # it was, and is not any more

    def __call__(self, kind: int, what: int) -> None:
        path = self.trace.path
        if not self.open and not self.left and kind == state.ENTERED and path[-1].number == self.number:
            self.open, self.domain, self.depth = True, what, len(path) - 1
            self.above = [node.number for node in path[:-1]]
            return
        if not self.open:
            return
        if kind == state.BEGUN or len(path) <= self.depth:  # another run, or all of its values have failed
            if kind == state.BEGUN:
                self.ended()
            self.open, self.left = False, True
        elif kind == state.ENTERED:
            self.values[-1].nodes = (self.values[-1].nodes or 0) + 1
        elif kind == state.TRIED and len(path) == self.depth + 1:
            self.values.append(Value(what, 0))
        elif kind == state.FAILED and len(path) == self.depth + 1:
            self.values[-1].result = "failed"
        elif kind == state.SOLVED:
            self.values[-1].result = "solution"

    def ended(self) -> None:
        """The search is over, or its run: what was not decided by then was cut."""
        if self.open and self.values and self.values[-1].result == "not entered":
            self.values[-1].result = "cut"


def at_node(
    instance: Sudoku | CNF,
    row: Row,
    guide: LazyGuide | None,
    number: int,
    job: Job,
    asking: AbstractContextManager[Any],
) -> dict[str, Any]:
    """What the page shows of node `number`; InputError if the search has no such node."""
    if number >= (row.options.max_nodes or 0):
        raise _none(number)
    one = _located(instance, row, guide, number, job, asking)
    look = _SteppedSearch(instance, one, job, asking)
    look.go(one.number)
    before, literals = [node.number for node in look.trace.path], look.engine.literals(ROW)
    look.go(one.number + 1)
    watch = look.watch
    if watch.domain < 0:
        raise _none(number)
    if before != watch.above:  # another run began between: it stands at the root
        literals = roots([instance], row.options.level)[:2]
    opened = look.opened()
    ranking = look.ranking(opened)
    if not watch.left:
        look.go(one.most)
    watch.ended()
    return _shown(instance, watch, opened, ranking, *(part[0] for part in literals), guided=one.guide is not None)


def _none(number: int) -> InputError:
    return InputError(f"node = {number}: this search has no such node within its limits")


class _One(NamedTuple):
    """A single search and a node of it."""

    options: Options
    guide: Guide | None
    number: int  # of the node
    most: int  # nodes that the search may have


def _located(
    instance: Sudoku | CNF,
    row: Row,
    guide: LazyGuide | None,
    number: int,
    job: Job,
    asking: AbstractContextManager[Any],
) -> _One:
    """The node in the search that it belongs to: of two that race, the one that entered it."""
    options, most = row.options, row.options.max_nodes or 0
    if options.order == "oracle":
        known, _ = foreseen(instance, options, job)
        if known is None:
            raise InputError("the oracle found no solution within the limits")
        return _One(options, known, number, most)
    if guide is None or options.guide_after is None:
        return _One(options, guide.load(instance.structure) if guide else None, number, most)
    owners: list[int] = []  # of the nodes up to this one: which of the two searches entered them

    def put(name: str, fields: dict[str, Any]) -> None:
        if name == "nodes" and fields["first"] <= number:
            owners.extend(int(run > 0) for run in fields["run"][: number + 1 - fields["first"]])

    followed = TracedSearch(instance, row, guide, job, asking, put)
    followed.run()
    if number >= len(owners):
        raise _none(number)
    owner = owners[number]
    own = sum(one == owner for one in owners) - 1
    most = followed.traces[owner].entered
    if owner == 0:
        return _One(without_guide(options), None, own, most)
    return _One(replace(options, guide_after=None), guide.load(instance.structure), own, most)


class _SteppedSearch:
    """A search that goes on step by step."""

    def __init__(self, instance: Sudoku | CNF, one: _One, job: Job, asking: AbstractContextManager[Any]) -> None:
        self.engine = TreeSearch(
            [instance],
            replace(one.options, max_nodes=0),
            guided=one.guide is not None,
            static=one.guide is not None and one.guide.static,
            traced=True,
        )
        self.listener = None if one.guide is None else Listener(one.guide, self.engine)
        self.trace = Trace(self.engine, 0)
        self.watch = Watch(self.trace, one.number)
        self.job = job
        self.asking = asking
        self._nodes = Nodes()
        job.each = self._each

    def go(self, nodes: int) -> None:
        """On to so many nodes; nothing happens if the search has ended, or has no time left."""
        late = (
            self.engine.options.max_seconds is not None and self.engine.used(ROW)[0] >= self.engine.options.max_seconds
        )
        if not late:
            self.engine.allow(ROW, np.array([nodes]))
            self.engine.run(self.listener, self.job.stopped, self.asking)
        if self.job.cancelled:
            raise Cancelled
        self._each()

    def _each(self) -> None:
        self.trace.take(self._nodes, self.watch)
        self._nodes.take(len(self._nodes))

    def opened(self) -> OpenNode | None:
        """The node as the engine has it, if the search is still inside of it."""
        path = self.engine.open_nodes(0)
        return path[self.watch.depth] if self.watch.open and len(path) > self.watch.depth else None

    def ranking(self, opened: OpenNode | None) -> Ranking | None:
        """What the guide said about the node, if it can still be told."""
        if self.listener is None:
            return None
        with self.asking:
            if opened is not None:
                return self.listener.rankings([(0, opened.ask)])[0] if opened.ask else None
            return self.listener.at(0, self.watch.depth, self.watch.number + 1)


def _shown(
    instance: Sudoku | CNF,
    watch: Watch,
    opened: OpenNode | None,
    ranking: Ranking | None,
    open_: NDArray[np.bool_],
    true: NDArray[np.bool_],
    *,
    guided: bool,
) -> dict[str, Any]:
    tried = {value.address: value for value in watch.values}
    members = instance.structure.members(watch.domain)
    there = [watch.domain * DOMAIN + i for i in np.flatnonzero(open_[members]).tolist()]
    order = list(dict.fromkeys([*(opened.values if opened else ()), *tried, *there]))
    literals = members[[address % DOMAIN for address in order]].tolist()
    score = ranking.score(literals) if ranking else None
    probability = ranking.probability(literals) if ranking else None
    rows = []
    for i, address in enumerate(order):
        value = tried.get(address, Value(address))
        rows.append(
            {
                "value": address % DOMAIN,
                "symbol": symbol(instance, address % DOMAIN),
                "score": _number(score, i),
                "probability": _number(probability, i),
                "nodes": value.nodes,
                "result": value.result,
            }
        )
    asked = "no" if ranking is None else "asked" if ranking.node == watch.number + 1 else "kept"
    where = place(instance, watch.domain)
    return {
        **shown(instance, open_, true),
        "domain": watch.domain,
        "where": where,
        "depth": watch.depth,
        "guide": asked if guided else None,
        "tried": rows,
        "words": _words(where, rows, asked if guided else None),
    }


def _number(numbers: tuple[float, ...] | None, i: int) -> float | None:
    """JSON has neither NaN nor infinity."""
    return None if numbers is None or not isfinite(numbers[i]) else round(numbers[i], 6)


def _words(where: str, rows: list[dict[str, Any]], asked: str | None) -> str:
    failed = [row for row in rows if row["result"] == "failed"]
    lost = sum(row["nodes"] for row in failed)
    names = ", ".join(row["symbol"] for row in failed)
    words = f"{where}: {plural(len(rows), 'value')}"
    words += {"asked": ", the guide was asked", "kept": ", by an earlier ranking", "no": ", not asked", None: ""}[asked]
    if failed:
        words += f"; {names} failed and cost {plural(lost, 'node', ',')}"
    if any(row["result"] == "solution" for row in rows):
        words += f"; {next(row['symbol'] for row in rows if row['result'] == 'solution')} leads to the solution"
    return words
