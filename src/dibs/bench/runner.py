"""Runs an experiment: every row on every instance, in tasks that any process can do, with the same counts everywhere.

Rows without a guide search one instance at a time and take turns, so that whatever else the machine does hits them
alike. Rows with a trained guide run many instances at once: a model is asked about a batch, and the time of a search is
its share of the batch's. Rows that search without their guide first (`after`) take turns with the plain ones.

An experiment that interleaves its rows has one task for each instance: all rows, one after the other, beginning with
another one each time; see `contender`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any

from dibs.bench.contender import Contender, Loads
from dibs.bench.experiment import Experiment, Row
from dibs.bench.instances import Instances
from dibs.bench.kinds import InstanceKind
from dibs.bench.origin import machine, version
from dibs.bench.records import COLUMNS, Store, frame
from dibs.guide import DiBS
from dibs.guide.card import find, verify
from dibs.guide.denoiser import Denoiser
from dibs.interrupt import interrupts_later
from dibs.problem import InputError, Instance
from dibs.problem.structure import Structure
from dibs.search import Options, Outcome
from dibs.search.guidance import SUITED, suited_name
from dibs.search.oracle import Oracle
from dibs.search.plan import Plan
from dibs.search.solver import BLOCK as TOGETHER
from dibs.search.solver import Solver
from dibs.study.witness import Witness

BLOCK = 256  # instances of a task
TURN = 64  # instances that a plain row takes before the next row's turn
FLUSH = 5.0  # seconds between two shards, at first
SHARDS = 100  # and later so that a run ten times as long has about 230 more

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Task:
    """Rows by their numbers, and the instances that they are to search."""

    rows: tuple[int, ...]
    instances: tuple[int, ...]

    @property
    def records(self) -> int:
        return len(self.rows) * len(self.instances)


def described(experiment: Experiment, instances: Instances) -> dict[str, Any]:
    """What a run is a run of: `run.json`. Two runs with the same description have the same counts."""
    rows = [
        {"name": row.name, "options": changed(row.options), "guidance": changed(row.guidance), "asked": row.asked}
        | _more(row)
        for row in experiment.rows
    ]
    turns = {"interleave": True, "engines": engines(experiment)} if experiment.interleave else {}
    costs = {kind.label: cost for kind, _ in experiment.choice.kinds() if (cost := kind.training) is not None}
    turns |= {"training": costs} if costs else {}
    return turns | {
        "experiment": experiment.name,
        "title": experiment.title,
        "view": experiment.view,
        "ledger": experiment.ledger,
        "choice": changed(experiment.choice),
        "instances": {"count": len(instances), "digest": instances.digest},
        "rows": rows,
        "guides": guides(experiment),
        "version": version(),
    }


def guides(experiment: Experiment) -> dict[str, str]:
    """The guides that the rows name, with their digests; one that is not there raises."""
    names = {row.guidance.guide for row in experiment.rows if row.guidance.guide}
    if "auto" in names:
        kinds = [kind for kind, _ in experiment.choice.kinds()]
        suited = {kind.guide for kind in kinds} if kinds else {SUITED["sudoku"]}
        names = names - {"auto"} | {name for name in suited if name}
    return {name: verify(find(name)).digest for name in sorted(names)}


def engines(experiment: Experiment) -> dict[str, str]:
    """The engines that the rows name, with the versions of their packages; one that is not installed raises."""
    from importlib import metadata

    from dibs.search.external.registry import ENGINES, adapter

    found = {}
    for name in sorted({row.engine for row in experiment.rows} & ENGINES.keys()):
        adapter(name)
        found[name] = f"{ENGINES[name].needs} {metadata.version(ENGINES[name].needs)}"
    return found


def changed(record: Any) -> dict[str, Any]:
    """The fields of an options record that are not the defaults."""
    plain = type(record)()
    found = {f.name: value for f in fields(record) if (value := getattr(record, f.name)) != getattr(plain, f.name)}
    return {key: _plain(value) for key, value in found.items()}


def _plain(value: Any) -> Any:
    """For JSON."""
    if not isinstance(value, tuple):
        return value
    return [one.settings() if isinstance(one, InstanceKind) else one for one in value]


def _more(row: Row) -> dict[str, Any]:
    """What a row says beyond options and a guide, if it does."""
    found: dict[str, Any] = {} if row.policy is None else {"policy": row.policy}
    if row.policy is not None and row.request is not None and (guide := row.request.explicit.get("guide")):
        found["guide"] = guide  # said, and not only the policy's
    return found if row.engine == "own" else found | {"engine": row.engine}


class Bench:
    """An experiment that is ready to be run: guides loaded, instances at hand."""

    def __init__(self, experiment: Experiment, instances: Instances) -> None:
        self.experiment = experiment
        self.instances = instances
        self._models: dict[tuple[Any, ...], Denoiser] = {}
        self.guides: list[DiBS | None] = []
        self._contenders: dict[str | None, list[Contender]] = {}  # of each row, by the guide that is `auto`
        self._trained = {kind.label: kind.trained for kind, _ in experiment.choice.kinds()}
        if experiment.interleave:
            loads = Loads()
            for guide, some in self._throwaway().items():
                self._contenders[guide] = [Contender(row.guided_by(guide), some, loads) for row in experiment.rows]
            return
        self.guides = [self._guide(row) for row in experiment.rows]
        shapes = {(one.structure.family, one.structure.literals): one for one in reversed(instances.every)}
        for row, own in zip(experiment.rows, self.guides, strict=True):
            # Compile, or load, what a row needs for such instances: that must not be a record's time.
            self._outcomes(row, own, list(shapes.values()), range(len(shapes)), brief=True)

    def _throwaway(self) -> dict[str | None, list[Instance]]:
        """An instance of each shape that is not searched for a record, or, of a list, the first one of that shape.

        They are told apart by the guide that was trained for their kind.
        """
        kinds = self.experiment.choice.kinds()
        some = [(kind.trained, next(kind.made(1, kind.seed(seed + 1)))) for kind, seed in kinds]
        some = some or [(None, one) for one in self.instances.every]
        shapes = {(guide, one.structure.family, one.structure.literals): one for guide, one in reversed(some)}
        found: dict[str | None, list[Instance]] = defaultdict(list)
        for (guide, *_), one in shapes.items():
            found[guide].append(one)
        return found

    def _guide(self, row: Row) -> DiBS | None:
        """The guide of a row, before any search: one that is not there or cannot take these puzzles raises at once."""
        wanted = row.guidance
        if wanted.guide is None:
            return None
        name, why = suited_name(wanted.guide, self.instances.every[0].structure)
        if name is None:
            raise InputError(f"row {row.name!r}: {why}")
        key = name, wanted.threads, wanted.runtime, wanted.rounds, wanted.network_only
        if key not in self._models:
            self._models[key] = Denoiser.load(*key[:3], rounds=wanted.rounds, network_only=wanted.network_only)
        model = self._models[key]
        for structure in {instance.structure: None for instance in self.instances.every}:
            if reason := model.refusal(structure):
                raise InputError(f"row {row.name!r}: {reason}")
        return DiBS(model, wanted.alpha, wanted.steps)

    def tasks(self, done: Iterable[tuple[str, int]]) -> list[Task]:
        """All that is missing: of every `BLOCK` instances first the rows that take turns, then each guided row."""
        names = {row.name: i for i, row in enumerate(self.experiment.rows)}
        finished: dict[int, set[int]] = defaultdict(set)
        for name, instance in done:
            finished[names[name]].add(instance)
        if self.experiment.interleave:
            return self._one_by_one(finished)
        turns = [i for i, row in enumerate(self.experiment.rows) if self._takes_turns(i, row)]
        parts = [turns, *([i] for i in names.values() if i not in turns)]
        tasks: list[Task] = []
        for first in range(0, len(self.instances), BLOCK):
            block = range(first, min(first + BLOCK, len(self.instances)))
            for part in parts:
                missing: dict[tuple[int, ...], list[int]] = defaultdict(list)
                for instance in block:
                    if rows := tuple(row for row in part if instance not in finished[row]):
                        missing[rows].append(instance)
                tasks += [Task(rows, tuple(some)) for rows, some in missing.items()]
        return tasks

    def _one_by_one(self, finished: dict[int, set[int]]) -> list[Task]:
        """A task for each instance: the first ones of all kinds, then the second ones, and so on."""
        tasks: list[Task] = []
        count = len(self.experiment.rows)
        for place in sorted(range(len(self.instances)), key=lambda i: self.instances.number[i]):
            turn = [(first + self.instances.number[place]) % count for first in range(count)]
            if rows := tuple(row for row in turn if place not in finished[row]):
                tasks.append(Task(rows, (place,)))
        return tasks

    def _takes_turns(self, number: int, row: Row) -> bool:
        return not self.experiment.ledger and (self.guides[number] is None or row.options.guide_after is not None)

    def perform(self, task: Task) -> Columns:
        """The records of a task, by column."""
        columns: Columns = defaultdict(list)
        size = TURN if len(task.rows) > 1 else BLOCK
        for at in range(0, len(task.instances), size):
            places = task.instances[at : at + size]
            some = [self.instances.every[i] for i in places]
            for row in task.rows:
                for name, values in self._searched(row, some, places).items():
                    columns[name] += values
        return dict(columns)

    def _searched(self, number: int, some: Sequence[Instance], places: Sequence[int]) -> Columns:
        row = self.experiment.rows[number]
        if self._contenders:
            ready = [self._contenders[self._trained.get(self.instances.kind[place])][number] for place in places]
            each = list(zip(ready, some, places, strict=True))
            loads = [one.load_seconds.get(instance.structure.family, 0.0) for one, instance, _ in each]
            found = [one.solve(instance, place) for one, instance, place in each]
            apart = {"around_seconds": [timed.around for timed in found], "cpu_seconds": [timed.cpu for timed in found]}
            return self._columns(row, places, [timed.outcome for timed in found]) | apart | {"load_seconds": loads}
        outcomes, more = self._outcomes(row, self.guides[number], some, places)
        return self._columns(row, places, outcomes) | more

    def _outcomes(
        self, row: Row, guide: DiBS | None, some: Sequence[Instance], places: Sequence[int], brief: bool = False
    ) -> tuple[list[Outcome], Columns]:
        """How the searches ended, and the columns of what happened on their solution paths.

        `brief`: a throw-away run, with its guide from the start.
        """
        short: dict[str, Any] = (
            {"max_nodes": 2, "guide_after": None if row.options.guide_after is None else 0} if brief else {}
        )
        if self.experiment.ledger:
            return _ledgers(some, replace(row.options, **short), guide)

        def plan(structure: Structure) -> Plan:
            found = row.plan(structure, guide is not None or row.options.order == "oracle")
            return replace(found, options=replace(found.options, **short))

        if guide is None:
            oracle = Oracle() if row.options.order == "oracle" else None
            return _solved(Solver(plan, oracle), some, places, 1), {}
        witness = Witness(guide, some, path_only=row.asked == "path")
        block = TOGETHER if row.options.guide_after is None else 1
        outcomes = _solved(Solver(plan, witness), some, places, block)
        paths = witness.paths()
        return outcomes, {f"path_{what}": [getattr(path, what) for path in paths] for what in ("p", "place", "sure")}

    def _columns(self, row: Row, places: Sequence[int], outcomes: Sequence[Outcome]) -> Columns:
        count = len(outcomes)
        asked = {"asked": row.asked} if row.asked != "everywhere" else {}
        options = json.dumps(changed(row.options) | changed(row.guidance) | asked | _more(row))
        lists: Columns = {name: [[]] * count for name, kind in COLUMNS.items() if kind.startswith("List")}
        return lists | {
            "row": [row.name] * count,
            "instance": list(places),
            "number": [self.instances.number[i] for i in places],
            "givens": [self.instances.givens[i] for i in places],
            "variables": [self.instances.variables[i] for i in places],
            "kind": [self.instances.kind[i] for i in places],
            "status": [str(o.status) for o in outcomes],
            "nodes": [o.nodes for o in outcomes],
            "backtracks": [o.backtracks for o in outcomes],
            "tries": [o.tries for o in outcomes],
            "asks": [o.asks for o in outcomes],
            "calls": [o.calls for o in outcomes],
            "depth": [o.depth for o in outcomes],
            "search_seconds": [o.seconds for o in outcomes],
            # The oracle is a yardstick, not a way to solve: its own search is no part of the figures.
            "model_seconds": [o.guide_seconds if o.calls else 0.0 for o in outcomes],
            "around_seconds": [0.0] * count,
            "load_seconds": [0.0] * count,
            "cpu_seconds": [0.0] * count,
            "options": [options] * count,
            "seed": [row.options.seed] * count,
            "version": [version()] * count,
            "machine": [machine()] * count,
        }


def _solved(solver: Solver, some: Sequence[Instance], places: Sequence[int], block: int) -> list[Outcome]:
    outcomes = [outcome for outcome in solver.run(some, places, block) if outcome]
    assert len(outcomes) == len(some)  # nobody stops it
    return outcomes


def _ledgers(some: Sequence[Instance], options: Options, guide: DiBS | None) -> tuple[list[Outcome], Columns]:
    """Searches with all that happened on their solution paths."""
    from dibs.study.ledger import ledgers

    found = ledgers(some, options, guide)
    paths = [ledger.decisions for ledger in found]
    nan = float("nan")
    return [ledger.outcome for ledger in found], {
        "ledger_arity": [[len(one.candidates) for one in path] for path in paths],
        "ledger_p": [
            [one.probability[one.candidates.index(one.right)] if one.probability else nan for one in path]
            for path in paths
        ],
        "ledger_place": [[one.mistakes for one in path] for path in paths],
        "ledger_entered": [[one.lost for one in path] for path in paths],
        "ledger_wrong": [[one.wrong for one in path] for path in paths],
        "ledger_cut": [[any(one.cut) for one in path] for path in paths],
        "ledger_good": [[one.good for one in path] for path in paths],
    }


Performed = Generator[tuple[Task, Columns], None, None]


def write_records(
    store: Store,
    performed: Performed,
    report: Callable[[int], None] = lambda records: None,
) -> None:
    """Write the records of tasks as they come; `report` is told how many each has brought.

    Whatever ends it (Ctrl-C, a full disk), what was performed until then is written if it can be, and nobody performs
    any more.
    """
    begin = written = monotonic()
    waiting: list[Columns] = []  # of whole tasks: Ctrl-C may come between any two steps
    with closing(performed):
        try:
            for task, columns in performed:
                waiting.append(columns)
                report(task.records)
                now = monotonic()
                if now - written >= max(FLUSH, (now - begin) / SHARDS):
                    _write(store, waiting)
                    written = now
        finally:
            _write(store, waiting)


def _write(store: Store, waiting: list[Columns]) -> None:
    """The records so far, all of them whenever Ctrl-C comes; `waiting` is empty afterwards."""
    with interrupts_later():
        if waiting:
            found = frame({name: [value for columns in waiting for value in columns[name]] for name in COLUMNS})
            waiting.clear()
            store.append(found)
