"""Guides on disk: ONNX gives what torch gives, loading is strict, and a failing write leaves what was there."""

from __future__ import annotations

import errno
import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import dibs
from dibs import InputError, generate, writing
from dibs.guide.card import CARD, ONNX, OPTIONAL, WEIGHTS, Card, shipped, verify
from dibs.guide.codec import encode, from_true
from dibs.guide.graph import graph
from dibs.guide.network import Batch
from dibs.guide.runtime import backend
from dibs.model import export as exporting
from dibs.model.export import METADATA, export, load_module
from dibs.model.relational import Relational
from dibs.model.transformer import Transformer
from dibs.problem.shape import Box
from dibs.problem.structure import Structure
from dibs.report.guide import described
from paths import states

NOTES = {"steps": 7, "seconds": 1.5, "seed": 3, "config": "tiny"}
DATA = "ab" * 32


def relational(seed: int = 0, width: int = 12, rounds: int = 5) -> Relational:
    torch.manual_seed(seed)
    module = Relational(width, rounds)
    _stir(module)
    return module


def transformer(seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    module = Transformer(cells=16, size=4, width=24, layers=2, heads=3)
    _stir(module)
    return module


def _stir(module: nn.Module) -> None:
    """Biases and norms begin at 0 and 1, where a mistake would not show."""
    module.eval()
    with torch.no_grad():
        for weights in module.parameters():
            weights.add_(0.1 * torch.randn_like(weights))


def session(folder: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(folder / ONNX, options, providers=["CPUExecutionProvider"])


def difference(module: Relational, folder: Path, structure: Structure, open_: NDArray[np.bool_]) -> float:
    """How far torch and ONNX are apart on these states."""
    found = graph(structure, open_)
    with torch.no_grad():
        wanted = module(Batch(found)).logits[-1].numpy()
    feed = {
        "features": found.features,
        "groups": found.link.reshape(len(wanted), -1),
        "sizes": np.diff(found.kinds),
    }
    [logits] = session(folder).run(["logits"], feed)
    assert logits.shape == wanted.shape
    assert wanted.std() > 0.01
    return float(np.abs(logits - wanted).max())


@pytest.mark.parametrize(("box", "count"), [((2, 2), 40), ((3, 3), 8), ((4, 4), 2), ((5, 5), 1)])
def test_torch_and_onnx_agree_on_sudokus(box: Box, count: int, tmp_path: Path) -> None:
    of, found = states(box, count)
    assert len(found.open) > 3
    module = relational()
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    assert difference(module, tmp_path / "g", of.structure, found.open[:64]) < 1e-4
    assert difference(module, tmp_path / "g", of.structure, found.open[:1]) < 1e-4


def test_torch_and_onnx_agree_on_latin_squares(tmp_path: Path) -> None:
    [square] = generate.latin(1, order=8, holes=30)
    [wanted] = [np.zeros(512, bool)]
    for cell in np.flatnonzero(square.values == 0):
        used = {square.values[peer] for peer in range(64) if peer // 8 == cell // 8 or peer % 8 == cell % 8}
        wanted[[8 * cell + value - 1 for value in range(1, 9) if value not in used]] = True
    module = relational(seed=1)
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    assert difference(module, tmp_path / "g", square.structure, wanted[None]) < 1e-4


def test_torch_and_onnx_agree_on_a_wide_and_long_one(tmp_path: Path) -> None:
    of, found = states((3, 3), 3)
    module = relational(width=48, rounds=24)
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    assert difference(module, tmp_path / "g", of.structure, found.open) < 1e-4


@pytest.mark.parametrize("count", [1, 7])
def test_the_transformer_agrees(count: int, tmp_path: Path) -> None:
    module = transformer()
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    tokens = np.random.default_rng(0).integers(0, 5, (count, 16))
    with torch.no_grad():
        wanted = module(torch.from_numpy(tokens)).numpy()
    [logits] = session(tmp_path / "g").run(["logits"], {"tokens": tokens})
    assert logits.shape == (count, 16, 4)
    np.testing.assert_allclose(logits, wanted, atol=1e-4)


@pytest.mark.parametrize("make", [relational, transformer])
def test_there_and_back(make: Any, tmp_path: Path) -> None:
    module = make()
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    again = load_module(tmp_path / "g")
    assert type(again) is type(module)
    assert not again.training
    for name, value in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name


def test_a_transformer_stores_its_weights_once(tmp_path: Path) -> None:
    module = transformer()
    export(module, tmp_path / "g", data=DATA, trained=NOTES)
    assert sorted(path.name for path in tmp_path.glob("g/*")) == sorted([CARD, ONNX])
    count = sum(value.numel() for value in module.parameters())
    found = described(tmp_path / "g", verify(tmp_path / "g"))
    assert found["parameters"] == count
    assert list(found["bytes"]) == [ONNX]
    assert found["bytes"][ONNX] < 4 * count + 20_000
    rewritten(tmp_path / "g", parameters=0)
    with pytest.raises(InputError, match="'parameters' must be a whole number"):
        verify(tmp_path / "g")
    (tmp_path / "g" / ONNX).write_bytes(b"no graph")
    rewritten(tmp_path / "g", parameters=count)
    with pytest.raises(InputError, match="is not an ONNX file"):
        load_module(tmp_path / "g")


def test_a_transformer_with_a_file_of_weights_beside_it_is_read_too(tmp_path: Path) -> None:
    """As earlier versions wrote it: that file is what the module is made of."""
    folder = tmp_path / "g"
    export(transformer(seed=1), folder, data=DATA, trained=NOTES)
    other = transformer(seed=2).state_dict()
    rewritten(folder, other, parameters=0)
    assert torch.equal(load_module(folder).state_dict()["token.weight"], other["token.weight"])
    assert described(folder, verify(folder))["parameters"] == sum(value.numel() for value in other.values())


def test_half_precision_is_of_the_file_only(tmp_path: Path) -> None:
    """Weights are rounded, once; everything is computed in float32, to the bit as from a whole file of such weights."""
    folder, module = tmp_path / "half", transformer()
    export(module, folder, data=DATA, trained=NOTES)
    exporting.set_calibration(folder, (0.5, -0.25))
    before, whole = json.loads((folder / CARD).read_text()), (folder / ONNX).stat().st_size
    exporting.halve(folder)
    again = load_module(folder)
    for name, value in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], value.half().float()), name
    assert {**json.loads((folder / CARD).read_text()), "sha256": None} == {**before, "sha256": None}
    count = sum(value.numel() for value in module.parameters())
    assert whole - (folder / ONNX).stat().st_size > 1.5 * count
    export(again, tmp_path / "whole", data=DATA, trained=NOTES)
    of, found = states((2, 2), 3)
    said = [
        backend(one, verify(one), 1).logits(of.structure, found.open, found.true)
        for one in (folder, tmp_path / "whole")
    ]
    assert said[0].std() > 0.1
    assert np.array_equal(said[0], said[1])
    export(relational(), folder, data=DATA, trained=NOTES)
    with pytest.raises(InputError, match="only a transformer is halved"):
        exporting.halve(folder)


@pytest.mark.parametrize("name", ["transformer", "transformer-distilled"])
def test_torch_and_onnx_agree_on_the_transformers_that_ship(name: str) -> None:
    folder = shipped()[name]
    known = verify(folder)
    of, found = states((3, 3), 3)
    open_, true = found.open[:64], found.true[:64]
    logits = backend(folder, known, 1).logits(of.structure, open_, true).reshape(-1, 81, 9)
    tokens = torch.from_numpy(encode(from_true(true, 9), 9, known.config["vocabulary"]))
    seen = [torch.from_numpy(open_.reshape(-1, 81, 9)).float()] if known.config.get("candidates") else []
    with torch.no_grad():
        wanted = load_module(folder)(tokens, *seen).numpy()
    assert len(wanted) > 20
    assert wanted.std() > 0.1
    np.testing.assert_allclose(logits, wanted, atol=1e-3)


def test_what_the_files_say(tmp_path: Path) -> None:
    export(relational(), tmp_path / "g", data=DATA, trained=NOTES)
    assert sorted(path.name for path in tmp_path.glob("g/*")) == sorted([CARD, WEIGHTS, ONNX])
    card = verify(tmp_path / "g")
    wanted = Card(
        1, "relational", {"width": 12, "rounds": 5}, "sudoku", "MIT", DATA, NOTES, dibs.__version__, card.sha256
    )
    assert card == wanted
    model = onnx.load(tmp_path / "g" / ONNX, load_external_data=False)
    with safe_open(tmp_path / "g" / WEIGHTS, "numpy") as weights:
        for metadata in ({p.key: p.value for p in model.metadata_props}, weights.metadata()):
            assert json.loads(metadata[METADATA]) == {
                k: v for k, v in asdict(card).items() if k not in ("sha256", *OPTIONAL)
            }


def test_the_graph_is_one_file_with_weights_stored_once(tmp_path: Path) -> None:
    for rounds in (2, 9):
        export(relational(rounds=rounds), tmp_path / str(rounds), data=DATA, trained=NOTES)
    few, many = (onnx.load(tmp_path / name / ONNX, load_external_data=False) for name in ("2", "9"))
    assert [w.name for w in few.graph.initializer] == [w.name for w in many.graph.initializer]
    assert not any(w.external_data for w in few.graph.initializer)
    assert [(i.version, few.ir_version) for i in few.opset_import] == [(18, 9)]


def test_the_same_module_gives_the_same_files(tmp_path: Path) -> None:
    for name in "ab":
        export(relational(), tmp_path / name, data=DATA, trained=NOTES)
    assert Card.read(tmp_path / "a") == Card.read(tmp_path / "b")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_export_replaces_the_first(tmp_path: Path) -> None:
    export(relational(seed=1), tmp_path / "g", data=DATA, trained=NOTES)
    second = relational(seed=2, width=8)
    export(second, tmp_path / "g", data=DATA, trained=NOTES)
    assert torch.equal(load_module(tmp_path / "g").state_dict()["own.weight"], second.own.weight)
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize("fail", [WEIGHTS, ONNX, CARD])
def test_a_full_disk_leaves_the_previous_guide(fail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(relational(seed=1), tmp_path / "g", data=DATA, trained=NOTES)
    before = content(tmp_path)
    write = writing.write

    def full(path: Path, data: bytes, *, durable: bool) -> None:
        if path.name == fail:
            path.write_bytes(data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data, durable=durable)

    monkeypatch.setattr(exporting, "write", full)
    with pytest.raises(InputError) as error:
        export(relational(seed=2), tmp_path / "g", data=DATA, trained=NOTES)
    assert str(error.value) == f"{tmp_path / 'g'}: cannot be written: No space left on device"
    assert content(tmp_path) == before


def test_a_name_that_cannot_be_taken_leaves_the_previous_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(relational(seed=1), tmp_path / "g", data=DATA, trained=NOTES)
    before = content(tmp_path)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        export(relational(seed=2), tmp_path / "g", data=DATA, trained=NOTES)
    assert content(tmp_path) == before


def test_what_is_no_guide_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years")
    (tmp_path / "file").write_text("x")
    before = content(tmp_path)
    for name in ("mine", "file"):
        with pytest.raises(InputError, match="is there already and is no guide: give another folder"):
            export(relational(), tmp_path / name, data=DATA, trained=NOTES)
    assert content(tmp_path) == before
    with pytest.raises(TypeError, match="Linear is neither a Relational nor a Transformer"):
        export(nn.Linear(2, 2), tmp_path / "g", data=DATA, trained=NOTES)


def rewritten(folder: Path, tensors: dict[str, Any] | None = None, **changes: Any) -> None:
    """Other tensors or another card, with the right checksums."""
    if tensors is not None:
        save_file(tensors, folder / WEIGHTS)
    card = json.loads((folder / CARD).read_text()) | changes
    for name in (WEIGHTS, ONNX) if (folder / WEIGHTS).exists() else (ONNX,):
        card["sha256"][name] = sha256((folder / name).read_bytes()).hexdigest()
    (folder / CARD).write_text(json.dumps(card))


def test_loading_is_strict(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    export(relational(), folder, data=DATA, trained=NOTES)
    tensors = load_file(folder / WEIGHTS)
    where = f"{folder / WEIGHTS}: does not fit its card: it has "
    again = "; install dibs again or export it again"
    for changed, fault in [
        ({k: v for k, v in tensors.items() if k != "own.weight"}, "no own.weight"),
        (tensors | {"extra": torch.zeros(2)}, "an unknown extra"),
        (tensors | {"own.weight": torch.zeros(3, 4)}, "own.weight [3, 4] instead of [12, 12]"),
        ({"a": torch.zeros(1)}, f"no enter.weight and {len(tensors)} faults more"),
    ]:
        rewritten(folder, changed)
        with pytest.raises(InputError) as error:
            load_module(folder)
        assert str(error.value) == where + fault + again
    rewritten(folder, tensors, config={"width": 12, "depth": 5})
    with pytest.raises(InputError, match="config: a relational has no 'depth', only width, rounds"):
        load_module(folder)
    rewritten(folder, tensors, config={"width": -1})
    with pytest.raises(InputError, match="config: width is -1, not a whole number 1 to 4096"):
        load_module(folder)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    export(relational(), folder, data=DATA, trained=NOTES)
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[:-8])
    with pytest.raises(InputError, match="does not match its card"):
        load_module(folder)
    rewritten(folder)
    with pytest.raises(InputError, match="is not a safetensors file"):
        load_module(folder)
