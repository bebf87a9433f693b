"""Memory of long runs on Latin squares of order 40: resident megabytes, minute by minute.

    python benchmarks/memory.py [--minutes 10] [--order 40] [--seed 1] [--kinds nogoods stream session]

`nogoods`: hard squares, one after the other, each in one search; `stream`: all solutions of one loose square, of which
there is no end; `session`: one session, in which givens of a square come and go. Each in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Annotated

import cyclopts
import numpy as np
from cyclopts import Parameter

import dibs
from dibs.generate import latin

EVERY = 10.0  # seconds between two looks


def resident() -> float:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def nogoods(order: int, seed: int) -> Iterator[int]:
    """Failures."""
    number = 0
    while True:
        [square] = latin(1, order=order, holes=0.34, balanced=False, seed=1000 * seed + number)
        number += 1
        left = dibs.solve(square, strategy="nogoods", max_seconds=EVERY)
        yield left.backtracks


def stream(order: int, seed: int) -> Iterator[int]:
    """Solutions."""
    [square] = latin(1, order=order, holes=0.5, seed=seed)
    for _ in dibs.solutions(square):
        yield 1


def session(order: int, seed: int) -> Iterator[int]:
    """Calls."""
    rng = np.random.default_rng(seed)
    [square] = latin(1, order=order, holes=0.4, seed=seed)
    asked = dibs.Session(square)
    away: list[str] = []
    while True:
        if away and rng.random() < 0.5:
            asked.add(away.pop(int(rng.integers(len(away)))))
        else:
            away.append(asked.givens[int(rng.integers(len(asked.givens)))])
            asked.remove(away[-1])
        asked.solve(max_seconds=EVERY)
        yield 1


KINDS: dict[str, Callable[[int, int], Iterator[int]]] = {"nogoods": nogoods, "stream": stream, "session": session}


def main(
    *,
    minutes: float = 10,
    order: int = 40,
    seed: int = 1,
    kinds: Annotated[list[str], Parameter(consume_multiple=True)] = list(KINDS),  # noqa: B006 (not changed)
    here: bool = False,
) -> None:
    if not here:
        for kind in kinds:
            words = ["--minutes", minutes, "--order", order, "--seed", seed, "--kinds", kind, "--here"]
            subprocess.run([sys.executable, __file__, *map(str, words)], check=True)
        return
    [kind] = kinds
    begin, noted, done = monotonic(), -1, 0
    seen: list[float] = []
    for work in KINDS[kind](order, seed):
        done += work
        minute = int((monotonic() - begin) // 60)
        if minute > noted:
            noted = minute
            seen.append(resident())
            print(f"{kind}: {minute} min, {seen[-1]:.0f} MB, {done:,} {KINDS[kind].__doc__}", flush=True)
        if monotonic() - begin >= 60 * minutes:
            break
    print(f"{kind}: at most {max(seen):.0f} MB, {resident():.0f} MB at the end, {done:,} {KINDS[kind].__doc__}")


if __name__ == "__main__":
    cyclopts.run(main)
