"""Guides on disk: what a card must say, how a guide is found, and that a changed file is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import tiny
from dibs import InputError, load_guide
from dibs.guide import card
from dibs.guide.card import Card, find, verify
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
        ({"kind": "oracle"}, "kind 'oracle' is not known; this version of dibs runs relational and transformer"),
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


def test_card_json_is_plain(folder: Path) -> None:
    assert set(json.loads((folder / "card.json").read_text())) == set(Card.__dataclass_fields__) - {"calibration"}
