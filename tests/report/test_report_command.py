"""`dibs report`: what it prints, writes and refuses; the same records make the same bytes."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from time import process_time
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from handmade import made, manifest, options, path, record, stored

from dibs.bench.records import COLUMNS, frame
from dibs.cli import main
from dibs.report.run import Run
from dibs.report.views import sections
from dibs.report.writing import files, write


def all_views(folder: Path) -> list[Path]:
    """A run for each view that has something of its own to draw, with awkward names."""
    rng = np.random.default_rng(0)

    def some(row: str, **more: Any) -> list[dict[str, Any]]:
        return [{"nodes": int(n), "calls": 3, "path_place": [0, 1]} | more for n in rng.lognormal(5, 2, 12)]

    made(folder / "table1", "table1", {"MRV": some("a"), "DiBS": some("b")}, experiment="table1")
    made(folder / "ablation", "ablation", {"a & b_<c>": some("a"), "100 %": some("b")}, experiment="ablation")
    givens = [{"givens": 17 + i % 2, "number": i // 2} for i in range(12)]
    rows = {row: [one | more for one, more in zip(some(row), givens, strict=True)] for row in ("+ FC + LCV", "DiBS")}
    made(folder / "difficulty", "difficulty", rows, experiment="difficulty", choice={"givens": [17, 18]})
    steps = {f"K = {k}": some("a", options=options(steps=k), path_sure=[0.5, 0.9], model_seconds=k) for k in (1, 2, 8)}
    made(folder / "steps", "steps", steps, experiment="steps")
    paths = [path((2, 1, 40, 40), (3, 1, 5, 9), (2, 0, 0, 3)), path((2, 0, 0, 5), (2, 1, 2, 2))] * 6
    made(folder / "theory", "theory", {"mine": paths, "other": paths}, experiment="theory")
    formulas = [{"variables": 5 + 2 * (i % 2), "number": i // 2, "tries": 7 + i} for i in range(12)]
    rows = {
        row: [one | more for one, more in zip(some(row), formulas, strict=True)] for row in ("First + True", "DiBS")
    }
    made(folder / "sat", "sat", rows, experiment="sat", choice={"puzzles": None, "variables": [5, 7]})
    return [folder / name for name in ("ablation", "table1", "difficulty", "steps", "theory", "sat")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return all_views(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def report(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "report"
    assert main(["report", *map(str, runs), "--out", str(folder)]) == 0
    return folder


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def test_what_is_written(report: Path) -> None:
    found = names(report)
    assert "report.html" in found
    for key in ("table1-nodes", "table1-time", "ablation-nodes", "difficulty-gain", "steps-costs", "theory-depth"):
        assert {f"figures/{key}.svg", f"figures/{key}.png"} <= found
    for key in ("table1-figures", "table1-gaps-p95", "ablation-changes", "steps-rankings", "theory-identities"):
        assert {f"tables/{key}.md", f"tables/{key}.tex"} <= found
    assert not [name for name in found if ".part" in name]


def test_the_same_records_make_the_same_bytes(runs: list[Path], report: Path, tmp_path: Path) -> None:
    """In another process, with another seed of hashes."""
    command = [sys.executable, "-m", "dibs", "report", *map(str, runs), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, env={"PYTHONHASHSEED": "7", "PATH": ""})
    assert names(tmp_path) == names(report)
    for name in sorted(names(report)):
        assert (tmp_path / name).read_bytes() == (report / name).read_bytes(), name


class Page(HTMLParser):
    VOID = ("meta",)

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "xlink:href", "src"):
                self.links.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(report: Path) -> None:
    page = Page()
    page.feed((report / "report.html").read_text())
    assert page.open == []
    assert len(page.ids) == len(set(page.ids)), "names are unique, also those within figures"
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not page.tags & {"script", "link", "img", "iframe"}
    assert "@import" not in (report / "report.html").read_text()
    text = (report / "report.html").read_text()
    assert "a &amp; b_&lt;c&gt;" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_figures_are_well_formed(report: Path) -> None:
    for one in report.glob("figures/*.svg"):
        root = ElementTree.fromstring(one.read_bytes())
        assert root.tag.endswith("svg")
        assert b"<dc:date>" not in one.read_bytes()
    for one in report.glob("figures/*.png"):
        content = one.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert int.from_bytes(content[16:20]) == 1020, "one column of a paper, at 300 dots to the inch"


def test_nothing_in_a_report_says_where_it_was_made(runs: list[Path], report: Path) -> None:
    for name in names(report):
        assert str(runs[0].parent).encode() not in (report / name).read_bytes()


def test_tables_are_printed(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(runs[0])]) == 0
    captured = capsys.readouterr()
    assert "a & b_<c>" in captured.out
    assert "Made of records of dibs 1" in captured.out
    assert "…" not in captured.out
    assert captured.err == ""
    assert main(["report", str(runs[0]), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("**Made: 12 of few** (means, but for the p95 of time")
    assert main(["report", str(runs[0]), str(runs[2]), "--format", "latex"]) == 0
    text = capsys.readouterr().out
    assert r"a \& b\_$<$c$>$" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 6


@pytest.mark.parametrize(("format", "suffixes"), [("markdown", {".md"}), ("latex", {".tex"}), ("html", {".html"})])
def test_one_format(format: str, suffixes: set[str], runs: list[Path], tmp_path: Path) -> None:
    assert main(["report", str(runs[0]), "--out", str(tmp_path), "--format", format]) == 0
    assert {Path(name).suffix for name in names(tmp_path)} == suffixes


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ([], "dibs: name the folder of at least one run: dibs report runs/table1"),
        (["nowhere"], "nowhere: is not a run: there is no run.json; `dibs bench` makes runs"),
        (["x", "--format", "html"], "dibs: --format html needs a folder to write to: --out DIR"),
        (["x", "--format", "all"], "dibs: --format all needs a folder to write to: --out DIR"),
        (
            ["x", "--out", "y", "--format", "terminal"],
            "dibs: --format terminal prints; --out writes markdown, latex, html or all of them",
        ),
    ],
)
def test_refusals(
    tokens: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *tokens]) == 2
    assert capsys.readouterr() == ("", f"{says}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_run(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(runs[0] / "run.json")]) == 2
    assert "is not the folder of a run" in capsys.readouterr().err


def test_a_view_of_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = stored(tmp_path / "x", manifest("a", 1, "sideways"), [record("a", 0)])
    assert main(["report", str(folder)]) == 2
    assert capsys.readouterr().err == f"{folder}: has a view that this version of dibs does not know: sideways\n"


def test_what_must_be_installed(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(runs[0]), "--out", str(tmp_path / "r")]) == 2
    assert capsys.readouterr().err == "figures need matplotlib: pip install 'dibs[bench]'\n"
    assert not (tmp_path / "r").exists()
    assert main(["report", str(runs[0]), "--out", str(tmp_path / "r"), "--format", "markdown"]) == 0
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert main(["report", str(runs[0])]) == 2
    assert capsys.readouterr().err == "records need polars: pip install 'dibs[bench]'\n"


def test_a_folder_that_cannot_be_written(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")
    assert main(["report", str(runs[0]), "--out", str(tmp_path / "out")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt", b"before")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dibs.writing.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, "a.txt", b"after")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a.txt", b"before")]


def test_many_records_are_summarised_at_once(tmp_path: Path) -> None:
    """350,000 records in two seconds; here they are made in memory, and only work counts: others may be busy."""
    import polars as pl

    n, rows = 50_000, [f"row {i}" for i in range(7)]
    nodes = np.random.default_rng(0).lognormal(6, 2, n * len(rows)).astype(np.int64)
    one = record("x", 0)
    plain = frame({name: [one[name]] for name in COLUMNS})
    columns = {name: plain[name].new_from_index(0, n * len(rows)) for name in COLUMNS}
    columns |= {
        "row": pl.Series(np.repeat(rows, n)), "instance": pl.Series(np.tile(np.arange(n), len(rows))),
        "nodes": pl.Series(nodes), "search_seconds": pl.Series(nodes * 1e-6),
    }  # fmt: skip
    records = pl.DataFrame(columns)
    begin = process_time()
    found = Run.of(manifest(rows, n), records).summaries
    assert process_time() - begin < 3
    assert len(found) == 7


def test_sections_can_be_made_without_drawing(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables need no Matplotlib, and nothing is drawn for them."""
    from dibs.report.views import read

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = sections([read(folder) for folder in runs])
    assert [name for name, _ in files(found, (), ("markdown",))]
