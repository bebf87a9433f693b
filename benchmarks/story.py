"""The picture of the README: the question that the playground opens with, and both answers.

`make figure-story` writes docs/figures/story.svg from src/dibs/web/static/replay.json, which `make replay` makes.
"""

from __future__ import annotations

import json
from math import sin
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REPLAY = ROOT / "src" / "dibs" / "web" / "static" / "replay.json"
FILE = ROOT / "docs" / "figures" / "story.svg"

WIDTH, HEIGHT = 920, 330
TOP, LOW = 72, 292  # of the board and of the trees
BOARD = 20, LOW - TOP  # x and side
TREE = 290, 430  # x and width of the tree that fails
BEADS = 830  # x of the way to the solution
STEM = 0.06  # of all nodes: a branch with more has a thick line
FAR = 60  # from its parent: a small branch there is left out, as its line would seem to be a large one
SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Read on white and on black alike; a reader who prefers dark has lighter text.
STYLE = """text{font-family:system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:650}
.note{font-size:12.5px}.given{font-size:9px;text-anchor:middle}.thin,.thick,.frame,.line{fill:none}.frame{stroke:#8b949e;stroke-width:1.2}
.line{stroke:#8b949e;stroke-width:.4}
.thin{stroke:#d1483c;stroke-width:.7;opacity:.5}.thick{stroke:#d1483c;stroke-width:1.8}
.way{stroke:#2f81d7;stroke-width:2;fill:none}.bead{fill:#2f81d7}.ring{fill:none;stroke:#c77700;stroke-width:2.5}
.bad{fill:#d1483c}.good{fill:#2f81d7}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.bad{fill:#ff7b72}.good{fill:#79b8ff}}"""


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>'


def board(replay: dict[str, Any]) -> list[str]:
    """The givens, with a ring around the cell that is asked about."""
    size, (rows, columns) = replay["size"], replay["box"]
    left, side = BOARD
    unit = side / size
    lines = "".join(f"M{left} {TOP + i * unit:.1f}h{side}M{left + i * unit:.1f} {TOP}v{side}" for i in range(size + 1))
    frame = "".join(f"M{left} {TOP + i * unit:.1f}h{side}" for i in range(0, size + 1, rows))
    frame += "".join(f"M{left + i * unit:.1f} {TOP}v{side}" for i in range(0, size + 1, columns))
    parts = [f'<path class="line" d="{lines}"/><path class="frame" d="{frame}"/>']
    for cell, symbol in enumerate(replay["givens"]):
        row, column = divmod(cell, size)
        if symbol != ".":
            parts.append(
                text(round(left + (column + 0.5) * unit, 1), round(TOP + (row + 0.74) * unit, 1), symbol, "given")
            )
    row, column = divmod(replay["cell"], size)
    x, y = left + (column + 0.5) * unit, TOP + (row + 0.5) * unit
    return [*parts, f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{0.75 * unit:.1f}"/>']


def tree(entries: dict[str, list[int]]) -> list[str]:
    """The tree that fails: x by the nodes before, y by depth. A small branch is one entry, to its deepest node."""
    depth, nodes, deepest = entries["depth"], entries["nodes"], entries["deepest"]
    end, above, first = [0] * len(depth), [0] * len(depth), [0] * len(depth)
    way: list[int] = []
    before = 0
    for i, level in enumerate(depth):
        while way and depth[way[-1]] >= level:
            end[way.pop()] = before
        above[i], first[i] = way[-1] if way else i, before
        before += nodes[i]
        way.append(i)
    for i in way:
        end[i] = before
    left, width = TREE
    unit = (LOW - TOP) / max(deepest)
    thin, thick = "", ""
    for i, up in enumerate(above):
        (a, b), (c, d) = (
            (round(left + width * (first[k] + end[k]) / 2 / before), TOP + depth[k] * unit) for k in (up, i)
        )
        line = f"M{a} {b:.0f}L{c} {d:.0f}"
        if nodes[i] > 1 and deepest[i] > depth[i]:
            line += f"V{TOP + deepest[i] * unit:.0f}"
        if end[i] - first[i] > STEM * before:
            thick += line
        elif abs(c - a) < FAR:
            thin += line
    return [f'<path class="thin" d="{thin}"/><path class="thick" d="{thick}"/>']


def beads(count: int) -> list[str]:
    """The way to the solution."""
    unit = (LOW - TOP - 8) / count
    places = [(BEADS + 8 * sin(1.9 * i), TOP + i * unit) for i in range(count + 1)]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = "".join(f'<circle class="bead" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in places[:-1])
    x, y = places[-1]
    return [f'<path class="way" d="{line}"/>{dots}<circle class="way" cx="{x:.1f}" cy="{y:.1f}" r="6"/>']


def story(replay: dict[str, Any]) -> str:
    """The picture as SVG: a pure function of the replay."""
    right, values, belief = replay["right"], replay["values"], replay["belief"]
    [wrong] = {*values} - {right}
    good, bad = SYMBOLS[right - 1], SYMBOLS[wrong - 1]
    percent = f"{100 * belief[values.index(right)]:.0f} %"
    fail = f"{replay['wrong']['nodes']:,}"
    honest = f"Plain search that eliminates more needs {replay['stronger']} nodes here."
    centre = BEADS - 80
    parts = [
        text(BOARD[0], 30, f"One cell, two values: {bad} or {good}?", "title"),
        text(BOARD[0], 50, f"A {replay['size']}x{replay['size']} Sudoku", "note"),
        text(TREE[0], 30, f"Try {bad} first: {fail} nodes", "title bad"),
        text(TREE[0], 50, "all of them fail, in whatever order", "note"),
        text(centre, 30, f"Try {good} first: {replay['nodes']} nodes", "title good"),
        text(centre, 50, "down to the solution", "note"),
        text(
            BOARD[0], 318, f"The network said {good}, at {percent}. {honest} Any order gives the same answer.", "note"
        ),
        *board(replay),
        *tree(replay["wrong"]["tree"]),
        *beads(replay["path"]),
    ]
    label = f"One cell of a Sudoku: below {bad} {fail} nodes fail, with {good} {replay['nodes']} lead to the solution"
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}"><style>{STYLE}</style>'
    return head + "\n" + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    FILE.write_text(story(json.loads(REPLAY.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
