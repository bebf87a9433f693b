"""The tables of docs/LARGE.md from runs of `dibs bench large` or `large-orders`, or of parts of them.

    python benchmarks/large.py RUN [RUN ...]

One line for each kind. Instances that are not done in every row of their run are left out. Percentiles are linear; one
that a search at its limit reaches is marked as a lower bound.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

OURS, LUBY = "ours", "Luby, random values"
OWN = (OURS, "ours, one ask", "ours, no guide", LUBY)
PEERS = {"Glucose4": "Glucose4, guided", "CaDiCaL": "CaDiCaL, guided", "CP-SAT": "CP-SAT, hinted"}
ALONE = "Kissat"  # a peer that takes no guide
POINTS = (50, 95)


class Cost(NamedTuple):
    """One solver on all instances of a kind."""

    ms: NDArray[np.float64]  # [instances]
    nodes: NDArray[np.float64]  # [instances]
    cut: NDArray[np.bool_]  # [instances] whether it ended at the limit

    def times(self) -> str:
        bounds = np.where(self.cut, self.ms, np.inf).min()
        points = [float(np.percentile(self.ms, point)) for point in POINTS]
        told = " / ".join(("≥ " if value >= bounds else "") + figure(value) for value in points)
        return f"{told} ({self.cut.sum()})" if self.cut.any() else told


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def both(values: NDArray[np.float64]) -> str:
    return " / ".join(figure(float(np.percentile(values, point))) for point in POINTS)


def costs(folder: Path) -> dict[str, dict[str, Cost]]:
    """For each kind of a run, what each of its solvers took."""
    records = pl.concat([pl.read_parquet(shard) for shard in sorted(folder.glob("*.parquet"))], how="diagonal_relaxed")
    rows = records["row"].n_unique()
    found: dict[str, dict[str, Cost]] = {}
    for (kind,), part in records.group_by("kind"):
        done = part.group_by("instance").len().filter(pl.col("len") == rows)["instance"].to_list()
        for (row,), some in part.filter(pl.col("instance").is_in(done)).sort("instance").group_by("row"):
            ms = 1e3 * (some["search_seconds"] + some["model_seconds"]).to_numpy()
            cost = Cost(ms, some["nodes"].to_numpy().astype(float), (some["status"] == "LIMIT").to_numpy())
            found.setdefault(str(kind), {})[str(row)] = cost
    return found


def ratios(over: NDArray[np.float64], under: list[NDArray[np.float64]], digits: int) -> str:
    """At each point, one over the best of the others."""
    best = (min(np.percentile(one, point) for one in under) for point in POINTS)
    return " / ".join(f"{np.percentile(over, p) / least:.{digits}f}" for p, least in zip(POINTS, best, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    found: dict[str, dict[str, Cost]] = {}
    for run in parser.parse_args().runs:
        found = costs(run) | found  # a kind of two runs is that of the first
    kinds = dict(sorted(found.items()))
    there = {row for rows in kinds.values() for row in rows}
    # Guided ones may have a run of their own.
    peers = [peer for peer in (*PEERS, ALONE) if peer in there] or list(PEERS.values())
    own = [row for row in OWN if row in there]
    solvers = [*own, *peers]
    print(f"| kind | instances | {' | '.join(solvers)} | ours / best peer |\n|---|{'---:|' * (len(solvers) + 2)}")
    for name, rows in kinds.items():
        times = (rows[solver].times() if solver in rows else "-" for solver in solvers)
        ratio = ratios(rows[OURS].ms, [rows[peer].ms for peer in peers], 2)
        print(f"| {name} | {len(rows[OURS].ms)} | {' | '.join(times)} | **{ratio}** |")
    print(f"\n| nodes | {' | '.join(own)} | Luby / ours |\n|---|{'---:|' * (len(own) + 1)}")
    for name, rows in kinds.items():
        nodes = (both(rows[solver].nodes) if solver in rows else "-" for solver in own)
        ratio = ratios(rows[LUBY].nodes, [rows[OURS].nodes], 1) if LUBY in rows else "-"
        print(f"| {name} | {' | '.join(nodes)} | {ratio} |")
    engines = [solver for pair in PEERS.items() for solver in pair]
    beside = {name: rows for name, rows in kinds.items() if set(engines) <= rows.keys()}
    if beside:
        names = [OURS, *engines]
        print(f"\n| time, ms | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for name, rows in beside.items():
        print(f"| {name} | {' | '.join(rows[solver].times() for solver in names)} |")


if __name__ == "__main__":
    main()
