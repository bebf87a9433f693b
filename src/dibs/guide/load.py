"""A trained guide by its name or folder, ready to rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dibs.guide.denoiser import Denoiser
from dibs.guide.score import DiBS
from dibs.search.guidance import Guidance, Runtime


def load_guide(
    name_or_path: str | Path,
    *,
    alpha: float = 0.8,
    steps: int = 1,
    threads: int = 1,
    runtime: Runtime = "auto",
    rounds: int | None = None,
    network_only: bool = False,
) -> DiBS:
    """The paper's guide with trained weights.

    Args:
        name_or_path: one that comes with dibs (`dibs guides` lists them), or a folder.
        alpha: weight of the model's preference against consistency, 0 to 1.
        steps: denoising steps, a forward pass each.
        threads: of one forward pass.
        runtime: "onnx" for ONNX Runtime even where compiled code is faster.
        rounds: of a relational guide that runs as compiled code, in place of those on its card.
        network_only: a relational guide's network alone, without following singles first.

    Returns:
        A guide, which every call takes.

    Raises:
        InputError: a file is missing, damaged, or not what the card says.

    Examples:
        >>> import dibs
        >>> guide = dibs.load_guide("relational")
        >>> dibs.solve(dibs.Sudoku.parse("4.....1..3......"), guide=guide, level="naked").asks
        2
    """
    settings: dict[str, Any] = {"threads": threads, "runtime": runtime, "rounds": rounds, "network_only": network_only}
    Guidance(guide=str(name_or_path), alpha=alpha, steps=steps, **settings)  # checks
    return DiBS(Denoiser.load(name_or_path, **settings), alpha, steps)
