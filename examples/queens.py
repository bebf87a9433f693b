"""n queens as literals and groups: `python examples/queens.py 8`."""

import sys
from collections import defaultdict

import dibs


def queens(n: int) -> dibs.Problem:
    """A literal for each square. One queen in every row and column, at most one on a diagonal."""
    lines = defaultdict(list)
    for r in range(n):
        for c in range(n):
            for name in (("row", r), ("column", c), ("down", r - c), ("up", r + c)):
                lines[name].append((r, c))
    straight = [squares for (kind, _), squares in lines.items() if kind in ("row", "column")]
    slanting = [squares for (kind, _), squares in lines.items() if kind in ("down", "up")]
    return dibs.Problem([(r, c) for r in range(n) for c in range(n)], exactly_one=straight, at_most_one=slanting)


if __name__ == "__main__":
    problem = queens(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    outcome = dibs.solve(problem, tie="degree")
    print(outcome.status, outcome.solution, f"{outcome.nodes} nodes")
    print(dibs.count_solutions(problem, limit=100_000), "solutions")
