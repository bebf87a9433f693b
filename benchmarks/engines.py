"""What a guide does for other engines: conflicts and time with it against the engine alone, one run, taking turns.

    python benchmarks/engines.py [--families sat-150 sat-200 ...] [--sample N] [--out FILE]

Every instance is solved by every engine, alone and with a guide, before the next one comes. Time has
loading, search and the guide; seeds are 0, and the instances are those of `dibs generate`. Kissat takes no guide and is
there alone; an engine that is not installed is left out. Writes one JSON line per solve to --out, after each instance:
the same command goes on with what is there, and the table can be printed again (--table FILE).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dibs
from dibs import generate
from dibs.problem.structure import Instance
from dibs.search.external.registry import ENGINES

FAMILIES: dict[str, Callable[[int], Iterator[Instance]]] = {
    "sat-150": lambda count: generate.sat(count, variables=150, satisfiable=True, seed=0),
    "sat-200": lambda count: generate.sat(count, variables=200, satisfiable=True, seed=0),
    "sat-250": lambda count: generate.sat(count, variables=250, satisfiable=True, seed=0),
    "latin-30-36": lambda count: generate.latin(count, order=30, holes=0.36, seed=0),
    "latin-30-37": lambda count: generate.latin(count, order=30, holes=0.37, seed=0),
    "latin-30-38": lambda count: generate.latin(count, order=30, holes=0.38, seed=0),
    "latin-25-42-balanced": lambda count: generate.latin(count, order=25, holes=0.42, balanced=True, seed=0),
}
SECONDS = 60.0


def run(families: list[str], sample: int, guides: dict[str, str], out: Path | None) -> list[dict[str, Any]]:
    found = _read(out) if out and out.exists() else []
    done = {(record["family"], record["number"]) for record in found}
    for family in families:
        sat = family.startswith("sat")
        guide = dibs.load_guide(guides["sat" if sat else "grid"])
        wanted = ["glucose4", "cadical195", "kissat"] if sat else ["cadical195", "kissat", "cp-sat"]
        names = [name for name in wanted if _installed(name)]
        for number, instance in enumerate(FAMILIES[family](sample)):
            if (family, number) in done:
                continue
            records = [
                {"family": family, "number": number, "engine": engine, "advice": advice}
                | _solved(instance, engine, using)
                for engine in names
                for advice, using in (("alone", None), (ENGINES[engine].takes, guide))
                if advice
            ]
            found += records
            if out:
                with out.open("a") as file:
                    file.writelines(json.dumps(record) + "\n" for record in records)
            print(f"\r{family}: {number + 1} of {sample}", end="", flush=True)
        print()
    return found


def _solved(instance: Instance, engine: str, guide: dibs.Guide | None) -> dict[str, Any]:
    one = dibs.solve(instance, engine=engine, guide=guide, max_seconds=SECONDS)
    return {
        "status": one.status.value,
        "conflicts": one.backtracks,
        "decisions": one.nodes,
        "asks": one.asks,
        "seconds": one.seconds + one.guide_seconds,
        "guide_seconds": one.guide_seconds,
    }


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _installed(engine: str) -> bool:
    try:
        dibs.solve(dibs.Latin.parse("1"), engine=engine)
    except dibs.InputError:
        return False
    return True


def table(records: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: a row for each family, engine and advice. Ratios are to the engine alone."""
    yield "| family | engine | guide | conflicts p50 / p95 | ratio | ms p50 / p95 | ratio | guide ms | LIMIT |"
    yield "|---|---|---|---|---|---|---|---|---|"
    alone: dict[tuple[str, str], tuple[Any, Any]] = {}
    for family, engine, advice in dict.fromkeys((r["family"], r["engine"], r["advice"]) for r in records):
        rows = [r for r in records if (r["family"], r["engine"], r["advice"]) == (family, engine, advice)]
        conflicts, seconds = (np.percentile([r[key] for r in rows], [50, 95]) for key in ("conflicts", "seconds"))
        base = alone.setdefault((family, engine), (conflicts, seconds))
        fewer, faster = (f"{a:.2f} / {b:.2f}" for a, b in (conflicts / np.maximum(base[0], 1), seconds / base[1]))
        ms = 1e3 * float(np.mean([r["guide_seconds"] for r in rows]))
        late = sum(r["status"] == "LIMIT" for r in rows)
        yield (
            f"| {family} ({len(rows)}) | {engine} | {advice} | {conflicts[0]:,.0f} / {conflicts[1]:,.0f} | {fewer} | "
            f"{1e3 * seconds[0]:,.1f} / {1e3 * seconds[1]:,.1f} | {faster} | {ms:.1f} | {late} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--sat-guide", default="sat")
    parser.add_argument("--grid-guide", default="relational-latin")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print the table of an earlier run")
    given = parser.parse_args()
    if given.table:
        records = _read(given.table)
    else:
        records = run(given.families, given.sample, {"sat": given.sat_guide, "grid": given.grid_guide}, given.out)
    print("\n".join(table(records)))


if __name__ == "__main__":
    main()
