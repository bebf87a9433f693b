"""What a guide's folder says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

from rich.table import Table

from dibs.guide.card import WEIGHTS, Card
from dibs.problem.text import InputError


def described(folder: Path, card: Card) -> dict[str, Any]:
    """All that the card and the files of a guide say."""
    return {"name": folder.name, **asdict(card), "features": card.features.as_dict()} | {
        "parameters": card.parameters or parameters(folder / WEIGHTS),
        "bytes": {name: (folder / name).stat().st_size for name in card.sha256},
    }


def parameters(path: Path) -> int:
    """The numbers in a safetensors file, from its header: 8 bytes of length, then JSON with a shape for each tensor."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError):
        raise InputError("is not a safetensors file", str(path)) from None


def takes(found: dict[str, Any]) -> str:
    """The problems that a guide takes, in a few words."""
    if found["kind"] == "transformer":
        size = found["config"]["size"]
        return f"{size}x{size} Sudokus"
    kinds = ", ".join(found["kinds"][1:]) or "none but choices"
    grids = "Sudokus and Latin squares"
    for what, own in found["features"].items():
        kinds += f"; features of {what}: {', '.join(own)}" if own else ""
    return {"sudoku": grids, "latin": grids, "cnf": "formulas"}.get(found["family"], f"problems with groups: {kinds}")


def listed(found: dict[str, Any]) -> Table:
    """What `described` found, for readers."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")

    def words(table: dict[str, Any]) -> str:
        return ", ".join(f"{key} {value}" for key, value in table.items()) or "nothing noted"

    files = [
        (name, f"{size:,} bytes, sha256 {found['sha256'][name][:12]}... checked")
        for name, size in found["bytes"].items()
    ]
    for name, value in (
        ("guide", found["name"]),
        ("kind", f"own: {found['network']}, run by torch" if found["network"] else found["kind"]),
        ("parameters", f"{found['parameters']:,}"),
        ("configuration", words(found["config"])),
        ("family", found["family"]),
        ("takes", takes(found)),
        ("trained", words(found["trained"])),
        ("data", f"sha256 {found['data']}"),
        ("licence", found["licence"]),
        ("written by", f"dibs {found['dibs']}"),
        *files,
    ):
        table.add_row(name, value)
    return table
