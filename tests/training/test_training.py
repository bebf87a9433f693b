"""A guide for any family: from instances to a verdict, interrupted or not, and what is refused on the way."""

import json
import os
import signal
import subprocess
import sys
from ast import literal_eval
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import dibs
import dibs.solving
from dibs import generate
from dibs.guide import load_guide
from dibs.guide.card import find, verify
from dibs.guide.denoiser import Denoiser
from dibs.guide.features import GROUP_KINDS
from dibs.model.labelled import OwnState
from dibs.model.many_solutions import LEVEL, ManySolutions
from dibs.model.own_states import failed_state, known_of, states_of
from dibs.model.tasks import ManySolutionsTask
from dibs.problem import InputError, Instance
from dibs.search.root import roots
from dibs.training import export_states, judge_guide, page, train
from dibs.training.affordable import affordable
from dibs.training.record import Decided
from dibs.training.run import LEAST, _Run
from dibs.training.source import collect
from dibs.training.verdict import WITH, WITHOUT, Times, Verdict
from states import check_targets

ORDER = 5


def rows_and_columns(seed: int) -> dibs.Model:
    """A Latin square with holes as somebody would write it down who does not know that dibs knows them."""
    rng = np.random.default_rng((seed, 3))
    square = (np.add.outer(rng.permutation(ORDER), rng.permutation(ORDER)) % ORDER)[rng.permutation(ORDER)]
    model = dibs.Model()
    cell = {(r, c): model.choice(f"r{r}c{c}", range(ORDER)) for r in range(ORDER) for c in range(ORDER)}
    for value in range(ORDER):
        for i in range(ORDER):
            model.exactly(1, [cell[i, c] == value for c in range(ORDER)], role="row")
            model.exactly(1, [cell[r, i] == value for r in range(ORDER)], role="column")
    for r, c in rng.permutation([(r, c) for r in range(ORDER) for c in range(ORDER)])[:9].tolist():
        model.require(cell[r, c] == int(square[r, c]))
    return model


def committees(seed: int) -> dibs.Model:
    """Bounds, lone literals and negations: what grids do not have."""
    rng = np.random.default_rng((seed, 4))
    model = dibs.Model()
    person = [model.boolean(f"person {i}") for i in range(12)]
    for _ in range(6):
        some = rng.choice(12, 5, replace=False)
        model.between(1, 3, [person[i] for i in some], role="committee")
    for _ in range(5):
        a, b, c = rng.choice(12, 3, replace=False)
        model.at_least(1, [person[a], ~person[b], ~person[c]], role="quarrel")
    return model


def a_run(source: Any, folder: Path, workers: int = 1, report: Any = lambda now: None, **wanted: Any) -> _Run:
    """A run before its first phase."""
    resume = wanted.pop("resume", False)
    return _Run(source, Decided(**{"minutes": 1, **wanted}), folder, workers, resume, report)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with everything fixed, not interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train(rows_and_columns, 0.05, folder, instances=16, steps=12)
    return folder


def test_one_call_gives_a_guide_and_a_verdict(run: Path) -> None:
    verdict = json.loads((run / "verdict.json").read_text())
    assert {WITH, WITHOUT} <= {one["name"] for one in verdict["contenders"]}
    assert verdict["verdict"].startswith(("Use this guide", "Do not use this guide"))
    assert verdict["instances"] >= 3
    page = (run / "report.html").read_text()
    assert verdict["verdict"].split(":")[0] in page
    assert "expected calibration error (ECE) is 0." in page
    assert "share that was right" in page, "the diagram is drawn"
    assert "http" not in page.split("<body>")[1].replace("http://www.w3.org", ""), "nothing is fetched"
    assert find(run) == run / "guide", "the run's folder is as good as the guide's"
    instance = rows_and_columns(1000).problem()
    guided = dibs.solve(instance, guide=str(run), max_nodes=100_000)
    assert guided.status is dibs.solve(instance).status is dibs.Status.SAT
    assert instance.violation(guided.solution) is None


@pytest.mark.parametrize("phase", ["solve", "learn"])
def test_interrupted_and_resumed_it_is_the_same_guide(
    run: Path, tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Enough(Exception):
        pass

    def stop(now: Any) -> None:
        if now.phase == phase:
            raise Enough

    folder = tmp_path / "whole"
    with pytest.raises(Enough):
        train(rows_and_columns, 0.05, folder, instances=16, steps=12, report=stop)
    with pytest.raises(InputError, match="holds a run already"):
        train(rows_and_columns, 0.05, folder, instances=16, steps=12)
    reading: list[int] = []  # headers of NumPy's files under way when one more is begun

    def parsed(header: str) -> Any:
        reading.append(len(under_way))
        under_way.add(this := object())
        sleep(0.005)
        under_way.discard(this)
        return literal_eval(header)

    under_way: set[object] = set()
    monkeypatch.setattr("ast.literal_eval", parsed)
    train(rows_and_columns, 0.05, folder, instances=16, steps=12, workers=2, resume=True)
    assert set(reading) == {0}, "Python's parser is not for two threads at once"
    again, whole = (load_file(one / "guide" / "model.safetensors") for one in (folder, run))
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


@pytest.mark.parametrize("phase", ["first", "again"])
def test_what_is_too_hard_is_tried_again_with_a_first_guide(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.training.run.NODES", 1)  # of a search: some instances need more
    heard: list[str] = []

    class Enough(Exception):
        pass

    def stop(now: Any) -> None:
        if now.phase == phase:
            raise Enough

    folders = tmp_path / "whole" / "run", tmp_path / "cut" / "run"
    train(rows_and_columns, 0.05, folders[0], instances=16, steps=4, report=lambda now: heard.append(now.line))
    assert any("with it, solved" in line for line in heard)
    with pytest.raises(Enough):
        train(rows_and_columns, 0.05, folders[1], instances=16, steps=4, report=stop)
    train(rows_and_columns, 0.05, folders[1], instances=16, steps=4, resume=True)
    whole, again = (load_file(one / "guide" / "model.safetensors") for one in folders)
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


KILLED = """
import os, signal, sys
from test_training import rows_and_columns
from dibs.training import run

run.NODES = 1  # of a search: some instances need more, so that there is a first guide
phase, folder = sys.argv[1:]
phase, times = phase.split(":") if ":" in phase else (phase, "1")
heard = []

def report(now):
    heard.append(now.phase)
    if heard.count(phase) == int(times):
        os.kill(os.getpid(), signal.SIGKILL)

run.train(rows_and_columns, 0.05, folder, instances=16, steps=30, resume=True, report=report)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like that")
def test_killed_in_every_phase_and_resumed_it_is_the_same_guide(tmp_path: Path) -> None:
    """One run, killed with signal 9 where each phase reports first, in the midst of solving and between checkpoints."""
    paths = [str(Path(__file__).parent), *(one for one in sys.path if one)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    # The first guide has 15 steps and so many reports of "learn", too; the guide has a checkpoint every three steps.
    phases = ("read", "solve:2", "first", "learn:5", "again", "learn:5", "judge", "none")
    for phase in ("", *phases):
        folder = tmp_path / ("cut" if phase else "whole") / "run"
        done = subprocess.run([sys.executable, "-c", KILLED, phase, str(folder)], env=environment, capture_output=True)
        assert done.returncode == (-signal.SIGKILL if phase not in ("", "none") else 0), done.stderr.decode()
    whole, again = (load_file(tmp_path / name / "run" / "guide" / "model.safetensors") for name in ("whole", "cut"))
    assert whole.keys() == again.keys()
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


def test_workers_do_not_change_what_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of instances with solutions, of one without, and of those that are too hard; and the states."""
    monkeypatch.setattr("dibs.training.run.NODES", 2)

    def some(seed: int) -> dibs.Model:
        model = rows_and_columns(seed)
        if seed % 4 == 0:
            a, b = model.boolean("a"), model.boolean("b")
            model.exactly(1, [a, b])
            for one, other in ((a, ~b), (~a, b)):
                model.at_least(1, [one, other])
        return model

    def learned(workers: int) -> tuple[list[bytes], str]:
        one = a_run(some, tmp_path / str(workers), workers, instances=24, steps=4)
        known = one._solve()
        kinds = {(found.solved, found.refuted) for found in known}
        assert kinds == {(True, False), (False, True), (False, False)}
        return [found.solutions.tobytes() + found.failed.tobytes() for found in known], one._states(known).fingerprint()

    assert learned(1) == learned(2) == learned(3)


def test_a_run_in_segments_begins_with_a_guide_and_thinks_for_longer(run: Path, tmp_path: Path) -> None:
    """As long a look costs more than a short one, it is for those who say so: all that was said is on the card."""

    class Enough(Exception):
        pass

    def stop(now: Any) -> None:
        if now.phase == "learn" and now.share and now.share > 0.3:
            raise Enough

    def again(folder: str, **said: Any) -> dict[str, Any]:
        train(rows_and_columns, 0.05, tmp_path / folder, instances=16, steps=3, **said)
        return load_file(tmp_path / folder / "guide" / "model.safetensors")

    long = {"segments": 3, "start": str(run)}
    with pytest.raises(Enough):
        again("cut", **long, report=stop)
    for other in ({}, {"segments": 3}, {"segments": 2, "start": str(run)}):
        with pytest.raises(InputError, match=r"is a run with segments = 3, start = '.*': take another --out"):
            again("cut", **other, resume=True)
    cut, whole = again("cut", **long, resume=True), again("whole", **long)
    assert all(np.array_equal(cut[name], whole[name]) for name in whole)
    card = verify(tmp_path / "whole" / "guide")
    assert (card.config["rounds"], card.config["trained_rounds"]) == (36, 36)
    assert card.config["settled"] > 0
    assert card.config["width"] == verify(run / "guide").config["width"], "that of the guide that it began with"
    begun = load_file(run / "guide" / "model.safetensors")
    nothing = again("nothing", segments=3, seed=1)  # with other random weights than `run` began with

    def apart(one: dict[str, Any], other: dict[str, Any]) -> float:
        return sum(float(np.abs(one[name] - other[name]).sum()) for name in one)

    assert apart(whole, begun) < 0.5 * apart(nothing, begun)


def test_the_width_goes_by_the_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most asks are about roots: where these are large, the network is narrow, however small the states below are."""
    one = a_run(rows_and_columns, tmp_path, instances=12, steps=4)
    known = one._solve()
    sizes = roots(one.learned, "hidden").open.sum(axis=1)
    large = float(np.median(sizes[sizes > 0]))
    small = float(np.median([len(state.target) for state in one._states(known).states]))
    assert small < large
    for most, width in ((large, 32), ((small + large) / 2, 16)):
        monkeypatch.setattr("dibs.training.run.WIDTHS", ((most, 32), (10**9, 16)))
        one.decided.width = None
        one._states(known)
        assert one.decided.width == width


def test_steps_are_tried_for_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others take turns, a few quick steps say nothing: here each fourth takes long, on a clock of our own."""
    now = 0.0

    class Steps:
        made = 0

        def module(self) -> torch.nn.Module:
            return torch.nn.Linear(1, 1)

        def batches(self, rng: np.random.Generator) -> list[int]:
            return list(range(4))

        def losses(self, module: torch.nn.Module, batch: int, *_: Any, **__: Any) -> Any:
            nonlocal now
            self.made += 1
            now += 4.7 if batch == 3 and self.made > 4 else 0.1
            yield module(torch.ones(1)).sum()

    task = Steps()
    monkeypatch.setattr("dibs.training.affordable.monotonic", lambda: now)
    steps = affordable(task, 1000.0)  # type: ignore[arg-type]
    assert task.made > 10
    assert 700 < steps < 1100, "1.25 s each on the average, not 0.1"


def test_a_slow_generator_leaves_time_to_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the time is for instances; a run that goes on has the same ones; a number that was said is kept."""
    now, takes = [0.0], [3.0]  # seconds: the clock, and what an instance takes
    monkeypatch.setattr("dibs.training.run.monotonic", lambda: now[0])

    def slow(seed: int) -> dibs.Model:
        now[0] += takes[0]
        return committees(seed)

    def taken(minutes: float, resume: bool = False, instances: int | None = None) -> int:
        folder = tmp_path / f"{minutes} {instances}"
        one = a_run(slow, folder, resume=resume, minutes=minutes, instances=instances)
        one.decided.write(folder)
        return len(one.given.instances)

    assert taken(30.0) == 60, "180 of 1,800 seconds"
    assert taken(2.0) == LEAST, "but so many at least"
    assert taken(2.0, instances=70) == 70
    takes[0] = 0.0
    assert taken(30.0, resume=True) == 60
    assert taken(20.0) == 800


def labelled(family: Any, count: int, rng: np.random.Generator) -> tuple[list[OwnState], tuple[str, ...]]:
    given = collect(family, count)
    states: list[OwnState] = []
    for number, instance in enumerate(given.instances):
        known = known_of(instance, 6, number, max_nodes=5_000)
        if known.solved:
            states += states_of(instance, known.solutions, given.kinds, "hidden", rng)
    return states, given.kinds


def tables(seed: int) -> dibs.Model:
    """Guests at tables: where there is room for many, many sit. Only the bounds say which table that is."""
    model = dibs.Model()
    seat = [model.choice(f"guest {i}", "abc") for i in range(8 + seed % 8)]
    room = np.random.default_rng((seed, 5)).permutation([1, 3, len(seat)])
    for table, most in zip("abc", room.tolist(), strict=True):
        model.at_most(most, [one == table for one in seat], role="table")
    return model


def learned(states: list[OwnState], held: list[OwnState], kinds: tuple[str, ...], steps: int) -> float:
    """The chance that it gives to the values of the solutions, on held-out states, after so many steps."""
    import torch

    from dibs.guide.network import Batch
    from dibs.model.config import Config
    from dibs.model.relational import cell_log_probabilities

    config = {"model": {"width": 16, "rounds": 8}, "train": {"batch": 16, "updates": 4}}
    task = ManySolutionsTask(Config.of("tiny", config, "test"), ManySolutions("problem", states, 0, kinds, True))
    torch.manual_seed(0)
    module = task.module()
    optimiser = torch.optim.AdamW(module.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    for batch in [batch for _ in range(-(-steps // 16)) for batch in task.batches(rng)][:steps]:
        for loss in task.losses(module, batch, torch.device("cpu"), rng, compiled=True):
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    right = []
    for state in held:
        found = Batch(task._graph([state]))
        with torch.no_grad():
            chance = cell_log_probabilities(module(found).logits[-1], found).exp().numpy()
        right.append((chance * state.target).sum() / found.kinds[1])
    return float(np.mean(right))


def test_a_small_family_is_learned_from_nothing_and_shuffled_labels_are_not() -> None:
    rng = np.random.default_rng(5)
    states, kinds = labelled(tables, 40, rng)
    held, rest = states[: len(states) // 4], states[len(states) // 4 :]
    shuffled = [replace(state, target=rng.permutation(state.target)) for state in rest]
    right, wrong = (learned(some, held, kinds, 32) for some in (rest, shuffled))
    blind = np.mean([(state.groups.kind == 0).sum() / len(state.target) for state in held])  # all values alike
    assert abs(wrong - blind) < 0.05, (right, wrong, blind)
    assert right > wrong + 0.05, (right, wrong, blind)


def moved(instance: Instance, rng: np.random.Generator) -> tuple[Instance, np.ndarray[Any, Any]]:
    """The same problem with its literals renamed and the groups of a role in another order."""
    structure = instance.structure
    assert isinstance(instance, dibs.Problem)
    name = rng.permutation(instance.literals)
    number = np.append(name, np.arange(instance.literals, structure.literals))
    groups = [
        (int(structure.least[g]), int(structure.most[g]), number[structure.members(g)].tolist(), structure.roles[g])
        for role in dict.fromkeys(structure.roles)
        for g in rng.permutation([g for g, own in enumerate(structure.roles) if own == role]).tolist()
    ]
    renamed = dibs.Problem(structure.literals, groups=groups, given=number[instance.given].tolist())
    return renamed, number


@pytest.mark.parametrize("family", [rows_and_columns, committees])
def test_what_a_network_says_does_not_depend_on_names(family: Any, tmp_path: Path) -> None:
    guide = _random_guide(family, tmp_path)
    for seed in range(5):
        instance = family(seed).problem()
        other, number = moved(instance, np.random.default_rng(seed))
        said = [_said(Denoiser.load(guide), one) for one in (instance, other)]
        there = np.isfinite(said[0])
        assert there.any()
        assert np.array_equal(there, np.isfinite(said[1][number]))
        assert np.abs(said[0][there] - said[1][number][there]).max() <= 1e-5


def _said(denoiser: Denoiser, instance: Instance) -> Any:
    root = roots([instance])
    return denoiser.log_probabilities(instance.structure, root.open, root.true)[0]


def _random_guide(family: Any, folder: Path) -> Path:
    """A guide whose weights are random: what has been learned does not matter here."""
    import torch

    from dibs.model.export import export
    from dibs.model.relational import Relational

    kinds = collect(family, 6).kinds
    torch.manual_seed(1)
    module = Relational(16, 6, kinds=len(kinds), bounds=1)
    export(module, folder / "random", data="", trained={}, family="problem", kinds=kinds)
    return folder / "random"


def test_compiled_code_and_onnx_say_the_same_about_bounds(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    guide = _random_guide(committees, tmp_path)
    both = [Denoiser.load(guide), Denoiser.load(guide, runtime="onnx")]
    for seed in range(5):
        instance = committees(seed).problem()
        root = roots([instance])
        said = [_said(one, instance) for one in both]
        assert np.allclose(said[0][root.open[0]], said[1][root.open[0]], atol=1e-4)
        assert (np.exp(said[0][root.open[0]]) <= 1 + 1e-6).all()


@pytest.mark.parametrize("family", [rows_and_columns, committees])
def test_no_such_guide_changes_an_answer(family: Any, tmp_path: Path) -> None:
    guide = load_guide(_random_guide(family, tmp_path))
    for seed in range(20):
        instance = family(seed).problem()
        plain = dibs.solve(instance)
        guided = dibs.solve(instance, guide=guide)
        assert guided.status is plain.status
        assert guided.solution is None or instance.violation(guided.solution) is None


def test_a_role_may_be_called_cell(tmp_path: Path) -> None:
    """Overlapping choices: some of them are cells, and the others a kind of that name."""

    def some(seed: int) -> dibs.Problem:
        rng = np.random.default_rng((seed, 6))
        groups = [(1, 1, rng.choice(12, 4, replace=False).tolist(), "cell") for _ in range(4)]
        return dibs.Problem(12, groups=groups)

    assert collect(some, 6).kinds == ("cell", "cell")
    guide = load_guide(_random_guide(some, tmp_path))
    for seed in range(5):
        assert dibs.solve(some(seed), guide=guide).status is dibs.solve(some(seed)).status


def test_a_guide_of_another_family_is_refused_in_a_line(tmp_path: Path) -> None:
    guide = _random_guide(committees, tmp_path)
    several: list[dict[str, Any]] = [{}, {"strategy": "nogoods"}, {"policy": "auto"}]
    for options in several:
        with pytest.raises(InputError, match="this problem has 'column': another family"):
            dibs.solve(rows_and_columns(0).problem(), guide=str(guide), **options)
    refusal = load_guide(guide).refusal
    for grid in (dibs.Sudoku.parse("." * 16), dibs.CNF(2, [[1, 2]])):
        assert f"this problem is of the family {grid.family}: another family" in str(refusal(grid.structure))


def test_a_guide_of_another_family_is_not_judged(tmp_path: Path) -> None:
    """Also where propagation answers, so that no search would ask it."""
    easy = [dibs.CNF(count, [[1], [-1, 2]]) for count in range(2, 5)]
    for guide in ("relational-latin", str(_random_guide(committees, tmp_path))):
        with pytest.raises(InputError, match="these weights take"):
            judge_guide(guide, easy)


def test_unreadable_files_are_named_and_the_rest_is_used(tmp_path: Path) -> None:
    for seed in range(3):
        rows_and_columns(seed).save(tmp_path / f"{seed}.json")
    (tmp_path / "bad.json").write_text("{")
    given = collect(tmp_path, 10)
    assert len(given.instances) == 3
    assert given.faults[0].count("bad.json") == 1
    assert given.faults[1:] == ["1 could not be taken"]
    assert given.kinds == ("cell", "column", "row")


def test_what_cannot_be_learned_from_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        collect(tmp_path / "nothing", 5)
    with pytest.raises(InputError, match="cannot be imported"):
        collect("no_such_module_at_all:family", 5)
    with pytest.raises(InputError, match=r"cnf \(number 1\) and problem \(number 0\): a guide is for one family"):
        collect([rows_and_columns(0), dibs.CNF(2, [[1, 2]])], 5)
    with pytest.raises(ValueError, match="instances = 0: it must be a whole number, 5 or more"):
        train(rows_and_columns, 1, tmp_path / "none", instances=0)
    with pytest.raises(ValueError, match="steps = 0: it must be a whole number, 1 or more"):
        train(rows_and_columns, 1, tmp_path / "none", steps=0)
    with pytest.raises(ValueError, match="seed = -1: it must be a whole number, 0 or more"):
        train(rows_and_columns, 1, tmp_path / "none", seed=-1)
    with pytest.raises(ValueError, match="segments = 0: it must be a whole number, 1 or more"):
        train(rows_and_columns, 1, tmp_path / "none", segments=0)
    with pytest.raises(InputError, match="relational: has learned other kinds of groups than these instances have"):
        train(rows_and_columns, 1, tmp_path / "none", start="relational")
    with pytest.raises(InputError, match="only relational ones are trained on"):
        train(rows_and_columns, 1, tmp_path / "none", start="transformer")
    with pytest.raises(InputError, match=r"it ends the program \(3\)"):
        collect(lambda seed: sys.exit(3), 5)
    with pytest.raises(InputError, match="at least 5 are needed"):
        train([rows_and_columns(seed) for seed in range(4)], 1, tmp_path / "few")
    same = collect(lambda seed: rows_and_columns(seed % 2), 6)
    assert len(same.instances) == 2
    assert "4 had come before: each is taken once" in same.faults[-1]

    def raises(seed: int) -> dibs.Model:
        if seed % 3 == 0:
            raise RuntimeError(f"seed {seed} is not to my liking")
        return rows_and_columns(seed)

    with pytest.raises(InputError, match=r"has 1 instance: .* had come before"):
        train(lambda seed: rows_and_columns(0), 1, tmp_path / "same")
    many = collect(lambda seed: raises(seed if seed > 24 else 0), 20)
    assert many.faults[20:] == ["26 could not be taken: these are the first"]
    some = collect(raises, 4)
    assert len(some.instances) == 4
    assert "not to my liking" in some.faults[0]


def _verdict(own: list[float], plain: list[float], training: float = 60) -> Verdict:
    times = (Times(WITH, tuple(own), len(own)), Times(WITHOUT, tuple(plain), len(plain)))
    return Verdict((*times, Times("kissat", tuple(plain), len(plain))), len(own), 10.0, training)


def test_the_verdict_follows_from_the_times() -> None:
    rng = np.random.default_rng(0)
    plain = rng.exponential(1.0, 50).tolist()
    half = _verdict([0.5 * s for s in plain], plain)
    assert half.pays
    assert str(half).startswith("Use this guide: with it dibs takes 0.50 of the time at the median and 0.50 at p95")
    assert half.breaks_even == pytest.approx(60 / (0.5 * np.mean(plain)))
    twice = _verdict([2 * s for s in plain], plain)
    assert not twice.pays
    assert str(twice).startswith("Do not use this guide")
    assert twice.breaks_even == float("inf")
    few = _verdict([0.1, 0.2, 0.3], [0.2, 0.1, 0.9])
    assert str(few).startswith("Do not use this guide yet")
    assert not _verdict([0.1] * 9, [1.0] * 9).pays, "too few"
    assert _verdict([0.1] * 10, [1.0] * 10).pays
    noise = _verdict(rng.permutation(plain).tolist(), plain)
    assert not noise.pays, "the same times in another order are no gain"


def test_a_guide_that_changes_nothing_is_rarely_found_to_pay() -> None:
    """Times that spread as searches do, drawn anew for both."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(200):
        base = rng.lognormal(0, 1, 30)
        found.append(_verdict(*((base * rng.lognormal(0, 1, 30)).clip(max=10).tolist() for _ in range(2))).pays)
    assert np.mean(found) < 0.07


def test_of_a_large_folder_some_are_taken_whatever_their_names(tmp_path: Path) -> None:
    for seed in range(30):
        rows_and_columns(seed).save(tmp_path / f"{seed:02}.json")
    first = [rows_and_columns(seed).problem().given.tolist() for seed in range(10)]
    some, again = (collect(tmp_path, 10) for _ in range(2))
    assert some.faults == ["10 of 30 files are taken, at random"]
    assert len([one for one in some.instances if one.given.tolist() in first]) < 8
    assert [one.given.tolist() for one in some.instances] == [one.given.tolist() for one in again.instances]
    assert not collect(tmp_path, 30).faults


def test_a_model_without_groups_has_states(tmp_path: Path) -> None:
    def loose(seed: int) -> dibs.Model:
        model = dibs.Model()
        for i in range(3 + seed):
            model.boolean(i)
        return model

    assert export_states(loose, tmp_path / "loose.safetensors", instances=4) > 0


def test_other_engines_are_judged_on_the_instances_that_they_were_run_on() -> None:
    """They are left out where time is short: their times are those of the first instances."""
    own = Times(WITH, (1.0, 1.0, *[9.0] * 10), 12)
    plain = Times(WITHOUT, (4.0, 4.0, *[20.0] * 10), 12)
    verdict = Verdict((own, plain, Times("kissat", (2.0, 2.0), 2)), 12, 30.0, 60.0)
    assert verdict.beside(verdict.peers[0]) == 1
    assert "faster than kissat (1 s against 2 s on average)" in str(verdict)
    assert [line.cells[1] for line in page.table(verdict).lines] == ["12 of 12", "12 of 12", "2 of 2"]


class Shares(ManySolutionsTask):
    """As if its network knew how many of the known solutions have each literal true."""

    def scores(self, module: torch.nn.Module, x: Any) -> np.ndarray:
        found = []
        for state in self.many.states:
            share = np.clip(state.target.astype(np.float64), 1e-9, 1 - 1e-9)
            alone = state.candidates.sum() == 1
            found.append(np.log(share) - (np.log(1 - share) if alone else 0))
        return np.concatenate(found).astype(np.float32)


@pytest.mark.parametrize("family", [tables, committees])
def test_what_knows_the_shares_of_solutions_is_as_sure_as_it_should_be(family: Any) -> None:
    from dibs.model.config import Config

    states, kinds = labelled(family, 6, np.random.default_rng(0))
    config = Config.of("tiny", {"model": {"width": 16, "rounds": 2}}, "test")
    task = Shares(config, ManySolutions("problem", states[:40], 40, kinds, True))
    sure, shares = task.first_values(task.module())
    assert len(sure) == 40
    assert np.allclose(sure, shares, atol=1e-6)
    assert shares.min() < 1
    assert task.validation()(task.module()) == {"p_s": 1.0}


def test_the_quickest_is_the_quickest_on_what_all_were_run_on() -> None:
    own, plain = Times(WITH, (3.0, *[9.0] * 10), 11), Times(WITHOUT, (2.0, *[9.0] * 10), 11)
    assert "the quickest here is dibs." in str(Verdict((own, plain, Times("kissat", (4.0,), 1)), 11, 10.0, 60.0))
    own = Times(WITH, (2.0, *[8.9] * 10), 11)
    assert str(Verdict((own, plain), 11, 10.0, 60.0)).endswith("; in sum that is no gain, 0.99 of the time.")


def test_states_and_labels_are_files_for_other_peoples_training(tmp_path: Path) -> None:
    import polars

    count = export_states(committees, tmp_path / "s.safetensors", instances=6)
    assert count == export_states(committees, tmp_path / "s.parquet", instances=6)
    rows, one = polars.read_parquet(tmp_path / "s.parquet"), load_file(tmp_path / "s.safetensors")
    assert len(rows) == count == len(one["instance"])
    for i, row in enumerate(rows.to_dicts()):
        literals = slice(*one["state"][i : i + 2])
        assert one["target"][literals].tolist() == pytest.approx(row["target"])
        assert ((one["target"][literals] >= 0) & (one["target"][literals] <= 1)).all()
        begin = one["begin"][one["state"][i] : one["state"][i + 1] + 1]
        assert one["group"][begin[0] : begin[-1]].tolist() == row["group"]
        groups = slice(*one["first"][i : i + 2])
        assert one["kind"][groups].tolist() == row["kind"]
        assert one["most"][groups].tolist() == row["most"]
        structure = committees(row["instance"]).problem().structure
        assert max(row["literal"]) < structure.literals
    with pytest.raises(InputError, match="must end in"):
        export_states(committees, tmp_path / "s.csv")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", ["latin", "sudoku", "cnf"])
def test_states_of_grids_and_formulas_are_labelled_by_shares_of_solutions(family: str, seed: int) -> None:
    """What guides that come with dibs learn from goes the same way as any family."""
    made: dict[str, Instance] = {
        "latin": next(generate.latin(1, order=7, holes=0.5, seed=seed)),
        "sudoku": next(generate.sudoku(1, kept=0.25, seed=seed)),
        "cnf": next(generate.sat(1, variables=25, satisfiable=True, seed=seed)),
    }
    known = known_of(made[family], 8, seed, max_nodes=20_000).solutions
    assert len(np.unique(known, axis=0)) == len(known) > 1
    for true in known:
        assert made[family].violation(made[family].decode(np.flatnonzero(true))) is None
    found = list(states_of(made[family], known, GROUP_KINDS, LEVEL[family], np.random.default_rng(seed)))
    assert len(found) > 1
    for state in found:
        check_targets(state)
    assert any(((state.target > 0) & (state.target < 1)).any() for state in found)


def test_searches_end_where_all_find_the_same_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    together = dibs.solving.solve_together

    def counted(instances: Any, **how: Any) -> Any:
        searches.append(len(instances))
        return together(instances, **how)

    monkeypatch.setattr("dibs.solving.solve_together", counted)
    only = dibs.Problem(2, exactly_one=[[0, 1]], groups=[(1, 1, [1])])
    assert len(known_of(only, 8, 0).solutions) == 1
    assert sum(searches) == 3
    searches.clear()
    assert len(known_of(dibs.Problem(12, exactly_one=[range(6), range(6, 12)]), 8, 0).solutions) > 3
    assert sum(searches) == 8
    searches.clear()
    assert known_of(dibs.Problem(1, at_least_one=[[0]], groups=[(0, 0, [0])]), 8, 0).refuted
    assert sum(searches) == 1


def test_what_fails_early_teaches_where_no_solution_is_known() -> None:
    """Literals that a short search refutes are in no solution; nothing is said about cells where none was."""
    told = 0
    for seed in range(12):
        instance = rows_and_columns(seed).problem()
        known = known_of(instance, 1, seed, max_nodes=0)
        if known.solved:
            continue
        assert not (known.failed[1] & ~known.failed[0]).any(), "only what was tried can be refuted"
        solutions = known_of(instance, 8, seed).solutions
        for state in failed_state(instance, known.failed, ("cell", "column", "row"), "hidden"):
            told += 1
            refuted = known.failed[1][state.open]
            assert refuted.any()
            assert (state.target[refuted] == 0).all()
            assert not solutions[:, state.open][:, refuted].any()
            cell = state.groups.group[state.groups.begin[:-1]]  # the cell of each literal comes first
            share = np.bincount(cell, state.target)
            assert np.isin(share.round(5), (0, 1)).all()
            lost = np.bincount(cell, refuted) > 0
            assert (share[~lost] == 0).all()
            assert np.allclose(share[lost], 1), "no cell lost all its literals: there is a solution"
    assert told


def test_instances_without_a_solution_are_learned_from(tmp_path: Path) -> None:
    def some(seed: int) -> dibs.Model:
        """Every second has more guests than chairs; in all of them nobody can take the first chair."""
        model, chairs = dibs.Model(), 8 + seed % 5
        seat = [model.choice(f"guest {i}", range(chairs)) for i in range(chairs + 1 if seed % 2 else chairs - 3)]
        for chair in range(chairs):
            model.at_most(1, [one == chair for one in seat], role="chair")
        for i, one in enumerate(seat):
            broken = model.boolean(f"broken {i}")
            model.at_least(1, [~(one == 0), broken], role="broken")
            model.at_least(1, [~(one == 0), ~broken], role="broken")
        return model

    heard: list[str] = []
    run = a_run(some, tmp_path / "run", report=lambda now: heard.append(now.line), instances=20, steps=4)
    known = run._solve()
    assert "without a solution" in heard[-1]
    without = [one for one in known if one.refuted]
    assert any(one.failed[1].any() for one in without)
    states = run._states(known)
    solved = sum(
        len(list(states_of(run.learned[i], one.solutions, run.given.kinds, "hidden", np.random.default_rng(0))))
        for i, one in enumerate(known)
        if one.solved
    )
    assert len(states.states) > solved
    again = run._solve()
    assert all(np.array_equal(a.failed, b.failed) for a, b in zip(known, again, strict=True)), "as they were kept"


class Counting:
    """Any network at all: it says the same about all literals."""

    def __init__(self) -> None:
        self.asked = 0

    def log_probabilities(self, structure: dibs.Structure, open_: Any, true: Any) -> Any:
        self.asked += 1
        return np.where(true, 0.0, np.where(open_, -1.0, -np.inf))


def test_your_own_network_is_judged_like_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.training.verdict.ENGINES", {})
    network = Counting()
    verdict = judge_guide(dibs.DiBS(network), rows_and_columns, instances=3, limit=5)
    assert network.asked
    assert {one.name: one.solved for one in verdict.times} == {WITH: 3, WITHOUT: 3}


def test_ticks_of_times_within_a_decade_are_plain_numbers() -> None:
    from matplotlib.figure import Figure

    own, plain, kissat = (Times(name, (0.02, 0.2), 2) for name in (WITH, WITHOUT, "kissat"))
    figure = Figure()
    page._against(Verdict((own, plain, kissat), 2, 0.5, 60.0)).draw(figure)
    figure.draw_without_rendering()
    [axes] = figure.axes
    for axis in (axes.xaxis, axes.yaxis):
        shown = [text.get_text() for text in axis.get_ticklabels(which="both")]
        assert {"0.03", "0.1", "0.3"} <= {*shown}
        assert "times" not in "".join(shown)
