"""What every labelled state of a training must be."""

import numpy as np

from dibs.model.labelled import Labelled


def check_targets(state: Labelled) -> None:
    """Targets are shares of solutions: those of a cell's literals sum to 1; candidates are literals of one cell."""
    groups = state.groups
    literal = np.repeat(np.arange(len(state.target)), np.diff(groups.begin))
    cells = groups.kind[groups.group] == 0
    share = np.bincount(groups.group[cells], state.target[literal[cells]], len(groups.kind))
    assert np.allclose(share[groups.kind == 0], 1), "one literal of each cell is true in each solution"
    assert len(set(groups.group[np.isin(literal, np.flatnonzero(state.candidates)) & cells])) == 1
