"""A guide of ten lines: try first what is rarest on the board. `python examples/guide.py`."""

import numpy as np

import dibs


class Rarest(dibs.Guide):
    """Scores a literal by how few open literals share its value: a rare digit has few places left."""

    def rank(self, asks: dibs.Asks) -> np.ndarray:
        """[len(asks), literals] scores; only those of `asks.candidates` matter, the highest is tried first."""
        size = round(asks.structure.literals ** (1 / 3))
        places = asks.open.reshape(len(asks), -1, size).sum(axis=1)  # [asks, values] open cells of each value
        return -np.tile(places, size * size)


if __name__ == "__main__":
    from dibs.bench.instances import load

    for guide in (None, Rarest(), dibs.Oracle()):
        nodes = [outcome.nodes for outcome in dibs.solve_many(load("hard300"), guide=guide)]
        print(f"{type(guide).__name__ if guide else 'ascending':10} {np.mean(nodes):6.1f} nodes on average")
