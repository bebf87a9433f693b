"""Experiments as data: what a TOML may say, what the runner records, what the table shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from dibs.bench.experiment import BUNDLED, Experiment, Row, load, shipped
from dibs.bench.runner import Record, run
from dibs.bench.summary import summarise
from dibs.cli import main
from dibs.problem import InputError, Instance
from dibs.report import table
from dibs.search import Options, Outcome, Status


def test_the_shipped_experiments_are_readable() -> None:
    names = [path.stem for path in shipped().glob("*.toml")]
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("titel = 'x'", "unknown key 'titel'; did you mean 'title'?"),
        ("[[row]]\nlevle = 'naked'", "row 1: unknown key 'levle'; did you mean 'level'?"),
        ("[[row]]\nlevel = 'strong'", "row 1: level = 'strong': choose one of eliminate, naked, hidden"),
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


def outcome(nodes: int, status: Status = Status.SAT) -> Outcome:
    return Outcome(status, None, nodes, 2 * nodes, 0, 1, nodes / 1000, 1)


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
    assert text.splitlines()[-1] == "| row | 618 / 618 / 1,172 | 618 / 618 / 1,172 | 1,236 / 1,236 / 2,345 | 0 |"


def test_bench_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "baselines", "--sample", "2"]) == 0
    shown = capsys.readouterr().out
    for row in Experiment.read("baselines").rows:
        assert row.name in shown
    assert main(["bench", "--puzzles", "hard300", "--sample", "1", "--markdown"]) == 0
    assert "| hidden singles |" in capsys.readouterr().out
    assert main(["bench", "--sample", "0"]) == 2


def test_bundled_lists_load() -> None:
    assert [len(load(name)) for name in BUNDLED] == [130, 300]


def test_interrupted_bench_shows_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(plan: Experiment, instances: list[Instance]) -> Iterator[Record]:
        yield from islice(run(plan, instances), 2 * len(plan.rows) + 3)
        raise KeyboardInterrupt

    monkeypatch.setattr("dibs.bench.runner.run", broken)
    assert main(["bench", "--sample", "5"]) == 130
    captured = capsys.readouterr()
    assert "the table is about the first 2 of 5 puzzles" in captured.err
    assert "hidden singles" in captured.out
