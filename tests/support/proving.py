"""Problems without a solution, ways to search them, and what a proof of that must be."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import dibs
from dibs.problem import Instance
from dibs.search.external.proof import formula_path, own_formula
from guides import BAD, SURE, Scored, meddling
from judge import solutions
from oddities import odd_formula, proves
from randoms import bounded, formula, sudoku, tight, union

GUIDES = [*BAD.values(), *SURE.values(), meddling]
KINDS = ("formula", "odd", "sudoku", "latin", "bounded", "tight", "union")
FIELDS: dict[str, tuple[Any, ...]] = {
    "level": ("eliminate", "naked", "hidden"),
    "tie": ("index", "degree", "impact", "random"),
    "order": ("ascending", "lcv", "random", "oracle"),
    "select": ("mrv", "confident", "first"),
    "reuse": (0.0, 0.5, 0.9),
    "strategy": ("dfs", "restarts", "nogoods"),
    "restart_base": (1, 2, 8),
    "guide_after": (0, 1, 5),
    "root": ("singles", "locked"),
    "seed": (1, 2**40),
}


def crowded(rng: np.random.Generator, box: tuple[int, int]) -> Instance:
    """A grid of random clues that allow each other, and often nothing else; boxes of one row: a Latin square."""
    high, wide = box
    n = high * wide
    grid = np.zeros((n, n), np.uint8)
    for cell in rng.permutation(n * n)[: int(n * n * rng.uniform(0.25, 0.55))].tolist():
        row, column = divmod(cell, n)
        top, left = row // high * high, column // wide * wide
        seen = {*grid[row], *grid[:, column], *grid[top : top + high, left : left + wide].ravel()}
        grid[row, column] = rng.choice([value for value in range(1, n + 1) if value not in seen] or [0])
    return dibs.Latin(grid.ravel()) if high == 1 else dibs.Sudoku(grid.ravel(), box)


def drawn(rng: np.random.Generator, kind: str) -> Instance:
    """A problem of a kind, with and without solutions."""
    match kind:
        case "formula":
            return formula(rng, int(rng.integers(12, 61)), float(rng.uniform(4.5, 6.5)))
        case "odd":
            return odd_formula(int(rng.integers(2**30)), int(rng.integers(8)))
        case "sudoku":
            if rng.random() < 0.5:
                return sudoku(rng, (3, 3), int(rng.integers(23, 31)))
            return crowded(rng, [(2, 2), (2, 3), (3, 3)][int(rng.integers(3))])
        case "latin":
            return crowded(rng, (1, int(rng.integers(4, 9))))
        case "bounded":
            return bounded(rng)
        case "tight":
            return tight(rng)
    return union(rng)


def unsatisfiable(rng: np.random.Generator, kind: str) -> Instance:
    """One that has none, says another solver."""
    while solutions(found := drawn(rng, kind), 1):
        pass
    return found


def way(rng: np.random.Generator) -> dict[str, Any]:
    """Options, a policy or a bad guide, whatever comes: dibs refuses what makes no sense."""
    if rng.random() < 0.3:
        return {"policy": str(rng.choice(["auto", "guided", "plain"]))}
    said = {name: some[int(rng.integers(len(some)))] for name, some in FIELDS.items() if rng.random() < 0.3}
    if rng.random() < 0.4:
        said["guide"] = Scored(GUIDES[int(rng.integers(len(GUIDES)))], static=bool(rng.random() < 0.2))
    return said


def accepted(instance: Instance, path: Path, found: int = 0, trim: str | None = None) -> bool:
    """Whether the proof in a file refutes its formula. `found`: solutions that this excludes; `trim`: drat-trim."""
    about = instance if own_formula(instance) and not found else dibs.CNF.read(formula_path(path))
    assert isinstance(about, dibs.CNF)
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    if trim is not None:
        plain = path.with_name("plain")
        plain.write_text(text)
        formula_path(plain).write_text(about.format())
        done = subprocess.run([trim, formula_path(plain), plain], capture_output=True, text=True)
        if "s VERIFIED" not in done.stdout and all(about.clauses):  # it takes no formula with the empty clause
            return False
    return proves(about, text)
