"""Graph colouring as literals and groups: `python examples/colouring.py`."""

import dibs


def colouring(edges: list[tuple[str, str]], colours: list[str]) -> dibs.Problem:
    """A literal for each (node, colour). A node has exactly one, the ends of an edge never the same."""
    nodes = sorted({node for edge in edges for node in edge})
    return dibs.Problem(
        [(node, colour) for node in nodes for colour in colours],
        exactly_one=[[(node, colour) for colour in colours] for node in nodes],
        at_most_one=[[(a, colour), (b, colour)] for a, b in edges for colour in colours],
    )


PETERSEN = [(f"outer{i}", f"outer{(i + 1) % 5}") for i in range(5)]
PETERSEN += [(f"outer{i}", f"inner{i}") for i in range(5)]
PETERSEN += [(f"inner{i}", f"inner{(i + 2) % 5}") for i in range(5)]

if __name__ == "__main__":
    for colours in (["red", "blue"], ["red", "blue", "green"]):
        problem = colouring(PETERSEN, colours)
        outcome = dibs.solve(problem)
        print(f"{len(colours)} colours: {outcome.status}, {dibs.count_solutions(problem)} colourings")
        print(dict(outcome.solution or []))
