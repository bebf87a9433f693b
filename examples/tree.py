"""Two search trees of one puzzle as a picture: `python examples/tree.py docs/tree.svg`.

Left, values are tried in ascending order; right, an oracle says which value to try first. Same variable order, same
propagation, same answer: only the failing subtrees (red) go away. What a learned guide can gain lies in between.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import dibs
from dibs.bench.instances import load

WIDTH, HEIGHT, MARGIN = 460, 330, 24


class Recorder(dibs.Guide):
    """Passes on another guide's scores and notes every node: its depth, and whether a solution can lie below it."""

    def __init__(self, solution: np.ndarray, scores: np.ndarray) -> None:
        self.solution, self.scores = solution, scores
        self.nodes: list[tuple[int, bool]] = []

    def rank(self, asks: dibs.Asks) -> Any:
        self.nodes += [
            (int(d), not (true & ~self.solution).any()) for d, true in zip(asks.depth, asks.true, strict=True)
        ]
        return np.tile(self.scores, (len(asks), 1))


def record(puzzle: Any, informed: bool) -> list[tuple[int, bool]]:
    """(depth, on the path to the solution) of each node, in the order the search enters them."""
    solution = np.zeros(puzzle.structure.literals, bool)
    solution[type(puzzle).parse(dibs.solve(puzzle).solution).given] = True
    guide = Recorder(solution, solution.astype(float) if informed else np.zeros(len(solution)))
    dibs.solve(puzzle, guide=guide)
    return guide.nodes


def draw(nodes: list[tuple[int, bool]], left: float, title: str) -> list[str]:
    """SVG elements of one tree: depth downwards, subtrees side by side."""
    parent = [-1] * len(nodes)
    last: dict[int, int] = {}
    for i, (depth, _) in enumerate(nodes):
        parent[i] = last.get(depth - 1, -1)
        last[depth] = i
    children: list[list[int]] = [[] for _ in nodes]
    for i, p in enumerate(parent):
        if p >= 0:
            children[p].append(i)
    leaves = [i for i in range(len(nodes)) if not children[i]]
    x = {leaf: (k + 0.5) / len(leaves) for k, leaf in enumerate(leaves)}
    for i in reversed(range(len(nodes))):
        x.setdefault(i, sum(x[c] for c in children[i]) / max(len(children[i]), 1))
    deepest = max(14, max(depth for depth, _ in nodes))

    def at(i: int) -> tuple[float, float]:
        return left + MARGIN + x[i] * (WIDTH - 2 * MARGIN), 60 + nodes[i][0] * (HEIGHT - 90) / deepest

    parts = [f'<text x="{left + MARGIN}" y="28" class="title">{title}</text>']
    parts += [f'<text x="{left + MARGIN}" y="46" class="note">{len(nodes)} nodes</text>']
    for i, p in enumerate(parent):
        kind = "path" if nodes[i][1] else "fail"
        (a, b), (c, d) = at(i), at(p if p >= 0 else i)
        parts.append(f'<line x1="{c:.1f}" y1="{d:.1f}" x2="{a:.1f}" y2="{b:.1f}" class="{kind}"/>')
        parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{3.2 if nodes[i][1] else 1.8}" class="{kind}"/>')
    return parts


STYLE = """text{font-family:system-ui,sans-serif;fill:#24292f}
.title{font-size:15px;font-weight:600}.note{font-size:12px}
.fail{stroke:#c0392b;fill:#c0392b;stroke-width:.9;opacity:.75}.path{stroke:#1b4f8a;fill:#1b4f8a;stroke-width:2.4}"""

if __name__ == "__main__":
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 28
    puzzle = load("hard300")[number]
    body = draw(record(puzzle, False), 0, "values ascending") + draw(record(puzzle, True), WIDTH, "oracle order")
    size = f'width="{2 * WIDTH}" height="{HEIGHT}" viewBox="0 0 {2 * WIDTH} {HEIGHT}"'
    label = "Two search trees of the same puzzle: ascending values and oracle order"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}"><style>{STYLE}</style>'
    svg += '<rect width="100%" height="100%" fill="#fff"/>' + "\n".join(body) + "</svg>\n"
    Path(sys.argv[1] if len(sys.argv) > 1 else "tree.svg").write_text(svg)
