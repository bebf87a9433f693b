"""Guides on disk: what a card must say, how a guide is found, and that a changed file is refused in one line."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import tiny
from dibs import InputError, load_guide
from dibs.guide import card
from dibs.guide.card import DEPTH, OPTIONAL, Card, find, verify
from shell import PUZZLE, Run, runner

Tensors = dict[str, NDArray[Any]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.relational(tmp_path / "mine")


def test_a_card_says_what_the_weights_are(folder: Path) -> None:
    found = verify(folder)
    assert found == Card.read(folder)
    assert (found.format, found.kind, found.config) == (1, "relational", {"width": 8, "rounds": 3})
    assert (found.family, found.licence, found.data) == ("sudoku", "MIT", "0" * 64)
    assert set(found.sha256) == {"model.safetensors", "model.onnx"}


def test_keys_of_later_versions_are_left_alone(folder: Path) -> None:
    tiny.write_card(folder, note="made on a Sunday")
    assert Card.read(folder).kind == "relational"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "format 2 is not known; this version of dibs reads 1"),
        ({"format": None}, "format None is not known; this version of dibs reads 1"),
        ({"kind": None}, "has no 'kind'; install dibs again or export it again"),
        ({"kind": "oracle"}, f"kind 'oracle' is not known; this version of dibs runs {' and '.join(card.KINDS)}"),
        ({"config": [1]}, "'config' must be a JSON object; install dibs again or export it again"),
        ({"licence": 3}, "'licence' must be a JSON string; install dibs again or export it again"),
        ({"sha256": {"model.onnx": "0"}}, "has no sha256 of model.safetensors; install dibs again or export it again"),
    ],
)
def test_bad_cards(folder: Path, changes: dict[str, Any], says: str) -> None:
    tiny.write_card(folder, **changes)
    with pytest.raises(InputError) as error:
        Card.read(folder)
    assert str(error.value) == f"{folder / 'card.json'}: {says}"


@pytest.mark.parametrize("text", ["{", "", "[]", "\ufeff{}", '{"format": NaN}', '{"format"'])
def test_a_broken_card_is_one_line(folder: Path, text: str) -> None:
    (folder / "card.json").write_text(text)
    with pytest.raises(InputError) as error:
        Card.read(folder)
    assert str(error.value).startswith(f"{folder / 'card.json'}: ")
    assert "\n" not in str(error.value)


def test_a_card_of_other_bytes(folder: Path) -> None:
    (folder / "card.json").write_bytes(b"\xff\xfe\0")
    with pytest.raises(InputError, match="is not JSON"):
        Card.read(folder)


def test_finding(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("relational") == shipped / "relational"
    assert find(str(shipped / "transformer")) == find(shipped / "transformer") == shipped / "transformer"
    with pytest.raises(InputError) as error:
        find("rational")
    assert str(error.value) == "rational: no such guide; dibs comes with relational, transformer, or give a folder"
    with pytest.raises(InputError, match=r"is not a guide: give the folder with card\.json"):
        find(shipped / "relational" / "model.onnx")
    with pytest.raises(InputError, match=r"has no card\.json: a guide is a folder with"):
        verify(find(tmp_path))
    monkeypatch.chdir(tmp_path)
    tiny.relational(tmp_path / "relational")
    assert find("relational") == shipped / "relational"
    assert find("./relational") == Path("relational")


def test_the_guides_that_come_with_dibs_are_whole() -> None:
    """Whichever there are."""
    for name, folder in card.shipped().items():
        assert verify(folder).licence == "MIT"
        assert load_guide(name).denoiser


def tamper(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("file", ["model.onnx", "model.safetensors"])
@pytest.mark.parametrize("damage", [tamper, truncate, empty])
def test_changed_files_are_refused_in_one_line(folder: Path, file: str, damage: Any, run: Run) -> None:
    damage(folder / file)
    says = run("solve", PUZZLE, "--guide", folder).complaint
    assert says.startswith(f"{folder / file}: does not match its card (sha256 ")
    assert says.endswith("the file is damaged or was changed; install dibs again or export it again")
    with pytest.raises(InputError, match="does not match its card"):
        load_guide(folder)


@pytest.mark.parametrize("file", ["model.onnx", "model.safetensors"])
def test_missing_files_are_refused_in_one_line(folder: Path, file: str, run: Run) -> None:
    (folder / file).unlink()
    says = run("solve", PUZZLE, "--guide", folder).complaint
    assert says == f"{folder / file}: is missing; install dibs again or export it again"
    (folder / file).mkdir()
    assert run("solve", PUZZLE, "--guide", folder).complaint.startswith(f"{folder / file}: cannot be read: ")


def text(path: Path) -> None:
    path.write_bytes(b"not a model")


@pytest.mark.parametrize(("file", "runtime"), [("model.onnx", "onnx"), ("model.safetensors", "auto")])
@pytest.mark.parametrize("damage", [text, truncate, empty])
@pytest.mark.usefixtures("no_gpu")
def test_a_file_that_is_no_model_is_refused_though_its_card_agrees(
    folder: Path, file: str, runtime: str, damage: Any, run: Run
) -> None:
    damage(folder / file)
    tiny.write_card(folder)
    says = run("solve", PUZZLE, "--guide", folder, "--runtime", runtime).complaint
    assert says.startswith(f"{folder / file}: cannot be loaded: ")
    assert says.endswith("; install dibs again or export it again")


def lacking(tensors: Tensors) -> Tensors:
    return {name: tensor for name, tensor in tensors.items() if name != "own.weight"}


def too_many(tensors: Tensors) -> Tensors:
    return tensors | {"owner.weight": tensors["own.weight"]}


def narrow(tensors: Tensors) -> Tensors:
    return tensors | {"own.weight": tensors["own.weight"][:, :4].copy()}


def precise(tensors: Tensors) -> Tensors:
    return tensors | {"own.weight": tensors["own.weight"].astype(np.float64)}


@pytest.mark.parametrize("change", [lacking, too_many, narrow, precise])
@pytest.mark.usefixtures("no_gpu")
def test_weights_of_another_model_are_refused(folder: Path, change: Any, run: Run) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path)
    tiny.write_card(folder)
    says = run("solve", PUZZLE, "--guide", folder).complaint
    name = "owner.weight" if change is too_many else "own.weight"
    wanted = f"{name} is not as in a relational denoiser of width 8; install dibs again or export it again"
    assert says == f"{path}: cannot be loaded: {wanted}"
    with pytest.raises(InputError, match="is not as in a relational denoiser"):
        load_guide(folder)


@pytest.mark.parametrize(
    "config",
    [{}, {"width": 8}, {"rounds": 3}, {"width": 16, "rounds": 3}, {"width": None, "rounds": 3}, {"width": "8x"}],
)
@pytest.mark.usefixtures("no_gpu")
def test_a_relational_card_of_another_size_than_its_weights_is_refused(
    folder: Path, config: dict[str, Any], run: Run
) -> None:
    tiny.write_card(folder, config=config)
    says = run("solve", PUZZLE, "--guide", folder).complaint
    assert says.startswith(f"{folder}/")
    assert says.endswith("; install dibs again or export it again")


def test_a_card_of_another_kind_than_its_model_is_refused(folder: Path, run: Run) -> None:
    tiny.write_card(folder, kind="transformer", config={"cells": 81, "size": 9, "vocabulary": 31})
    says = run("solve", PUZZLE, "--guide", folder).complaint
    assert "takes features, groups, sizes and gives logits; its card's kind takes tokens" in says


@pytest.mark.parametrize(
    ("runtime", "says"),
    [
        ("auto", "model.safetensors: cannot be loaded: enter.weight is not as in a relational denoiser of width 8"),
        ("onnx", "model.onnx: takes tokens and gives logits; its card's kind takes features, groups, sizes"),
    ],
)
@pytest.mark.usefixtures("no_gpu")
def test_a_transformer_is_no_relational_model(tmp_path: Path, runtime: str, says: str, run: Run) -> None:
    folder = tiny.transformer(tmp_path / "t", kind="relational", config={"width": 8, "rounds": 3})
    assert run("solve", PUZZLE, "--guide", folder, "--runtime", runtime).complaint.startswith(f"{folder}/{says}")


# Hostile folders: one line, at once


HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 8, 10**9, 10**30, -(10**400), 4097, 2**63, 1e308, -1e308, float("inf"),
    float("-inf"), float("nan"), 0.5, "", "8", "relational\nmodel", "\0", "x" * 10_000, [], [1, 2], [0.0, float("nan")],
    [99, -99], [1e300, 1], [[0, 0]], {}, {"width": 8}, {"width": 8, "rounds": 10**9}, {"width": 1e400, "rounds": 3},
    {"width": 8, "rounds": 3, "more": 1}, {"model.onnx": "0", "model.safetensors": 0}, {"../card.json": "0"},
]  # fmt: skip


def loads(folder: Path, runtime: str) -> None:
    """It works, or it is an InputError of one line."""
    says = ""
    try:
        load_guide(folder, runtime=runtime)  # type: ignore[arg-type]
    except InputError as error:
        says = str(error)
    assert "\n" not in says
    assert len(says) < 1000


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("kind", ["relational", "transformer"])
def test_hostile_fields(kind: str, tmp_path: Path, guides: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(guides / kind, folder)
    path = folder / "card.json"
    whole = json.loads(path.read_text())
    places: list[tuple[str, ...]] = [(key,) for key in (*whole, "calibration", "note")]
    places += [(key, inner) for key in ("config", "sha256", "trained") for inner in (*whole[key], "more")]
    for place in places:
        for value in HOSTILE:
            table = copy.deepcopy(whole)
            at = table
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = value
            path.write_text(json.dumps(table))
            for runtime in ("auto", "onnx"):
                loads(folder, runtime)
        for levels in (DEPTH - 2, DEPTH, 900, 100_000):
            table = copy.deepcopy(whole)
            at = table
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = "HERE"
            path.write_text(json.dumps(table).replace('"HERE"', deep(levels)))
            loads(folder, "auto")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"config": {"width": 8, "rounds": 10**9}}, "config: rounds is 1000000000, not a whole number 1 to 4096"),
        ({"config": {"width": float("inf"), "rounds": 3}}, "config: width is inf, not a whole number 1 to 4096"),
        ({"config": {"width": 8.0, "rounds": 3}}, "config: width is 8.0, not a whole number 1 to 4096"),
        ({"config": {"rounds": 3}}, "config: width is missing, not a whole number 1 to 4096"),
        ({"config": {"width": 8, "rounds": 3, "x": 1}}, "config: a relational has no 'x', only width, rounds"),
        ({"calibration": [0, float("nan")]}, "'calibration' must be two numbers from -100 to 100"),
        ({"format": True}, "format True is not known; this version of dibs reads 1"),
        ({"family": "chess"}, "family 'chess' is not known; this version of dibs runs sudoku and latin and cnf"),
        (
            {"kind": "transformer", "config": {"cells": 81, "size": 9, "vocabulary": 31, "width": 4096, "layers": 256}},
            "config: more than 268,435,456 parameters",
        ),
        (
            {"sha256": {"model.onnx": "", "model.safetensors": "", "../x": ""}},
            "sha256: '../x' is no file beside the card",
        ),
    ],
)
def test_bounds(folder: Path, changes: dict[str, Any], says: str) -> None:
    tiny.write_card(folder, **changes)
    with pytest.raises(InputError) as error:
        Card.read(folder)
    assert str(error.value).startswith(f"{folder / 'card.json'}: {says}")


def test_a_card_that_is_too_large_or_too_deep(folder: Path) -> None:
    path = folder / "card.json"
    path.write_text("[" * 2**20 + "]")
    with pytest.raises(InputError, match="has 1,048,577 bytes; at most 1,048,576 are read"):
        Card.read(folder)
    for levels in (DEPTH + 1, 900, 100_000):
        path.write_text(deep(levels))
        with pytest.raises(InputError, match="lists and objects are more than 16 deep"):
            Card.read(folder)
    path.write_text(deep(DEPTH))
    with pytest.raises(InputError, match="expected a JSON object"):
        Card.read(folder)


@pytest.mark.parametrize("name", ["card.json", "model.onnx", "model.safetensors"])
def test_a_pipe_is_no_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="cannot be read: it is not a file"):
        verify(folder)


def test_files_that_the_card_does_not_know(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"1")
    with pytest.raises(InputError) as error:
        load_guide(folder)
    assert str(error.value) == (
        f"{folder}: has 'weights.bin', which its card.json does not know: a guide's folder has nothing else"
    )
    known = Card.read(folder).sha256 | {"weights.bin": hashlib.sha256(b"1").hexdigest()}
    tiny.write_card(folder, sha256=known)
    assert verify(folder).sha256 == known
    (folder / "weights.bin").write_bytes(b"2")
    with pytest.raises(InputError, match=r"weights\.bin: does not match its card"):
        load_guide(folder)
    (folder / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"weights\.bin: is missing"):
        load_guide(folder)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_weights_in_other_files_are_refused(folder: Path, listed: bool, outside: bool) -> None:
    """ONNX may keep tensors elsewhere: whoever changes that file changes the guide."""
    model = onnx.load(folder / "model.onnx")
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    if outside:
        (folder / "weights.bin").rename(folder.parent / "weights.bin")
    sums = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir() if one.suffix != ".json"}
    if not listed:
        sums.pop("weights.bin", None)
    tiny.write_card(folder, sha256=sums)
    for runtime in ("auto", "onnx"):
        with pytest.raises(InputError, match=r"does not know|has weights in other files, which nobody checks"):
            load_guide(folder, runtime=runtime)


def test_the_digest_is_of_all_that_decides_what_a_guide_says(folder: Path) -> None:
    before = verify(folder).digest
    tiny.write_card(folder, trained={"steps": 5}, licence="another")
    assert verify(folder).digest == before
    for change in ({"calibration": [0.1, 0]}, {"config": {"width": 8, "rounds": 4}}, {"family": "latin"}):
        tiny.relational(folder)
        tiny.write_card(folder, **change)
        assert verify(folder).digest != before
    tiny.relational(folder, seed=1)
    assert verify(folder).digest != before


def test_card_json_is_plain(folder: Path) -> None:
    assert set(json.loads((folder / "card.json").read_text())) == set(Card.__dataclass_fields__) - set(OPTIONAL)


@pytest.mark.parametrize("name", sorted(card.shipped()))
def test_the_page_about_files_has_the_inputs_of_every_graph(name: str) -> None:
    folder = card.shipped()[name]
    known = Card.read(folder)
    grids = known.family in ("sudoku", "latin")
    kind = "`transformer`" if known.kind == "transformer" else f"`relational`, {'grids' if grids else 'formulas'}"
    page = (Path(__file__).parents[2] / "docs" / "GUIDE_FILES.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| {kind}")]
    said = {word: (dtype, shape.count(",") + 1) for word, dtype, shape in re.findall(r"`(\w+)` (\w+) \[(.*?)\]", row)}
    kinds = {"tensor(float)": "float32", "tensor(int64)": "int64"}
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    there = {one.name: (kinds[one.type], len(one.shape)) for one in session.get_inputs()}
    assert there.items() <= said.items()
    assert {*said} - {*there} <= {"logits", "open"}
