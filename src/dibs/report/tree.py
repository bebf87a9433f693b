"""Search trees as a picture: one or two side by side, and the nodes at each depth below. Written as SVG by hand.

Depth goes downwards, the values of a node from left to right in the order they were tried. Each tree fills the width
that it has; the lower chart has one scale for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import NamedTuple

import numpy as np

from dibs.dtypes import Floats
from dibs.study.ledger import Tree

DEEP = 3  # levels of a failing branch from which on it is called deep
FINEST = 0.8  # units: a narrower branch is drawn as one line
MOST_LINES = 12_000  # of one tree; beyond it, wider branches too become one line
DOTTED = 120  # nodes up to which each has a dot
BEADS = 4.0  # units between two depths from which on the path has dots in any case

# One unit is 1/420 of the figure's width: texts of 9 units are 5.5 points in a column of a paper.
WIDTH, LEFT, RIGHT, GAP = 420.0, 36.0, 8.0, 18.0
TOP, TREE, CHART = 34.0, 170.0, 84.0

PATH, SHALLOW, DEEPER, EARLIER = "path", "shallow", "deep", "earlier"
NAMES = {
    PATH: "solution path",
    DEEPER: f"failing, {DEEP} levels or more",
    SHALLOW: "failing, shorter",
    EARLIER: "earlier run",
}
STYLE = """
text{font-family:Helvetica,Arial,sans-serif;font-size:9px;fill:#24292f}
.title{font-size:10.5px;font-weight:bold}.note{fill:#57606a;font-size:8px}.end{text-anchor:end}.middle{text-anchor:middle}
path,line{fill:none;stroke-linecap:round;stroke-linejoin:round}
.axis{stroke:#57606a;stroke-width:.6}.grid{stroke:#eaeef2;stroke-width:.6}
.path{stroke:#0b3d73;stroke-width:2.2}.deep{stroke:#c62828;stroke-width:.7}
.shallow{stroke:#8aa4bd;stroke-width:.9}.earlier{stroke:#8c959f;stroke-width:.6;stroke-dasharray:2 1.6}
.dot-path{fill:#0b3d73}.dot-deep{fill:#c62828}.dot-shallow{fill:#8aa4bd}.dot-earlier{fill:#8c959f}
.goal{fill:#fff;stroke:#0b3d73;stroke-width:1.6}
.first{stroke:#0b3d73;stroke-width:1.6}.second{stroke:#b35900;stroke-width:1.2;stroke-dasharray:4 2}
.mark-first{fill:#0b3d73}.mark-second{fill:#fff;stroke:#b35900;stroke-width:1}
""".strip()


class Panel(NamedTuple):
    """One search of the figure."""

    title: str
    note: str  # a line below the title
    tree: Tree
    solved: bool  # the last node entered leads to the solution


def svg(panels: Sequence[Panel]) -> str:
    """The whole figure; the same panels give the same text."""
    deepest = max([1, *(int(panel.tree.depth.max(initial=0)) + panel.solved for panel in panels)])
    wide = (WIDTH - LEFT - RIGHT - GAP * (len(panels) - 1)) / len(panels)
    parts: list[str] = []
    used: set[str] = set()
    merged = []
    for i, panel in enumerate(panels):
        box = Box(LEFT + i * (wide + GAP), TOP, wide, TREE, deepest)
        drawn = _tree(panel, box)
        parts += _frame(panel, box, labels=i == 0) + drawn.parts
        used |= drawn.used
        merged.append(drawn.merged)
    y = TOP + TREE + 12
    parts.append(_text(LEFT + (WIDTH - LEFT - RIGHT) / 2, y, "values in the order tried →", "note middle"))
    parts += _legend([name for name in NAMES if name in used], y + 14)
    y += 46
    parts += _names(panels, y - 8) + _chart(panels, y)
    height = y + CHART + 30
    if any(merged):
        aggregated = f"Aggregated: {' and '.join(f'{count:,}' for count in merged if count)} nodes lie in branches"
        parts.append(_text(LEFT, height + 5, f"{aggregated} too narrow to see, drawn as one line each.", "note"))
        height += 12
    label = "; ".join(f"{panel.title}: {panel.note}" for panel in panels)
    size = f'width="{2 * WIDTH:g}" height="{2 * height:g}" viewBox="0 0 {WIDTH:g} {height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">'
    return "\n".join(
        [head, f"<style>{STYLE}</style>", '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>\n"]
    )


class Box(NamedTuple):
    """Where a tree is drawn, in units."""

    left: float
    top: float
    width: float
    height: float
    deepest: int

    def y(self, depth: float) -> float:
        return self.top + 6 + depth * (self.height - 12) / self.deepest


@dataclass(frozen=True)
class Layout:
    """The nodes of a tree, the solution as the last of them. A forest where a search began again."""

    depth: list[int]
    parent: list[int]  # -1 for a root
    end: list[int]  # the nodes below i are i + 1 .. end[i] - 1
    deepest: list[int]  # depth of the deepest node below, or its own
    kind: list[str]  # PATH, SHALLOW, DEEPER or EARLIER, of the line that leads to it
    x: Floats  # [nodes] 0..1
    share: Floats  # [nodes] of the width


def layout(tree: Tree, solved: bool) -> Layout:
    depth, run, on_path = tree.depth.tolist(), tree.run.tolist(), tree.on_path.tolist()
    if solved:
        depth.append(depth[-1] + 1 if depth else 0)
        run.append(run[-1] if run else 1)
        on_path.append(True)
        below = [at for at, on in enumerate(on_path[:-1]) if on]
        depth[-1] = depth[below[-1]] + 1 if below else 0
    size = len(depth)
    parent, end, deepest = [-1] * size, [size] * size, list(depth)
    stack: list[int] = []
    for i in range(size):
        while stack and (depth[stack[-1]] >= depth[i] or run[stack[-1]] != run[i]):
            end[stack.pop()] = i
        parent[i] = stack[-1] if stack else -1
        stack.append(i)
    for i in reversed(range(size)):
        if parent[i] >= 0:
            deepest[parent[i]] = max(deepest[parent[i]], deepest[i])
    leaf = np.array(end, np.int64) == np.arange(size) + 1
    before = np.concatenate([[0], np.cumsum(leaf)])
    first, last = before[:-1], before[end]
    total = max(int(before[-1]), 1)
    kind = _kinds(depth, parent, deepest, run, on_path)
    return Layout(depth, parent, end, deepest, kind, (first + last) / (2 * total), (last - first) / total)


def _kinds(depth: list[int], parent: list[int], deepest: list[int], run: list[int], on_path: list[bool]) -> list[str]:
    """A failing branch has one kind, from the node where it leaves the path."""
    kind: list[str] = []
    for i, above in enumerate(parent):
        if on_path[i]:
            kind.append(PATH)
        elif run[i] != run[-1]:
            kind.append(EARLIER)
        elif above >= 0 and not on_path[above]:
            kind.append(kind[above])
        else:
            kind.append(DEEPER if deepest[i] - depth[i] + 1 >= DEEP else SHALLOW)
    return kind


class DrawnTree(NamedTuple):
    parts: list[str]
    used: set[str]  # kinds of lines
    merged: int  # nodes that have no line of their own


def _tree(panel: Panel, box: Box) -> DrawnTree:
    of = layout(panel.tree, panel.solved)
    finest = FINEST / box.width
    lines = _lines(of, finest)
    while len(lines) > MOST_LINES:
        finest *= 2
        lines = _lines(of, finest)
    x = box.left + of.x * box.width
    parts = []
    for kind in (EARLIER, SHALLOW, DEEPER, PATH):
        if some := [line for line in lines if of.kind[line[0]] == kind]:
            parts.append(f'<path class="{kind}" d="{_route(some, of, x, box)}"/>')
    shown = [i for i, low in lines if low == of.depth[i]]
    small = len(of.depth) <= DOTTED
    beads = box.y(1) - box.y(0) >= BEADS
    for i in shown:
        if small or (beads and of.kind[i] == PATH):
            radius = 1.9 if of.kind[i] == PATH else 1.2
            parts.append(
                f'<circle class="dot-{of.kind[i]}" cx="{x[i]:.1f}" cy="{box.y(of.depth[i]):.1f}" r="{radius}"/>'
            )
    if panel.solved:
        parts.append(f'<circle class="goal" cx="{x[-1]:.1f}" cy="{box.y(of.depth[-1]):.1f}" r="2.8"/>')
    merged = len(of.depth) - len(lines)
    return DrawnTree(parts, {of.kind[i] for i, _ in lines}, merged)


def _lines(of: Layout, finest: float) -> list[tuple[int, int]]:
    """(node, depth that its line goes down to): its own, or the deepest below it where the branch is too narrow."""
    lines: list[tuple[int, int]] = []
    i = 0
    while i < len(of.depth):
        narrow = of.share[i] < finest and of.kind[i] != PATH and of.end[i] > i + 1
        lines.append((i, of.deepest[i] if narrow else of.depth[i]))
        i = of.end[i] if narrow else i + 1
    return lines


def _route(lines: list[tuple[int, int]], of: Layout, x: Floats, box: Box) -> str:
    """All lines of one kind as one SVG path; a line that begins where the last one ended goes on from there."""
    route: list[str] = []
    pen = -1
    for i, low in lines:
        above = of.parent[i]
        begin = i if above < 0 else above
        if begin != pen or above < 0:
            route.append(f"M{x[begin]:.1f} {box.y(of.depth[begin]):.1f}")
        route.append(f"L{x[i]:.1f} {box.y(low):.1f}")
        pen = i if low == of.depth[i] else -1
    return "".join(route)


def _frame(panel: Panel, box: Box, labels: bool) -> list[str]:
    """Title and lines of depth, named at the left tree only."""
    parts = [_text(box.left, 13, panel.title, "title"), _text(box.left, 25, panel.note, "note")]
    for depth in _ticks(box.deepest):
        y = box.y(depth)
        parts.append(
            f'<line class="grid" x1="{box.left:.1f}" y1="{y:.1f}" x2="{box.left + box.width:.1f}" y2="{y:.1f}"/>'
        )
        if labels:
            parts.append(_text(box.left - 5, y + 3, str(depth), "end"))
    if labels:
        parts.append(_turned(11, box.top + box.height / 2, "depth"))
    return parts


def _ticks(most: int) -> range:
    """Four to eight whole numbers from 0."""
    step = next(step for step in _steps() if most <= 7 * step)
    return range(0, most + 1, step)


def _steps() -> list[int]:
    return [digit * 10**power for power in range(12) for digit in (1, 2, 5)]


def _legend(kinds: list[str], y: float) -> list[str]:
    parts, x = [], LEFT
    for kind in kinds:
        parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{y - 3:.1f}" x2="{x + 16:.1f}" y2="{y - 3:.1f}"/>')
        if kind == PATH:
            parts.append(f'<circle class="goal" cx="{x + 16:.1f}" cy="{y - 3:.1f}" r="2.8"/>')
        parts.append(_text(x + 22, y, NAMES[kind]))
        x += 34 + 4.9 * len(NAMES[kind])
    return parts


def _chart(panels: Sequence[Panel], top: float) -> list[str]:
    """Nodes by depth, on one scale: a line with marks for each search."""
    counts = [panel.tree.by_depth() for panel in panels]
    deepest = max([1, *(len(count) - 1 for count in counts)])
    most = max([1, *(int(count.max(initial=0)) for count in counts)])
    logged = most >= 50
    left, right, low = LEFT, WIDTH - RIGHT, top + CHART

    def at(depth: int) -> float:
        return left + 6 + depth * (right - left - 12) / deepest

    def height(nodes: float) -> float:
        share = 0.06 + 0.9 * log10(nodes) / log10(most) if logged else 0.96 * nodes / most
        return low - share * CHART

    parts = []
    for tick in _powers(most) if logged else _ticks(most):
        y = height(tick)
        parts.append(f'<line class="grid" x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 5, y + 3, f"{tick:,}" if tick < 10_000 else f"{tick // 1000:,}k", "end"))
    parts.append(f'<path class="axis" d="M{left:.1f} {top:.1f}V{low:.1f}H{right:.1f}"/>')
    parts += [_text(at(depth), low + 11, str(depth), "middle") for depth in _ticks(deepest)]
    parts.append(_text((left + right) / 2, low + 23, "depth: decisions above the node", "middle"))
    parts.append(_turned(11, top + CHART / 2, "nodes" + (" (log)" if logged else "")))
    for name, count in reversed(list(zip(("first", "second"), counts, strict=False))):
        points = [(at(depth), height(nodes)) for depth, nodes in enumerate(count.tolist()) if nodes]
        route = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="{name}" d="M{route}"/>' if points else "")
        parts += [_mark(name, x, y) for x, y in points]
    return parts


def _names(panels: Sequence[Panel], y: float) -> list[str]:
    """Whose line is which, above the chart."""
    if len(panels) < 2:
        return [_text(LEFT, y, "nodes by depth", "note")]
    parts, x = [_text(LEFT, y, "nodes by depth:", "note")], LEFT + 78
    for name, panel in zip(("first", "second"), panels, strict=True):
        parts += [f'<path class="{name}" d="M{x:.1f} {y - 3:.1f}h20"/>', _mark(name, x + 10, y - 3)]
        parts.append(_text(x + 25, y, panel.title))
        x += 40 + 5.2 * len(panel.title)
    return parts


def _mark(name: str, x: float, y: float) -> str:
    if name == "first":
        return f'<circle class="mark-first" cx="{x:.1f}" cy="{y:.1f}" r="1.8"/>'
    return f'<rect class="mark-second" x="{x - 1.6:.1f}" y="{y - 1.6:.1f}" width="3.2" height="3.2"/>'


def _powers(most: int) -> list[int]:
    """Powers of ten up to a count."""
    return [10**power for power in range(floor(log10(most)) + 1)]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}>{escape(text)}</text>'


def _turned(x: float, y: float, text: str) -> str:
    """Upwards along an axis."""
    return f'<text class="middle" transform="translate({x:.1f} {y:.1f}) rotate(-90)">{escape(text)}</text>'
