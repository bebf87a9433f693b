"""Checkpoints: all that a run needs to go on, written so that the previous one survives whatever happens."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from dibs.problem import InputError
from dibs.writing import write


class Unwritable(OSError):
    """A checkpoint could not be written; the previous one is untouched."""


@dataclass
class Checkpoint:
    step: int  # updates made
    seconds: float  # of training so far
    config: dict[str, Any]  # `Config.tables`
    data: str  # fingerprint of the puzzles
    weights: dict[str, Tensor]
    average: dict[str, Tensor]  # exponential moving average of the weights
    optimiser: dict[str, Any]
    loss: float = 0.0  # of training, smoothed

    def write(self, path: Path) -> None:
        """Raises Unwritable if the disk is full."""
        packed = io.BytesIO()  # torch would turn a full disk into a riddle
        try:
            torch.save({f.name: getattr(self, f.name) for f in fields(self)}, packed)
            write(path, packed.getvalue(), durable=True)
        except OSError as error:
            raise Unwritable(f"{path}: {error}") from None

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Refuses what is no whole checkpoint with one line."""
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
            return cls(**found)
        except FileNotFoundError:
            raise InputError("no checkpoint to resume from; start without --resume", file=str(path)) from None
        except (UnpicklingError, OSError, RuntimeError, EOFError, TypeError, KeyError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"is not a whole checkpoint of dibs: {reason}", file=str(path)) from None
