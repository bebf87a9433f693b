"""What the pages show: their blocks of code, and a folder with the files that these speak of."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import numpy as np

from dibs.bench.instances import load
from dibs.cli import main
from dibs.generate import latin
from dibs.generate.families import families
from dibs.generate.timetable import timetable
from dibs.lists import LISTS
from dibs.problem.own import Problem
from dibs.problem.stored import to_json

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("checkpoints/*.md"))]
MARK = r"(?:<!-- (?:shown by (\S+)|not run: ([^>\n]+)) -->\n)?"
BLOCK = re.compile(MARK + r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

PUZZLES = """\
53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79
8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..
"""
UNSATISFIABLE = "p cnf 3 8\n" + "".join(f"{a} {2 * b} {3 * c} 0\n" for a in (1, -1) for b in (1, -1) for c in (1, -1))
SQUARE = "1 . 3 .\n. 4 . .\n3 . . 2\n. 3 2 .\n"
GROUPS = "[[1, 1, [1, 2]], [0, 2, [1, -2, 3]]]"
ROSTER = f'{{"dibs": "problem", "version": 1, "names": ["a", "b", "c"], "groups": {GROUPS}}}\n'
CARS = "100 5 3\n1 2 1 2 1\n2 3 3 5 5\n0 50 0 1 0 0 0\n1 30 1 0 0 1 0\n2 20 0 0 1 0 0\n"  # as CSPLib has them
MODULE = """\
from documented import week as family
"""
CHECKER = """\
#!{python}
import sys
from pathlib import Path
from dratify import check_proof, parse_dimacs
formula, proof = (Path(name).read_text() for name in sys.argv[1:])
sys.exit(not check_proof(parse_dimacs(formula), proof).reached_empty)
"""


class Block(NamedTuple):
    language: str
    text: str
    shown_by: str  # a file of the project
    not_run: str  # why

    @property
    def runs(self) -> bool:
        return not (self.shown_by or self.not_run)


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        shown_by, not_run, language, text = match.groups()
        if language in languages or not languages:
            yield Block(language, text, shown_by or "", not_run or "")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def write_files(folder: Path) -> None:
    """Puzzles, formulas, problems: what the code in pages reads."""
    first, second = PUZZLES.splitlines()
    texts = {"puzzles.txt": PUZZLES * 6, "more.txt": PUZZLES, "puzzle.txt": first + "\n", "square.txt": SQUARE}
    texts |= {"formula.cnf": UNSATISFIABLE, "x.cnf": UNSATISFIABLE, "roster.json": ROSTER, "tomorrow.json": ROSTER}
    texts |= {"model.json": ROSTER, "hard.txt": second + "\n"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def week(seed: int) -> Problem:
    return timetable(seed, classes=6, teachers=6, hours=6)


def write_desk(folder: Path) -> None:
    """What the lines of shell read besides: instances, lists, programs; all of it small.

    In `done/` is what lines that take long would leave behind: runs, and guides that somebody trained.
    """
    folder.mkdir()
    write_files(folder)
    (folder / "tomorrow.json").write_text(to_json(week(99)))
    (folder / "mymodule.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT / 'tests/support')!r})\n{MODULE}")
    for name in ("my-instances", "FOLDER", "LSC/data", "lists", "bin", "docs/figures"):
        (folder / name).mkdir(parents=True)
    for name in ("configs", "src", "checkpoints"):
        (folder / name).symlink_to(ROOT / name)
    for seed in range(24):
        (folder / "my-instances" / f"{seed}.json").write_text(to_json(week(seed)))
    (folder / "FOLDER" / "cars.txt").write_text(CARS)
    (folder / "FOLDER" / "queen5_5.col").write_text(_queens())
    (folder / "LSC/data/50.txt").write_text("".join(f"{one.format()}\n\n" for one in latin(2, order=50, holes=0.7)))
    (folder / "o30.pls").write_text("".join(one.format() for one in latin(1, order=30, holes=374)))
    (folder / "FILE").write_text(_relabelled(LISTS["royle17"].puzzles))
    for name in ("royle17", "top1465"):
        (folder / "lists" / f"{name}.txt").write_text(_relabelled(LISTS[name].puzzles))
    _write_programs(folder / "bin")
    _write_guides(folder)
    for name in ("table1", "ablation", "theory"):
        few = ["--puzzles", "sample17", "--sample", "2", "--out", str(folder / "done/runs" / name)]
        assert main(["bench", name, *few]) == 0
    copytree(folder / "done/runs/table1", folder / "done/runs/table1-quick")


def _write_programs(folder: Path) -> None:
    """`dibs` as it is here, and a checker of proofs that takes its arguments as drat-trim does."""
    checker = CHECKER.format(python=sys.executable)
    for name, text in (("dibs", f'#!/bin/sh\nexec {sys.executable} -m dibs "$@"\n'), ("drat-trim", checker)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def _write_guides(folder: Path) -> None:
    """The one for 9x9 Sudokus comes with dibs; those for own problems know nothing."""
    from dibs.model.export import export
    from dibs.model.relational import Relational
    from dibs.training.source import collect

    for name in ("mine", "relational-9x9"):
        copytree(ROOT / "src/dibs/weights/relational", folder / "done/runs" / name / "guide")
    kinds = collect(week, 6).kinds
    module = Relational(8, 3, kinds=len(kinds), bounds=1)
    export(module, folder / "done/my-guide", data="", trained={}, family="problem", kinds=kinds)
    for name in families():
        copytree(folder / "done/my-guide", folder / "done/runs/families" / name)


def _queens() -> str:
    """The graph of the queens of a 5 x 5 board, as DIMACS has it."""
    squares = [(i, j) for i in range(5) for j in range(5)]
    edges = [
        (a, b)
        for b, (k, m) in enumerate(squares, 1)
        for a, (i, j) in enumerate(squares[: b - 1], 1)
        if i == k or j == m or abs(i - k) == abs(j - m)
    ]
    return f"p edge 25 {len(edges)}\n" + "".join(f"e {a} {b}\n" for a, b in edges)


def _relabelled(count: int) -> str:
    """So many different puzzles, sorted: what stands in for a published list."""
    rng = np.random.default_rng(0)
    text = "".join(puzzle.line() for puzzle in load("sample17", 100)).replace(".", "0")
    cells = np.array([int(one) for one in text]).reshape(-1, 81)
    found: set[str] = set()
    while len(found) < count:
        digits = np.concatenate([[ord(".")], rng.permutation(9) + ord("1")]).astype(np.uint8)
        found |= {row.tobytes().decode() for row in digits[cells]}
    return "".join(f"{line}\n" for line in sorted(found)[:count])
