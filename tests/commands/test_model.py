"""`dibs model`: what is shown of a guide, and what is refused. The figures themselves are tested elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
import torch

from dibs.commands import model as command
from dibs.commands.terminal import Meter
from dibs.guide.card import CARD, ONNX, WEIGHTS
from dibs.model import evaluate as evaluating
from dibs.model.export import export
from dibs.model.relational import Relational
from dibs.model.transformer import Transformer
from dibs.report.guide import parameters
from shell import BLANK, PUZZLE, SEARCHED, UNSAT, Run, runner

DATA = "cd" * 32


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("guides") / "tiny"
    export(Relational(8, 3), folder, data=DATA, trained={"steps": 12, "config": "none", "seed": 5})
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timings of the real thing take a second for each batch size."""
    monkeypatch.setattr("dibs.model.speed.BUDGET", 0.01)


def test_info(run: Run, guide: Path) -> None:
    result = run("model", "info", guide)
    assert (result.code, result.err) == (0, "")
    count = sum(p.numel() for p in Relational(8, 3).parameters())
    size = (guide / WEIGHTS).stat().st_size
    for line in [
        "kind relational",
        f"parameters {count:,}",
        "configuration width 8, rounds 3",
        "trained steps 12, config none, seed 5",
        f"data sha256 {DATA}",
        "licence MIT",
    ]:
        assert line in [" ".join(shown.split()) for shown in result.out.splitlines()]
    digest = json.loads((guide / CARD).read_text())["sha256"][WEIGHTS][:12]
    assert f"{WEIGHTS}  {size:,} bytes, sha256 {digest}... checked" in result.out
    assert str(guide.parent) not in result.out


def test_info_as_json(run: Run, guide: Path) -> None:
    found = json.loads(run("model", "info", guide, "--json").out)
    assert found["config"] == {"width": 8, "rounds": 3}
    assert found["parameters"] == parameters(guide / WEIGHTS)
    assert found["sha256"] == json.loads((guide / CARD).read_text())["sha256"]


def test_eval(run: Run, guide: Path) -> None:
    result = run("model", "eval", guide, "--puzzles", "sample17", "--sample", 4)
    assert (result.code, result.err) == (0, "")
    for part in [
        "4 puzzles, relabelled, level naked",
        "The solution's value comes first",
        "│ root      │      4 │",
        "│ depth 10+ │",
        "│ values 2  │",
        "ECE, 15 bins",
        "cost-weighted p_s",
        "batch 256",
    ]:
        assert part in result.out.replace("\n", "")  # the first line may be broken: it begins with a path


def test_eval_as_json(run: Run, guide: Path) -> None:
    words = ["model", "eval", guide, "--puzzles", "hard300", "--sample", 3, "--level", "hidden", "--json"]
    found, again, other = (json.loads(run(*words, "--seed", seed).out) for seed in (1, 1, 2))
    assert (found["guide"]["name"], found["list"], found["puzzles"], found["level"]) == ("tiny", "hard300", 3, "hidden")
    assert found["root"]["states"] == 3
    assert sum(part["states"] for part in found["by_depth"]) == found["overall"]["states"]
    assert [(s["states"], s["batch"]) for s in found["speed"]] == [
        (s, b) for s in ("root", "path") for b in (1, 16, 64, 256)
    ]
    assert again | {"speed": 0} == found | {"speed": 0}
    assert other["overall"] != found["overall"]


def test_the_network_alone(run: Run, guide: Path) -> None:
    words = ["model", "eval", guide, "--puzzles", "sample17", "--sample", 4]
    settled, bare = (json.loads(run(*words, *more, "--json").out) for more in ([], ["--network-only"]))
    assert (settled["network_only"], bare["network_only"]) == (False, True)
    assert settled["overall"]["states"] == bare["overall"]["states"]
    assert settled["overall"] != bare["overall"]
    title = "(network alone) on sample17: 4 puzzles"
    assert [title in " ".join(run(*words, *more).out.split()) for more in ([], ["--network-only"])] == [False, True]


@pytest.mark.parametrize(("suffix", "begin"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_figure(run: Run, guide: Path, tmp_path: Path, suffix: str, begin: bytes) -> None:
    path = tmp_path / f"r{suffix}"
    words = ["model", "eval", guide, "--puzzles", "sample17", "--sample", 2, "--figure", path]
    assert run(*words).code == 0
    first = path.read_bytes()
    assert first.startswith(begin)
    if suffix == ".svg":
        assert run(*words).code == 0
        assert path.read_bytes() == first


def test_figures_that_cannot_be_drawn(run: Run, guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["model", "eval", guide, "--puzzles", "sample17", "--figure"]
    bad, lost = tmp_path / "r.doc", tmp_path / "none" / "r.svg"
    assert run(*words, bad).complaint == f"{bad}: a figure ends in .svg, .png, .pdf"
    assert run(*words, lost).complaint == f"{lost}: cannot be written: no such folder"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(*words, tmp_path / "r.svg").complaint == "figures need matplotlib: pip install 'dibs[bench]'"


@pytest.mark.parametrize("what", ["info", "eval"])
def test_what_is_no_guide(run: Run, tmp_path: Path, what: str) -> None:
    rest = ["--puzzles", "sample17"] if what == "eval" else []
    assert run("model", what, "relatoinal", *rest).complaint.startswith("relatoinal: no such guide; dibs comes with ")
    assert "has no card.json" in run("model", what, tmp_path, *rest).complaint
    file = tmp_path / "file"
    file.write_text("x")
    assert "is not a guide: give the folder" in run("model", what, file, *rest).complaint


def copied(guide: Path, to: Path) -> Path:
    to.mkdir()
    for path in guide.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


@pytest.mark.parametrize("name", [WEIGHTS, ONNX])
def test_files_that_were_changed(run: Run, guide: Path, tmp_path: Path, name: str) -> None:
    folder = copied(guide, tmp_path / "copy")
    (folder / name).write_bytes((folder / name).read_bytes()[:-1] + b"?")
    for words in (["info", folder], ["eval", folder, "--puzzles", "sample17"]):
        assert "does not match its card" in run("model", *words).complaint
    (folder / name).unlink()
    assert "is missing" in run("model", "info", folder).complaint


def test_weights_that_are_none(tmp_path: Path) -> None:
    for content in (b"", b"no tensors here", (2**60).to_bytes(8, "little"), (2).to_bytes(8, "little") + b"[]"):
        path = tmp_path / "w"
        path.write_bytes(content)
        with pytest.raises(Exception, match="is not a safetensors file"):
            parameters(path)


def test_puzzles_that_cannot_be_judged(run: Run, guide: Path, tmp_path: Path) -> None:
    path = tmp_path / "puzzles"

    def complaint(text: str) -> str:
        path.write_text(text)
        line = run("model", "eval", guide, "--puzzles", path).complaint
        assert line.startswith(f"{path}:")
        return line

    assert "puzzle 2 has more than one solution" in complaint(f"{SEARCHED}\n{BLANK}\n")
    assert "puzzle 1 has no solution" in complaint(UNSAT)
    assert "propagation at level naked solves all 1 puzzles" in complaint(PUZZLE)
    assert "another size or box" in complaint(f"{SEARCHED}\n1...............\n")
    assert "is no Sudoku" in complaint("p cnf 2 1\n1 2 0\n")
    assert complaint(SEARCHED[:80]).startswith(f"{path}:1:")
    assert (
        run("model", "eval", guide, "--puzzles", tmp_path / "none").complaint == f"{tmp_path / 'none'}: does not exist"
    )


def test_a_shape_that_the_weights_do_not_take(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    export(Transformer(cells=16, size=4, width=8, layers=1, heads=2), folder, data=DATA, trained={})
    line = run("model", "eval", folder, "--puzzles", "sample17").complaint
    assert line.startswith("sample17: these weights take 4x4 Sudokus; this puzzle is 9x9")
    assert "nothing noted" in run("model", "info", folder).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--sample 0", "dibs: sample = 0: it must be a whole number, 1 or more"),
        ("--threads 0", "dibs: threads = 0: it must be a whole number, 1 or more"),
        ("--seed -1", "dibs: seed = -1: it must be a whole number, 0 or more"),
        ("--level eliminate", "dibs: Invalid value"),
        ("--sed 1", "dibs: Unknown option: --sed. Did you mean --seed?"),
    ],
)
def test_bad_options(run: Run, guide: Path, words: str, message: str) -> None:
    assert run("model", "eval", guide, "--puzzles", "sample17", *words.split()).complaint.startswith(message)


def test_ctrl_c(run: Run, guide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluating, "evaluate", pressed)
    result = run("model", "eval", guide, "--puzzles", "sample17")
    assert (result.code, result.out) == (130, "")
    assert result.err == "interrupted: no figures; --sample N judges fewer puzzles\n"


def test_progress_after_two_seconds(run: Run, guide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meters: list[Callable[[float], Meter | None]] = []
    shown: list[tuple[Meter | None, Meter | None]] = []

    class Fake:
        def __init__(self, meter: Callable[[float], Meter | None]) -> None:
            meters.append(meter)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    class Watched(Exception):
        pass

    def told(*_: Any, progress: Callable[[str, int, int], None], **__: Any) -> None:
        for now in (("states judged", 30, 0), ("failing siblings searched", 5, 20)):
            progress(*now)
            shown.append((meters[0](1.9), meters[0](3.0)))
        raise Watched

    monkeypatch.setattr(command, "Terminal", Fake)
    monkeypatch.setattr(command, "kernel_ready", lambda: True)
    monkeypatch.setattr(evaluating, "evaluate", told)
    with pytest.raises(Watched):
        run("model", "eval", guide, "--puzzles", "sample17")
    assert shown == [
        (None, Meter("30 states judged, 10/s")),
        (None, Meter("5 of 20 failing siblings searched", 0.25)),
    ]


def test_a_guide_is_judged_by_the_clock_on_any_instances(run: Run, tmp_path: Path) -> None:
    from dibs.generate import sat

    for seed, formula in enumerate(sat(4, variables=10, satisfiable=True, seed=2)):
        (tmp_path / f"{seed}.cnf").write_text(formula.format())
    told = run("model", "eval", "sat", "--instances", tmp_path, "--limit", "2", "--json")
    assert (told.code, told.err) == (0, "")
    found = json.loads(told.out)
    assert found["instances"] == 4
    assert "se this guide" in found["verdict"]
    assert found["breaks_even_after"] is None
    assert (
        "does not go with --instances" in run("model", "eval", "sat", "--instances", tmp_path, "--rounds", 3).complaint
    )
    assert "what to judge it on" in run("model", "eval", "sat").complaint


def test_guides_are_listed(run: Run, guide: Path) -> None:
    told = run("guides", guide, "--json")
    rows = {row["guide"]: row for row in map(json.loads, told.out.splitlines())}
    assert {"relational", "relational-latin", "sat", "transformer", str(guide)} <= rows.keys()
    assert rows["sat"]["family"] == "cnf"
    out = run("guides").out
    assert "formulas" in out
    assert "relational-probing " in out, "names are written in full, however narrow the terminal is"
