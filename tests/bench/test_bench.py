"""Experiments as data: what a TOML may say, and what `dibs bench` makes of it."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny
from dibs.bench import origin, runner
from dibs.bench.experiment import Experiment, Row
from dibs.bench.instances import BUNDLED, chosen
from dibs.bench.records import Store
from dibs.bundled import bundled
from dibs.cli import main
from dibs.guide import Guidance
from dibs.problem import InputError
from dibs.search import Options
from runs import same
from shell import SEARCHED, Run
from shell import runner as running

EXPERIMENTS = sorted(path.stem for path in bundled("experiments").glob("*.toml"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """`dibs` in a folder of its own: runs go to runs/."""
    monkeypatch.chdir(tmp_path)
    return running(capsys, monkeypatch)


# The files


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_shipped_experiments_are_readable(name: str) -> None:
    plan = Experiment.read(name)
    assert plan.name == name
    assert plan.rows
    assert plan.quick is not None, "there is a small sample for those who want to look"
    assert plan.quick.puzzles in BUNDLED or plan.quick.kinds(), "that needs no download"
    assert 0 < len(chosen(plan.quick)) <= 100


def test_baselines_are_those_of_the_paper() -> None:
    rows = {row.name: row.options for row in Experiment.read("baselines").rows}
    assert rows["MRV"] == Options(level="eliminate")
    assert rows["+ FC"] == Options(level="naked")
    assert rows["+ Degree"] == Options(level="eliminate", tie="degree")
    assert rows["+ FC + LCV"] == Options(level="naked", order="lcv")
    assert rows["+ FC + Degree"] == Options(level="naked", tie="degree")
    assert rows["+ FC + LCV + Degree"] == Options(level="naked", tie="degree", order="lcv")
    guided = [row for row in Experiment.read("baselines").rows if row.guidance.guide]
    assert guided == list(Experiment.read("baselines").rows[-len(guided) :]), "DiBS comes last"
    paper = Row("DiBS, 2 values", Options(level="naked", trigger="binary"), Guidance(guide="relational"))
    assert guided[0] == paper


def test_table_1_has_the_same_baselines() -> None:
    table, baselines = ({row.name: row for row in Experiment.read(name).rows} for name in ("table1", "baselines"))
    classical = [name for name in table if name == "MRV" or name.startswith("+")]
    assert len(classical) >= 8
    assert all(table[name] == baselines[name] for name in classical)
    assert replace(table["DiBS"], name="DiBS, 2 values") == baselines["DiBS, 2 values"]


def test_dibs_is_that_of_the_paper() -> None:
    rows = Experiment.read("dibs").rows
    assert {(row.guidance.guide, row.options.trigger) for row in rows} == {
        (guide, trigger) for guide in ("relational", "transformer") for trigger in ("binary", "ternary", "always")
    }
    assert {(row.options.level, row.guidance.alpha, row.guidance.steps) for row in rows} == {("naked", 0.8, 1)}


PATH = "[[row]]\nguide = 'x'\nasked = 'path'\n"
LATIN = "[[kind]]\nfamily = 'latin'\norder = 8\nholes = 0.4\n"
TURNS = "interleave = true\n[[row]]\n"
BAD = {
    "titel = 'x'": "unknown key 'titel'; did you mean 'title'?",
    "[quick]\nsampel = 3\n[[row]]": "quick: unknown key 'sampel'; did you mean 'sample'?",
    "[quick]\nsample = 0\n[[row]]": "quick: sample = 0: it must be a whole number, 1 or more",
    "quick = 3\n[[row]]": "quick = 3: it must be a table, [quick]",
    "[[row]]\nlevle = 'naked'": "row 1: unknown key 'levle'; did you mean 'level'?",
    "[[row]]\nlevel = 'strong'": "row 1: level = 'strong': choose one of eliminate, naked, hidden",
    "[[row]]\nguide = 'x'\norder = 'oracle'": "row 1: order = 'oracle' is a guide itself: give one or the other",
    "[[row]]\nguide = 'x'\nalpha = 2": "row 1: alpha = 2: it must be a number from 0 to 1",
    "[[row]]\nsteps = 2": "row 1: steps = 2 is a setting of a guide: name one with guide",
    "[[row]]\nguide = 7": "row 1: guide = 7: it must be a text",
    "[[row]]\npolicy = ['auto']": "row 1: policy = ['auto']: it must be a text",
    "[[row]]\nname = 3": "row 1: name = 3: it must be a text",
    "[[row]]\nguide = 'x'\nnetwork_only = 'no'": "row 1: network_only = 'no': choose true or false",
    "[[row]]\npolicy = 'pain'": "row 1: policy = 'pain': choose one of auto, guided, paper, plain",
    "[[row]]\nname = 'a'\n[[row]]\nguid = 'x'": "row 2: unknown key 'guid'; did you mean 'guide'?",
    "[[row]]\nname = 'a'\n[[row]]\nname = 'a'": "two rows are called 'a'",
    "[[row]]\nname = '2'\n[[row]]": "two rows are called '2'",
    "[[row]]\nasked = 'often'": "row 1: asked = 'often': choose one of everywhere, path",
    "[[row]]\nasked = 'path'": "row 1: asked = 'path' needs a guide and a depth-first search by MRV",
    f"{PATH}select = 'confident'": "row 1: asked = 'path' needs a guide and a depth-first",
    f"{PATH}strategy = 'restarts'": "row 1: asked = 'path' needs a guide and a depth-first",
    f"{PATH}reuse = 0.5": "row 1: asked = 'path' needs a guide and a depth-first",
    f"{PATH}max_asks = 5": "row 1: asked = 'path' needs a guide and a depth-first",
    f"{PATH}policy = 'auto'": "row 1: asked = 'path' needs a guide and a depth-first",
    f"{PATH}nodes = 100": "row 1: asked = 'path' goes with no limit and no random tie",
    f"{PATH}seconds = 1": "row 1: asked = 'path' goes with no limit and no random tie",
    f"{PATH}tie = 'random'": "row 1: asked = 'path' goes with no limit and no random tie",
    "view = 'table2'\n[[row]]": "view = 'table2': choose one of rows, table1",
    "ledger = 'yes'\n[[row]]": "ledger = 'yes': choose true or false",
    "ledger = true\n[[row]]\npolicy = 'auto'": "row 1: a ledger is about one search for one solution",
    "ledger = true\n[[row]]\ncount = 2": "row 1: a ledger is about one search for one solution",
    f"ledger = true\n{PATH}": "row 1: a ledger is about one search for one solution",
    "puzzles = 3\n[[row]]": "puzzles = 3: it must be the name of a list or of a file",
    "givens = 20\n[[row]]": "givens = 20: it must be a list of whole numbers",
    "givens = '20'\n[[row]]": "givens = '20': it must be a list of whole numbers",
    "givens = []\n[[row]]": "givens = (): it must be a list of whole numbers",
    "givens = [20, 2.5]\n[[row]]": "givens = (20, 2.5): it must be a list of whole numbers",
    "givens = [true]\n[[row]]": "givens = (True,): it must be a list of whole numbers",
    "view = 'sat'\n[[row]]": "view = 'sat' is about formulas: give `variables`",
    "view = 'sat'\n[quick]\nvariables = [9]\n[[row]]": "view = 'sat' is about formulas: give `variables`",
    "variables = 9\n[[row]]": "variables = 9: it must be a list of whole numbers, 5 or more",
    "variables = []\n[[row]]": "variables = (): it must be a list of whole numbers, 5 or more",
    "variables = [9, 4]\n[[row]]": "variables = (9, 4): it must be a list of whole numbers, 5 or more",
    "variables = [9]\nsample = [3, 3]\n[[row]]": "sample = (3, 3): it must be one whole number, or one for each of",
    "variables = [9]\nsample = [0]\n[[row]]": "sample = (0,): it must be one whole number, or one for each of",
    "variables = [9]\nsample = 0\n[[row]]": "sample = 0: it must be a whole number, 1 or more",
    "sample = [3]\n[[row]]": "sample = (3,): it must be one whole number, or one for each of `variables`",
    "variables = [9, 9]\n[[row]]": "variables = (9, 9): a number is there twice",
    "variables = [9]\npuzzles = 'sample17'\n[[row]]": "puzzles = 'sample17' is about a list: `variables` generates",
    "variables = [9]\nrelabel = 0\n[[row]]": "relabel = 0 is about a list: `variables` generates formulas",
    "variables = [9]\ngivens = [20]\n[[row]]": "givens = (20,) is about a list: `variables` generates formulas",
    "puzzles = 'x'\n[quick]\nvariables = [9]\n[[row]]": "quick: puzzles = 'x' is about a list: `variables` generates",
    "sample = 1.5\n[[row]]": "sample = 1.5: it must be a whole number, 1 or more",
    "seed = -1\n[[row]]": "seed = -1: it must be a whole number, 0 or more",
    "relabel = true\n[[row]]": "relabel = True: it must be a whole number, 0 or more",
    "kind = 3\n[[row]]": "kind: it must be tables, [[kind]]",
    "kind = [3]\n[[row]]": "kind: it must be tables, [[kind]]",
    "[quick]\nkind = []\n[[row]]": "quick: kind: it must be tables, [[quick.kind]]",
    "[[kind]]\norder = 9\n[[row]]": "kind 1: it has no family",
    "[[kind]]\nfamily = 'queens'\n[[row]]": "kind 1: family = 'queens': choose one of latin, sudoku, sat",
    "[[kind]]\nfamily = 'latin'\nordre = 9\n[[row]]": "kind 1: unknown key 'ordre'; did you mean 'order'?",
    f"{LATIN}[[kind]]\nfamily = 'latin'\norder = 9\n[[row]]": "kind 2: the family latin needs order and holes",
    f"{LATIN}kept = 0.4\n[[row]]": "kind 1: kept = 0.4 is not a setting of the family latin",
    f"{LATIN}balanced = 1.5\n[[row]]": "kind 1: balanced = 1.5: choose true or false",
    f"{LATIN}{LATIN}[[row]]": "two kinds are 'latin 8, 40 % anywhere'",
    f"variables = [9]\n{LATIN}[[row]]": "`variables` and `kind` both generate instances: give one or the other",
    f"puzzles = 'x'\n{LATIN}[[row]]": "puzzles = 'x' is about a list: `kind` generates instances",
    f"sample = [1, 2]\n{LATIN}[[row]]": "sample = (1, 2): it must be one whole number, or one for each of `kind`",
    "[[kind]]\nfamily = 'latin'\norder = 0\nholes = 0.4\n[[row]]": "kind 1: order = 0: it must be a whole number",
    "[[kind]]\nfamily = 'latin'\norder = 9\nholes = 1.5\n[[row]]": "kind 1: holes = 1.5: a fraction must be at least",
    "[[kind]]\nfamily = 'latin'\norder = 9\nholes = 'few'\n[[row]]": "kind 1: holes = 'few': it must be a fraction",
    "[[kind]]\nfamily = 'sudoku'\nsize = 12\nkept = 0.4\n[[row]]": "kind 1: size = 12: boxes are square",
    "[[kind]]\nfamily = 'sudoku'\nsize = 25\nkept = 1.5\n[[row]]": "kind 1: kept = 1.5: a fraction must be",
    "[[kind]]\nfamily = 'sudoku'\nsize = 25\nkept = true\n[[row]]": "kind 1: kept = True: it must be a fraction of",
    "[[kind]]\nfamily = 'sat'\nvariables = 4\n[[row]]": "kind 1: variables = 4: it must be a whole number, 5 or more",
    "interleave = 1\n[[row]]": "interleave = 1: choose true or false",
    "interleave = true\nledger = true\n[[row]]": "a ledger takes time: it does not go with interleave",
    f"interleave = true\n{PATH}": "row 1: asked = 'path' has no times: it does not go with interleave",
    "view = 'large'\ninterleave = true\n[[row]]": "view = 'large' is about kinds in turns: give [[kind]] and",
    f"view = 'large'\n{LATIN}[[row]]": "view = 'large' is about kinds in turns: give [[kind]] and interleave",
    "seconds = -1\n[[row]]": "row 1: max_seconds = -1: it must be a number, 0 or more",
    "[[row]]\nengine = 'glucose4'": "row 1: engine = 'glucose4' needs interleave = true",
    "[[row]]\nguide = {latin = 'x'}": "row 1: guide = {'latin': 'x'}: it must be a text",
    f"{TURNS}engine = 3": "row 1: engine = 3: it must be a text",
    f"{TURNS}engine = 'glucose5'": (
        "row 1: engine = 'glucose5': choose one of own, glucose4, cadical195, kissat, cp-sat"
    ),
    f"{TURNS}engine = 'glucose4'\nlevel = 'naked'": "row 1: level = 'naked' is for dibs' own search, not for engine",
    f"{TURNS}engine = 'glucose4'\npolicy = 'auto'": "row 1: policy = 'auto' is for dibs' own search, not for engine",
    f"{TURNS}engine = 'glucose4'\nthreads = 2": "row 1: threads = 2 is a setting of a guide: name one with guide",
    f"{TURNS}engine = 'glucose4'\nguide = 'x'\nreuse = 0.5": (
        "row 1: reuse = 0.5 is for dibs' own search, not for engine"
    ),
    f"{TURNS}engine = 'glucose4'\nguide = 'x'\nmax_asks = 3": (
        "row 1: max_asks = 3 is for dibs' own search, not for engine"
    ),
    f"{TURNS}engine = 'glucose4'\nadvice = 'phases'": "row 1: unknown key 'advice'",
    "title = 'x'": "has no [[row]]",
    "row = 3": "has no [[row]]",
    "row = [3]": "has no [[row]]",
    "title =": "is not TOML",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_experiments(text: str, run: Run) -> None:
    path = Path("x.toml")
    path.write_text(text)
    with pytest.raises(InputError) as error:
        Experiment.read(str(path))
    assert BAD[text] in str(error.value)
    assert run("bench", path).complaint.startswith(f"{path}: {BAD[text]}")
    assert not Path("runs").exists()


def test_unknown_experiment_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="dibs comes with: ablation, ablation-network, ablation-transformer, "):
        Experiment.read("tabel1")


def test_what_quick_does_not_say_is_as_above(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("puzzles = 'hard300'\nrelabel = 3\nsample = 50\n[quick]\nsample = 2\n[[row]]")
    plan = Experiment.read(str(path))
    assert plan.quick == replace(plan.choice, sample=2)
    assert (plan.name, plan.title, plan.view, plan.rows[0].name) == ("x", "x", "rows", "1")


def test_formulas_need_no_list(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("sample = 3\n[quick]\nvariables = [9, 5]\n[[row]]")
    plan = Experiment.read(str(path))
    assert (plan.choice.puzzles, plan.choice.variables) == ("sample17", None)
    assert plan.quick is not None
    assert (plan.quick.puzzles, plan.quick.variables, plan.quick.sample) == (None, (9, 5), 3)


def test_table_3_is_that_of_the_paper() -> None:
    plan = Experiment.read("sat")
    assert plan.choice.variables is not None
    assert plan.choice.variables[:3] == (5, 7, 9)
    assert isinstance(plan.choice.sample, tuple)
    assert plan.choice.sample[:3] == (1000, 1000, 1000)
    rows = {row.name: row for row in plan.rows}
    first = Options(level="naked", select="first")
    assert rows["First + True"].options == first
    assert rows["MRV + True"].options == Options(level="naked")
    assert rows["MRV + JW"].options == Options(level="naked", order="jw")
    dibs = Options(level="naked", order="jw", trigger="binary")  # otherwise Jeroslow and Wang's order
    assert rows["DiBS"] == Row("DiBS", dibs, Guidance(guide="sat"))
    large = {row.name: row for row in Experiment.read("sat-large").rows}
    assert large.pop("First + True").options == replace(first, max_nodes=1_000_000)  # the only row with a limit
    assert large == {name: row for name, row in rows.items() if name != "First + True"}


# The command


ROWS = """
[quick]
sample = 2
[[row]]
name = "hidden singles"
[[row]]
name = "naked singles, under a longer name"
level = "naked"
[[row]]
name = "relational"
level = "naked"
guide = "relational"
trigger = "binary"
[[row]]
name = "transformer"
level = "naked"
guide = "transformer"
"""


@pytest.fixture
def puzzles(tmp_path: Path) -> str:
    """Five of them, soon searched with an untrained guide too."""
    path = tmp_path / "puzzles.txt"
    path.write_text(f"{SEARCHED}\n" * 5)
    return str(path)


@pytest.fixture
def rows(shipped: Path, tmp_path: Path) -> str:
    """Two rows without a guide and two with one; the guides are not those that come with dibs."""
    path = tmp_path / "rows.toml"
    path.write_text(ROWS)
    return str(path)


def test_the_table(rows: str, puzzles: str, run: Run) -> None:
    code, shown, said = run("bench", rows, "--puzzles", puzzles, "--sample", 2)
    assert (code, said) == (0, "")
    for row in Experiment.read(rows).rows:
        assert row.name in shown
    assert "model, ms" in shown
    assert "…" not in shown
    code, shown, _ = run("bench", rows, "--puzzles", puzzles, "--sample", 1, "--markdown")
    assert code == 0
    assert f"**rows: 1 of {puzzles}**" in shown
    assert "| hidden singles |" in shown


def test_a_complete_run_shows_its_table_again(rows: str, puzzles: str, run: Run) -> None:
    words = ("bench", rows, "--puzzles", puzzles, "--markdown")
    first = run(*words)
    folder = Path("runs/rows-puzzles")
    shards = sorted(folder.iterdir())
    assert run(*words) == (0, first.out, f"{folder}: complete; --fresh runs it again\n")
    assert sorted(folder.iterdir()) == shards
    before = same(folder)
    code, _, said = run(*words, "--fresh")
    assert (code, said) == (0, "")
    assert same(folder) == before
    for row, count in Store.read(folder).records(()).group_by("row").len().iter_rows():
        assert count == 5, row


def test_folders_are_named_after_what_was_asked_for(run: Run, tmp_path: Path) -> None:
    Path("x.toml").write_text("puzzles = 'hard300'\nsample = 1\n[quick]\nseed = 3\n[[row]]")
    Path("mine.txt").write_text(SEARCHED)
    for words, name in {
        (): "x",
        ("--quick",): "x-quick",
        ("--puzzles", "mine.txt"): "x-mine",
        ("--sample", "2", "--seed", "5"): "x-sample2-seed5",
        ("--quick", "--puzzles", "sample17", "--relabel", "0"): "x-quick-sample17-relabel0",
    }.items():
        assert run("bench", "x.toml", *words).code == 0
        assert (Path("runs") / name / "run.json").exists()
    assert run("bench", "x.toml", "--out", "elsewhere/deep").code == 0
    assert Path("elsewhere/deep/000001.parquet").exists()
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted(
        ["x", "x-quick", "x-mine", "x-sample2-seed5", "x-quick-sample17-relabel0"]
    )


def test_samples_are_drawn_by_the_seed(run: Run) -> None:
    Path("x.toml").write_text("puzzles = 'hard300'\n[[row]]")
    numbers = []
    for seed, out in ((1, "a"), (1, "b"), (2, "c")):
        assert run("bench", "x.toml", "--sample", 5, "--seed", seed, "--out", out).code == 0
        numbers.append(Store.read(Path(out)).records(("number",))["number"].to_list())
    assert numbers[0] == numbers[1] != numbers[2]
    assert numbers[0] != [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sample", 0), "dibs: sample = 0: it must be a whole number, 1 or more"),
        (("--sample", 1.5), "1.5 is not a whole number"),
        (("--seed", -1), "dibs: seed = -1: it must be a whole number, 0 or more"),
        (("--relabel", -1), "dibs: relabel = -1: it must be a whole number, 0 or more"),
        (("--workers", 0), "dibs: workers = 0: it must be 1 or more"),
        (("--workers", "many"), "many"),
        (("--quick",), "dibs: x.toml has no [quick] sample: use --sample N"),
        (("--gpus-per-worker", 0.25), "dibs: --gpus-per-worker is about a cluster: name one with --cluster"),
        (
            ("--gpus-per-worker", -1, "--cluster", "local"),
            "dibs: gpus_per_worker = -1.0: it must be a number, 0 or more",
        ),
        (("--gpus-per-worker", "nan", "--cluster", "local"), "it must be a number, 0 or more"),
        (("--puzzles", "nowhere.txt"), "nowhere.txt: does not exist"),
        (("--puzzles", "royle17"), "the list royle17 is not here: `dibs data get royle17` fetches it"),
        (("--cluster", "127.0.0.1:1"), "no Ray cluster at 127.0.0.1:1: Connection refused"),
    ],
)
def test_bad_options(words: tuple[Any, ...], says: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_DATA", "no-lists")
    monkeypatch.setattr("dibs.cluster.import_module", lambda name: None)
    Path("x.toml").write_text("sample = 1\n[[row]]")
    assert says in run("bench", "x.toml", *words).complaint


def test_a_guide_for_other_puzzles_is_refused_before_any_search(shipped: Path, run: Run) -> None:
    path = Path("x.toml")
    path.write_text("[[row]]\n[[row]]\nname = 'mine'\nguide = 'transformer'")
    Path("small.txt").write_text("." * 16)
    says = "row 'mine': these weights take 9x9 Sudokus; this puzzle is 4x4: use --guide relational"
    assert run("bench", path, "--puzzles", "small.txt").complaint == says
    path.write_text("[[row]]\nguide = 'rational'")
    assert run("bench", path).complaint.startswith("rational: no such guide; dibs comes with relational, transformer")


def test_baselines_run(run: Run) -> None:
    """What `dibs bench` does by default, with the guides that come with dibs."""
    plan = Experiment.read("baselines")
    code, shown, _ = run("bench", "--sample", 2, "--markdown")
    assert code == 0
    assert f"{plan.title}: 2 of {plan.choice.puzzles}" in shown
    for row in plan.rows:
        assert f"| {row.name} |" in shown


# What is in the folder already


@pytest.fixture
def begun(run: Run) -> Path:
    """A run of three puzzles and two rows in ./run."""
    Path("x.toml").write_text(
        "puzzles = 'hard300'\nsample = 3\n[[row]]\nname = 'a'\n[[row]]\nname = 'b'\ntie = 'impact'"
    )
    assert run("bench", "x.toml", "--out", "run").code == 0
    return Path("run")


def test_another_run_in_the_same_folder(begun: Path, run: Run) -> None:
    says = "run: is a run of something else, see {} in run.json: begin anew with --fresh, or name another --out"
    words = ("bench", "x.toml", "--out", "run")
    assert run(*words, "--sample", 2).complaint == says.format("choice")
    Path("x.toml").write_text(Path("x.toml").read_text().replace("impact", "degree"))
    assert run(*words).complaint == says.format("rows")
    assert run(*words, "--mix-versions").complaint == says.format("rows")
    assert run(*words, "--fresh").code == 0
    assert len(same(begun)) == 6


def test_a_changed_file_of_puzzles(run: Run) -> None:
    Path("x.toml").write_text("[[row]]")
    Path("p.txt").write_text(SEARCHED)
    words = ("bench", "x.toml", "--puzzles", "p.txt", "--out", "run")
    assert run(*words).code == 0
    Path("p.txt").write_text(SEARCHED.replace("1", "x").replace("2", "1").replace("x", "2"))
    assert "something else, see instances" in run(*words).complaint


def other_weights(folder: Path) -> None:
    tiny.relational(folder, seed=1)


def other_calibration(folder: Path) -> None:
    tiny.write_card(folder, calibration=[0.5, 0.0])


def fewer_rounds(folder: Path) -> None:
    tiny.write_card(folder, config={"width": tiny.WIDTH, "rounds": tiny.ROUNDS - 1})


@pytest.mark.parametrize("change", [other_weights, other_calibration, fewer_rounds])
def test_another_guide_of_the_same_name(change: Callable[[Path], None], run: Run) -> None:
    """A run that is half done is not gone on with by a guide that says something else, finished or not."""
    folder = tiny.relational(Path("mine").absolute())
    Path("x.toml").write_text(f"puzzles = 'hard300'\nsample = 4\n[[row]]\nguide = '{folder}'\nlevel = 'naked'\n")
    words = ("bench", "x.toml", "--out", "run")
    assert run(*words).code == 0
    before = same(Path("run"))
    change(folder)
    says = "run: is a run of something else, see guides in run.json: begin anew with --fresh, or name another --out"
    assert run(*words).complaint == says
    assert run(*words, "--mix-versions").complaint == says
    assert same(Path("run")) == before, "what was recorded is as it was"
    assert run(*words, "--fresh").code == 0
    assert run(*words).code == 0
    tiny.relational(folder)
    assert run(*words).complaint == says, "nor by the first one again"


def test_another_version(begun: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    here = origin.version()
    (begun / "000001.parquet").rename("first")
    records = Store.read(begun).records
    assert len(records()) == 0
    monkeypatch.setattr(runner, "version", lambda: "9.9")
    assert run("bench", "x.toml", "--out", "run").code == 0, "no records: nothing is mixed"
    (begun / "000001.parquet").unlink()
    Path("first").rename(begun / "000001.parquet")
    monkeypatch.setattr(runner, "version", lambda: here)
    said = run("bench", "x.toml", "--out", "run").complaint
    assert said.startswith(f"run: has records of dibs 9.9, and this is {here}: go on with --mix-versions ")
    assert run("bench", "x.toml", "--out", "run", "--mix-versions").code == 0


def test_a_damaged_shard(begun: Path, run: Run) -> None:
    shard = begun / "000001.parquet"
    before = same(begun)
    shard.write_bytes(shard.read_bytes()[:100])
    assert run("bench", "x.toml", "--out", "run").complaint.startswith(f"{shard}: is damaged: ")
    shard.unlink()
    assert run("bench", "x.toml", "--out", "run").code == 0
    assert same(begun) == before


def test_a_full_disk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, exit code 2; what was written is there, and the same command goes on with it."""
    Path("x.toml").write_text(
        "puzzles = 'hard300'\nsample = 6\n[[row]]\nname = 'a'\n[[row]]\nname = 'b'\ntie = 'impact'"
    )
    monkeypatch.setattr(runner, "FLUSH", 0.0)
    monkeypatch.setattr(runner, "BLOCK", 1)
    assert run("bench", "x.toml", "--out", "whole").code == 0
    fsync, calls = os.fsync, 0

    def full(file: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 2 + 2 * 3:  # the manifest and three shards, each with its folder
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert run("bench", "x.toml", "--out", "run").complaint == (
            "run: cannot be written: No space left on device; "
            "6 of 12 records are there, and the same command goes on with them"
        )
        assert run("bench", "x.toml", "--out", "other").complaint == "other: cannot be written: No space left on device"
    assert sorted(path.name for path in Path("run").iterdir()) == [
        ".lock", "000001.parquet", "000002.parquet", "000003.parquet", "run.json"
    ]  # fmt: skip
    code, _, said = run("bench", "x.toml", "--out", "run")
    assert (code, said) == (0, "run: 6 of 12 records are here; going on\n")
    assert same(Path("run")) == same(Path("whole"))


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_disk_that_takes_no_more(begun: Path, tmp_path: Path) -> None:
    """For real: the system refuses to write a file of that size."""
    script = """
import resource, sys
from dibs.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
sys.exit(main())
"""
    words = [sys.executable, "-c", script, "bench", "x.toml", "--sample", "100", "--out", "large"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "large: cannot be written: File too large; 0 of 200 records are there, and the same command goes on with them\n"
    )
    assert sorted(path.name for path in (tmp_path / "large").iterdir()) == [".lock", "run.json"]


def test_ctrl_c_before_the_first_search(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    Path("x.toml").write_text("sample = 1\n[[row]]")
    monkeypatch.setattr(runner.Bench, "tasks", interrupted)
    said = "interrupted: 0 of 1 records are in runs/x; the same command goes on\n"
    assert run("bench", "x.toml") == (130, "", said)


def test_the_table_of_an_interrupted_run_is_about_shared_puzzles(
    rows: str, puzzles: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row about the same ones: those that all rows have searched."""
    monkeypatch.setattr(runner, "BLOCK", 2)
    perform, calls = runner.Bench.perform, 0

    def twice(self: runner.Bench, task: runner.Task) -> runner.Columns:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise KeyboardInterrupt
        return perform(self, task)

    monkeypatch.setattr(runner.Bench, "perform", twice)
    code, shown, said = run("bench", rows, "--puzzles", puzzles, "--markdown")
    assert code == 130
    assert re.search(r"^\*\*rows: 2 of \S+ \(of 5: the run is not complete\)\*\*", shown)
    assert said == "interrupted: 14 of 20 records are in runs/rows-puzzles; the same command goes on\n"
    assert main(["bench", rows, "--puzzles", puzzles]) == 130


# Formulas

FORMULAS = """
title = "Few formulas"
view = "sat"
variables = [5, 20]
sample = 3
[[row]]
name = "First + True"
level = "naked"
select = "first"
[[row]]
name = "oracle"
level = "naked"
order = "oracle"
"""


def test_a_guide_that_is_not_there_stops_before_formulas_are_made(
    shipped: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.bench.instances.generated", pytest.fail)
    assert run("bench", "sat", "--quick").complaint == (
        "sat: no such guide; dibs comes with relational, transformer, or give a folder"
    )
    assert not Path("runs").exists()


def test_formulas_have_a_table_for_each_size(run: Run) -> None:
    Path("few.toml").write_text(FORMULAS)
    code, shown, said = run("bench", "few.toml")
    assert (code, said) == (0, "")
    for title in ("3 formulas of each size: mean nodes", "3 formulas with 5 variables", "3 formulas with 20 variables"):
        assert f"Few formulas: {title}" in shown
    assert Store.read(Path("runs/few")).manifest["choice"] == {"puzzles": None, "sample": 3, "variables": [5, 20]}
    code, again, said = run("bench", "few.toml", "--markdown")
    assert (code, said) == (0, "runs/few: complete; --fresh runs it again\n")
    assert again.count("| First + True |") == 3
    code, shown, _ = run("bench", "few.toml", "--sample", 1, "--seed", 2)
    assert "1 formulas with 20 variables" in shown
    assert same(Path("runs/few-sample1-seed2"))[0]["variables"] == 5


def test_formulas_and_a_list_do_not_go_together(run: Run) -> None:
    Path("few.toml").write_text(FORMULAS)
    for option, value in (("puzzles", "sample17"), ("relabel", 0)):
        complaint = run("bench", "few.toml", f"--{option}", value).complaint
        assert complaint == f"dibs: {option} = {value!r} is about a list: `variables` generates formulas"
    assert not Path("runs").exists()
