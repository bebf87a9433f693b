"""Which trained guide, and how its scores are made: one frozen record. The command line is made from it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from dibs.problem.structure import Structure
from dibs.ranges import check, option

MOST_STEPS = 64
MOST_ROUNDS = 4096

Runtime = Literal["auto", "onnx"]


@dataclass(frozen=True, kw_only=True)
class Guidance:
    """A guide and the settings of the paper's score. Nothing here can change an answer."""

    guide: str | None = option(
        None, "a trained guide: relational, sat, transformer, ... or a folder with card.json; auto: by family"
    )
    alpha: float = option(0.8, "weight of the guide's preference; the rest is for consistency", None, 0, 1, whole=False)
    steps: int = option(1, "denoising steps, a forward pass each", None, 1, MOST_STEPS)
    threads: int = option(1, "threads of one forward pass", None, 1)
    runtime: Runtime = option(
        "auto", "what runs the model; auto: ONNX Runtime, or compiled code where it is faster", Runtime
    )
    rounds: int | None = option(None, "rounds of a relational guide; by default as its card says", None, 1, MOST_ROUNDS)
    network_only: bool = option(False, "the network alone, without following singles first")

    def __post_init__(self) -> None:
        check(self)
        if self.guide is None:
            for f in fields(self):
                if getattr(self, f.name) != f.default:
                    value = getattr(self, f.name)
                    raise ValueError(f"{f.name} = {value!r} is a setting of a guide: name one with guide")

    @property
    def settings(self) -> dict[str, Any]:
        """All but the name: what `load_guide` takes beside it."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "guide"}


SUITED = {"sudoku": "relational", "latin": "relational-latin", "cnf": "sat"}  # guide `auto`, by family
LARGE_SUDOKU, LARGE_CELLS = "relational-sudoku", 256  # and for Sudokus above 16x16


def suited_name(name: str, structure: Structure) -> tuple[str | None, str]:
    """The guide that a name means for problems of a structure; where it is None, why.

    `auto` is the one that comes with dibs for the family.
    """
    return (name, "") if name != "auto" else suited_to(structure.family, structure.decisions)


def suited_to(family: str, cells: int) -> tuple[str | None, str]:
    """Guide `auto` for a family, and so many cells or variables."""
    if family not in SUITED:
        return None, f"no guide for the family {family} comes with dibs"
    return (LARGE_SUDOKU if family == "sudoku" and cells > LARGE_CELLS else SUITED[family]), ""
