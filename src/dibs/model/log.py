"""The figures of a run, as CSV and for TensorBoard."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from dibs.writing import write


class Log:
    """`log.csv` and TensorBoard events in `folder`; rows after step `start` (of an interrupted run) are dropped."""

    def __init__(self, folder: Path, start: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.path = folder / "log.csv"
        self.rows: list[dict[str, str]] = []
        if start and self.path.exists():
            with self.path.open(newline="") as file:
                self.rows = [row for row in csv.DictReader(file) if int(row["step"]) <= start]
        self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=start + 1)

    def has(self, step: int) -> bool:
        return any(int(row["step"]) == step for row in self.rows)

    def write(self, step: int, **figures: float) -> None:
        self.rows.append({"step": str(step), **{name: f"{value:.6g}" for name, value in figures.items()}})
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO(newline="")
        out = csv.DictWriter(text, names)
        out.writeheader()
        out.writerows(self.rows)
        write(self.path, text.getvalue().encode())
        for name, value in figures.items():
            self.board.add_scalar(name, value, step)
        self.board.flush()

    def close(self) -> None:
        self.board.close()
