"""From a trained module to a guide's folder (card.json, model.onnx, model.safetensors), and back."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import dibs
from dibs.errors import InputError
from dibs.guide.card import AGAIN, CARD, FORMAT, ONNX, WEIGHTS, Card, verify
from dibs.guide.features import GROUP_KINDS, NO_FEATURES, OwnFeatures
from dibs.interrupt import interrupts_later
from dibs.model.onnx_relational import relational_graph
from dibs.model.onnx_transformer import transformer_graph, weights
from dibs.wording import one_line
from dibs.writing import PARTIAL, explained, write

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import Tensor, nn

    from dibs.model.transformer import Transformer

LICENCE = "MIT"
METADATA = "card"  # the key of the card, without checksums, in the metadata of both files


def export(
    module: nn.Module,
    folder: Path | str,
    *,
    data: str,
    trained: dict[str, Any],
    family: str = "sudoku",
    kinds: tuple[str, ...] = GROUP_KINDS,
    features: OwnFeatures = NO_FEATURES,
) -> None:
    """Write a guide: all its files or none, and an older guide in `folder` is replaced only when they are there.

    `data`: SHA-256 of the training data; `trained`: what is worth knowing about the training (steps, seconds, seed,
    name of the configuration), anything that JSON can hold; `kinds` of groups that a relational one has weights
    for, and `features` of the user's own that it takes.
    """
    try:
        import onnx  # noqa: F401
        from safetensors.torch import save
    except ImportError as error:
        raise InputError(f"writing a guide needs {error.name}: pip install 'dibs[train]'") from None
    from dibs.guide.network import Network, name_of

    kind, config, graph = _parts(module, family)
    kept: dict[str, Any] = {"kinds": list(kinds)} if kinds != GROUP_KINDS else {}
    if isinstance(module, Network):
        kept["network"] = name_of(type(module))
    card = {
        "format": FORMAT,
        "kind": kind,
        "config": config,
        "family": family,
        "licence": LICENCE,
        "data": data,
        "trained": trained,
        "dibs": dibs.__version__,
        **kept,
    }
    if any(features):
        card["features"] = features.as_dict()
    if kind == "transformer":
        card["parameters"] = sum(values.numel() for values in module.parameters())
    metadata = {METADATA: json.dumps(card)}  # one entry: safetensors would write several in any order
    files = {ONNX: graph(metadata).SerializeToString(deterministic=True)} if graph else {}
    if kind != "transformer":
        tensors = {name: value.detach().cpu().contiguous() for name, value in module.state_dict().items()}
        files[WEIGHTS] = save(tensors, metadata)
    _store(Path(folder), card, files)


def _store(folder: Path, card: dict[str, Any], files: dict[str, bytes]) -> None:
    """The files of a guide and its card, with their checksums."""
    card["sha256"] = {name: sha256(content).hexdigest() for name, content in files.items()}
    with _replacing(folder) as fresh:
        for name, content in {**files, CARD: json.dumps(card, indent=2).encode() + b"\n"}.items():
            write(fresh / name, content, durable=True)


def set_calibration(folder: Path, pair: tuple[float, float]) -> None:
    """Write a guide's calibration on its card; weights and checksums stay."""
    path = folder / CARD
    card = json.loads(path.read_text(encoding="utf-8")) | {"calibration": [round(value, 4) for value in pair]}
    with explained(path), interrupts_later(signal.SIGINT, signal.SIGTERM):
        write(path, json.dumps(card, indent=2).encode() + b"\n", durable=True)


def halve(folder: Path) -> None:
    """Store the weights of a transformer in half precision: half the bytes, and logits that differ a little."""
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    module = load_module(folder)
    if card["kind"] != "transformer":
        raise InputError(f"a {card['kind']} guide is small already: only a transformer is halved", str(folder))
    kept = {key: value for key, value in card.items() if key not in ("sha256", "calibration")}
    graph = transformer_graph(cast("Transformer", module), {METADATA: json.dumps(kept)}, half=True)
    _store(folder, card, {ONNX: graph.SerializeToString(deterministic=True)})


def load_module(folder: Path | str) -> nn.Module:
    """The module of a guide's folder, in eval mode. Every tensor must be there in its shape, and no other."""
    folder = Path(folder)
    card = verify(folder)
    if card.kind == "own":
        from dibs.guide.network import loaded

        return loaded(folder / WEIGHTS, card)
    module = _build(card, folder)
    path = folder / (WEIGHTS if WEIGHTS in card.sha256 else ONNX)
    tensors = (_tensors if path.name == WEIGHTS else _initializers)(path)
    wanted = module.state_dict()
    faults = [f"no {name}" for name in sorted(wanted.keys() - tensors.keys())]
    faults += [f"an unknown {name}" for name in sorted(tensors.keys() - wanted.keys())]
    faults += [
        f"{name} {list(tensors[name].shape)} instead of {list(wanted[name].shape)}"
        for name in wanted.keys() & tensors.keys()
        if tensors[name].shape != wanted[name].shape
    ]
    if faults:
        more = f" and {len(faults) - 1} faults more" if len(faults) > 1 else ""
        raise InputError(f"does not fit its card: it has {faults[0]}{more}; {AGAIN}", str(path))
    module.load_state_dict(tensors, strict=True)
    return module.eval()


def _parts(module: nn.Module, family: str) -> tuple[str, dict[str, Any], Callable[[dict[str, str]], ModelProto] | None]:
    """(kind, constructor arguments, what writes the graph with its metadata, if there is one)."""
    from dibs.guide.network import Network
    from dibs.model.relational import Relational
    from dibs.model.transformer import Transformer

    if isinstance(module, Relational):
        return "relational", module.config, partial(relational_graph, module, family=family)
    if isinstance(module, Transformer):
        return "transformer", module.configuration, partial(transformer_graph, module)
    if isinstance(module, Network):
        sizes = module.sizes._asdict() | {"kinds": module.sizes.kinds if module.sizes.kinds != len(GROUP_KINDS) else 0}
        return "own", {name: value for name, value in sizes.items() if value}, None
    raise TypeError(f"{type(module).__name__} is neither a Relational nor a Transformer nor a Network")


def _build(card: Card, folder: Path) -> nn.Module:
    from dibs.model.relational import Relational
    from dibs.model.transformer import Transformer

    try:
        return (Relational if card.kind == "relational" else Transformer)(**card.config)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"config makes no {card.kind}: {one_line(error)}; {AGAIN}", str(folder / CARD)) from None


def _tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise InputError(f"is not a safetensors file: {error}; {AGAIN}", str(path)) from None


def _initializers(path: Path) -> dict[str, Tensor]:
    """The weights in a transformer's graph."""
    import torch
    from onnx import load_model_from_string

    try:
        model = load_model_from_string(path.read_bytes())
        return {name: torch.from_numpy(value.copy()) for name, value in weights(model).items()}
    except Exception as error:  # whatever protobuf says of bytes that are none of its own
        raise InputError(f"is not an ONNX file: {error}; {AGAIN}", str(path)) from None


def _strange(name: str) -> bool:
    """Whether a guide has no such file; a kill may leave one that was not complete."""
    return name not in (CARD, WEIGHTS, ONNX) and not name.endswith(PARTIAL)


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A fresh folder beside `folder` that takes its name in the end; after a failure all is as it was."""
    if folder.exists() and (not folder.is_dir() or any(_strange(path.name) for path in folder.iterdir())):
        raise InputError("is there already and is no guide: give another folder", str(folder))
    place = folder.resolve()
    fresh, old = (place.with_name(f"{place.name}.{os.getpid()}.{end}") for end in ("partial", "old"))
    try:
        with explained(folder):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(fresh, ignore_errors=True)  # of a process with the same number that was killed
            fresh.mkdir()
            yield fresh
            with interrupts_later(signal.SIGINT, signal.SIGTERM):  # between the two there is no guide
                if place.exists():
                    place.rename(old)
                try:
                    fresh.rename(place)
                except OSError:
                    if old.exists():
                        old.rename(place)
                    raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
