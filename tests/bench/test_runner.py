"""Every row on every instance exactly once, with the counts of `dibs.solve`, however the run is cut into tasks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dibs
import tiny
from dibs.bench import runner
from dibs.bench.experiment import Choice, Experiment, Row
from dibs.bench.instances import Instances, chosen
from dibs.bench.origin import machine, version
from dibs.bench.records import COLUMNS, Store
from dibs.bench.runner import Bench, Columns, Performed, Task, described, write_records
from dibs.guide import Guidance
from dibs.guide.denoiser import Denoiser
from dibs.problem import InputError
from dibs.search import Options
from dibs.search.plan import Request
from dibs.solving import solve_together
from runs import leftovers, opened, plan, ready, same
from shell import BLANK, PUZZLE, SEARCHED, UNSAT

COUNTS = ("status", "nodes", "backtracks", "tries", "asks", "calls", "depth")
RANDOM = Options(tie="random", order="random", seed=7)
AUTO = replace(Request("auto").options, guide_after=2)  # so that the second search begins


@pytest.fixture(scope="module")
def rows(guides: Path) -> tuple[Row, ...]:
    """Every way in which a row is run."""
    guided = Guidance(guide=str(guides / "relational"))
    return (
        Row("plain", Options()),
        Row("DiBS", Options(trigger="binary"), guided),
        Row("random", RANDOM),
        Row("oracle", Options(order="oracle")),
        Row("race", AUTO, guided),
        Row("random ties, two steps", replace(RANDOM, trigger="ternary"), replace(guided, steps=2)),
        Row("confident", Options(select="confident", reuse=0.9, strategy="restarts", restart_base=4), guided),
        Row("limit", Options(max_nodes=3)),
    )


@pytest.fixture(scope="module")
def bench(rows: tuple[Row, ...]) -> Bench:
    return ready(plan(rows, sample=9))[0]


def by_key(parts: Sequence[Columns]) -> dict[tuple[str, int], dict[str, Any]]:
    """The records of tasks, without times; none may be there twice."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for columns in parts:
        assert set(columns) == set(COLUMNS)
        for values in zip(*columns.values(), strict=True):
            record = dict(zip(columns, values, strict=True))
            del record["search_seconds"], record["model_seconds"]
            assert found.setdefault((record["row"], record["instance"]), record) is record
    return found


@pytest.fixture(scope="module")
def whole(bench: Bench) -> dict[tuple[str, int], dict[str, Any]]:
    return by_key([bench.perform(task) for task in bench.tasks([])])


def test_every_row_meets_every_instance(bench: Bench, whole: dict[tuple[str, int], Any]) -> None:
    names = [row.name for row in bench.experiment.rows]
    assert sorted(whole) == sorted((name, i) for name in names for i in range(9))
    for task in bench.tasks([]):
        assert task.records == len(task.rows) * 9


def test_counts_are_those_of_solve(bench: Bench, whole: dict[tuple[str, int], Any]) -> None:
    for number, row in enumerate(bench.experiment.rows):
        guide, options = bench.guides[number], {"strategy": "dfs"} | runner.changed(row.options)
        together = solve_together(bench.instances.every, guide=guide, **options)
        for i, instance in enumerate(bench.instances.every):
            record = whole[row.name, i]
            outcome = together[i]
            assert {key: record[key] for key in COUNTS} == {key: getattr(outcome, key) for key in COUNTS}
            if "random" not in row.name:  # these know their place in the list
                alone = dibs.solve(instance, guide=guide, **options)
                assert [getattr(alone, key) for key in COUNTS] == [record[key] for key in COUNTS]


def test_records_say_where_they_come_from(bench: Bench, whole: dict[tuple[str, int], Any]) -> None:
    for (name, instance), record in whole.items():
        row = next(row for row in bench.experiment.rows if row.name == name)
        assert record["number"] == bench.instances.number[instance]
        assert (record["givens"], record["variables"]) == (0, 0)
        assert (record["version"], record["machine"], record["seed"]) == (version(), machine(), row.options.seed)
        said = json.loads(record["options"])
        assert Options(**{k: v for k, v in said.items() if k in asdict(Options())}) == row.options
        assert Guidance(**{k: v for k, v in said.items() if k in asdict(Guidance())}) == row.guidance
        assert bool(record["path_p"]) == (record["asks"] > 0 and row.guidance.guide is not None)


def test_times(bench: Bench) -> None:
    for task in bench.tasks([]):
        columns = bench.perform(task)
        assert min(columns["search_seconds"]) > 0
        for seconds, calls in zip(columns["model_seconds"], columns["calls"], strict=True):
            assert (seconds > 0) == (calls > 0)


@settings(max_examples=8)
@given(
    done=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 8))),
    block=st.integers(1, 10),
    turn=st.integers(1, 4),
    backwards=st.booleans(),
)
def test_any_cut_gives_the_same_records(
    done: set[tuple[int, int]], block: int, turn: int, backwards: bool, bench: Bench, whole: dict[tuple[str, int], Any]
) -> None:
    """Some rows of a block may be there, in any order the others are performed: none twice, none missing."""
    names = [row.name for row in bench.experiment.rows]
    there = {(names[row], instance) for row, instance in done}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runner, "BLOCK", block)
        patched.setattr(runner, "TURN", turn)
        tasks = bench.tasks(there)
        asked_for = Counter((row, i) for task in tasks for row in task.rows for i in task.instances)
        assert set(asked_for) == {(row, i) for row in range(len(names)) for i in range(9)} - done
        assert set(asked_for.values()) <= {1}
        assert all(len(task.instances) <= block for task in tasks)
        found = by_key([bench.perform(task) for task in (reversed(tasks) if backwards else tasks)])
    assert found == {key: record for key, record in whole.items() if key not in there}


def test_rows_that_take_turns_share_tasks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BLOCK", 5)
    turns, guided = (0, 2, 3, 4, 7), ((1,), (5,), (6,))
    first, second = tuple(range(5)), tuple(range(5, 9))
    assert bench.tasks([]) == [Task(rows, some) for some in (first, second) for rows in (turns, *guided)]
    done = [("plain", 0), ("DiBS", 7), *(("confident", i) for i in second)]
    assert bench.tasks(done) == [
        Task(turns[1:], (0,)),
        Task(turns, (1, 2, 3, 4)),
        *(Task(rows, first) for rows in guided),
        Task(turns, second),
        Task((1,), (5, 6, 8)),
        Task((5,), second),
    ]
    assert bench.tasks((row.name, i) for row in bench.experiment.rows for i in range(9)) == []


def test_a_model_is_loaded_once(guides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(guides / "relational")
    rows = (
        Row("binary", Options(trigger="binary"), Guidance(guide=path)),
        Row("two steps", Options(), Guidance(guide=path, steps=2)),
        Row("onnx", Options(), Guidance(guide=path, runtime="onnx")),
        Row("bare", Options(), Guidance(guide=path, network_only=True)),
        Row("three rounds", Options(), Guidance(guide=path, rounds=3)),
    )
    loaded: list[tuple[Any, ...]] = []
    load_one: Any = Denoiser.load.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Denoiser], *key: Any, rounds: int | None, network_only: bool) -> Any:
        loaded.append((*key, rounds, network_only))
        return load_one(cls, *key, rounds=rounds, network_only=network_only)

    monkeypatch.setattr(Denoiser, "load", classmethod(counted))
    bench, _ = ready(plan(rows, sample=2))
    wanted = [("auto", None, False), ("onnx", None, False), ("auto", None, True), ("auto", 3, False)]
    assert loaded == [(path, 1, *how) for how in wanted]
    for task in bench.tasks([]):
        columns = bench.perform(task)
        passes = 2 if columns["row"][0] == "two steps" else 1
        assert columns["calls"] == [passes * asks for asks in columns["asks"]]


# asked = "path"


def rows_by_asking(guide: Path, bare: bool, options: Options) -> tuple[Row, ...]:
    guided = Guidance(guide=str(guide), network_only=bare)
    return Row("everywhere", options, guided), Row("path", options, guided, "path")


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("trigger", ["binary", "ternary", "always"])
@pytest.mark.parametrize("level", ["naked", "hidden"])
def test_asking_on_the_path_only_changes_no_count(bare: bool, trigger: Any, level: Any, guides: Path) -> None:
    """Of random images of puzzles, under every tie but the random one."""
    seed = 2 * bare + (level == "naked")
    ties: Any = {"binary": "index", "ternary": "degree", "always": "impact"}
    options = Options(level=level, trigger=trigger, tie=ties[trigger], order="mcv" if bare else "random")
    rows = rows_by_asking(guides / "relational", bare, options)
    puzzles = "sample17" if trigger == "ternary" else "hard300"  # where three values are the fewest there are few clues
    bench, _ = ready(plan(rows, puzzles, sample=6 if level == "naked" else 20, seed=seed, relabel=seed))
    everywhere, path = (bench.perform(task) for task in bench.tasks([]))
    for key in ("status", "nodes", "backtracks", "depth", "path_place"):
        assert everywhere[key] == path[key]
    for one, two in zip(everywhere["path_p"], path["path_p"], strict=True):
        assert one == pytest.approx(two, abs=1e-6)
    assert sum(everywhere["asks"]) >= sum(path["asks"]) >= sum(map(len, path["path_p"]))
    assert any(path["path_p"]) or (trigger, level) == ("ternary", "hidden")
    if bare and trigger != "ternary":
        assert sum(everywhere["asks"]) > sum(path["asks"])


@pytest.mark.parametrize("puzzle", [BLANK, UNSAT])
def test_asking_on_the_path_only_needs_one_solution(puzzle: str, guides: Path, tmp_path: Path) -> None:
    file = tmp_path / "puzzles.txt"
    file.write_text(f"{SEARCHED}\n{puzzle}\n")
    rows = rows_by_asking(guides / "relational", False, Options(max_nodes=None))
    bench, _ = ready(plan(rows, file))
    with pytest.raises(InputError, match="asked = 'path' needs instances with one solution each"):
        bench.perform(Task((1,), (0, 1)))
    file.write_text(f"{puzzle}\n")
    with pytest.raises(InputError, match="one solution each"):
        ready(plan(rows[1:], file))


# Formulas


def test_counts_on_formulas_are_those_of_solve(tmp_path: Path) -> None:
    """Every formula has a structure of its own; records say its size, and what was said on the way to one solution."""
    guided = Guidance(guide=str(tiny.relational(tmp_path / "guide", family="cnf")))
    formula = Options(level="naked", order="jw")
    rows = (
        Row("first", Options(level="naked", select="first")),
        Row("jw", formula),
        Row("oracle", Options(level="naked", order="oracle")),
        Row("DiBS", replace(formula, trigger="binary"), guided),
        Row("confident", replace(formula, tie="impact", select="confident"), guided),
        Row("limit", replace(formula, max_nodes=1)),
    )
    experiment = replace(plan(rows), choice=Choice(variables=(5, 9, 30), sample=4, seed=2))
    bench, instances = ready(experiment)
    found = by_key([bench.perform(task) for task in bench.tasks([])])
    assert len(found) == 6 * 12
    assert {record["status"] for record in found.values()} == {"SAT", "LIMIT"}
    unique = [dibs.is_unique(one) for one in instances.every]
    assert True in unique
    assert False in unique
    for (name, i), record in found.items():
        number = next(number for number, row in enumerate(rows) if row.name == name)
        outcome = dibs.solve(
            instances.every[i],
            guide=bench.guides[number],
            **({"strategy": "dfs"} | runner.changed(rows[number].options)),
        )
        assert [record[key] for key in COUNTS] == [getattr(outcome, key) for key in COUNTS]
        assert (record["variables"], record["number"]) == ((5, 9, 30)[i // 4], i % 4)
        if record["status"] == "SAT":
            assert record["backtracks"] <= record["tries"] <= record["backtracks"] + record["variables"]
        assert unique[i] or not record["path_place"], "there is no such way where there are several solutions"
    assert any(record["path_place"] for record in found.values())


# Ledgers


def test_ledgers(guides: Path) -> None:
    options = Options(level="naked", trigger="binary")
    rows = (Row("plain", Options(level="naked")), Row("DiBS", options, Guidance(guide=str(guides / "relational"))))
    experiment = plan(rows, sample=4)
    noted = ready(replace(experiment, ledger=True))[0]
    bench = ready(experiment)[0]
    for number in range(2):
        task = Task((number,), (0, 1, 2, 3))
        ledger, usual = noted.perform(task), bench.perform(task)
        for key in ("row", "instance", "status", "nodes", "backtracks", "asks", "depth"):
            assert ledger[key] == usual[key]
        for i, nodes in enumerate(ledger["nodes"]):
            assert nodes == len(ledger["ledger_good"][i]) + sum(ledger["ledger_entered"][i]), "the node identity"
            assert all(a <= b for a, b in zip(ledger["ledger_entered"][i], ledger["ledger_wrong"][i], strict=True))
        assert not any(usual["ledger_arity"])
    assert [task.rows for task in noted.tasks([])] == [(0,), (1,)]


# What is before and around the searches


def test_the_description_is_data(rows: tuple[Row, ...]) -> None:
    experiment = plan(rows, sample=3)
    found = described(experiment, chosen(experiment.choice))
    assert json.loads(json.dumps(found)) == found
    assert found["choice"] == {"puzzles": "hard300", "sample": 3}
    assert found["rows"][0] == {"name": "plain", "options": {}, "guidance": {}, "asked": "everywhere"}
    [weights] = found["guides"].values()
    assert len(weights) == 12
    other = described(experiment, chosen(replace(experiment.choice, seed=1)))
    assert other["instances"]["digest"] != found["instances"]["digest"]


def test_a_guide_that_cannot_take_a_puzzle(guides: Path, tmp_path: Path) -> None:
    file = tmp_path / "mixed.txt"
    file.write_text(f"{PUZZLE}\n{'.' * 16}\n")
    rows = Row("plain", Options()), Row("mine", Options(), Guidance(guide=str(guides / "transformer")))
    with pytest.raises(InputError, match="row 'mine': these weights take 9x9 Sudokus; this puzzle is 4x4"):
        ready(plan(rows, file))


FRESH = """
import sys
from dibs.bench.experiment import Choice, Experiment, Row
from dibs.bench.instances import chosen
from dibs.bench.runner import Bench
from dibs.guide import Guidance
from dibs.search import Options
from dibs.search.plan import Request
from dibs.search.tree.loop import advance
guided = Guidance(guide=sys.argv[2])
rows = Row("plain", Options()), Row("race", Options(guide_after=0), guided), Row("DiBS", Options(), guided)
plan = Experiment("x", "x", Choice(puzzles=sys.argv[1]), rows)
bench = Bench(plan, chosen(plan.choice))
compiled = len(advance.overloads)
for task in bench.tasks([]):
    assert min(bench.perform(task)["search_seconds"]) > 0
assert len(advance.overloads) == compiled, "a record would have waited for the compiler"
print(compiled)
"""


def test_no_record_has_the_time_of_a_compiler(guides: Path, tmp_path: Path) -> None:
    """Nor none at all: the kernels for both sizes are there before the first search. Only a new process can show it."""
    large = dibs.generate.sudoku(1, box=(4, 4), givens=(150, 160), seed=1, workers=1)
    file = tmp_path / "mixed.txt"
    file.write_text("\n".join([SEARCHED, SEARCHED, *(one.line() for one in large)]))
    words = [sys.executable, "-c", FRESH, str(file), str(guides / "relational")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 3


# Keeping records


def performed(bench: Bench, tasks: Sequence[Task], end: BaseException | None = None) -> Performed:
    for task in tasks:
        yield task, bench.perform(task)
    if end:
        raise end


@pytest.fixture
def small(rows: tuple[Row, ...]) -> tuple[Experiment, Instances, Bench]:
    experiment = plan(rows[:3], sample=4)
    bench, instances = ready(experiment)
    return experiment, instances, bench


def test_records_are_kept_as_they_come(
    small: tuple[Experiment, Instances, Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, instances, bench = small
    monkeypatch.setattr(runner, "BLOCK", 1)
    heard: list[int] = []
    counts: list[int] = []
    for flush in (0.0, 1e9):
        monkeypatch.setattr(runner, "FLUSH", flush)
        store = opened(tmp_path / str(flush), experiment, instances)
        write_records(store, performed(bench, bench.tasks([])), heard.append)
        store.close()
        counts.append(len(store.shards()))
    assert counts == [8, 1]
    assert heard == [2, 1] * 8, "the rows that take turns, and the one with a guide"
    assert same(tmp_path / "0.0") == same(tmp_path / "1000000000.0")


@pytest.mark.parametrize("end", [KeyboardInterrupt(), InputError("no more"), MemoryError()])
def test_whatever_ends_it_what_was_performed_is_there(
    end: BaseException, small: tuple[Experiment, Instances, Bench], tmp_path: Path
) -> None:
    experiment, instances, bench = small
    tasks = bench.tasks([])
    store = opened(tmp_path, experiment, instances)
    with pytest.raises(type(end)):
        write_records(store, performed(bench, tasks[:1], end))
    done = store.records(()).rows()
    assert len(done) == tasks[0].records
    write_records(store, performed(bench, bench.tasks(done)))
    store.close()
    assert sorted(store.records(()).rows()) == sorted((row.name, i) for row in experiment.rows for i in range(4))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_while_a_shard_is_written(
    small: tuple[Experiment, Instances, Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of it, and again while the rest is written: nothing is lost, nothing is there twice."""
    experiment, instances, bench = small
    flush = os.fsync

    def disturbed(file: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        flush(file)

    monkeypatch.setattr(runner, "FLUSH", 0.0)
    tasks = bench.tasks([])
    store = opened(tmp_path, experiment, instances)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", disturbed)
        with pytest.raises(KeyboardInterrupt):
            write_records(store, performed(bench, tasks))
    done = store.records(()).rows()
    assert len(done) == tasks[0].records
    assert leftovers(tmp_path) == []
    write_records(store, performed(bench, bench.tasks(done)))
    store.close()
    assert sorted(store.records(()).rows()) == sorted((row.name, i) for row in experiment.rows for i in range(4))


def test_nobody_performs_after_the_end(small: tuple[Experiment, Instances, Bench], tmp_path: Path) -> None:
    """A disk that is full ends the generator, and with it the processes that it has started, before anything else."""
    experiment, instances, bench = small
    closed: list[bool] = []

    def endless() -> Iterator[tuple[Task, Columns]]:
        try:
            task = Task((0,), (0,))
            while True:
                yield task, bench.perform(task)
        finally:
            closed.append(True)

    def stop(records: int) -> None:
        raise OSError(28, "No space left on device")

    store = opened(tmp_path, experiment, instances)
    with pytest.raises(OSError, match="No space left"):
        write_records(store, endless(), stop)  # type: ignore[arg-type]
    assert closed == [True]
    assert len(Store.read(tmp_path).records(())) == 1
    store.close()
