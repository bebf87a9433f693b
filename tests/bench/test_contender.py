"""Rows that take turns on every instance, other engines among them: all rows in one task, everything on the clock."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any

import pytest

import dibs
from dibs.bench import runner
from dibs.bench.contender import Contender, Loads
from dibs.bench.experiment import Choice, Experiment, Row
from dibs.bench.instances import chosen
from dibs.bench.kinds import InstanceKind
from dibs.bench.records import Store
from dibs.bench.runner import Bench, described
from dibs.generate import sat
from dibs.problem import CNF, InputError, Latin
from dibs.search import Options, Status
from dibs.search.plan import Request
from dibs.search.root import roots
from shell import Run
from shell import runner as running

needs_sat = pytest.mark.skipif(find_spec("pysat") is None, reason="needs python-sat")
needs_kissat = pytest.mark.skipif(find_spec("passagemath_kissat") is None, reason="needs Kissat")
needs_cp = pytest.mark.skipif(find_spec("ortools") is None, reason="needs OR-Tools")

CELLS = """
title = "Few squares"
view = "large"
interleave = true
seconds = 30
sample = 3
[[kind]]
family = "latin"
order = 8
holes = 0.5
balanced = true
[[kind]]
family = "latin"
order = 9
holes = 0.45
"""
OWN = """
[[row]]
name = "ours"
policy = "plain"
[[row]]
name = "restarts"
tie = "impact"
order = "random"
strategy = "restarts"
"""
ENGINES = """
[[row]]
name = "Glucose"
engine = "glucose4"
[[row]]
name = "CaDiCaL"
engine = "cadical195"
"""


@pytest.fixture(autouse=True)
def no_collecting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes long in a process as large as that of all tests."""
    monkeypatch.setattr("dibs.bench.contender.gc", SimpleNamespace(collect=lambda: None))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return running(capsys, monkeypatch)


def read(tmp_path: Path, text: str) -> Experiment:
    path = tmp_path / "few.toml"
    path.write_text(text)
    return Experiment.read(str(path))


def bench(plan: Experiment) -> Bench:
    return Bench(plan, chosen(plan.choice))


def performed(one: Bench) -> list[dict[str, Any]]:
    """Records in the order in which they were made."""
    found = []
    for task in one.tasks([]):
        columns = one.perform(task)
        found += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return found


def test_rows_say_their_engine_and_share_a_limit(tmp_path: Path) -> None:
    text = CELLS + OWN + ENGINES + "seconds = 5\nguide = 'auto'\n"
    rows = {row.name: row for row in read(tmp_path, text).rows}
    assert [row.options.max_seconds for row in rows.values()] == [30, 30, 30, 5]
    assert [row.engine for row in rows.values()] == ["own", "own", "glucose4", "cadical195"]
    assert (rows["ours"].policy, rows["restarts"].policy) == ("plain", None)
    assert rows["restarts"].options == Options(tie="impact", order="random", strategy="restarts", max_seconds=30)
    assert set(runner.guides(read(tmp_path, text))) == {"relational-latin"}  # that of all kinds


def test_every_instance_begins_with_another_row(tmp_path: Path) -> None:
    plan = read(tmp_path, CELLS + OWN + "[[row]]\nname = 'more'\n")
    one = bench(plan)
    tasks = one.tasks([])
    assert [task.instances for task in tasks] == [(0,), (3,), (1,), (4,), (2,), (5,)], "the first ones of all kinds"
    assert [task.rows for task in tasks] == [(0, 1, 2)] * 2 + [(1, 2, 0)] * 2 + [(2, 0, 1)] * 2
    left = one.tasks([("ours", 0), ("more", 1), ("ours", 5), ("restarts", 5), ("more", 5)])
    assert [(task.instances[0], task.rows) for task in left][:3] == [(0, (1, 2)), (3, (0, 1, 2)), (1, (1, 0))]
    assert 5 not in [task.instances[0] for task in left]
    made = [(record["instance"], record["row"]) for record in performed(one)]
    assert made[6:9] == [(1, "restarts"), (1, "more"), (1, "ours")]


@needs_sat
def test_rows_agree_and_counts_are_those_of_their_engines(tmp_path: Path) -> None:
    plan = read(tmp_path, CELLS + OWN + ENGINES)
    one = bench(plan)
    found = performed(one)
    assert len(found) == 6 * 4
    for record in found:
        instance = one.instances.every[record["instance"]]
        assert record["status"] == "SAT", "a wrong solution would have raised"
        assert record["kind"] == one.instances.kind[record["instance"]]
        if record["row"] in ("Glucose", "CaDiCaL"):
            engine = {"Glucose": "glucose4", "CaDiCaL": "cadical195"}[record["row"]]
            outcome = dibs.solve(instance, engine=engine)
            assert json.loads(record["options"])["engine"] == engine
        elif record["row"] == "ours":
            outcome = dibs.solve(instance, policy="plain")
            assert json.loads(record["options"])["policy"] == "plain"
        else:
            continue  # random choices know their place
        assert (record["nodes"], record["backtracks"]) == (outcome.nodes, outcome.backtracks)


@needs_sat
@needs_cp
@needs_kissat
def test_unsatisfiable_for_everybody(tmp_path: Path) -> None:
    text = "interleave = true\npuzzles = 'x'\n" + OWN + ENGINES
    text += "".join(f"[[row]]\nname = '{name}'\nengine = '{name}'\n" for name in ("cp-sat", "kissat"))
    rows = read(tmp_path, text).rows
    contradiction = Latin([1, 2, 3, 0, 0, 0, 0, 4] + [0] * 8)
    square = Latin([1, 2, 0, 0] + [0] * 12)
    for row in rows:
        ready = Contender(row, [square], Loads())
        assert [ready.solve(one, 0)[0].status for one in (contradiction, square)] == [Status.UNSAT, Status.SAT]


@needs_sat
def test_the_clock_has_everything() -> None:
    """Writing the formula and making the engine too: what the search itself does not count is said apart."""
    square = Latin([0] * 64)
    for row in (_row(policy="plain"), _row(engine="glucose4")):
        ready = Contender(row, [square], Loads())
        begin = perf_counter()
        outcome, around, _ = ready.solve(square, 0)
        assert 0 < around <= outcome.seconds <= perf_counter() - begin


@needs_kissat
def test_cpu_time_has_the_process_of_an_engine() -> None:
    """Kissat searches in a process of its own, and this one only waits for it."""
    [formula] = sat(1, variables=230, satisfiable=True, seed=0)
    begin = process_time()
    _, _, cpu = Contender(_row(engine="kissat"), [CNF(1, [[1]])], Loads()).solve(formula, 0)
    assert cpu > process_time() - begin


def _row(policy: str | None = None, engine: str = "own") -> Row:
    request = Request(policy, engine=engine)
    return Row("one", request.options, request.guidance, request=request)


@needs_sat
def test_guides_are_loaded_once_and_the_time_is_kept(guides: Path, tmp_path: Path) -> None:
    name = str(guides / "relational")
    text = CELLS + OWN + f"[[row]]\nname = 'Glucose'\nengine = 'glucose4'\nguide = '{name}'\n"
    text += f"[[row]]\nname = 'guided'\nguide = '{name}'\nselect = 'confident'\n"
    plan = read(tmp_path, text)
    one = bench(plan)
    glucose, guided = one._contenders[None][2:]
    assert glucose.solver.guide is guided.solver.guide
    found = performed(one)
    loads: dict[str, set[float]] = {}
    for record in found:
        loads.setdefault(record["row"], set()).add(record["load_seconds"])
        assert (record["model_seconds"] > 0) == (record["asks"] > 0)
        assert record["status"] == "SAT"
    assert loads["ours"] == loads["restarts"] == {0.0}
    assert loads["Glucose"] == loads["guided"]
    assert min(loads["guided"]) > 0
    for record in found:
        if record["row"] == "Glucose":
            assert record["asks"] == roots([one.instances.every[record["instance"]]]).open.any()


def test_a_policy_brings_its_own_guide(tmp_path: Path) -> None:
    """The one for the family of each instance."""
    plan = read(tmp_path, CELLS + "[[row]]\npolicy = 'auto'\n")
    one = bench(plan)
    for record in performed(one):
        outcome = dibs.solve(one.instances.every[record["instance"]], policy="auto")
        assert (record["status"], record["nodes"]) == (outcome.status, outcome.nodes)


@needs_sat
def test_a_limit_is_a_record(tmp_path: Path) -> None:
    text = CELLS.replace("seconds = 30", "seconds = 0").replace("sample = 3", "sample = 1") + OWN + ENGINES
    found = performed(bench(read(tmp_path, text)))
    assert {record["status"] for record in found if record["row"] in ("Glucose", "CaDiCaL")} == {"LIMIT"}


def test_throw_away_instances_are_not_searched(tmp_path: Path) -> None:
    one = bench(read(tmp_path, CELLS + OWN))
    some = one._throwaway()[None]
    assert sorted(two.structure.literals for two in some) == [8**3, 9**3]
    assert not {two.line() for two in some} & {two.line() for two in one.instances.every}


def test_a_kind_brings_the_guide_that_was_trained_for_it(guides: Path, tmp_path: Path) -> None:
    """Where a row names `auto`: the one for that kind; a row that only has a policy has none for such problems."""
    trained = [guides / "relational", tmp_path / "copy"]
    shutil.copytree(trained[0], trained[1] / "guide")
    (trained[1] / "run.json").write_text('{"seconds": {"solve": 1, "learn": 2, "judge": 4}}')
    kinds = "".join(
        f"[[kind]]\nfamily = '{name}'\ntrained = '{trained[i]}'\n" for i, name in enumerate(("cars", "roster"))
    )
    rows = "".join(
        f"[[row]]\nname = '{name}'\npolicy = 'auto'\n{guide}\n" for name, guide in (("a", "guide = 'auto'"), ("b", ""))
    )
    plan = read(tmp_path, "view = 'large'\ninterleave = true\nsample = 1\n" + kinds + rows)
    asked, plain = plan.rows
    assert asked.guided_by("other").guidance.guide == "other"
    assert asked.guided_by(None) is asked
    assert plain.guided_by("other") is plain
    assert set(runner.guides(plan)) == {str(one) for one in trained}
    said = described(plan, chosen(plan.choice))
    assert said["training"] == {"roster": 3}
    assert ["guide" in row for row in said["rows"]] == [True, False]
    with pytest.raises(InputError, match="trained = 3"):
        read(tmp_path, kinds.replace(f"'{trained[0]}'", "3") + rows)
    with pytest.raises(InputError, match="is not a setting of the family sat"):
        read(tmp_path, "[[kind]]\nfamily = 'sat'\nvariables = 9\ntrained = 'x'\n" + rows)


@needs_sat
def test_a_run_says_what_it_is_a_run_of(tmp_path: Path) -> None:
    plan = read(tmp_path, CELLS + OWN + ENGINES)
    said = json.loads(json.dumps(described(plan, chosen(plan.choice))))
    assert [InstanceKind(**one) for one in said["choice"]["kind"]] == list(plan.choice.kind or ())
    assert said["engines"].keys() == {"glucose4", "cadical195"}
    assert all(one.startswith("python-sat ") for one in said["engines"].values())
    assert said["rows"][0]["policy"] == "plain"
    assert said["rows"][2]["engine"] == "glucose4"
    plain = described(replace(plan, interleave=False, rows=plan.rows[1:2]), chosen(Choice(sample=1)))
    assert not {"interleave", "engines"} & plain.keys(), "runs of earlier versions can go on"
    assert plain["rows"][0].keys() == {"name", "options", "guidance", "asked"}


# The command


@needs_sat
def test_the_command(run: Run, tmp_path: Path) -> None:
    Path("few.toml").write_text(CELLS + OWN + ENGINES)
    code, shown, said = run("bench", "few.toml", "--markdown")
    assert (code, said) == (0, "")
    for label in ("latin 8, 50 %", "latin 9, 45 % anywhere"):
        assert f"**Few squares: 3 of {label}**" in shown
    assert shown.count("\nours: at p50 ") == 2
    assert len(Store.read(Path("runs/few")).records(())) == 24
    assert run("bench", "few.toml", "--markdown").out == shown
    code, shown, _ = run("report", "runs/few", "--out", "made")
    assert code == 0
    names = {path.name for path in Path("made/figures").iterdir()}
    assert names == {"few-cactus.svg", "few-cactus.png", "few-orders.svg", "few-orders.png"}
    assert run("bench", "few.toml", "--sample", 1).code == 0
    assert len(Store.read(Path("runs/few-sample1")).records(())) == 8


def test_rows_stay_in_one_process(run: Run) -> None:
    Path("few.toml").write_text(CELLS + OWN)
    for words in (("--workers", 2), ("--cluster", "local")):
        complaint = run("bench", "few.toml", *words).complaint
        assert complaint == "dibs: the rows of few.toml take turns in one process: no --workers, no --cluster"
    assert "is about a list: `kind` generates instances" in run("bench", "few.toml", "--puzzles", "sample17").complaint
    assert not Path("runs").exists()


def test_an_engine_that_is_not_installed_is_named_before_any_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'ortools'", name="ortools")

    monkeypatch.setattr("dibs.search.external.registry.import_module", missing)
    monkeypatch.setattr("dibs.bench.instances.generated", pytest.fail)
    Path("few.toml").write_text(CELLS + OWN + "[[row]]\nname = 'CP-SAT'\nengine = 'cp-sat'\n")
    assert run("bench", "few.toml").complaint == "engine cp-sat needs ortools: pip install 'dibs[cp]'"
    assert not Path("runs").exists()


def test_a_guide_that_cannot_take_an_instance(guides: Path, tmp_path: Path) -> None:
    plan = read(tmp_path, CELLS + f"[[row]]\nname = 'mine'\nguide = '{guides / 'transformer'}'\n")
    with pytest.raises(InputError, match="row 'mine': these weights take"):
        bench(plan)
