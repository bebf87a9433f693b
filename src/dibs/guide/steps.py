"""K denoising steps, as in the paper: predict, keep what is surest, ask again.

Pass i of K sees the state and the values kept so far. After it, i/K of the open cells (rounded down) are kept: those
that were kept before stay, and the most confident of the others join them, each with its likeliest value. The rest are
masked again. Kept values only build the next query; the search never sees them.

Three choices that the paper leaves open:

- The cell to be branched on is never kept, so the last pass has a distribution for it.
- Of two kept values that exclude each other only the surer is kept.
- In the next query a kept literal is true, and one round of elimination closes the other literals of its cell and
  those that share an exclusive group with it, because a relational denoiser sees open literals only. A cell that would
  lose all its literals keeps them as they were. A candidate that is closed so has probability 0: it is tried last.
  Where the kept values contradict one another, the last pass before they did so is the last one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dibs.dtypes import Bools, Floats32
from dibs.guide.relations import relations
from dibs.problem.structure import Structure
from dibs.search.contract import Asks


class LogProbabilities(Protocol):
    """All that a score needs of a model, a trained one or your own."""

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools, /) -> Floats32:
        """[n, L] for the states with the literals `open_` and `true` [n, L].

        For an open literal the log of its probability within its cell (decision group), over the cell's open
        literals; 0 for true literals, -inf for dead ones.
        """


def refusal(model: LogProbabilities, structure: Structure) -> str | None:
    """Why a model cannot take problems of this structure, if it has a method `refusal` that says so."""
    says = getattr(model, "refusal", None)
    return None if says is None else says(structure)


def denoise(model: LogProbabilities, asks: Asks, steps: int) -> Floats32:
    """[n, L] log-probabilities of the last of `steps` passes."""
    open_, true = asks.open.copy(), asks.true.copy()  # asks are for reading, and a model may do as it likes
    if steps == 1:
        return _asked(model, asks.structure, open_, true)
    from dibs.guide.loops import keep_surest, open_cells

    of = relations(asks.structure)
    candidates = asks.candidates.copy()
    total = open_cells(open_, *of.cells)
    kept = np.zeros_like(total)
    last = found = _asked(model, asks.structure, open_.copy(), true.copy())
    for step in range(1, steps):
        wanted = step * total // steps
        kept += keep_surest(found, open_, true, candidates, wanted - kept, *of.cells, *of.members, *of.groups)
        found = _asked(model, asks.structure, open_.copy(), true.copy())
        possible = (asks.candidates & (found > -np.inf)).any(axis=1, keepdims=True)
        last = np.where(possible, found, last)
    return last


def _asked(model: LogProbabilities, structure: Structure, open_: Bools, true: Bools) -> Floats32:
    found = np.asarray(model.log_probabilities(structure, open_, true))
    if found.shape != open_.shape or found.dtype.kind != "f":
        raise ValueError(
            f"the model returned {found.dtype} of shape {found.shape}; "
            f"asked were log-probabilities of shape {open_.shape}: one for each literal of each state"
        )
    if np.isnan(found).any() and np.isnan(found[open_]).any():
        raise ValueError("the model returned NaN for an open literal")
    return np.ascontiguousarray(found, np.float32)
