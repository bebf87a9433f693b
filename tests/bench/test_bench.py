"""Experiments as data: what a TOML may say, what the runner records, what the table shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from dibs.bench.experiment import BUNDLED, Experiment, Row, load
from dibs.bench.runner import Record, run
from dibs.bench.summary import summarise
from dibs.bundled import bundled
from dibs.cli import main
from dibs.guide import Guidance, card
from dibs.guide.denoiser import Denoiser
from dibs.problem import InputError, Instance
from dibs.report import table
from dibs.search import Options, Outcome, Status
from shell import SEARCHED


def test_the_shipped_experiments_are_readable() -> None:
    names = [path.stem for path in bundled("experiments").glob("*.toml")]
    assert "baselines" in names
    for name in names:
        assert Experiment.read(name).rows


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


def test_dibs_is_that_of_the_paper() -> None:
    rows = Experiment.read("dibs").rows
    assert {(row.guidance.guide, row.options.trigger) for row in rows} == {
        (guide, trigger) for guide in ("relational", "transformer") for trigger in ("binary", "ternary", "always")
    }
    assert {(row.options.level, row.guidance.alpha, row.guidance.steps) for row in rows} == {("naked", 0.8, 1)}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("titel = 'x'", "unknown key 'titel'; did you mean 'title'?"),
        ("[[row]]\nlevle = 'naked'", "row 1: unknown key 'levle'; did you mean 'level'?"),
        ("[[row]]\nlevel = 'strong'", "row 1: level = 'strong': choose one of eliminate, naked, hidden"),
        ("[[row]]\nguide = 'x'\norder = 'oracle'", "row 1: order = 'oracle' is a guide itself: give one or the other"),
        ("[[row]]\nguide = 'x'\nalpha = 2", "row 1: alpha = 2: it must be a number from 0 to 1"),
        ("[[row]]\nsteps = 2", "row 1: steps = 2 is a setting of a guide: name one with guide"),
        ("[[row]]\nname = 'a'\n[[row]]\nguid = 'x'", "row 2: unknown key 'guid'; did you mean 'guide'?"),
        ("title = 'x'", "has no [[row]]"),
        ("row = 3", "has no [[row]]"),
        ("title =", "is not TOML"),
    ],
)
def test_bad_experiments(text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        Experiment.read(str(path))
    assert says in str(error.value)
    assert main(["bench", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{path}: ")
    assert captured.err.count("\n") == 1


def test_unknown_experiment_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="dibs comes with: baselines"):
        Experiment.read("tabel1")


def test_every_row_meets_every_instance() -> None:
    plan = Experiment("t", "sample17", (Row("a", Options(level="naked")), Row("b", Options(nodes=0))))
    puzzles = load("hard300", 5)
    records = list(run(plan, puzzles))
    assert [(r.row, r.instance) for r in records] == [(row, i) for i in range(5) for row in "ab"]
    a, b = summarise(records)
    assert (a.limits, b.limits) == (0, 5)
    assert a.nodes.mean > b.nodes.mean == 0


def test_rows_with_a_guide_run_in_batches(guides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(guides / "relational")
    rows = (
        Row("binary", Options(level="naked", trigger="binary"), Guidance(guide=path)),
        Row("plain", Options(level="naked")),
        Row("two steps", Options(level="naked"), Guidance(guide=path, steps=2)),
        Row("onnx", Options(level="naked"), Guidance(guide=path, runtime="onnx")),
    )
    plan = Experiment("t", "hard300", rows)
    puzzles = load("hard300", 5)
    loaded: list[tuple[str, int, str]] = []
    monkeypatch.setattr(Denoiser, "load", classmethod(counting(loaded, Denoiser.load.__func__)))  # type: ignore[attr-defined]
    monkeypatch.setattr("dibs.bench.runner.GUIDED_BATCH", 3)
    records = list(run(plan, puzzles))
    assert loaded == [(path, 1, "auto"), (path, 1, "onnx")], "the first two have one model"
    names = ("plain", "binary", "two steps", "onnx")
    order = [(name, i) for numbers in (range(3), range(3, 5)) for name in names for i in numbers]
    assert [(r.row, r.instance) for r in records] == order
    solutions = {r.instance: r.outcome.solution for r in records if r.row == "plain"}
    for record in records:
        o = record.outcome
        assert o.solution == solutions[record.instance]
        assert o.calls == o.asks * {"plain": 0, "binary": 1, "two steps": 2, "onnx": 1}[record.row]


def counting(loaded: list[tuple[str, int, str]], load: Any) -> Any:
    def wrapped(cls: type[Denoiser], name: str, threads: int, runtime: str, *, bare: bool) -> Any:
        loaded.append((name, threads, runtime))
        return load(cls, name, threads, runtime, bare=bare)

    return wrapped


def test_a_guide_for_other_puzzles_is_refused_before_any_search(
    shipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[[row]]\n[[row]]\nname = 'mine'\nguide = 'transformer'")
    puzzles = tmp_path / "small.txt"
    puzzles.write_text("." * 16)
    assert main(["bench", str(path), "--puzzles", str(puzzles)]) == 2
    says = "row 'mine': these weights take 9x9 Sudokus; this puzzle is 4x4: use --guide relational\n"
    assert capsys.readouterr() == ("", says)
    path.write_text("[[row]]\nguide = 'rational'")
    assert main(["bench", str(path)]) == 2
    assert capsys.readouterr().err.startswith("rational: no such guide; dibs comes with relational, transformer")


def outcome(nodes: int, status: Status = Status.SAT, calls: int = 0) -> Outcome:
    return Outcome(status, None, nodes, 2 * nodes, calls, 1, nodes / 1000, 1, calls, calls / 100)


def test_summaries_keep_limit_runs() -> None:
    records = [Record("x", i, outcome(i, Status.LIMIT if i == 100 else Status.SAT)) for i in range(101)]
    [summary] = summarise(records)
    assert (summary.instances, summary.limits) == (101, 1)
    assert (summary.nodes.mean, summary.nodes.median, summary.nodes.p95) == (50, 50, 95)
    assert summary.backtracks.p95 == 190
    assert summary.milliseconds.median == pytest.approx(50)


def test_the_table_in_markdown() -> None:
    text = table.markdown("T", summarise([Record("row", 0, outcome(1234)), Record("row", 1, outcome(2))]))
    assert text.splitlines()[0] == "**T** (mean / median / p95)"
    assert (
        text.splitlines()[-1] == "| row | 618 / 618 / 1,172 | 618 / 618 / 1,172 | 1,234 | 1,236 / 1,236 / 2,345 | 0 |"
    )


def test_a_model_has_columns_of_its_own() -> None:
    """Its time is part of a row's time; an oracle's is not, it has no calls."""
    records = [Record("plain", 0, outcome(2)), Record("DiBS", 0, outcome(2, calls=5)), Record("DiBS", 1, outcome(4))]
    records.append(Record("oracle", 0, replace(outcome(2), asks=1, guide_seconds=9.0)))
    summaries = summarise(records)
    title, _, names, _, *rows = table.markdown("T", summaries).splitlines()
    assert title == "**T** (mean / median / p95; the model's part of the time: mean)"
    assert names == "| solver | time, ms | nodes | most | backtracks | calls | model, ms | LIMIT |"
    assert rows[0] == "| plain | 2 / 2 / 2 | 2 / 2 / 2 | 2 | 4 / 4 / 4 | 0 / 0 / 0 | 0 | 0 |"
    assert rows[1] == "| DiBS | 28 / 28 / 49.6 | 3 / 3 / 3.9 | 4 | 6 / 6 / 7.8 | 2.5 / 2.5 / 4.75 | 25 | 0 |"
    assert rows[2].startswith("| oracle | 2 / 2 / 2 |")
    assert table.wide(summaries) > table.wide(summaries[:1])


@pytest.fixture
def puzzles(tmp_path: Path) -> str:
    """Five of them, soon searched with an untrained guide too."""
    path = tmp_path / "puzzles.txt"
    path.write_text(f"{SEARCHED}\n" * 5)
    return str(path)


ROWS = """
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
def rows(shipped: Path, tmp_path: Path) -> str:
    """Two rows without a guide and two with one; the guides are not those that come with dibs."""
    path = tmp_path / "rows.toml"
    path.write_text(ROWS)
    return str(path)


def test_bench_command(rows: str, puzzles: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", rows, "--puzzles", puzzles, "--sample", "2"]) == 0
    shown = capsys.readouterr().out
    for row in Experiment.read(rows).rows:
        assert row.name in shown
    assert "model, ms" in shown
    assert "…" not in shown
    assert main(["bench", rows, "--puzzles", puzzles, "--sample", "1", "--markdown"]) == 0
    assert "| hidden singles |" in capsys.readouterr().out
    assert main(["bench", rows, "--sample", "0"]) == 2


def test_baselines_run(capsys: pytest.CaptureFixture[str]) -> None:
    """What `dibs bench` does by default, with the guides that come with dibs."""
    plan = Experiment.read("baselines")
    missing = {row.guidance.guide for row in plan.rows} - {None, *card.shipped()}
    if missing:
        pytest.skip(f"dibs comes without {', '.join(sorted(map(str, missing)))}")
    assert main(["bench", "--sample", "2", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert f"{plan.title}: 2 of {plan.puzzles}" in shown
    for row in plan.rows:
        assert f"| {row.name} |" in shown


def test_bundled_lists_load() -> None:
    assert [len(load(name)) for name in BUNDLED] == [130, 300, 21_500]


@pytest.mark.parametrize(
    ("finished", "says"),
    [
        (2 * 2 + 1, "the table is about the first 2 of 5 puzzles and 2 of 4 rows"),
        (5 * 2 + 5, "the table is about the first 5 of 5 puzzles and 3 of 4 rows"),
        (5 * 2 + 7, "the table is about the first 2 of 5 puzzles"),
    ],
)
def test_interrupted_bench_shows_what_was_finished(
    finished: int,
    says: str,
    rows: str,
    puzzles: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(plan: Experiment, instances: list[Instance]) -> Iterator[Record]:
        yield from islice(run(plan, instances), finished)
        raise KeyboardInterrupt

    monkeypatch.setattr("dibs.bench.runner.run", broken)
    assert main(["bench", rows, "--puzzles", puzzles]) == 130
    captured = capsys.readouterr()
    assert captured.err == f"interrupted: {says}\n"
    assert "hidden singles" in captured.out
