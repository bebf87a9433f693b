"""Interrupts real training runs at random moments, resumes them and compares: `make bench-interrupts`.

    python benchmarks/interrupts.py --interrupts 500 --seed 0

A tiny run on 4x4 puzzles is trained undisturbed. Then again and again: a timer sends SIGINT or SIGTERM to this process
while the run is under way, the run is resumed, now and then it is interrupted once more. In the end the weights, their
average, the optimiser, the guide and the log (but for its seconds) must be those of the undisturbed run, to the bit.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import cyclopts
import torch
from safetensors.torch import load_file

from dibs.model.checkpoint import Checkpoint
from dibs.model.config import Config
from dibs.model.puzzles import Puzzles, load
from dibs.model.train import Progress, train

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 0.3  # chance that a resumed run is interrupted as well
TABLES: dict[str, dict[str, Any]] = {
    "model": {"kind": "relational", "width": 8, "rounds": 2},
    "data": {"box": [2, 2], "minimal": 200, "held": 0.05},
    "train": {
        "steps": 24,
        "batch": 4,
        "segments": 3,
        "updates": 3,
        "levels": {"eliminate": 1},
        "judged": "eliminate",
        "validate": 5,
        "checkpoint": 7,
    },
}


@dataclass
class Trials:
    """What became of the interrupted runs."""

    interrupts: int = 0
    equal: int = 0
    runs: int = 0
    differences: list[str] = field(default_factory=list)  # one line for each run that ended otherwise


def plan() -> Config:
    return Config.of("interrupts", TABLES, "interrupts")


def puzzles(folder: Path) -> dict[str, Puzzles]:
    return load(plan().data, folder, lambda *_: None)


def trials(
    interrupts: int, seed: int, sources: dict[str, Puzzles], folder: Path, report: Callable[[Trials], None]
) -> Trials:
    """Interrupt runs until there were so many interrupts. An interrupt is equal if the run that it hit ended so."""
    rng = random.Random(seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are tiny: on a busy machine threads would wait for each other
    try:
        return _trials(interrupts, rng, sources, folder, report)
    finally:
        torch.set_num_threads(threads)


def _trials(
    interrupts: int, rng: random.Random, sources: dict[str, Puzzles], folder: Path, report: Callable[[Trials], None]
) -> Trials:
    whole, cut = folder / "whole", folder / "cut"
    _train(sources, whole, resume=False)  # also loads all that is imported late: an import that breaks off stays broken
    begin = perf_counter()
    _train(sources, folder / "timed", resume=False)
    took = perf_counter() - begin
    found = Trials()
    while found.interrupts < interrupts:  # the last run is interrupted once
        shutil.rmtree(cut, ignore_errors=True)
        hits = 0
        while True:
            patient = hits and (rng.random() > AGAIN or found.interrupts + hits == interrupts)
            delay = None if patient else rng.uniform(0, took)
            resume = (cut / "checkpoint.pt").exists()
            if not _interrupted(partial(_train, sources, cut, resume), rng.choice(SIGNALS), delay):
                break
            hits += 1
        difference = compared(whole, cut) if hits else ""
        found.runs += 1
        found.interrupts += hits
        found.equal += 0 if difference else hits
        if difference:
            found.differences.append(f"run {found.runs}, interrupted {hits} times: {difference}")
        report(found)
    return found


def _train(sources: dict[str, Puzzles], folder: Path, resume: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    train(plan(), sources, folder, _silent, resume)


def _silent(now: Progress) -> None:
    pass


def _interrupted(work: Callable[[], None], number: signal.Signals, delay: float | None) -> bool:
    """Do the work; whether the signal, which comes after `delay` seconds as KeyboardInterrupt, has ended it."""
    heard: list[int] = []
    armed = True

    def handler(number: int, _: FrameType | None) -> None:
        if armed:
            heard.append(number)
            raise KeyboardInterrupt

    before = {each: signal.signal(each, handler) for each in SIGNALS}
    timer = threading.Timer(delay or 0, os.kill, (os.getpid(), number))
    try:
        if delay is not None:
            timer.start()
        work()
    except KeyboardInterrupt:
        assert heard
    finally:
        armed = False
        if delay is not None:
            timer.cancel()
            timer.join()
        for each, handler_before in before.items():
            signal.signal(each, handler_before)
    return bool(heard)


def compared(one: Path, other: Path) -> str:
    """What is not equal in two finished runs; nothing if all is."""
    a, b = (Checkpoint.read(folder / "checkpoint.pt") for folder in (one, other))
    for name in ("step", "loss", "data", "config"):
        if getattr(a, name) != getattr(b, name):
            return name
    for name in ("weights", "average", "optimiser"):
        if not same(getattr(a, name), getattr(b, name)):
            return name
    if log(one) != log(other):
        return "log.csv"
    if not same(guide(one), guide(other)):
        return "guide"
    return ""


def same(a: Any, b: Any) -> bool:
    """Nested tables of tensors and numbers, to the bit."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def log(folder: Path) -> list[dict[str, str]]:
    """The rows of log.csv without the column of the clock."""
    with (folder / "log.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def guide(folder: Path) -> dict[str, Any]:
    """The guide's weights and card; checksums and seconds depend on the clock."""
    card = json.loads((folder / "guide" / "card.json").read_text())
    del card["sha256"], card["trained"]["seconds"]
    return {"card": card, "weights": load_file(folder / "guide" / "model.safetensors")}


def main(*, interrupts: int = 500, seed: int = 0) -> None:
    begin = perf_counter()

    def said(now: Trials) -> None:
        line = f"{now.equal} of {now.interrupts} equal, {now.runs} runs, {perf_counter() - begin:.0f} s"
        print(line, end="\r", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        found = trials(interrupts, seed, puzzles(Path(folder) / "data"), Path(folder), said)
    print(*found.differences, sep="\n", end="\n" if found.differences else "")
    print(f"{found.equal} of {found.interrupts} equal")
    sys.exit(found.equal != found.interrupts)


if __name__ == "__main__":
    cyclopts.run(main)
