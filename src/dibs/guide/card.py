"""A trained guide on disk: a folder with card.json, model.onnx and, if it is relational, model.safetensors.

The card says what the weights are and holds the SHA-256 of the other files. Guides that come with dibs are the folders
of `dibs/weights`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from reprlib import repr as short
from stat import S_ISREG
from typing import Any, NamedTuple

from dibs.guide.features import GROUP_KINDS, HUGE, NO_FEATURES, TINY, OwnFeatures
from dibs.problem.text import InputError

FORMAT = 1
KINDS = ("relational", "transformer", "own")  # own: a class of the user's
FAMILIES = ("sudoku", "latin", "cnf", "problem")  # problem: any, by the kinds of its groups
OPTIONAL = ("calibration", "kinds", "parameters", "features", "network")  # fields of a card
CARD = "card.json"
GUIDE = "guide"  # the folder of a guide within that of its training
WEIGHTS = "model.safetensors"  # of relational guides, for compiled code
ONNX = "model.onnx"  # for ONNX Runtime
NEEDED = {"relational": (WEIGHTS, ONNX), "transformer": (ONNX,), "own": (WEIGHTS,)}  # files by kind
AGAIN = "install dibs again or export it again"

CARD_BYTES = 2**20
FILE_BYTES = 2**31  # no ONNX file can be larger
DEPTH = 16  # of lists and objects within one another on a card
FILES = 16  # named on a card
MOST = 4096  # width and rounds of a network
LAYERS = 256  # and heads
PARAMETERS = 2**28  # of a transformer's blocks
CALIBRATION = 100.0  # either way
NAMES, NAME = 64, 200  # kinds of groups, and characters of the name of one
EXTERNAL = b"\x0a\x08location"  # how ONNX begins to say that a tensor is in another file


class Range(NamedTuple):
    """What a number of a configuration may be; whoever runs the model needs it, or not."""

    least: int
    most: int
    needed: bool = True
    whole: bool = True


GRAPHS = {  # what a network of literals and groups takes
    "kinds": Range(1, NAMES, needed=False),  # of groups, if they are not those of a grid
    "bounds": Range(0, 1, needed=False),  # 1: what groups need and have room for is an input
    "literal_features": Range(0, NAMES, needed=False),  # of the user's own
    "group_features": Range(0, NAMES, needed=False),
}
CONFIG: dict[str, dict[str, Range]] = {
    "relational": {
        "width": Range(1, MOST),
        "rounds": Range(1, MOST),  # that a state may have
        "trained_rounds": Range(1, MOST * MOST, needed=False),  # that it had in training, at most
        "settled": Range(0, 1, needed=False, whole=False),  # no more rounds where log-probabilities change by less
        "probes": Range(0, 1, needed=False),  # 1: of grids, it is asked about what trying each literal leaves open
        **GRAPHS,
    },
    "own": GRAPHS,
    "transformer": {
        "cells": Range(1, 36**2),
        "size": Range(1, 36),
        "vocabulary": Range(1, MOST),
        "width": Range(1, MOST, needed=False),
        "layers": Range(1, LAYERS, needed=False),
        "heads": Range(1, LAYERS, needed=False),
        "dropout": Range(0, 1, needed=False, whole=False),
        "candidates": Range(0, 1, needed=False),  # 1: open values are an input
        "relations": Range(0, 1, needed=False),  # 1: attention has a bias for what cells share
        "loops": Range(1, LAYERS, needed=False),  # how often the state goes through the blocks
    },
}


@dataclass(frozen=True)
class Card:
    """What card.json says."""

    format: int
    kind: str  # one of `KINDS`
    config: dict[str, Any]  # constructor arguments of the module: `CONFIG` of its kind, nothing else
    family: str  # of the problems that it was trained on: one of `FAMILIES`
    licence: str
    data: str  # SHA-256 of the training data
    trained: dict[str, Any]  # steps, seconds, seed, name of the configuration: free
    dibs: str  # the version that wrote it
    sha256: dict[str, str]  # of the files beside the card, by name
    calibration: tuple[float, float] = (0.0, 0.0)  # a and b of `loops.temper`; optional on a card
    kinds: tuple[str, ...] = GROUP_KINDS  # what its groups are called, the cells first; optional on a card
    parameters: int = 0  # how many numbers the weights are; 0: see the header of `WEIGHTS`
    features: OwnFeatures = NO_FEATURES  # optional on a card
    network: str = ""  # module:Class of the user's own

    @classmethod
    def read(cls, folder: Path) -> Card:
        """The card of a guide's folder; one-line InputError if there is none that this version understands."""
        path = folder / CARD
        try:
            content = _content(path, CARD_BYTES)
        except FileNotFoundError:
            raise InputError(
                f"has no {CARD}: a guide is a folder with {CARD}, {ONNX} and {WEIGHTS}", str(folder)
            ) from None
        try:
            table = json.loads(content.decode("utf-8"))
        except ValueError as error:  # neither UTF-8 nor JSON
            raise InputError(f"is not JSON: {error}; {AGAIN}", str(path)) from None
        except RecursionError:
            raise _nested(path) from None
        if not _shallow(table):
            raise _nested(path)
        return cls(**_checked(table, str(path)))

    @property
    def digest(self) -> str:
        """Twelve digits of a hash of all that decides what the guide says: weights, graph, sizes, calibration."""
        parts = [self.kind, self.config, self.family, self.calibration, self.sha256]
        parts += [self.kinds] if self.kinds != GROUP_KINDS else []
        parts += [self.features] if any(self.features) else []
        parts += [self.network] if self.network else []
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _content(path: Path, most: int) -> bytes:
    """A file of a guide. FileNotFoundError if it is missing; InputError if it is no file, too large or not readable."""
    try:
        about = path.stat()
        if not S_ISREG(about.st_mode):  # a pipe would wait for a writer
            raise InputError("cannot be read: it is not a file", str(path))
        if about.st_size <= most:
            return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from None
    raise InputError(f"has {about.st_size:,} bytes; at most {most:,} are read", str(path))


def _nested(path: Path) -> InputError:
    return InputError(f"is not a card: lists and objects are more than {DEPTH} deep; {AGAIN}", str(path))


def _shallow(found: Any) -> bool:
    """Whether nothing is deeper than `DEPTH`."""
    level = [found]
    for _ in range(DEPTH):
        level = [one for some in level for one in _inside(some)]
    return not level


def _inside(found: Any) -> Iterator[Any]:
    if isinstance(found, dict | list):
        yield from found.values() if isinstance(found, dict) else found


def _checked(table: Any, path: str) -> dict[str, Any]:
    """The fields of a card; keys that are not known are left for later versions."""
    if not isinstance(table, dict):
        raise InputError("is not a card: expected a JSON object", path)
    given = table.get("format")
    if type(given) is not int or given != FORMAT:
        raise InputError(f"format {short(given)} is not known; this version of dibs reads {FORMAT}", path)
    wanted = {"format": int, "config": dict, "trained": dict, "sha256": dict}
    for field in fields(Card):
        if field.name in OPTIONAL:
            continue
        if field.name not in table:
            raise InputError(f"has no {field.name!r}; {AGAIN}", path)
        if not isinstance(table[field.name], kind := wanted.get(field.name, str)):
            raise InputError(f"{field.name!r} must be a JSON {_JSON[kind]}; {AGAIN}", path)
    for name, known in (("kind", KINDS), ("family", FAMILIES)):
        if table[name] not in known:
            what = f"{name} {short(table[name])} is not known"
            raise InputError(f"{what}; this version of dibs runs {' and '.join(known)}", path)
    _check_config(table["kind"], table["config"], path)
    _check_names(table["kind"], table["sha256"], path)
    parameters = table.get("parameters", 0)
    if not _number(parameters, WEIGHTS not in table["sha256"], FILE_BYTES, whole=True):
        raise InputError(f"'parameters' must be a whole number; {AGAIN}", path)
    return {field.name: table[field.name] for field in fields(Card) if field.name not in OPTIONAL} | {
        "calibration": _calibration(table.get("calibration", [0.0, 0.0]), path),
        "kinds": _kinds(table.get("kinds", list(GROUP_KINDS)), table["config"].get("kinds", len(GROUP_KINDS)), path),
        "parameters": parameters,
        "features": _features(table.get("features", {}), table["config"], path),
        "network": _network(table.get("network", ""), table["kind"], path),
    }


_JSON: dict[type, str] = {int: "number", dict: "object", str: "string"}


def _number(value: Any, least: float, most: float, whole: bool = False) -> bool:
    return type(value) in ((int,) if whole else (int, float)) and least <= value <= most


def _calibration(pair: Any, path: str) -> tuple[float, float]:
    if isinstance(pair, list) and len(pair) == 2 and all(_number(v, -CALIBRATION, CALIBRATION) for v in pair):
        return float(pair[0]), float(pair[1])
    raise InputError(f"'calibration' must be two numbers from -{CALIBRATION:.0f} to {CALIBRATION:.0f}; {AGAIN}", path)


def _kinds(names: Any, count: int, path: str) -> tuple[str, ...]:
    good = isinstance(names, list) and all(isinstance(name, str) and 0 < len(name) <= NAME for name in names)
    if good and len(names) == count and len(set(names[1:])) == count - 1:  # the first has its place, not its name
        return tuple(names)
    raise InputError(f"'kinds' must be {count} different names of kinds of groups; {AGAIN}", path)


def _features(table: Any, config: dict[str, Any], path: str) -> OwnFeatures:
    found = []
    for what, key in (("literals", "literal_features"), ("groups", "group_features")):
        own: Any = table.get(what, {}) if isinstance(table, dict) else None
        good = isinstance(own, dict) and len(own) == config.get(key, 0)
        if not good or not all(len(name) <= NAME and _number(by, TINY, HUGE) for name, by in own.items()):
            raise InputError(f"'features' must have {config.get(key, 0)} names of {what}, a number each; {AGAIN}", path)
        found.append(tuple((name, float(by)) for name, by in own.items()))
    return OwnFeatures(*found)


def _network(name: Any, kind: str, path: str) -> str:
    if isinstance(name, str) and len(name) <= NAME and bool(name) == (kind == "own"):
        return name
    raise InputError(f"'network' must be module:Class where the kind is own, and nothing elsewhere; {AGAIN}", path)


def _check_config(kind: str, config: dict[str, Any], path: str) -> None:
    known = CONFIG[kind]
    if unknown := sorted(config.keys() - known.keys()):
        raise InputError(f"config: a {kind} has no {short(unknown[0])}, only {', '.join(known)}; {AGAIN}", path)
    for name, range_ in known.items():
        if name not in config and not range_.needed:
            continue
        if not _number(config.get(name), range_.least, range_.most, range_.whole):
            what = "a whole number" if range_.whole else "a number"
            found = short(config[name]) if name in config else "missing"
            raise InputError(f"config: {name} is {found}, not {what} {range_.least} to {range_.most}; {AGAIN}", path)
    if 12 * config.get("layers", 1) * config.get("width", 1) ** 2 > PARAMETERS:
        raise InputError(f"config: more than {PARAMETERS:,} parameters; {AGAIN}", path)


def _check_names(kind: str, sums: dict[str, Any], path: str) -> None:
    for name in NEEDED[kind]:
        if not isinstance(sums.get(name), str):
            raise InputError(f"has no sha256 of {name}; {AGAIN}", path)
    if len(sums) > FILES:
        raise InputError(f"sha256 has more than {FILES} files; {AGAIN}", path)
    for name, found in sums.items():
        if not isinstance(found, str) or name in ("", ".", "..", CARD) or any(c in "/\\\0" for c in name):
            raise InputError(f"sha256: {short(name)} is no file beside the card; {AGAIN}", path)


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
    if path.is_dir():  # of a guide, or of the run that made one
        inside = path / GUIDE
        return inside if not (path / CARD).exists() and (inside / CARD).exists() else path
    if path.exists():
        raise InputError(f"is not a guide: give the folder with {CARD} and {ONNX}", str(path))
    raise InputError(f"no such guide; dibs comes with {', '.join(known) or 'none'}, or give a folder", str(path))


def verify(folder: Path) -> Card:
    """The card of a folder whose files are the ones that were exported; one-line InputError otherwise."""
    card = Card.read(folder)
    try:
        there = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(folder)) from None
    if unknown := [name for name in there if name not in (CARD, *card.sha256)]:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise InputError(
            f"has {short(unknown[0])}{more}, which its {CARD} does not know: a guide's folder has nothing else",
            str(folder),
        )
    for name, wanted in card.sha256.items():
        path = folder / name
        try:
            content = _content(path, FILE_BYTES)
        except FileNotFoundError:
            raise InputError(f"is missing; {AGAIN}", str(path)) from None
        digest = sha256(content).hexdigest()
        if digest != wanted:
            raise InputError(
                f"does not match its card (sha256 {digest[:12]}, not {short(wanted[:12])[1:-1]}): "
                f"the file is damaged or was changed; {AGAIN}",
                str(path),
            )
        if name == ONNX and EXTERNAL in content:
            raise InputError(
                f"has weights in other files, which nobody checks: export it as one file; {AGAIN}", str(path)
            )
    return card
