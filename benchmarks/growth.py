"""How one large square grows: time, asks and memory against the order, at one share of holes. `make figure-growth`.

    python benchmarks/growth.py --count 3 --seed 0 --output growth.svg

Latin squares of order 30 to 100 with 60 % of their cells filled, made here by the seed, under policy `auto`. Each is
searched once, one after the other in one process, from small orders to large ones; times are CPU times from the
square to the checked answer. Beside the SVG goes a JSON with all numbers. Some minutes.
"""

from __future__ import annotations

import resource
from pathlib import Path
from time import process_time
from typing import Any

import cyclopts
import numpy as np

import dibs
from dibs.generate import latin
from figures import COLOURS, FOLDER, MARKERS, origin, write

ORDERS = range(30, 101, 10)
HOLES = 0.4
SECONDS = 120.0  # limit of a search, on the clock


def measure(count: int, seed: int) -> list[dict[str, Any]]:
    """A record for each order; memory is the most that the process has had so far."""
    [small] = latin(1, order=30, holes=HOLES, seed=seed + 1)
    dibs.solve(small)  # compile, load the guide
    found = []
    for order in ORDERS:
        seconds: list[float] = []
        asks: list[float] = []
        failures: list[float] = []
        limits = 0
        for square in latin(count, order=order, holes=HOLES, seed=seed):
            begin = process_time()
            outcome = dibs.solve(square, max_seconds=SECONDS)
            seconds.append(round(process_time() - begin, 4))
            asks.append(outcome.asks)
            failures.append(outcome.backtracks)
            limits += outcome.status == "LIMIT"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        each: dict[str, list[float]] = {"seconds": seconds, "asks": asks, "failures": failures}
        found.append({"order": order, "LIMIT": limits, "megabytes": memory, **each})
        middle = ", ".join(f"{name} {np.median(values):,g}" for name, values in each.items())
        print(f"order {order}: median of {count}: {middle}; {memory} MB; LIMIT {limits}", flush=True)
    return found


def draw(figure: Any, found: dict[str, Any]) -> None:
    """A dot for each square, a line through the medians."""
    for axes, key, colour in zip(figure.subplots(1, 2), ("seconds", "asks"), COLOURS, strict=False):
        orders = [row["order"] for row in found["orders"]]
        for row in found["orders"]:
            axes.plot([row["order"]] * len(row[key]), row[key], MARKERS[0], color=colour, markersize=3, alpha=0.5)
        axes.plot(orders, [np.median(row[key]) for row in found["orders"]], color=colour)
        axes.set(
            xlabel="order",
            ylabel="CPU seconds" if key == "seconds" else key,
            yscale="log" if key == "seconds" else "linear",
        )


def main(*, count: int = 3, seed: int = 0, output: Path = FOLDER / "growth.svg") -> None:
    """Measure, and write the figure and its JSON."""
    about = {
        "made": origin(f"python benchmarks/growth.py --count {count} --seed {seed}", "relational-latin"),
        "seed": seed,
        "holes": HOLES,
        "limit": SECONDS,
    }
    write(output, about | {"orders": measure(count, seed)}, (6.4, 2.8), draw)


if __name__ == "__main__":
    cyclopts.run(main)
