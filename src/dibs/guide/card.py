"""A trained guide on disk: a folder with card.json, model.safetensors and model.onnx.

The card says what the weights are and holds the SHA-256 of both files. Guides that come with dibs are the folders of
`dibs/weights`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path
from typing import Any

from dibs.problem.text import InputError

FORMAT = 1
KINDS = ("relational", "transformer")
CARD = "card.json"
WEIGHTS = "model.safetensors"  # for training and for other code
ONNX = "model.onnx"  # for ONNX Runtime
AGAIN = "install dibs again or export it again"


@dataclass(frozen=True)
class Card:
    """What card.json says."""

    format: int
    kind: str  # one of `KINDS`
    config: dict[str, Any]  # constructor arguments of the module
    family: str  # of the problems that it was trained on: "sudoku"
    licence: str
    data: str  # SHA-256 of the training data
    trained: dict[str, Any]  # steps, seconds, seed, name of the configuration: free
    dibs: str  # the version that wrote it
    sha256: dict[str, str]  # of the files beside the card, by name
    calibration: tuple[float, float] = (0.0, 0.0)  # a and b of `loops.temper`; optional on a card

    @classmethod
    def read(cls, folder: Path) -> Card:
        """The card of a guide's folder; one-line InputError if there is none that this version understands."""
        path = folder / CARD
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"has no {CARD}: a guide is a folder with {CARD}, {WEIGHTS} and {ONNX}", str(folder)
            ) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", str(path)) from None
        except ValueError as error:  # neither UTF-8 nor JSON
            raise InputError(f"is not JSON: {error}; {AGAIN}", str(path)) from None
        return cls(**_checked(table, str(path)))


def _checked(table: Any, path: str) -> dict[str, Any]:
    """The fields of a card; keys that are not known are left for later versions."""
    if not isinstance(table, dict):
        raise InputError("is not a card: expected a JSON object", path)
    if table.get("format") != FORMAT:
        raise InputError(f"format {table.get('format')!r} is not known; this version of dibs reads {FORMAT}", path)
    wanted = {"format": int, "config": dict, "trained": dict, "sha256": dict}
    pair = table.setdefault("calibration", [0.0, 0.0])
    if not isinstance(pair, list) or len(pair) != 2 or not all(type(v) in (int, float) and abs(v) < 100 for v in pair):
        raise InputError(f"'calibration' must be two numbers; {AGAIN}", path)
    table["calibration"] = (float(pair[0]), float(pair[1]))
    for field in fields(Card):
        if field.name == "calibration":
            continue
        if field.name not in table:
            raise InputError(f"has no {field.name!r}; {AGAIN}", path)
        if not isinstance(table[field.name], kind := wanted.get(field.name, str)):
            raise InputError(f"{field.name!r} must be a JSON {_JSON[kind]}; {AGAIN}", path)
    if table["kind"] not in KINDS:
        raise InputError(f"kind {table['kind']!r} is not known; this version of dibs runs {' and '.join(KINDS)}", path)
    for name in (WEIGHTS, ONNX):
        if not isinstance(table["sha256"].get(name), str):
            raise InputError(f"has no sha256 of {name}; {AGAIN}", path)
    return {field.name: table[field.name] for field in fields(Card)}


_JSON: dict[type, str] = {int: "number", dict: "object", str: "string"}


def shipped() -> dict[str, Path]:
    """The guides that come with dibs, by name."""
    folder = Path(str(files("dibs") / "weights"))
    return {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{CARD}"))}


def find(name_or_path: str | Path) -> Path:
    """The folder of a guide: the name of one that comes with dibs, or a folder (`./relational` is never a name)."""
    known = shipped()
    if str(name_or_path) in known and not (isinstance(name_or_path, Path) and name_or_path.is_dir()):
        return known[str(name_or_path)]
    path = Path(name_or_path)
    if path.is_dir():
        return path
    if path.exists():
        raise InputError(f"is not a guide: give the folder with {CARD}, {WEIGHTS} and {ONNX}", str(path))
    raise InputError(f"no such guide; dibs comes with {', '.join(known) or 'none'}, or give a folder", str(path))


def verify(folder: Path) -> Card:
    """The card of a folder whose files are the ones that were exported; one-line InputError otherwise."""
    card = Card.read(folder)
    for name in (WEIGHTS, ONNX):
        path = folder / name
        try:
            with path.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise InputError(f"is missing; {AGAIN}", str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", str(path)) from None
        if digest != card.sha256[name]:
            raise InputError(
                f"does not match its card (sha256 {digest[:12]}, not {card.sha256[name][:12]}): "
                f"the file is damaged or was changed; {AGAIN}",
                str(path),
            )
    return card
