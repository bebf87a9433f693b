"""A trained guide by its name or folder, ready to rank."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from dibs.guide.denoiser import Denoiser
from dibs.guide.guidance import Guidance, Runtime
from dibs.guide.score import DiBS


def load_guide(
    name_or_path: str | Path,
    *,
    alpha: float = 0.8,
    steps: int = 1,
    threads: int = 1,
    runtime: Runtime = "auto",
    rounds: int | None = None,
    bare: bool = False,
) -> DiBS:
    """The paper's guide with trained weights: one that comes with dibs (`relational`, `transformer`), or a folder.

    `alpha`: weight of the model's preference against consistency; `steps`: denoising steps, a forward pass each;
    `threads`: of one forward pass; `runtime`: "onnx" for ONNX Runtime even where compiled code is faster;
    `rounds`: of a relational guide that runs as compiled code, in place of those on its card;
    `bare`: a relational guide's network alone, without following singles first.
    The files are checked against their card; anything wrong raises InputError.
    """
    settings: dict[str, Any] = {"threads": threads, "runtime": runtime, "rounds": rounds, "bare": bare}
    Guidance(guide=str(name_or_path), alpha=alpha, steps=steps, **settings)  # checks
    return DiBS(Denoiser.load(name_or_path, **settings), alpha, steps)


def chosen(guidance: Guidance) -> DiBS | None:
    """The guide that an options record names, or None."""
    if guidance.guide is None:
        return None
    settings = asdict(guidance)
    return load_guide(settings.pop("guide"), **settings)
