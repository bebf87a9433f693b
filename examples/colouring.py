"""Graph colouring as a model: `python examples/colouring.py`."""

import dibs


def colouring(edges: list[tuple[str, str]], colours: list[str]) -> dibs.Model:
    """A colour for each node; the ends of an edge never have the same."""
    m = dibs.Model()
    node = {name: m.choice(name, colours) for name in sorted({name for edge in edges for name in edge})}
    for edge in edges:
        for colour in colours:
            m.at_most(1, [node[name] == colour for name in edge], role="edge")
    return m


PETERSEN = [(f"outer{i}", f"outer{(i + 1) % 5}") for i in range(5)]
PETERSEN += [(f"outer{i}", f"inner{i}") for i in range(5)]
PETERSEN += [(f"inner{i}", f"inner{(i + 2) % 5}") for i in range(5)]

if __name__ == "__main__":
    for colours in (["red", "blue"], ["red", "blue", "green"]):
        model = colouring(PETERSEN, colours)
        outcome = model.solve()
        print(f"{len(colours)} colours: {outcome.status}, {dibs.count_solutions(model.problem())} colourings")
        print(outcome.solution or "")
