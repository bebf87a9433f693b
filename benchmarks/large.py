"""The tables of docs/LARGE.md from runs of `dibs bench large`, or of parts of it: one line for each cell.

    python benchmarks/large.py RUN [RUN ...]

Instances that are not done in every row of their run are left out. Percentiles are linear; one that a search at its
limit reaches is marked as a lower bound.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

OURS, PLAIN, LUBY = "ours", "ours, no guide", "Luby, random values"
PEERS = {"Glucose4": "Glucose4, guided", "CaDiCaL": "CaDiCaL, guided", "CP-SAT": "CP-SAT, hinted"}
POINTS = (50, 95)


class Cost(NamedTuple):
    """One solver on all instances of a cell."""

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
    """For each cell of a run, what each of its solvers took."""
    records = pl.concat([pl.read_parquet(shard) for shard in sorted(folder.glob("*.parquet"))], how="diagonal_relaxed")
    rows = records["row"].n_unique()
    found: dict[str, dict[str, Cost]] = {}
    for (cell,), part in records.group_by("cell"):
        done = part.group_by("instance").len().filter(pl.col("len") == rows)["instance"].to_list()
        for (row,), some in part.filter(pl.col("instance").is_in(done)).sort("instance").group_by("row"):
            ms = 1e3 * (some["search_seconds"] + some["model_seconds"]).to_numpy()
            cost = Cost(ms, some["nodes"].to_numpy().astype(float), (some["status"] == "LIMIT").to_numpy())
            found.setdefault(str(cell), {})[str(row)] = cost
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    cells = {name: rows for run in parser.parse_args().runs for name, rows in costs(run).items()}
    there = {row for rows in cells.values() for row in rows}
    peers = [peer for peer in PEERS if peer in there] or list(PEERS.values())  # guided ones may have a run of their own
    solvers = [solver for solver in (OURS, PLAIN, LUBY, *peers) if solver in there]
    print(f"| cell | instances | {' | '.join(solvers)} | ours / best peer |\n|---|{'---:|' * (len(solvers) + 2)}")
    for name, rows in sorted(cells.items()):
        ours = rows[OURS].ms
        least = [min(np.percentile(rows[peer].ms, point) for peer in peers) for point in POINTS]
        ratio = " / ".join(f"{np.percentile(ours, p) / best:.2f}" for p, best in zip(POINTS, least, strict=True))
        times = (rows[solver].times() if solver in rows else "-" for solver in solvers)
        print(f"| {name} | {len(ours)} | {' | '.join(times)} | **{ratio}** |")
    print(f"\n| nodes | {OURS} | {PLAIN} | {LUBY} | Luby / ours |\n|---|---:|---:|---:|---:|")
    for name, rows in sorted(cells.items()):
        nodes = [rows[solver].nodes if solver in rows else None for solver in (OURS, PLAIN, LUBY)]
        ratio = "-"
        if nodes[2] is not None:
            ratio = " / ".join(f"{np.percentile(nodes[2], p) / np.percentile(rows[OURS].nodes, p):.1f}" for p in POINTS)
        print(f"| {name} | {' | '.join('-' if some is None else both(some) for some in nodes)} | {ratio} |")
    names = [solver for pair in PEERS.items() for solver in pair]
    if set(names) <= there:
        print(f"\n| time, ms | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for name, rows in sorted(cells.items()):
        if set(names) <= rows.keys():
            print(f"| {name} | {' | '.join(rows[solver].times() for solver in names)} |")


if __name__ == "__main__":
    main()
