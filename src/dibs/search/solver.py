"""A request that is ready to run: its guide, a plan for each structure that it meets, and the searches of the plans."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.clock import Late, clock, never
from dibs.problem.structure import Instance, Structure
from dibs.problem.text import InputError
from dibs.search.contract import Guide, Ranks, Searcher, as_guide
from dibs.search.external.proof import ProofFile, proved
from dibs.search.external.registry import adapter, check_proofs
from dibs.search.options import Options
from dibs.search.oracle import Oracle, foresee
from dibs.search.outcome import Outcome, Status, gathered, together
from dibs.search.plan import Plan, Request

if TYPE_CHECKING:
    from dibs.search.drat import Drat

KEPT = 64  # solutions of each instance that a batch of tree searches has room for
OWN = ("tree", "nogoods")  # searches of dibs' own
BLOCK = 64  # searches that one call of the kernel advances in a batch
SHOWN = 100  # characters of what is no instance
EXCLUDED = 10_000  # solutions that the formula of a proof excludes, at most


def checked_instance(problem: Any) -> Instance:
    """The instance; what is none is a TypeError in one short line."""
    if isinstance(problem, Instance):
        return problem
    shown = repr(problem)
    if len(shown) > SHOWN or "\n" in shown:
        shown = f"an object of type {type(problem).__name__}"
    raise TypeError(f"{shown} is not an instance to solve: parse a text with dibs.Sudoku.parse, for example")


class Solver:
    """Solves instances, on any number of threads: they ask the guide one at a time, in `turn`.

    `plans` says what is done with instances of a structure; it is called once for each.
    `proof`: a file for a DRAT proof of UNSAT, or that there is no further solution, of a single instance.
    """

    def __init__(
        self,
        plans: Callable[[Structure], Plan],
        guide: Ranks | None = None,
        proof: str | os.PathLike[str] | None = None,
    ) -> None:
        self.plans, self.proof = plans, proof
        self.guide: Guide | None = None if guide is None else as_guide(guide)
        self.workers = 1  # cores for one instance, where the nogood search does it
        self.count = False  # solutions are counted, and only the first is kept
        self.over: NDArray[np.bool_] | None = None  # [literals] solutions differ in these; for the nogood search
        self.reading = False  # whoever takes solutions of a stream does so within `max_seconds`
        self.eager = False  # every search asks the guide: batches are best large
        self.turn = Lock()
        self._known: WeakKeyDictionary[Structure, Plan] = WeakKeyDictionary()

    @classmethod
    def of(
        cls,
        request: Request,
        guide: Ranks | None = None,
        proof: str | os.PathLike[str] | None = None,
        refusal: Callable[[Structure], str | None] | None = None,
    ) -> Solver:
        """As a request says. `guide`: the user's own, or the one that the request names: `dibs.solving` loads it.

        `refusal`: why a guide that was named cannot take own problems of a structure; it is asked before the search.
        """
        if proof is not None:
            check_proofs(request.engine)
            if (wanted := request.options.max_solutions) > EXCLUDED:
                raise ValueError(f"max_solutions = {wanted}: a proof excludes at most {EXCLUDED:,} solutions")
        if request.engine != "own":
            adapter(request.engine)  # raises, in one line, where it is not installed
        if request.options.order == "oracle":
            guide = Oracle()

        def planned(structure: Structure) -> Plan:
            if refusal and structure.family == "problem" and (reason := refusal(structure)):
                raise InputError(reason)
            return request.plan(structure)

        found = cls(planned, guide, proof)
        found.eager = guide is not None and request.options.guide_after is None
        return found

    def plan(self, problem: Instance) -> Plan:
        """Made once for each structure."""
        checked_instance(problem)
        found = self._known.get(problem.structure)
        if found is None:
            found = self.plans(problem.structure)
            if self.proof is not None and found.search == "nogoods":
                why = "no all-different filtering: a proof cannot have its reasons"
                found = replace(found, notes=(*found.notes, why))
            self._known[problem.structure] = found
        return found

    def run(
        self,
        problems: Sequence[Instance],
        places: Sequence[int] | None = None,
        block: int = BLOCK,
        stopped: Callable[[], bool] = never,
    ) -> list[Outcome | None]:
        """Outcomes of a batch, None where it was stopped; instances that share a structure are searched together.

        `places`: where they are in a longer list, for `random` choices; `block`: as for `TreeSearch`.
        """
        if self.proof is not None and len(problems) > 1:
            raise ValueError("a proof is about one puzzle or formula, and there are several")
        shapes: dict[Structure, list[int]] = {}
        took: dict[Structure, float] = {}  # to lay out the problem itself: that is on the clock
        for i, problem in enumerate(problems):
            begin = clock()
            self.plan(problem)
            shapes.setdefault(problem.structure, []).append(i)
            took.setdefault(problem.structure, clock() - begin)
        outcomes: list[Outcome | None] = [None] * len(problems)
        for structure, members in shapes.items():
            some = [problems[i] for i in members]
            where = members if places is None else [places[i] for i in members]
            plan = _sooner(self.plan(some[0]), took[structure] / len(members))
            guide = self.guide if plan.guided else None
            batch = Batch(some, where, guide, block, stopped, self.turn, None, self.workers, self.count, self.over)
            found = search_all(batch, plan) if self.proof is None else self._proved(batch, plan, self.proof)
            for i, outcome in zip(members, found, strict=True):
                outcomes[i] = outcome
        return outcomes

    def _proved(self, batch: Batch, plan: Plan, path: str | os.PathLike[str]) -> list[Outcome | None]:
        """`search_all` of a single instance; the file is there if there was something to prove."""
        file = ProofFile(path)
        try:
            drat = file.drat(batch.some[0], held=plan.search not in OWN)
            [outcome] = search_all(replace(batch, proof=file, drat=drat, count=False), plan)
            if proved(outcome, plan.options.max_solutions) and not file.written:
                file.prove(batch.some[0], drat)
            return [outcome]
        finally:
            file.discard()

    def stream(
        self, problem: Instance, stopped: Callable[[], bool] = never
    ) -> Generator[Sequence[Any], None, Outcome | None]:
        """Solutions of one instance, see `streamed`."""
        begin = clock()
        plan = self.plan(problem)
        plan = _sooner(plan, clock() - begin)
        guide = self.guide if plan.guided else None
        many: dict[str, Any] = {"workers": self.workers, "over": self.over, "reading": self.reading}
        return streamed(Batch([problem], [0], guide, 1, stopped, self.turn, **many), plan)


@dataclass(frozen=True)
class Batch:
    """Instances that share a structure, and what there is to search them with."""

    some: Sequence[Instance]
    places: Sequence[int]  # where they are in a longer list, for `random` choices
    guide: Guide | None
    block: int  # as for `TreeSearch`
    stopped: Callable[[], bool]
    turn: AbstractContextManager[Any] | None  # held while the guide is asked
    proof: ProofFile | None = None  # of the only instance, for engines
    workers: int = 1  # cores for the only instance, where the nogood search does it
    count: bool = False  # solutions are counted, and only the first is kept
    over: NDArray[np.bool_] | None = None  # [literals] solutions differ in these
    drat: Drat | None = None  # the proof of the only instance, for searches of dibs' own
    reading: bool = False  # as for `Solver`
    between: Callable[[int], bool] | None = None  # what is called between slices of an engine
    lemmas: Sequence[Sequence[int]] = ()  # clauses that follow from the only instance, for an engine

    def shared(self, plan: Plan) -> bool:
        """Whether several cores are at the only instance: for one solution or many. Whether there are others than the
        first few is asked best by one, which blocks them; and it writes the proof."""
        from dibs.search.nogoods.enumeration import BLOCKED

        wanted = plan.options.max_solutions
        many = self.drat is None and (wanted > BLOCKED or self.over is not None)
        return self.workers > 1 and len(self.some) == 1 and plan.search == "nogoods" and (wanted == 1 or many)

    @property
    def taking(self) -> Guide | None:
        """The guide, if it takes such instances."""
        return self.guide if self.guide is not None and self.guide.refusal(self.some[0].structure) is None else None

    @property
    def team(self) -> dict[str, Any]:
        """What several searches of the only instance have in common."""
        of = {"workers": self.workers, "place": self.places[0], "proof": self.drat}
        return {**of, "over": self.over, "count": self.count}

    def part(self, rows: Sequence[int], guide: Guide | None) -> Batch:
        """Some of the instances, by their places here."""
        return replace(self, some=[self.some[i] for i in rows], places=[self.places[i] for i in rows], guide=guide)


def search_all(batch: Batch, plan: Plan) -> list[Outcome | None]:
    """Outcomes of instances, as a plan says; None where it was stopped."""
    some, guide = batch.some, batch.guide
    tree = plan.search == "tree" or (plan.easy is not None and plan.first == "tree")
    if tree and plan.options.max_seconds is not None:
        late, plan = _tables_built(batch, plan)
        if late:
            return [late] * len(some)
    if isinstance(guide, Oracle):
        return _foreseen(batch, plan)
    how: dict[str, Any] = {"stopped": batch.stopped, "turn": batch.turn}
    if plan.raced:
        from dibs.search.race import race
        from dibs.search.tree.search import TreeSearch

        assert guide is not None
        make = partial(TreeSearch, proof=batch.drat)
        return race(some, plan.options, guide, places=batch.places, block=batch.block, make=make, **how)
    if plan.easy is not None:
        return _relayed(batch, plan)
    kept = batch.count or batch.proof is not None
    if plan.search == "tree" and plan.options.max_solutions > KEPT and not kept:
        return [gathered(streamed(batch.part([i], guide), plan)) for i in range(len(some))]
    if batch.shared(plan):
        from dibs.search.workers import stream

        return [gathered(stream(some[0], plan.options, batch.taking, **batch.team, **how))]
    search = _searcher(batch, plan)
    search.run(guide, **how)
    return search.outcomes()


def streamed(batch: Batch, plan: Plan) -> Generator[Sequence[Any], None, Outcome | None]:
    """The solutions of the only instance as they are found, a few at a time; the outcome at the end, without them.

    What a tree search finds before the nogood search takes over is kept back until it has ended: it may find no more.
    """
    if plan.easy is not None:
        [outcome] = search_all(replace(batch, guide=None), _first(plan))
        if outcome is None or outcome.status is not Status.LIMIT:
            yield () if outcome is None else outcome.found
            return outcome
        left = _rest(plan, outcome)
        if left is None:
            yield outcome.found
            return outcome
        plan = left
    if batch.shared(plan):
        from dibs.search.workers import stream

        rest: dict[str, Any] = {"stopped": batch.stopped, "turn": batch.turn, "reading": batch.reading}
        return (yield from stream(batch.some[0], plan.options, batch.taking, **batch.team, **rest))
    search = _searcher(batch, plan)
    while True:
        search.run(batch.guide, lambda: batch.stopped() or search.ready, batch.turn)
        [found] = search.outcomes()
        if found is not None:
            yield found.found
            return found
        if batch.stopped():
            return None
        begin = clock()
        yield search.take()
        if batch.reading:
            search.wait(clock() - begin)


def _sooner(plan: Plan, seconds: float) -> Plan:
    """The plan with so many seconds less."""
    if plan.options.max_seconds is None:
        return plan
    left = max(0.0, plan.options.max_seconds - seconds)
    return replace(plan, options=replace(plan.options, max_seconds=left))


def _tables_built(batch: Batch, plan: Plan) -> tuple[Outcome | None, Plan]:
    """Build the tables of the tree search on the clock, an equal share for each; an outcome if that takes too long.

    The plan has the time that is left. Nothing else in a search takes long before its first look at the clock.
    """
    from dibs.search.tree.tables import tables

    begin, structure, count = clock(), batch.some[0].structure, len(batch.some)
    end = begin + count * (plan.options.max_seconds or 0.0)
    try:
        tables(structure, plan.options.level, lambda: clock() >= end)
        if isinstance(batch.guide, Oracle):
            tables(structure, "hidden", lambda: clock() >= end)
    except Late:
        return Outcome(Status.LIMIT, search="tree"), plan
    return None, _sooner(plan, (clock() - begin) / count)


def _first(plan: Plan) -> Plan:
    """The plain search before the search of a plan."""
    o = plan.options
    nodes = plan.easy if o.max_nodes is None or plan.easy is None else min(plan.easy, o.max_nodes)
    if plan.first == "nogoods":
        return Plan.exactly(replace(o, max_nodes=nodes, guide_after=None, max_asks=None))
    limited = Options(max_nodes=nodes, max_seconds=o.max_seconds, max_solutions=o.max_solutions)
    return Plan.exactly(replace(limited, level=o.level, tie="impact", order=o.order, seed=o.seed))


def _rest(plan: Plan, begun: Outcome) -> Plan | None:
    """The search of a plan after that, within limits of both; None where nothing is left."""
    o = plan.options
    nodes = None if o.max_nodes is None else o.max_nodes - begun.nodes
    seconds = None if o.max_seconds is None else o.max_seconds - begun.seconds
    if nodes == 0 or (seconds is not None and seconds <= 0):
        return None
    return replace(plan, options=replace(o, max_nodes=nodes, max_seconds=seconds), easy=None)


def _relayed(batch: Batch, plan: Plan) -> list[Outcome | None]:
    """A plain search for a few nodes, then the search of the plan for what that leaves."""
    if plan.first == "nogoods" and batch.proof is None and batch.workers == 1:
        return [_beside(batch.part([i], batch.guide), plan) for i in range(len(batch.some))]
    outcomes = search_all(replace(batch, guide=None), _first(plan))
    for i, begun in enumerate(outcomes):
        if begun is None or begun.status is not Status.LIMIT or batch.stopped():
            continue
        if rest := _rest(plan, begun):
            [found] = search_all(batch.part([i], batch.guide), rest)
            outcomes[i] = None if found is None else together(begun, found)
    return outcomes


def _beside(batch: Batch, plan: Plan) -> Outcome | None:
    """A nogood search of the only instance for a few nodes, then an engine; the nogood search goes on beside it."""
    from dibs.search.beside import BesideEngine

    own = BesideEngine(batch.some[0], _first(plan).options, batch.places[0], batch.stopped)
    begun = own.outcome
    rest = None if begun is None or begun.status is not Status.LIMIT else _rest(plan, begun)
    if rest is None or batch.stopped():
        return begun
    engine = _searcher(replace(batch, between=own.turn, lemmas=own.lemmas), rest)
    engine.run(batch.guide, batch.stopped, batch.turn)
    [found], mine = engine.outcomes(), own.outcome
    if found is None or mine is None:
        return None
    return together(mine, replace(found, seconds=max(0.0, found.seconds - own.seconds)))


def _foreseen(batch: Batch, plan: Plan) -> list[Outcome | None]:
    """With an oracle: its own search has the same limits, and its time is guide time."""
    known, took = foresee(batch.some, plan.options, block=batch.block, stopped=batch.stopped)
    going = np.flatnonzero(known.decided).tolist()
    lost = None if batch.stopped() else Outcome(Status.LIMIT)
    outcomes: list[Outcome | None] = [lost] * len(batch.some)
    limit = plan.options.max_seconds
    # With a limit of seconds each has as much as the oracle left it.
    for rows in [[i] for i in going] if limit is not None else [going] if going else []:
        rest = _sooner(plan, float(took[rows[0]]))
        for i, outcome in zip(rows, search_all(batch.part(rows, known), rest), strict=True):
            outcomes[i] = outcome
    return [
        outcome and replace(outcome, guide_seconds=outcome.guide_seconds + seconds)
        for outcome, seconds in zip(outcomes, took.tolist(), strict=True)
    ]


def _searcher(batch: Batch, plan: Plan) -> Searcher:
    """The search that a plan names, before its first step."""
    some, guide, places = batch.some, batch.guide, batch.places
    static = guide is not None and guide.static
    if plan.search == "tree":
        from dibs.search.tree.search import TreeSearch

        kept = plan.options.max_solutions if batch.drat else 1 if batch.count else min(plan.options.max_solutions, KEPT)
        rest: dict[str, Any] = {"block": batch.block, "places": places, "answers": kept, "proof": batch.drat}
        return TreeSearch(some, plan.options, guided=guide is not None, static=static, **rest)
    if plan.search == "nogoods":
        from dibs.search.nogoods.batch import NogoodSearch

        takes = guide is not None and guide.refusal(some[0].structure) is None
        several: dict[str, Any] = {"over": batch.over, "count": batch.count, "proof": batch.drat}
        return NogoodSearch(some, plan.options, guided=takes, static=static, places=places, **several)
    from dibs.search.external.search import EngineSearch

    if guide is not None:
        guide.refusal(some[0].structure)  # loads it, where it is loaded when it is needed: that is nobody's time
    rest = {"proof": batch.proof, "between": batch.between, "lemmas": batch.lemmas}
    return EngineSearch(some, plan.options, plan.search, guided=guide is not None, **rest)
