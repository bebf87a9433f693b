"""The twelve pentominoes in a rectangle, each once: `python examples/pentominoes.py 6 10`."""

import sys
from collections import defaultdict

import dibs

Cells = frozenset[tuple[int, int]]

PIECES = {
    "F": ".XX XX. .X.",
    "I": "XXXXX",
    "L": "XXXX X...",
    "N": "XXX. ..XX",
    "P": "XXX XX.",
    "T": "XXX .X. .X.",
    "U": "X.X XXX",
    "V": "X.. X.. XXX",
    "W": "X.. XX. .XX",
    "X": ".X. XXX .X.",
    "Y": "XXXX .X..",
    "Z": "XX. .X. .XX",
}


def orientations(drawn: str) -> set[Cells]:
    """A piece turned and flipped, in the corner."""
    cells = {(r, c) for r, line in enumerate(drawn.split()) for c, mark in enumerate(line) if mark == "X"}
    found = set()
    for turn in range(8):
        cells = {(c, -r) for r, c in cells} if turn != 4 else {(c, r) for r, c in cells}
        top, left = min(r for r, _ in cells), min(c for _, c in cells)
        found.add(frozenset((r - top, c - left) for r, c in cells))
    return found


def placements(drawn: str, rows: int, columns: int) -> list[tuple[tuple[int, int], ...]]:
    """All sets of cells that a piece can cover."""
    moved = (
        [(r + down, c + right) for r, c in cells]
        for cells in orientations(drawn)
        for down in range(rows)
        for right in range(columns)
    )
    return sorted({tuple(sorted(cells)) for cells in moved if all(r < rows and c < columns for r, c in cells)})


def pentominoes(rows: int, columns: int) -> dibs.Model:
    """A place for each piece; every cell is covered exactly once."""
    m = dibs.Model()
    covering = defaultdict(list)
    for name, drawn in PIECES.items():
        piece = m.choice(name, placements(drawn, rows, columns))
        for cells in piece.values:
            for cell in cells:
                covering[cell].append(piece == cells)
    for literals in covering.values():
        m.exactly(1, literals, role="cell")
    return m


def drawing(solution: dict[str, tuple[tuple[int, int], ...]], rows: int, columns: int) -> str:
    at = {cell: name for name, cells in solution.items() for cell in cells}
    return "\n".join("".join(at[r, c] for c in range(columns)) for r in range(rows))


if __name__ == "__main__":
    size = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (6, 10)
    outcome = pentominoes(*size).solve(strategy="nogoods")
    print(drawing(outcome.solution, *size) if outcome.solution else "", outcome.status, f"{outcome.nodes} nodes")
