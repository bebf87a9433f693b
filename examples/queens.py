"""n queens as a model: `python examples/queens.py 8`."""

import sys
from collections import defaultdict

import dibs


def queens(n: int) -> dibs.Model:
    """A column for the queen of each row: all different, and at most one queen on a diagonal."""
    m = dibs.Model()
    rows = [m.choice(f"row {r}", range(n)) for r in range(n)]
    m.all_different(rows, role="column")
    slanting = defaultdict(list)
    for r in range(n):
        for c in range(n):
            slanting["down", r - c].append(rows[r] == c)
            slanting["up", r + c].append(rows[r] == c)
    for squares in slanting.values():
        m.at_most(1, squares, role="diagonal")
    return m


if __name__ == "__main__":
    model = queens(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    outcome = model.solve()
    print(outcome.status, list(outcome.solution.values()) if outcome.solution else "", f"{outcome.nodes} nodes")
